import type { Task } from 'graphile-worker'
import { addJob } from '../../db/jobs.ts'
import { noteFollowedNetwork } from '../../db/queries/clocks.ts'
import { noteStep } from '../../db/queries/cursors.ts'
import type { CursorPurpose } from '../../db/words.ts'
import { indexStep } from '../../src/assets/activity/index-blocks.ts'
import { follow, type StepResult } from '../../src/blocks/follow.ts'
import type { Chain } from '../../src/chains/chain.ts'
import { trackStep } from '../../src/signing/transactions/track.ts'
import type { JobsCtx } from '../ctx.ts'
import { taskOf } from './task.ts'

type FollowerTask = 'track_blocks' | 'index_blocks'

type Following = {
  readonly purpose: CursorPurpose
  readonly step: (ctx: JobsCtx, chain: Chain) => Promise<StepResult>
}

const FOLLOWERS: Record<FollowerTask, Following> = {
  track_blocks: { purpose: 'track', step: trackStep },
  index_blocks: { purpose: 'index', step: indexStep },
}

const NOTE_EVERY_MS = 5_000

const keyOf = (name: FollowerTask, network: string) => `${name}:${network}`

/** One shift of a follower; it adds the job for the next one. */
export const followBlocksTask = (ctx: JobsCtx, name: FollowerTask): Task =>
  taskOf(name, async ({ network }, signal) => {
    const chain = ctx.chains.withNode(network)
    const { purpose, step } = FOLLOWERS[name]
    let notedAtMs = Number.NEGATIVE_INFINITY
    const { startAgain } = await follow(ctx, {
      what: keyOf(name, network),
      pauseMs: chain.pollIntervalMs,
      nextBlock: chain.nextBlock,
      signal,
      step: async () => {
        const result = await step(ctx, chain)
        if (result !== 'overtaken' && performance.now() - notedAtMs > NOTE_EVERY_MS) {
          await noteStep(ctx.db, { network: chain.network, purpose })
          notedAtMs = performance.now()
        }
        return result
      },
    })
    if (startAgain) await addJob(ctx.db, name, { network }, { key: keyOf(name, network), whenKeyed: 'replace' })
  })

/** Adds missing jobs of the two followers of each network; leaves running and waiting ones alone. */
export const startFollowers = async (ctx: JobsCtx): Promise<void> => {
  for (const { network, depth, patience } of ctx.chains.all) {
    await noteFollowedNetwork(ctx.db, { network, confirmations: depth.confirmations, ...patience })
    await addJob(ctx.db, 'track_blocks', { network }, { key: keyOf('track_blocks', network), whenKeyed: 'keep' })
    await addJob(ctx.db, 'index_blocks', { network }, { key: keyOf('index_blocks', network), whenKeyed: 'keep' })
  }
}
