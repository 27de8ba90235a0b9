import pino from 'pino'
import type { Config } from '../config.ts'

export type Log = pino.Logger

const MAX_CAUSES = 4
/** Facts about an error that quote no value. PostgreSQL's `detail` and `where` do, so they are not logged. */
const SAFE_FACTS = ['code', 'constraint_name', 'table_name', 'routine', 'trouble', 'retryable'] as const

const textOf = (error: Error, name: string): string | null => {
  const value: unknown = Reflect.get(error, name)
  return typeof value === 'string' || typeof value === 'boolean' ? String(value) : null
}

/** The message of an error without values: a failed statement's message lists its parameters. */
const messageOf = (error: Error): string => {
  const query = textOf(error, 'query')
  if (query !== null && 'params' in error) return `Failed query: ${query}`
  return textOf(error, 'code') === 'VALIDATION' ? 'A value does not fit its schema.' : error.message
}

/** Only the frames, because a stack begins with the message. */
const framesOf = (error: Error): string => (error.stack ?? '').match(/(?:^|\n)\s+at [\s\S]*/)?.[0].trim() ?? ''

/** An error for the log: type, message and frames of each cause, without anything from a request. */
export const shownError = (error: unknown, causes = 0): unknown => {
  if (!(error instanceof Error)) return { type: typeof error }
  const facts = SAFE_FACTS.flatMap((name) => {
    const text = textOf(error, name)
    return text === null ? [] : [[name, text] as const]
  })
  return {
    type: error.name,
    message: messageOf(error),
    ...Object.fromEntries(facts),
    stack: framesOf(error),
    ...(error.cause === undefined || causes >= MAX_CAUSES ? {} : { cause: shownError(error.cause, causes + 1) }),
  }
}

/**
 * Logs JSON lines to standard output. Errors are logged without their values, and request values are never logged, so nothing
 * needs redaction.
 */
export const createLog = (input: { readonly config: Pick<Config, 'logLevel'>; readonly process: string }): Log =>
  pino(
    {
      level: input.config.logLevel,
      base: { process: input.process, pid: process.pid },
      timestamp: pino.stdTimeFunctions.isoTime,
      serializers: { err: (error: unknown) => shownError(error) },
    },
    pino.destination({ fd: 1, sync: true }),
  )
