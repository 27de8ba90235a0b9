// A project's events, one after the other, for as long as the caller reads them.

import { delay, isPassing, pauseMs } from './answer.ts'
import { type Connection, call } from './call.ts'
import type { components } from './document.generated.ts'
import type { Operation } from './operation.ts'

/**
 * What happened in a project: `type` says which form `data` has. A later version of the service may send further types.
 */
export type ProjectEvent = components['schemas']['ProjectEvent']
export type EventType = ProjectEvent['type']
/** An event of one type, or of one of several. */
export type EventOf<Type extends EventType> = Extract<ProjectEvent, { readonly type: Type }>

export type EventsOptions<Type extends EventType = EventType> = {
  /** The `id` of the last event that you have dealt with; by default they begin with the oldest that is kept. */
  readonly after?: string
  /** Only events of these types; by default all. */
  readonly types?: readonly Type[]
  /** Ends the loop, without an error. */
  readonly signal?: AbortSignal
}

const LIST: Operation = { method: 'GET', path: '/events', gives: { field: 'events' } }
/** Less than the time after which most proxies end a quiet connection. */
const WAIT_SECONDS = 25
/** How much longer an answer may take. */
const SPARE_MS = 10_000

/**
 * Reads events by long polling, each once and in their order. A lost connection or a service that is away is waited
 * for. It throws what the service refuses, for instance with the code `events_gone`: the events after `after` are no
 * longer kept.
 */
export async function* readEvents<Type extends EventType = EventType>(
  connection: Connection,
  { after = '0', types, signal }: EventsOptions<Type> = {},
): AsyncGenerator<EventOf<Type>, void, undefined> {
  const timeoutMs = Math.max(connection.timeoutMs, WAIT_SECONDS * 1000 + SPARE_MS)
  const patient: Connection = { ...connection, timeoutMs, retries: 0 }
  const options = signal === undefined ? {} : { signal }
  const isOver = () => signal?.aborted === true
  for (let failures = 0; !isOver(); ) {
    let answer: components['schemas']['EventList']
    try {
      const input = { after, wait: WAIT_SECONDS, ...(types === undefined ? {} : { types: types.join() }) }
      answer = (await call(patient, { operation: LIST, input, options })) as typeof answer
      failures = 0
    } catch (error) {
      if (isOver()) return
      if (!isPassing(error)) throw error
      await delay(pauseMs(error, failures), signal).catch(() => {})
      failures += 1
      continue
    }
    for (const event of answer.events) {
      if (isOver()) return
      // The service filters by type.
      yield event as EventOf<Type>
    }
    after = answer.next
  }
}
