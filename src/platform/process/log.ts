// The log: lines of JSON on standard output. The kernel has a line before the call returns, so it survives the end of
// the process. A full blocking pipe makes the call wait for its reader. Another full pipe makes it wait for a second;
// then lines are lost until there is room, and a line says how many. A closed output or full disk loses lines. Nothing
// throws.

import { writeSync } from 'node:fs'
import type { Config } from '../config.ts'

/** The numbers that pino gave them, which readers of logs know. */
const LEVELS = { trace: 10, debug: 20, info: 30, warn: 40, error: 50, fatal: 60 } as const

/** Writes a line. An error among the facts is `err`. */
type Write = {
  (facts: object, sentence: string): void
  (sentence: string): void
}

export type Log = Readonly<Record<keyof typeof LEVELS, Write>>

export type HasLog = { readonly log: Log }

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

const STANDARD_OUTPUT = 1
const FULL_PAUSE_MS = 10
const FULL_PAUSES_MAX = 100
const PAUSED = new Int32Array(new SharedArrayBuffer(4))

const isFull = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === 'EAGAIN'

export const createOutput = (descriptor: number) => {
  let lost = 0
  const lossLine = () =>
    `\n${JSON.stringify({ level: LEVELS.warn, time: new Date(), lost, msg: 'lines of the log were lost' })}\n`
  return (line: string): void => {
    let rest: Uint8Array = Buffer.from(lost === 0 ? line : lossLine() + line)
    for (let pauses = lost === 0 ? 0 : FULL_PAUSES_MAX; rest.byteLength > 0; ) {
      try {
        rest = rest.subarray(writeSync(descriptor, rest))
      } catch (error) {
        if (!isFull(error) || pauses >= FULL_PAUSES_MAX) {
          lost += 1
          return
        }
        Atomics.wait(PAUSED, 0, 0, FULL_PAUSE_MS)
        pauses += 1
      }
    }
    lost = 0
  }
}

/** One for the process, so that no two lines mix. */
const toStandardOutput = createOutput(STANDARD_OUTPUT)

const withoutBigints = (_name: string, value: unknown): unknown => (typeof value === 'bigint' ? String(value) : value)

const textOfLine = (line: Readonly<Record<string, unknown>>): string => {
  try {
    return JSON.stringify(line, withoutBigints)
  } catch (error) {
    const { level, time, process, pid, msg } = line
    return JSON.stringify({ level, time, process, pid, unwritable: shownError(error), msg })
  }
}

/** Errors are logged without their values, and request values never, so nothing needs redaction. */
export const createLog = (input: {
  readonly config: Pick<Config, 'logLevel'>
  readonly process: string
  readonly write?: (line: string) => void
}): Log => {
  const { config, process: name, write = toStandardOutput } = input
  const base = { process: name, pid: process.pid }
  const least = config.logLevel === 'silent' ? Number.POSITIVE_INFINITY : LEVELS[config.logLevel]
  const at = (level: number): Write => {
    if (level < least) return () => {}
    return (first: object | string, sentence?: string) => {
      const facts = typeof first === 'string' ? { msg: first } : { ...first, msg: sentence }
      const err = 'err' in facts ? { err: shownError(facts.err) } : {}
      write(`${textOfLine({ level, time: new Date().toISOString(), ...base, ...facts, ...err })}\n`)
    }
  }
  const { trace, debug, info, warn, error, fatal } = LEVELS
  return { trace: at(trace), debug: at(debug), info: at(info), warn: at(warn), error: at(error), fatal: at(fatal) }
}
