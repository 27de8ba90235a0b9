// Counts tries over all processes, in windows of time that begin with the first try.

import { sql } from 'drizzle-orm'
import type { Queryable } from '../client.ts'
import { type Given, prepare } from '../prepare.ts'
import { throttles } from '../schema.ts'

const over = sql`${throttles.windowEndsAt} <= now()`

type Tries = { readonly windowSeconds: number }

const endOf = ({ windowSeconds }: Tries | Given<Tries>) => sql`now() + make_interval(secs => ${windowSeconds}::float8)`

const counted = (window: Tries | Given<Tries>) => ({
  target: throttles.key,
  set: {
    tries: sql`case when ${over} then 1 else ${throttles.tries} + 1 end`,
    windowEndsAt: sql`case when ${over} then ${endOf(window)} else ${throttles.windowEndsAt} end`,
  },
})

type Try = Tries & { readonly key: Uint8Array }

const countOne = prepare((db, { key, windowSeconds }: Given<Try>) =>
  db
    .insert(throttles)
    .values({ key, tries: 1, windowEndsAt: endOf({ windowSeconds }) })
    .onConflictDoUpdate(counted({ windowSeconds }))
    .returning({
      tries: throttles.tries,
      secondsLeft: sql<number>`ceil(extract(epoch from ${throttles.windowEndsAt} - now()))::int`,
    }),
)

/** @returns the number of tries in this window, with this one, and the seconds until the window ends. */
export const countTry = async (
  db: Queryable,
  input: Try,
): Promise<{ readonly tries: number; readonly secondsLeft: number }> => {
  const [row] = await countOne(db, input)
  if (row === undefined) throw new Error('A try was not counted.')
  return row
}

/** The rows are written in the order of their keys, to avoid deadlocks. */
export const countTries = async (db: Queryable, input: Tries & { readonly keys: readonly Uint8Array[] }) => {
  const keys = [...input.keys].sort(Buffer.compare)
  await db
    .insert(throttles)
    .values(keys.map((key) => ({ key, tries: 1, windowEndsAt: endOf(input) })))
    .onConflictDoUpdate(counted(input))
}

export type TryLimit = { readonly key: Uint8Array; readonly max: number }
