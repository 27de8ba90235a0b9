import type { Task } from 'graphile-worker'
import { addJob } from '../../db/jobs.ts'
import { unlockJobsOfDeadWorkers } from '../../db/queries/workers.ts'
import { settleDoubtfulContracts } from '../../src/assets/activity/settle-doubtful-contracts.ts'
import { startRound } from '../../src/blocks/round.ts'
import { type Couriers, createCouriers } from '../../src/events/webhooks/couriers.ts'
import { refreshSignerStates } from '../../src/signing/transactions/after-block.ts'
import { reconcileTransactions } from '../../src/signing/transactions/reconcile.ts'
import { checkFinalBlocks } from '../../src/signing/transactions/repair.ts'
import type { JobsCtx } from '../ctx.ts'
import { startBackfills } from './backfill-wallet.ts'
import { startFollowers } from './follow-blocks.ts'
import { taskOf } from './task.ts'

const HALF_A_MINUTE_SECONDS = 30

/** Restarts what is stuck because a job was lost: jobs of dead workers, followers, backfills, webhooks and live transactions. */
export const reconcileTask = (ctx: JobsCtx, couriers: Pick<Couriers, 'ringAll'> = createCouriers(ctx)): Task =>
  taskOf('reconcile', async ({ again }) => {
    const second = { key: 'reconcile:second', delaySeconds: HALF_A_MINUTE_SECONDS }
    if (again) await addJob(ctx.db, 'reconcile', { again: false }, second)
    await unlockJobsOfDeadWorkers(ctx.db)
    await startFollowers(ctx)
    await startBackfills(ctx)
    await couriers.ringAll()
    // A node that hangs delays only its own network. Each piece of work has its own round, so that one which does not finish leaves
    // time for the next.
    await Promise.all(
      ctx.chains.all.map(async (chain) => {
        await reconcileTransactions(ctx, startRound(chain))
        await refreshSignerStates(ctx, startRound(chain))
        await checkFinalBlocks(ctx, chain)
        await settleDoubtfulContracts(ctx, startRound(chain))
      }),
    )
  })
