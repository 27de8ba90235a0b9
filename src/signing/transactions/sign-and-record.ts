// The signer's lock is held while this decides and records, so that no other request gets the same nonce. Mostly the
// vault signs between the two, in one database transaction. But PostgreSQL ends a transaction that idles for long, and
// all other requests of the signer wait for the lock. So when the vault takes long, this gives the lock back, and waits
// for the signature without it.
//
// A late signature is neither thrown away nor made again: it is recorded if our records still lead to exactly the same
// plan. If they do not, another process was faster, or a restore from the vault's journal in this process
// (operators/restore/after-failover.ts), which has the signature. So no answer says that nothing was done.

import { isDeepStrictEqual } from 'node:util'
import type { HasDb, Tx } from '../../../db/client.ts'
import { outcomeUnknown } from '../../identity/idempotency/once.ts'
import { AppError } from '../../platform/errors.ts'
import { within } from '../../platform/queue.ts'

/** Well below the 8 s of db/client.ts, and so long that a vault which is well needs no second transaction. */
const UNDER_LOCK_MAX_MS = 3_000
/** With the usual waits before and after it, less than a request may take (identity/idempotency/once.ts). */
const LATE_MAX_MS = 15_000

const unknown = (): AppError => outcomeUnknown('The vault')

/**
 * Decides, has it signed, and records it: all or nothing.
 * @param steps.plan locks the signer, and decides. The same records must lead to the same plan, in each field.
 * @param steps.sign asks the vault, once.
 * @param steps.recorded what a restore has recorded of it meanwhile.
 * @throws unavailable if the vault gives no answer, or if something else was recorded while it signed.
 */
export const signAndRecord = async <Plan, Signed, Result>(
  { db }: HasDb,
  steps: {
    readonly plan: (tx: Tx) => Promise<Plan>
    readonly sign: (plan: Plan) => Promise<Signed>
    readonly write: (tx: Tx, plan: Plan, signed: Signed) => Promise<Result>
    readonly recorded?: (tx: Tx) => Promise<Result | null>
  },
): Promise<Result> => {
  const first = await db.transaction(async (tx) => {
    const plan = await steps.plan(tx)
    const signing = steps.sign(plan)
    const signed = await within(UNDER_LOCK_MAX_MS, signing)
    if (signed !== null) return { result: await steps.write(tx, plan, signed.value) }
    // It may fail before it is waited for.
    signing.catch(() => {})
    return { plan, signing }
  })
  if ('result' in first) return first.result
  const signed = await within(LATE_MAX_MS, first.signing)
  if (signed === null) throw unknown()
  return await db.transaction(async (tx) => {
    // What was recorded meanwhile can make it refuse, for example for lack of funds.
    const plan = await steps.plan(tx).catch((error: unknown) => {
      if (error instanceof AppError) return null
      throw error
    })
    if (plan !== null && isDeepStrictEqual(plan, first.plan)) return await steps.write(tx, plan, signed.value)
    const recorded = await steps.recorded?.(tx)
    if (recorded === null || recorded === undefined) throw unknown()
    return recorded
  })
}
