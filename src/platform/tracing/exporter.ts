// Sends finished spans to a collector, a batch at a time, behind the requests: a span is only put into a queue. If the
// queue is full, because the collector is away or slow, spans are dropped and counted. A batch is kept until the
// collector takes it, or says that it never will.

import { setTimeout as sleep } from 'node:timers/promises'
import type { Log } from '../process/log.ts'
import { type Attributes, exportRequest, type FinishedSpan } from './otlp.ts'
import type { TracingSettings } from './settings.ts'

/** As OpenTelemetry's own processors have them by default. */
const QUEUE_MAX = 2_048
const BATCH_MAX = 512
const EVERY_MS = 1_000
const PAUSE_MAX_MS = 30_000
const CLOSE_MAX_MS = 2_000

/** https://opentelemetry.io/docs/specs/otlp/#retryable-response-codes */
const RETRYABLE: ReadonlySet<number> = new Set([429, 502, 503, 504])

/** Why spans were dropped: there was no room, or the collector refused them. */
export const DROP_REASONS = ['queue_full', 'refused'] as const
export type DropReason = (typeof DROP_REASONS)[number]

export type Exporter = ReturnType<typeof createExporter>

type Input = Pick<TracingSettings, 'url' | 'headers' | 'timeoutMs'> & {
  readonly resource: Attributes
  readonly log: Log
  readonly onDropped: (reason: DropReason, spans: number) => void
}

/** A header may be secret, and an error of fetch shows the URL, so only its kind is logged. */
const send = async ({ url, headers, timeoutMs, resource }: Input, spans: readonly FinishedSpan[]) => {
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: { ...Object.fromEntries(headers), 'content-type': 'application/json' },
      body: exportRequest({ resource, spans }),
      redirect: 'error',
      signal: AbortSignal.timeout(timeoutMs),
    })
    await response.body?.cancel()
    if (response.ok) return null
    return { why: `HTTP status ${response.status}`, isFinal: !RETRYABLE.has(response.status) }
  } catch (error) {
    const isLate = error instanceof Error && error.name === 'TimeoutError'
    return { why: isLate ? `no answer within ${timeoutMs} ms` : 'it cannot be reached', isFinal: false }
  }
}

export const createExporter = (input: Input) => {
  const { log, onDropped } = input
  const queue: FinishedSpan[] = []
  const closing = new AbortController()
  let sending: Promise<void> | null = null
  let trouble: string | null = null
  let full = Promise.withResolvers<void>()

  const reportTrouble = (why: string | null): void => {
    if (why === trouble) return
    if (why === null) log.info('the collector takes traces again')
    else log.warn({ why }, 'the collector does not take traces')
    trouble = why
  }

  /** @returns whether the batch is settled. */
  const sendBatch = async (): Promise<boolean> => {
    const batch = queue.slice(0, BATCH_MAX)
    const failure = await send(input, batch)
    reportTrouble(failure?.why ?? null)
    if (failure !== null && !failure.isFinal) return false
    queue.splice(0, batch.length)
    if (failure !== null) onDropped('refused', batch.length)
    return true
  }

  /** Waits until a batch is full; after a failure the whole time. */
  const pause = async (ms: number, { isFailing }: { readonly isFailing: boolean }): Promise<void> => {
    if (!isFailing && queue.length >= BATCH_MAX) return
    full = Promise.withResolvers()
    const over = new AbortController()
    const signal = AbortSignal.any([closing.signal, over.signal])
    const waited = sleep(ms, undefined, { ref: false, signal }).catch(() => {})
    await (isFailing ? waited : Promise.race([waited, full.promise]))
    over.abort()
  }

  const sendAll = async (): Promise<void> => {
    let pauseMs = EVERY_MS
    let isFailing = false
    while (queue.length > 0 && !closing.signal.aborted) {
      await pause(pauseMs, { isFailing })
      if (closing.signal.aborted) break
      isFailing = !(await sendBatch())
      pauseMs = isFailing ? Math.min(pauseMs * 2, PAUSE_MAX_MS) : EVERY_MS
    }
    sending = null
  }

  return {
    add: (span: FinishedSpan) => {
      if (queue.length >= QUEUE_MAX) return onDropped('queue_full', 1)
      queue.push(span)
      if (queue.length === BATCH_MAX) full.resolve()
      sending ??= sendAll()
    },
    /** Sends what is there, once, and ends. */
    close: async (): Promise<void> => {
      closing.abort()
      const sendRest = async (): Promise<void> => {
        await sending
        while (queue.length > 0 && (await sendBatch())) {}
      }
      await Promise.race([sendRest(), sleep(CLOSE_MAX_MS, undefined, { ref: false })])
      if (queue.length > 0) log.warn({ spans: queue.length }, 'the last traces were lost')
    },
  }
}
