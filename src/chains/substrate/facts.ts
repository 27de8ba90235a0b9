// What is known of assets and collections: the runtime keeps it beside them, by their ids. An account is no contract.

import type { AddressFacts, Hex } from '../chain.ts'
import { NodeUnavailable } from '../node/rpc.ts'
import { cleanText } from '../text.ts'
import { readNow } from './blocks.ts'
import { type ContractId, contractIdOf } from './contracts.ts'
import { entryQuestion, numberIn, textIn } from './entries.ts'
import type { SubstrateNode } from './node.ts'
import type { Runtime } from './runtime.ts'
import type { Value } from './values.ts'

const NAME_LIMIT = 64
const SYMBOL_LIMIT = 32
/** A URI, or the bare name of a file of IPFS (CID, version 0 or 1). */
const NO_NAME = /^(?:[a-z][a-z0-9+.-]*:|Qm[1-9A-HJ-NP-Za-km-z]{44}|baf[a-z2-7]{50,}|[[{])/i

const NOTHING: AddressFacts = { isContract: false, standard: 'other', name: '', symbol: '', decimals: 0 }

/** Where a thing is, and what it is called. */
const ENTRIES = {
  assets: { pallet: 'assets', thing: 'asset', metadata: 'metadata' },
  nfts: { pallet: 'nfts', thing: 'collection', metadata: 'collectionMetadataOf' },
  uniques: { pallet: 'uniques', thing: 'class', metadata: 'classMetadataOf' },
} as const

const entriesOf = ({ storage }: Runtime, { pallet }: ContractId) =>
  pallet === 'collections' ? ENTRIES[storage.nfts === undefined ? 'uniques' : 'nfts'] : ENTRIES[pallet]

const questionsOf = (runtime: Runtime, contract: ContractId, blockHash: Hex) => {
  const { pallet, thing, metadata } = entriesOf(runtime, contract)
  const parts = [contract.id]
  return [thing, metadata].map((entry) => entryQuestion(runtime, { pallet, entry, parts }, blockHash))
}

/** A collection's metadata is whatever its owner wrote: most write a URI, some a name. */
const nameIn = (metadata: Value | null): string => {
  const text = textIn(metadata, 'data')
  return NO_NAME.test(text) ? '' : cleanText(text, NAME_LIMIT)
}

const factsOf = ({ pallet }: ContractId, metadata: Value | null): AddressFacts =>
  pallet === 'assets'
    ? {
        isContract: true,
        standard: 'erc20',
        name: cleanText(textIn(metadata, 'name'), NAME_LIMIT),
        symbol: cleanText(textIn(metadata, 'symbol'), SYMBOL_LIMIT),
        decimals: Number(numberIn(metadata, 'decimals')),
      }
    : { isContract: true, standard: 'erc721', name: nameIn(metadata), symbol: '', decimals: 0 }

/** Those that exist are remembered. */
const readAnew = async (node: SubstrateNode, words: readonly string[]): Promise<ReadonlyMap<string, AddressFacts>> => {
  const ids = words.flatMap((word) => {
    const contract = contractIdOf(word)
    return contract === null ? [] : [{ word, contract }]
  })
  if (ids.length === 0) return new Map()
  const { head, runtime } = await readNow(node)
  const values = await node.rpc.askAll(ids.flatMap(({ contract }) => questionsOf(runtime, contract, head.hash)))
  const facts = new Map<string, AddressFacts>()
  for (const [index, { word, contract }] of ids.entries()) {
    if (values[2 * index] != null) facts.set(word, factsOf(contract, values[2 * index + 1] ?? null))
  }
  await node.memory.writeFacts({ network: node.row.network, facts })
  return facts
}

/** Facts by address or id, every asked one included; from memory first. @throws NodeUnavailable, where memory does not have them all. */
export const readFacts = async (
  node: SubstrateNode,
  words: readonly string[],
): Promise<ReadonlyMap<string, AddressFacts>> => {
  const asked = [...new Set(words)]
  const facts = new Map<string, AddressFacts>(asked.map((word) => [word, NOTHING]))
  const ids = asked.filter((word) => contractIdOf(word) !== null)
  if (ids.length === 0) return facts
  const known = await node.memory.readFacts({ network: node.row.network, addresses: ids })
  for (const [word, { isDoubtful: _, ...each }] of known) facts.set(word, each)
  const unknown = ids.filter((word) => !known.has(word))
  const doubtful = ids.filter((word) => known.get(word)?.isDoubtful === true)
  try {
    for (const [word, read] of await readAnew(node, [...unknown, ...doubtful])) facts.set(word, read)
  } catch (error) {
    if (unknown.length > 0 || !(error instanceof NodeUnavailable)) throw error
  }
  return facts
}
