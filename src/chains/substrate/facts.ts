// Reads name, symbol and decimals of assets and collections from the runtime's metadata entries. A program is asked for
// its name. An account that is not a program is not a contract.

import type { AddressFacts, FactsByAddress, Hex } from '../chain.ts'
import type { Rpc } from '../node/rpc.ts'
import { type Believed, NO_CONTRACT, rememberedFacts } from '../remembered.ts'
import { cleanText } from '../text.ts'
import { parseProgramId } from './address.ts'
import { readFinalState } from './blocks.ts'
import { type ContractId, contractIdOf, isAsset, NFT_MAPS } from './contracts.ts'
import type { SubstrateNode } from './node.ts'
import type { Runtime } from './runtime.ts'
import { assetQuestion, entryQuestion, storageQuestion } from './storage.ts'
import { integerIn, textIn, type Value } from './values.ts'
import { programNames } from './vnft.ts'

const NAME_LIMIT = 64
const SYMBOL_LIMIT = 32
/** Text that is not a name: a URI, an IPFS CID (version 0 or 1), or JSON. */
const NO_NAME = /^(?:[a-z][a-z0-9+.-]*:|Qm[1-9A-HJ-NP-Za-km-z]{44}|baf[a-z2-7]{50,}|[[{])/i

const entryQuestions = (runtime: Runtime, contract: ContractId, blockHash: Hex) => {
  if (isAsset(contract)) {
    return (['asset', 'metadata'] as const).map((entry) =>
      assetQuestion(runtime, { asset: contract, entry }, blockHash),
    )
  }
  const pallet = contract.pallet === 'uniques' || runtime.storage.nfts === undefined ? 'uniques' : 'nfts'
  const { collection, collectionMetadata } = NFT_MAPS[pallet]
  const parts = [contract.id]
  return [collection, collectionMetadata].map((entry) => entryQuestion(runtime, { pallet, entry, parts }, blockHash))
}

type Names = { readonly name: string; readonly symbol: string }

const contractFacts = (kind: Pick<AddressFacts, 'standard' | 'decimals'>, { name, symbol }: Names): AddressFacts => ({
  isContract: true,
  ...kind,
  name: cleanText(name, NAME_LIMIT),
  symbol: cleanText(symbol, SYMBOL_LIMIT),
})

const collectionFacts = (names: Names): AddressFacts => contractFacts({ standard: 'erc721', decimals: null }, names)

const describeContract = (contract: ContractId, metadata: Value | null): AddressFacts => {
  if (!isAsset(contract)) {
    // The owner of a collection writes its metadata freely: mostly a URI, sometimes a name.
    const text = textIn(metadata, 'data')
    return collectionFacts({ name: NO_NAME.test(text) ? '' : text, symbol: '' })
  }
  const names = { name: textIn(metadata, 'name'), symbol: textIn(metadata, 'symbol') }
  // The owner of an asset may set its metadata later, or never.
  const decimals = metadata === null ? null : Number(integerIn(metadata, 'decimals'))
  return contractFacts({ standard: 'erc20', decimals }, names)
}

type Asking = { readonly runtime: Runtime; readonly blockHash: Hex; readonly texts: readonly string[] }

/** Adds the names of this service's collections from memory: their only text on the chain is a URI. */
const withNames = async ({ memory, row }: SubstrateNode, facts: FactsByAddress): Promise<FactsByAddress> => {
  const nameless = [...facts].flatMap(([text, { standard, name }]) => (standard === 'erc721' && !name ? [text] : []))
  const names = await memory.readCollectionNames({ network: row.network, addresses: nameless })
  return new Map([...facts, ...[...names].map(([text, each]) => [text, collectionFacts(each)] as const)])
}

const readIds = async (node: SubstrateNode, { runtime, blockHash, texts }: Asking): Promise<FactsByAddress> => {
  const ids = texts.flatMap((text) => {
    const contract = contractIdOf(text)
    return contract === null ? [] : [{ text, contract }]
  })
  const values = await node.rpc.askAll(ids.flatMap(({ contract }) => entryQuestions(runtime, contract, blockHash)))
  const facts = new Map<string, AddressFacts>()
  for (const [index, { text, contract }] of ids.entries()) {
    if (values[2 * index] != null) facts.set(text, describeContract(contract, values[2 * index + 1] ?? null))
  }
  return withNames(node, facts)
}

/** A program that answers the name queries of VNFT is a collection. Of other programs we only know that they exist. */
const readPrograms = async (node: SubstrateNode, { runtime, blockHash, texts }: Asking): Promise<FactsByAddress> => {
  // A stand-in runtime (devnet, tests) may lack the pallet of programs.
  if (!node.row.hasPrograms || runtime.storage.gearProgram === undefined) return new Map()
  const asked = texts.flatMap((text) => {
    const id = parseProgramId(text)
    return id === null ? [] : [{ text, id }]
  })
  const entries: readonly (Hex | null)[] = await node.rpc.askAll(
    asked.map(({ id }) =>
      storageQuestion(runtime, { pallet: 'gearProgram', entry: 'programStorage', parts: [id] }, blockHash),
    ),
  )
  const programs = asked.filter((_, index) => entries[index] !== null)
  const contracts = programs.map(({ id }) => id)
  const names = await programNames(node, { runtime, blockHash, contracts })
  const other: AddressFacts = { ...NO_CONTRACT, isContract: true }
  return new Map(
    programs.map(({ text }, index) => {
      const own = names[index]
      return [text, own == null ? other : collectionFacts(own)]
    }),
  )
}

const readExisting = async (node: SubstrateNode, texts: readonly string[]): Promise<FactsByAddress> => {
  const { head, runtime } = await readFinalState(node)
  const asking = { runtime, blockHash: head.hash, texts }
  return new Map([...(await readIds(node, asking)), ...(await readPrograms(node, asking))])
}

/** Facts of every given address or id. Only those that memory lacks are read from the node. */
export const readFacts = async (
  node: SubstrateNode,
  { texts, believed }: { readonly texts: readonly string[]; readonly believed: Believed },
): Promise<FactsByAddress> => {
  const { row, memory } = node
  const asked = texts.filter(
    (text) => contractIdOf(text) !== null || (row.hasPrograms && parseProgramId(text) !== null),
  )
  const readWith = (rpc: Rpc) => (unsure: readonly string[]) => readExisting({ ...node, rpc }, unsure)
  const peers = () => (node.hasSeveral ? node.peers().map(readWith) : null)
  const facts = await rememberedFacts(
    { memory, network: row.network, believed },
    { asked, read: readWith(node.rpc), peers },
  )
  return new Map(texts.map((text) => [text, facts.get(text) ?? NO_CONTRACT]))
}
