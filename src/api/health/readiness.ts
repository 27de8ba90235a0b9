import { setTimeout as sleep } from 'node:timers/promises'
import { Type } from '@sinclair/typebox'
import type { HasDb } from '../../../db/client.ts'
import { stalledNetworks } from '../../../db/queries/cursors.ts'
import { missingColumns } from '../../../db/queries/server.ts'
import type { Chain } from '../../chains/chain.ts'
import type { HasChains } from '../../chains/chains.ts'
import { NODE_STATES, type NodeState } from '../../chains/nodes.ts'
import { requirePresentKeys } from '../../identity/retired-keys.ts'
import { AppError } from '../../platform/errors.ts'
import { OneOf } from '../../platform/http/schema.ts'
import type { HasLog } from '../../platform/process/log.ts'
import type { HasIdentity, HasSealer } from '../../platform/sealing/sealer.ts'
import type { HasSpace } from '../../platform/space.ts'
import { LACKING_WORDS } from '../../vault/contract/contract.ts'
import type { HasVault } from '../../vault/contract/vault.ts'

export const Health = Type.Object({ status: Type.Literal('ok') }, { title: 'Health' })

export const Readiness = Type.Object(
  {
    status: Type.Literal('ready'),
    networks: Type.Record(Type.String(), Type.String(), {
      description:
        'By network: `ready`, `unreachable`, `wrong_chain`, or `stalled`: no worker has followed its blocks for half a minute, or its newest block is too old.',
      examples: [{ Ethereum: 'ready' }],
    }),
    nodes: Type.Record(
      Type.String(),
      OneOf(NODE_STATES, {
        description:
          'As this process last found it: `behind` the best one, `stalled` with a newest block that is too old, `slow`, `failing` several times in a row, of the `wrong_chain`, `resting` as it asked for a pause, or `down` as it does not answer; else `up`.',
      }),
      {
        description: 'By node: each node of a network, numbered in the order of the variable `…_RPC_URL`.',
        examples: [{ 'Ethereum#1': 'up', 'Ethereum#2': 'behind' }],
      },
    ),
  },
  { title: 'Readiness' },
)

export const Stopping = Type.Object({ error: Type.String(), code: Type.Literal('unavailable') })

type NetworkState = 'ready' | 'unreachable' | 'wrong_chain' | 'stalled'

/**
 * Whether this process can serve requests. What affects only one network is reported, and does not count as a failure.
 * @throws unavailable if the database does not answer, can only be read, has no space left, or does not fit this
 * process any more.
 */
export const readiness = async (
  ctx: HasDb & HasChains & HasLog & HasVault & HasSpace & HasSealer & HasIdentity,
  { look }: { readonly look: () => Promise<unknown> },
): Promise<{ status: 'ready'; networks: Record<string, NetworkState>; nodes: Record<string, NodeState> }> => {
  await requireFit(ctx)
  const stalled = await stalledNetworks(ctx.db).catch(noAnswer)
  if (await ctx.space.isFull()) throw new AppError('unavailable', 'The database has no space or memory left.')
  const looked = Promise.race([look(), sleep(CHECK_TIMEOUT_MS, null, { ref: false })])
  const states = await Promise.all(
    ctx.chains.all.map(async (chain) => {
      const state = await stateOf(ctx, chain)
      await looked
      const isStalled = stalled.includes(chain.network) || hasOnlyOldBlocks(chain)
      return [chain.network, state === 'ready' && isStalled ? 'stalled' : state] as const
    }),
  )
  return { status: 'ready', networks: Object.fromEntries(states), nodes: nodeStates(ctx) }
}

/** Whether the best node that answers has no new block. */
const hasOnlyOldBlocks = ({ nodeViews }: Pick<Chain, 'nodeViews'>): boolean => {
  const states = nodeViews().map(({ state }) => state)
  return states.includes('stalled') && !states.includes('up')
}

/** The nodes by network and position, as of this process's last call. Strangers may read it, so it shows no host. */
const nodeStates = ({ chains }: HasChains): Record<string, NodeState> =>
  Object.fromEntries(
    chains.all.flatMap(({ network, nodeViews }) =>
      nodeViews().map(({ state }, index) => [`${network}#${index + 1}`, state] as const),
    ),
  )

const noAnswer = (cause: unknown): never => {
  throw new AppError('unavailable', 'The database does not answer, or can only be read.', { cause })
}

const noVault = (error: unknown): never => {
  if (error instanceof AppError && error.code === 'unavailable') throw error
  return noAnswer(error)
}

/** Load balancers wait only a few seconds, which is less than the time-out for nodes and vaults. */
const CHECK_TIMEOUT_MS = 1_500

/** All fitted at the start. Then an operator may migrate the database, restore another one, or change a key. */
const requireFit = async (ctx: HasDb & HasLog & HasVault & HasSealer & HasIdentity): Promise<void> => {
  const missing = await missingColumns(ctx.db).catch(noAnswer)
  if (missing.length > 0) {
    ctx.log.error({ missing }, 'the database does not have the schema of this version')
    throw new AppError(
      'unavailable',
      'The database does not have the schema of this version: migrate it, or start the version that fits.',
    )
  }
  await requirePresentKeys(ctx).catch(noVault)
  const late = sleep(CHECK_TIMEOUT_MS, null, { ref: false })
  const status = await Promise.race([ctx.vault.status().catch(noVault), late])
  if (status === null) throw new AppError('unavailable', 'The vault does not answer.')
  if (status.lacking !== null) throw new AppError('unavailable', LACKING_WORDS[status.lacking])
}

const stateOf = async (ctx: HasLog, chain: Chain): Promise<NetworkState> => {
  try {
    const isRight = await Promise.race([chain.isRightNode(), sleep(CHECK_TIMEOUT_MS, null, { ref: false })])
    if (isRight === null) throw new Error(`no answer within ${CHECK_TIMEOUT_MS} ms`)
    return isRight ? 'ready' : 'wrong_chain'
  } catch (err) {
    ctx.log.warn({ err, network: chain.network }, 'node does not answer')
    return 'unreachable'
  }
}
