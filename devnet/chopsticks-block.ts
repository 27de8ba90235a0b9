import {
  Block,
  type BuildBlockParams,
  buildBlock,
  inherentProviders,
  newHeader,
  runTask,
  taskHandler,
} from '@acala-network/chopsticks-core'
import type { Vec } from '@polkadot/types'
import type { EventRecord, Header } from '@polkadot/types/interfaces'
import { u8aConcat, u8aToHex } from '@polkadot/util'
import { blake2AsHex } from '@polkadot/util-crypto'
import { EVENTS_KEY } from './chopsticks-archive.ts'

type Hex = Block['hash']
type RuntimeCall = [name: string, parameters: Hex[]]

/** Of a block that is not yet built. */
const NO_HASH: Hex = `0x${'00'.repeat(32)}`
/** Each applied extrinsic has one of these events, a refused one has none. */
const OUTCOMES: readonly string[] = ['ExtrinsicSuccess', 'ExtrinsicFailed']

const appliedIn = async (block: Block): Promise<number> => {
  const events = (await block.registry).createType<Vec<EventRecord>>('Vec<EventRecord>', await block.get(EVENTS_KEY))
  return events.filter(({ event }) => event.section === 'system' && OUTCOMES.includes(event.method)).length
}

/** @returns null if the runtime refused any of the extrinsics: the state then has the rest of its changes */
const buildInOneTask = async (parent: Block, params: BuildBlockParams): Promise<Block | null> => {
  const { chain, storage } = parent
  const header = await newHeader(parent)
  const draft = new Block(chain, parent.number + 1, NO_HASH, parent, { header, extrinsics: [], storage })
  const extrinsics: Hex[] = []
  for (const provider of inherentProviders) extrinsics.push(...(await provider.createInherents(draft, params)))
  extrinsics.push(...params.transactions)

  const calls: RuntimeCall[] = [
    ['Core_initialize_block', [header.toHex()]],
    ...extrinsics.map((each): RuntimeCall => ['BlockBuilder_apply_extrinsic', [each]]),
    ['BlockBuilder_finalize_block', []],
  ]
  const { mockSignatureHost, allowUnresolvedImports, runtimeLogLevel } = chain
  const settings = { mockSignatureHost, allowUnresolvedImports, runtimeLogLevel }
  const answer = await runTask({ wasm: await draft.wasm, calls, ...settings }, taskHandler(draft))
  if ('Error' in answer) return null
  draft.pushStorageLayer().setAll(answer.Call.storageDiff)
  if ((await appliedIn(draft)) !== extrinsics.length) return null

  // As chopsticks does: not the trie's root.
  const extrinsicsRoot = blake2AsHex(u8aConcat(...extrinsics), 256)
  const sealed = (await parent.registry).createType<Header>('Header', { ...header.toJSON(), extrinsicsRoot })
  const storageDiff = await draft.storageDiff()
  return new Block(chain, draft.number, u8aToHex(sealed.hash), parent, {
    header: sealed,
    extrinsics,
    storage,
    storageDiff,
  })
}

/**
 * Builds a block, by one task of the runtime. chopsticks' own builder takes one for each call, and each task compiles the runtime
 * anew, which is most of its work. If the runtime refuses an extrinsic, chopsticks builds the block, without that one.
 */
export const buildBlockAtOnce = async (parent: Block, params: BuildBlockParams): Promise<Block> =>
  (await buildInOneTask(parent, params)) ?? (await buildBlock(parent, inherentProviders, params))[0]
