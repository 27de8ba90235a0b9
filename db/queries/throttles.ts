// Counts tries over all processes, in windows of time that begin with the first try.

import { sql } from 'drizzle-orm'
import type { Queryable } from '../client.ts'
import { throttles } from '../schema.ts'

const over = sql`${throttles.windowEndsAt} <= now()`

/** The rows are written in the order of their keys, to avoid deadlocks. */
const upsert = (db: Queryable, input: { readonly keys: readonly Uint8Array[]; readonly windowSeconds: number }) => {
  const end = sql`now() + make_interval(secs => ${input.windowSeconds})`
  const keys = [...input.keys].sort(Buffer.compare)
  return db
    .insert(throttles)
    .values(keys.map((key) => ({ key, tries: 1, windowEndsAt: end })))
    .onConflictDoUpdate({
      target: throttles.key,
      set: {
        tries: sql`case when ${over} then 1 else ${throttles.tries} + 1 end`,
        windowEndsAt: sql`case when ${over} then ${end} else ${throttles.windowEndsAt} end`,
      },
    })
}

/** @returns the number of tries in this window, with this one, and the seconds until the window ends. */
export const countTry = async (
  db: Queryable,
  input: { readonly key: Uint8Array; readonly windowSeconds: number },
): Promise<{ readonly tries: number; readonly secondsLeft: number }> => {
  const [row] = await upsert(db, { keys: [input.key], windowSeconds: input.windowSeconds }).returning({
    tries: throttles.tries,
    secondsLeft: sql<number>`ceil(extract(epoch from ${throttles.windowEndsAt} - now()))::int`,
  })
  if (row === undefined) throw new Error('A try was not counted.')
  return row
}

export const countTries = async (
  db: Queryable,
  input: { readonly keys: readonly Uint8Array[]; readonly windowSeconds: number },
) => {
  await upsert(db, input)
}

export type TryLimit = { readonly key: Uint8Array; readonly max: number }
