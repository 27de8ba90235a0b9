import type { HasDb } from '../../db/client.ts'
import { type EventRow, numberEvents, readEvents } from '../../db/queries/events.ts'
import { AppError } from '../platform/errors.ts'

export type EventsAsked = {
  readonly projectId: string
  /** 0n: from the oldest that is kept. */
  readonly after: bigint
  /** null: all. */
  readonly types: readonly string[] | null
  readonly limit: number
}

/** `next`: what to read after. `hasMore`: that can be read at once. */
export type EventsRead = {
  readonly rows: readonly EventRow[]
  readonly next: bigint
  readonly hasMore: boolean
}

const NUMBERED_AT_ONCE = 1_000

/**
 * The events of a project after a number, in their order. Gives numbers to those that have none yet.
 * @throws events_gone if events after that number are no longer kept, invalid_input if there is no such number yet.
 */
export const readAfter = async (ctx: HasDb, input: EventsAsked): Promise<EventsRead> => {
  const { projectId, after, limit } = input
  const given = await numberEvents(ctx.db, { projectId, atMost: NUMBERED_AT_ONCE })
  const { rows, readTo, lastNumber, droppedNumber } = await readEvents(ctx.db, input)
  if (after !== 0n && after < droppedNumber) {
    throw new AppError('events_gone', `Events are kept from id ${droppedNumber + 1n} on: continue with "after" 0.`)
  }
  if (after > lastNumber) {
    // Perhaps the database was restored, and lacks what the caller has seen.
    throw new AppError('invalid_input', `Field "after" must be at most ${lastNumber}, the id of the last event.`)
  }
  const hasMore = rows.length === limit || readTo < lastNumber || given === NUMBERED_AT_ONCE
  return { rows, next: readTo, hasMore }
}
