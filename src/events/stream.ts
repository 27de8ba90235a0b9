// Events as Server-Sent Events (WHATWG HTML §9.2). The id of each is its number, so that a browser or library continues
// by itself after the last one it has seen (`Last-Event-ID`).

import { shownEvents } from './shown.ts'
import { type EventsAsked, readAfter, type WaitCtx, waitForEvents } from './wait.ts'

/** More often than a proxy closes a quiet connection. */
const HEARTBEAT_MS = 15_000
/** Then the client connects again, at a process that may have less to do. */
const STREAM_MS = 300_000
const RETRY_MS = 1_000

export const STREAM_HEADERS = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-store',
  'x-accel-buffering': 'no',
} as const

/**
 * Its first events are read before, so that a refusal is an answer like any other.
 * @param input.isAllowed is asked before each text, so the end of an API key ends its streams.
 * @param input.ended is called once.
 */
export const streamEvents = async (
  ctx: WaitCtx,
  input: EventsAsked & {
    readonly signal: AbortSignal
    readonly isAllowed: () => Promise<boolean>
    readonly ended: () => void
  },
): Promise<Response> => {
  const over = new AbortController()
  const signal = AbortSignal.any([input.signal, over.signal])
  let read = await readAfter(ctx, input)
  let isFirst = true
  const until = performance.now() + STREAM_MS
  const nextText = async (): Promise<string | null> => {
    if (!isFirst) read = await waitForEvents(ctx, { ...input, after: read.next, waitMs: HEARTBEAT_MS, signal })
    if (!(await input.isAllowed())) return null
    const begin = isFirst ? `retry: ${RETRY_MS}\n\n` : ''
    isFirst = false
    const events = (await shownEvents(ctx, read.rows)).map(
      (event) => `id: ${event.id}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`,
    )
    // The last one has an id without data: the client notes it, and sees no event.
    return `${begin}${events.join('')}id: ${read.next}\n\n`
  }
  const body = new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      try {
        const text = signal.aborted || performance.now() >= until ? null : await nextText()
        if (text !== null) return controller.enqueue(new TextEncoder().encode(text))
      } catch (err) {
        // The client connects again, and that answer says why.
        ctx.log.warn({ err }, 'a stream of events ended')
      }
      input.ended()
      controller.close()
    },
    cancel: () => {
      over.abort()
      input.ended()
    },
  })
  return new Response(body, { headers: STREAM_HEADERS })
}
