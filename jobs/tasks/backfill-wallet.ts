import type { Task } from 'graphile-worker'
import { addJob } from '../../db/jobs.ts'
import { openBackfills } from '../../db/queries/backfills.ts'
import { backfillShift } from '../../src/assets/activity/backfill.ts'
import type { Shares } from '../../src/platform/queue.ts'
import { backfillJobKey } from '../../src/signing/wallets/create.ts'
import type { JobsCtx } from '../ctx.ts'
import { taskOf } from './task.ts'

const TAKEN_UP_AT_ONCE = 1_000
const CROWDED_DELAY_SECONDS = 5

/** One shift of a backfill; it adds the job for the next one. */
export const backfillWalletTask = (ctx: JobsCtx, places: Shares): Task =>
  taskOf('backfill_wallet', async ({ network, address }, signal) => {
    const chain = ctx.chains.all.find((each) => each.network === network)
    // Its row waits until the network has a node (startBackfills).
    if (chain === undefined) return
    const result = await places.run(network, () => backfillShift(ctx, { chain, address, signal }))
    if (result === null) return
    const delaySeconds = result === 'crowded' ? CROWDED_DELAY_SECONDS : result
    const key = backfillJobKey({ network, address })
    await addJob(ctx.db, 'backfill_wallet', { network, address }, { key, whenKeyed: 'replace', delaySeconds })
  })

/** Adds missing jobs of backfills that are not done; leaves running and waiting ones alone. */
export const startBackfills = async (ctx: JobsCtx): Promise<void> => {
  const networks = ctx.chains.all.map(({ network }) => network)
  for (const { network, address } of await openBackfills(ctx.db, { networks, limit: TAKEN_UP_AT_ONCE })) {
    const key = backfillJobKey({ network, address })
    await addJob(ctx.db, 'backfill_wallet', { network, address }, { key, whenKeyed: 'keep' })
  }
}
