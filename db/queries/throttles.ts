// Counting tries over all processes, in windows that begin with the first try.

import { sql } from 'drizzle-orm'
import type { Queryable } from '../client.ts'
import { throttles } from '../schema.ts'

/**
 * Counts one try.
 * @returns how many there were in this window, this one included, and how many seconds it lasts yet.
 */
export const countTry = async (
  db: Queryable,
  input: { readonly key: Uint8Array; readonly windowSeconds: number },
): Promise<{ readonly tries: number; readonly secondsLeft: number }> => {
  const over = sql`${throttles.windowEndsAt} <= now()`
  const end = sql`now() + make_interval(secs => ${input.windowSeconds})`
  const [row] = await db
    .insert(throttles)
    .values({ key: input.key, tries: 1, windowEndsAt: end })
    .onConflictDoUpdate({
      target: throttles.key,
      set: {
        tries: sql`case when ${over} then 1 else ${throttles.tries} + 1 end`,
        windowEndsAt: sql`case when ${over} then ${end} else ${throttles.windowEndsAt} end`,
      },
    })
    .returning({
      tries: throttles.tries,
      secondsLeft: sql<number>`ceil(extract(epoch from ${throttles.windowEndsAt} - now()))::int`,
    })
  if (row === undefined) throw new Error('a try was not counted')
  return row
}
