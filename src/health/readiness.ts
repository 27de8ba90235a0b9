import { setTimeout as sleep } from 'node:timers/promises'
import { stalledNetworks } from '../../db/queries/cursors.ts'
import type { Chain } from '../chains/chain.ts'
import type { WorkerCtx } from '../context.ts'
import { AppError } from '../errors.ts'

type NetworkState = 'ready' | 'unreachable' | 'wrong_chain' | 'stalled'

/**
 * Whether this process can serve requests. What affects only one network is reported, but is no failure: a node that does not
 * answer, and followers that have stopped.
 * @throws unavailable if the database does not answer.
 */
export const readiness = async (
  ctx: Pick<WorkerCtx, 'db' | 'chains' | 'log'>,
): Promise<{ status: 'ready'; networks: Record<string, NetworkState> }> => {
  const stalled = await stalledNetworks(ctx.db).catch((cause: unknown) => {
    throw new AppError('unavailable', 'The database does not answer.', { cause })
  })
  const states = await Promise.all(
    ctx.chains.all.map(async (chain) => {
      const state = await stateOf(ctx, chain)
      const isStalled = state === 'ready' && stalled.includes(chain.network)
      return [chain.network, isStalled ? 'stalled' : state] as const
    }),
  )
  return { status: 'ready', networks: Object.fromEntries(states) }
}

/** Load balancers wait only a few seconds, which is less than the time-out for nodes. */
const CHECK_TIMEOUT_MS = 1_500

const stateOf = async (ctx: Pick<WorkerCtx, 'log'>, chain: Chain): Promise<NetworkState> => {
  try {
    const isRight = await Promise.race([chain.isRightNode(), sleep(CHECK_TIMEOUT_MS, null, { ref: false })])
    if (isRight === null) throw new Error(`no answer within ${CHECK_TIMEOUT_MS} ms`)
    return isRight ? 'ready' : 'wrong_chain'
  } catch (err) {
    ctx.log.warn({ err, network: chain.network }, 'node does not answer')
    return 'unreachable'
  }
}
