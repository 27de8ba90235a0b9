// Nodes keep the state of the newest 256 blocks, and with it their events, unless they are told to keep all of it (an
// archive node); some forget old blocks altogether. What is gone is always the oldest.

import type { Hex, History } from '../chain.ts'
import { question } from '../node/rpc.ts'
import { hashQuestion } from './blocks.ts'
import type { SubstrateNode } from './node.ts'
import { versionQuestion } from './runtime.ts'
import { finalizedHashQuestion, headerQuestion, isForgotten } from './storage.ts'

const hasBlockQuestion = (blockHash: Hex) => question('chain_getBlock', [blockHash], (value) => value !== null)

/** A block is read with what its parent left behind. @throws NodeUnavailable. */
export const readHistory = async ({ bulk }: Pick<SubstrateNode, 'bulk'>, number: bigint): Promise<History> => {
  const head = await bulk.ask(headerQuestion(await bulk.ask(finalizedHashQuestion)))
  if (head === null || number > head.number) return 'not_there'
  const [own, parent] = await bulk.askAll([hashQuestion(number), hashQuestion(number === 0n ? 0n : number - 1n)])
  if (own === null || parent === null) return 'pruned'
  // What is kept of a block at last is its header.
  const [block, version] = await bulk.tryAll([hasBlockQuestion(own), versionQuestion(parent)], { size: 'bulk' })
  if (!bulk.need(block)) return 'pruned'
  if (!version.ok && isForgotten(version.error)) return 'pruned'
  bulk.need(version)
  return 'kept'
}
