// How each node is, what it cannot be used for, and whether a worker follows each network.

import type { Db } from '../../../db/client.ts'
import { stalledNetworks } from '../../../db/queries/cursors.ts'
import { countLivingWorkers } from '../../../db/queries/server.ts'
import type { Chain } from '../../chains/chain.ts'
import type { Chains } from '../../chains/chains.ts'
import type { NodeState, NodeUse, NodeView } from '../../chains/nodes.ts'
import type { Config } from '../../platform/config.ts'
import { variableOf } from '../../platform/networks.ts'
import { type Finding, findingsOf } from './finding.ts'

const ADVICE: Readonly<Record<Exclude<NodeState, 'up'>, string>> = {
  behind: 'It has fewer blocks than another node: see whether it is still catching up.',
  stalled:
    'Its newest block is too old, so nothing is mined: the chain stands still, or the node is stuck or still catching up. Compare with an explorer.',
  slow: 'Its answers take longer than usual: see whether it is overloaded.',
  failing: 'Check its URL and its log: it does not answer every question.',
  wrong_chain: 'It belongs to another chain: correct the URL.',
  resting: 'It has refused for too many requests: use a larger plan, or add a second node.',
  down: 'It does not answer: check its URL, and that this machine may reach it.',
}

const missingFinding = (name: string, use: NodeUse): Finding => {
  const { warning, failed } = findingsOf(name)
  const found = `it does not have ${use.methods.join(' or ')}, for ${use.what}`
  return use.isNeeded
    ? failed(found, 'Use a node with this method.')
    : warning(found, 'Use a node with this method, or do without.')
}

const nodeFindings = (chain: Chain, node: NodeView, missing: readonly NodeUse[] | null): readonly Finding[] => {
  const name = `node ${chain.network} ${node.name}`
  const { ok, failed, warning } = findingsOf(name)
  const age = node.state === 'stalled' ? `, ${node.headAgeSeconds ?? 0} s old` : ''
  const found = `${node.state}, block ${node.height ?? '-'}${age}, ${Math.round(node.latencyMs ?? 0)} ms`
  const state =
    node.state === 'up'
      ? ok(found)
      : (node.state === 'behind' || node.state === 'slow' ? warning : failed)(found, ADVICE[node.state])
  return [state, ...(missing ?? []).map((use) => missingFinding(name, use))]
}

const ofChain = async (chain: Chain): Promise<readonly Finding[]> => {
  const views = await chain.lookAtNodes()
  const missing = await chain.missingUses()
  return views.flatMap((view) =>
    nodeFindings(chain, view, missing.find(({ name }) => name === view.name)?.missing ?? null),
  )
}

/** Asks each node of each network. */
export const checkNodes = async (input: {
  readonly config: Pick<Config, 'networks'>
  readonly chains: Chains
}): Promise<readonly Finding[]> => {
  const found = (await Promise.all(input.chains.all.map(ofChain))).flat()
  const without = input.config.networks.filter(
    ({ network }) => !input.chains.all.some((chain) => chain.network === network),
  )
  return [
    ...found,
    ...without.map(({ network }) =>
      findingsOf(`node ${network}`).unchecked(
        `no node: its requests are answered with 501 (${variableOf(network, 'RPC_URL')})`,
      ),
    ),
  ]
}

/** Whether jobs are done, and blocks followed. */
export const checkWorkers = async ({ db }: { readonly db: Db }): Promise<readonly Finding[]> => {
  const { ok, failed, warning } = findingsOf('workers')
  const count = await countLivingWorkers(db)
  if (count === 0) {
    return [failed('no worker runs', 'Start one: without it nothing is sent again, and no result becomes known.')]
  }
  const stalled = await stalledNetworks(db)
  return [
    ok(`${count} at work`),
    ...stalled.map((network) =>
      warning(
        `nobody has followed the blocks of ${network} for half a minute`,
        'Check the node that the worker uses, and its log ("When something is late" in docs/operations.md).',
      ),
    ),
  ]
}
