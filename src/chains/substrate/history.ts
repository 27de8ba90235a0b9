// Finds whether a node still has a block. Nodes keep the state and the events of the newest 256 blocks; an archive node keeps
// all. Some nodes also prune the bodies of old blocks. The oldest blocks are always pruned first.

import type { Hex, History } from '../chain.ts'
import { question } from '../node/rpc.ts'
import { hashQuestion } from './blocks.ts'
import type { SubstrateNode } from './node.ts'
import { versionQuestion } from './runtime.ts'
import { finalizedHashQuestion, headerQuestion, isForgotten } from './storage.ts'

const hasBlockQuestion = (blockHash: Hex) => question('chain_getBlock', [blockHash], (value) => value !== null)

/** Whether the node has a block's body and the state of its parent, which are needed to read it. */
export const readHistory = async ({ bulk }: Pick<SubstrateNode, 'bulk'>, number: bigint): Promise<History> => {
  const head = await bulk.ask(headerQuestion(await bulk.ask(finalizedHashQuestion)))
  if (head === null || number > head.number) return 'not_there'
  const [own, parent] = await bulk.askAll([hashQuestion(number), hashQuestion(number === 0n ? 0n : number - 1n)])
  if (own === null || parent === null) return 'pruned'
  // A node may still have the header after it pruned the body, so ask for the body.
  const [block, version] = await bulk.tryAll([hasBlockQuestion(own), versionQuestion(parent)], { size: 'bulk' })
  if (!bulk.need(block)) return 'pruned'
  if (!version.ok && isForgotten(version.error)) return 'pruned'
  bulk.need(version)
  return 'kept'
}
