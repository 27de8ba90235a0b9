import pino from 'pino'
import type { Config } from './config.ts'

export type Log = pino.Logger

/**
 * JSON lines on standard output. Errors are logged as type, sentence and stack of each cause;
 * values of requests are never handed to the log, so there is nothing to redact.
 */
export const createLog = (input: { readonly config: Pick<Config, 'logLevel'>; readonly process: string }): Log =>
  pino(
    {
      level: input.config.logLevel,
      base: { process: input.process, pid: process.pid },
      timestamp: pino.stdTimeFunctions.isoTime,
      serializers: { err: pino.stdSerializers.errWithCause },
    },
    pino.destination({ fd: 1, sync: true }),
  )
