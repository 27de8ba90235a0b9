import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Chain, Hex, Intent, RecordedIntent } from '../../../src/chains/chain.ts'
import { provided } from '../../../src/chains/provided.ts'
import { createSubstrateChain } from '../../../src/chains/substrate/chain.ts'
import { callsOf } from '../../../src/chains/substrate/codec.ts'
import { type Runtime, readRuntime } from '../../../src/chains/substrate/runtime.ts'
import { spentBy } from '../../../src/chains/substrate/spending.ts'
import { AppError } from '../../../src/platform/errors.ts'
import { substrateNetworkRow } from '../../../src/platform/networks.ts'
import { longTest } from '../../support/long.ts'
import { devAccount, localMetadataPins, startSubstrateChain, type TestSubstrateChain } from '../../support/substrate.ts'
import { createMemory } from '../evm/memory.ts'
import { ABOUT, collectionsOf, livesOn, own, sendOn, people as twoPeople, URI } from './collections.ts'
import { type Stored, startStateNode } from './gear-node.ts'
import { assetHubRuntime } from './metadata.ts'

const row = substrateNetworkRow({ network: 'Polkadot', environment: 'testnet', devnet: true })
const people = () => {
  if (known === undefined) throw new Error('expected the accounts')
  return known
}
const known = await twoPeople()

const codeOf = (asked: Promise<unknown>) =>
  asked.then(
    () => 'none',
    (error: unknown) => (error instanceof AppError ? error.code : error),
  )

type Shown = Readonly<Record<string, unknown>>

/** The calls of an intent, with arguments as the codec decodes them, independently of our decoder. */
const readAgain = (runtime: Runtime, { input }: Pick<Intent, 'input'>): readonly Shown[] => {
  const outer = runtime.registry.createType('Call', input)
  expect(outer.toHex()).toBe(input)
  type Human = { readonly section: string; readonly method: string; readonly args: Shown }
  const human = outer.toHuman() as unknown as Human
  const calls = human.section === 'utility' ? (human.args.calls as readonly Human[]) : [human]
  return calls.map(({ section, method, args }) => ({ call: `${section}.${method}`, ...args }))
}

describe('collections of uniques, on a local Asset Hub', () => {
  let local: TestSubstrateChain
  let chain: Chain
  let runtime: Runtime

  beforeAll(async () => {
    local = await startSubstrateChain('Polkadot')
    const { hers, his } = people()
    await local.fund(hers)
    await local.fund(his)
    await local.newBlock()
    chain = createSubstrateChain({ row, rpcUrl: local.rpcUrl, memory: createMemory(), metadataPins: localMetadataPins })
    const metadata = (await local.rpc('state_getMetadata')) as Hex
    runtime = readRuntime(
      { specName: 'statemine', specVersion: 900, transactionVersion: 1 },
      { metadata, ss58Prefix: 0 },
    )
  }, 30_000)
  afterAll(() => local?.stop())

  const send = (intent: Intent, by = people().alice) => sendOn(chain, { intent, by })
  const creation = (behind: readonly RecordedIntent[] = []) =>
    collectionsOf(chain).creation({
      ...{ name: 'Doors', symbol: 'DOOR', baseUri: '', contractUri: ABOUT, owner: people().hers },
      pending: async () => behind,
    })
  const minting = (contract: string, behind: readonly RecordedIntent[] = [], from = people().hers) =>
    chain.mintIntent({ contract, from, recipient: people().his, uri: URI, pending: async () => behind })
  const recorded = (intent: Intent): RecordedIntent => ({ ...intent, from: people().hers, nonce: 0 })
  /** A shared collection. Its item 0 belongs to her. */
  let first: Promise<string> | undefined
  const collection = () => {
    first ??= livesOn(chain)
    return first
  }

  test('one is created with a number from the chain, and its items are minted, listed and moved', async () => {
    expect(await collection()).toMatch(/^[0-9]+$/)
  }, 30_000)

  test('deposits are counted, and a balance that only covers them is too little', async () => {
    const intent = await creation()
    const { needed: deposits, most } = spentBy(runtime, intent.input)
    expect(most).toBe(deposits)
    // ClassDeposit, MetadataDepositBase and DepositPerByte of these constants.
    expect(deposits).toBe(1_000_000_000_000n + 6_709_666_170n + 333_330n * BigInt(ABOUT.length))
    const poor = own(await devAccount('Charlie'))
    await local.fund(poor, deposits)
    expect(await codeOf(chain.prepare(intent, poor, { pending: async () => [] }))).toBe('balance_insufficient')
    await local.fund(poor, 2n * deposits)
    expect(await codeOf(chain.prepare(intent, poor, { pending: async () => [] }))).toBe('none')
  })

  test('numbers of pending mints and collections are not given twice', async () => {
    const contract = await collection()
    const one = await minting(contract)
    const two = await minting(contract, [recorded(one)])
    const batched = runtime.calls.utility?.batch?.([runtime.registry.createType('Call', one.input)]).toHex() ?? '0x'
    const other = await minting(contract, [recorded({ ...one, input: batched })])
    expect([one, two, other].map((each) => readAgain(runtime, each)[0])).toMatchObject([
      { instance: '1' },
      { instance: '2' },
      { instance: '2' },
    ])
    // Number 2 is taken, out of order: that is the number of items then.
    const call = runtime.calls.uniques?.mint?.(contract, 2, people().his).toHex() ?? '0x'
    expect((await send({ to: null, value: 0n, input: call })).status.success).toBe(true)
    expect(readAgain(runtime, await minting(contract))[0]).toMatchObject({ instance: '3' })
    const another = await creation()
    const numbers = [another, await creation([recorded(another)])].map((each) =>
      Number(readAgain(runtime, each)[0]?.class),
    )
    expect(numbers).toEqual([Number(contract) + 1, Number(contract) + 2])
  })

  longTest(
    'several items are minted in one batch, with numbers in a row',
    async () => {
      const contract = await livesOn(chain)
      const { hers, his } = people()
      const mints = Array.from({ length: 20 }, (_, index) => ({
        recipient: index === 0 ? his : hers,
        uri: URI,
        digest: null,
      }))
      const request = { contract, from: hers, mints, digestUri: { prefix: '', suffix: '' } }
      const intent = await provided(chain.batchMintIntent, 'The chain mints no batches.')(request)
      const calls = readAgain(runtime, intent)
      const minted = calls.filter(({ call }) => call === 'uniques.mint')
      const first = Number(minted[0]?.instance)
      expect(minted.map(({ instance }) => instance)).toEqual(mints.map((_, index) => String(first + index)))
      expect(calls.filter(({ call }) => call === 'uniques.setMetadata')).toHaveLength(20)
      expect((await send(intent)).status.success).toBe(true)
      const items = minted.map(({ instance }) => ({ contract, tokenId: BigInt(String(instance)) }))
      expect(await chain.tokenUris(items)).toEqual(items.map(() => URI))
      const stranger = { ...request, from: his }
      expect(await codeOf(provided(chain.batchMintIntent, '')(stranger))).toBe('mint_unauthorized')
    },
    30_000,
  )

  test('royalties and pieces are refused, and soulbound collections without the pallet Nfts', async () => {
    const asked = { name: 'Doors', symbol: 'DOOR', baseUri: '', contractUri: ABOUT, owner: people().hers }
    const royalty = { recipient: people().hers, basisPoints: 1 }
    expect(await codeOf(collectionsOf(chain).creation({ ...asked, royalty }))).toBe('invalid_input')
    expect(await codeOf(collectionsOf(chain).creation({ ...asked, isSoulbound: true }))).toBe('not_implemented')
    expect(await codeOf(collectionsOf(chain).creation({ ...asked, standard: 'erc1155' }))).toBe('not_implemented')
    const pieces = { tokenId: null, amount: 2n }
    const mint = { contract: await collection(), from: people().hers, recipient: people().his, uri: '', pieces }
    expect(await codeOf(chain.mintIntent(mint))).toBe('not_implemented')
  })

  test('a wallet that is not the issuer, a missing collection and metadata that is too long are refused', async () => {
    const { hers, his } = people()
    const contract = await collection()
    expect(await codeOf(minting(contract, [], his))).toBe('mint_unauthorized')
    expect(await codeOf(minting('4000000000'))).toBe('mint_unsupported')
    const long = { contract, from: hers, recipient: his, uri: `https://example.org/${'x'.repeat(200)}` }
    expect(await codeOf(chain.mintIntent(long))).toBe('invalid_input')
    const move = { contract, from: hers, recipient: his, tokenId: 0n, amount: 1n }
    expect(await codeOf(chain.transferNftIntent({ ...move, amount: 2n }))).toBe('invalid_input')
    expect(await codeOf(chain.transferNftIntent({ ...move, tokenId: 2n ** 32n }))).toBe('invalid_input')
    const based = { name: 'D', symbol: 'D', baseUri: 'https://example.org/', contractUri: ABOUT, owner: hers }
    expect(await codeOf(collectionsOf(chain).creation(based))).toBe('invalid_input')
  })

  longTest('a frozen item does not move, and the reason is given', async () => {
    const { hers, his } = people()
    const contract = await collection()
    const freeze = runtime.calls.uniques?.freeze?.(contract, 0).toHex() ?? '0x'
    expect((await send({ to: null, value: 0n, input: freeze })).status.success).toBe(true)
    const move = await chain.transferNftIntent({ contract, from: hers, recipient: his, tokenId: 0n, amount: 1n })
    expect((await send(move)).status).toMatchObject({ success: false, reason: 'Uniques.Frozen' })
  })
})

describe('collections of nfts, by the metadata of the current Asset Hub', () => {
  const runtime = assetHubRuntime()
  let node: ReturnType<typeof startStateNode>
  let chain: Chain
  beforeAll(() => {
    node = startStateNode({ runtime, genesisHash: row.genesisHash })
    chain = createSubstrateChain({ row, rpcUrl: node.rpcUrl, memory: createMemory() })
  })
  afterAll(() => node.stop())

  const MINT = { mintType: 'Issuer', price: null, startBlock: null, endBlock: null, defaultItemSettings: 0 }
  type Collection = {
    readonly mint?: object
    readonly maxSupply?: number
    readonly roles?: number
    readonly more?: readonly Stored[]
  }
  const store = ({ mint = {}, maxSupply, roles = 0b111, more = [] }: Collection = {}) => {
    const { hers } = people()
    const config = { settings: 0, maxSupply: maxSupply ?? null, mintSettings: { ...MINT, ...mint } }
    node.store([
      { pallet: 'nfts', entry: 'collection', parts: [7], value: { owner: hers, items: 3 } },
      { pallet: 'nfts', entry: 'collectionConfigOf', parts: [7], value: config },
      { pallet: 'nfts', entry: 'collectionRoleOf', parts: [7, hers], value: roles },
      { pallet: 'nfts', entry: 'nextCollectionId', parts: [], value: 41 },
      ...more,
    ])
  }
  const request = () => ({ contract: '7', from: people().hers, recipient: people().his, uri: URI })
  const itemAt = (id: number): Stored => ({
    ...{ pallet: 'nfts', entry: 'item', parts: [7, id] },
    value: { owner: people().his },
  })

  test('a mint is a batch of the item and its metadata, with the next free number', async () => {
    const { his } = people()
    store({ more: [itemAt(3), itemAt(4)] })
    const intent = await chain.mintIntent(request())
    expect(intent).toMatchObject({ to: null, value: 0n })
    expect(readAgain(runtime, intent)).toEqual([
      { call: 'nfts.mint', collection: '7', item: '5', mint_to: { Id: his }, witness_data: null },
      { call: 'nfts.setMetadata', collection: '7', item: '5', data: URI },
    ])
    const behind = async () => [{ ...intent, from: people().hers, nonce: 3 }]
    const next = await chain.mintIntent({ ...request(), pending: behind, uri: '' })
    expect(readAgain(runtime, next)).toMatchObject([{ call: 'nfts.mint', item: '6' }])
    // All deposits: ItemDeposit, MetadataDepositBase and DepositPerByte of these constants.
    const deposits = 50_410_000n + 201_290_000n + 100_000n * BigInt(URI.length)
    expect(spentBy(runtime, intent.input)).toEqual({ needed: deposits, most: deposits })
  })

  test('a range of taken numbers is skipped in a few round trips', async () => {
    const taken = Array.from({ length: 40 }, (_, index) => itemAt(3 + index))
    store({ more: taken })
    const [mint] = readAgain(runtime, await chain.mintIntent(request()))
    expect(Number(mint?.item)).toBeGreaterThanOrEqual(43)
  })

  test('a missing role, a price, a mint for holders and a full collection are refused with their reasons', async () => {
    const [ISSUER, FREEZER] = [1, 2]
    const outcome = (collection: Collection, uri = URI) => {
      store(collection)
      return codeOf(chain.mintIntent({ ...request(), uri }))
    }
    expect(await outcome({ roles: FREEZER })).toBe('mint_unauthorized')
    // An issuer may mint, but only an admin may set metadata.
    expect(await outcome({ roles: ISSUER })).toBe('mint_unauthorized')
    expect(await outcome({ roles: ISSUER }, '')).toBe('none')
    expect(await outcome({ roles: 0, mint: { mintType: 'Public' } }, '')).toBe('none')
    expect(await outcome({ mint: { price: 5n } })).toBe('mint_requires_value')
    expect(await outcome({ mint: { mintType: { HolderOf: 3 } } })).toBe('mint_unsupported')
    expect(await outcome({ maxSupply: 3 })).toBe('mint_unsupported')
    expect(await outcome({ maxSupply: 4 })).toBe('none')
  })

  test('a creation is a batch of the collection and its metadata, with the chain’s next number', async () => {
    const { hers } = people()
    store()
    const creation = { name: 'Doors', symbol: 'DOOR', baseUri: '', contractUri: ABOUT, owner: hers }
    const intent = await collectionsOf(chain).creation(creation)
    expect(readAgain(runtime, intent)).toMatchObject([
      { call: 'nfts.create', admin: { Id: hers }, config: { maxSupply: null, mintSettings: { mintType: 'Issuer' } } },
      { call: 'nfts.setCollectionMetadata', collection: '41', data: ABOUT },
    ])
    const behind = async () => [{ ...intent, from: hers, nonce: 3 }]
    const [, described] = readAgain(runtime, await collectionsOf(chain).creation({ ...creation, pending: behind }))
    expect(described).toMatchObject({ collection: '42' })
  })

  test('an item moves in its own pallet, and its metadata is read there', async () => {
    const { hers, his } = people()
    const about = (pallet: string, entry: string, parts: readonly number[], data: string): Stored => ({
      ...{ pallet, entry, parts, value: { data } },
    })
    store({
      more: [
        about('nfts', 'itemMetadataOf', [7, 1], URI),
        about('nfts', 'collectionMetadataOf', [7], ABOUT),
        about('uniques', 'instanceMetadataOf', [7, 1], 'ipfs://old'),
      ],
    })
    expect(await chain.tokenUris(['7', 'uniques:7', '8'].map((contract) => ({ contract, tokenId: 1n })))).toEqual([
      URI,
      'ipfs://old',
      null,
    ])
    expect([await chain.contractUri('7'), await chain.contractUri('8')]).toEqual([ABOUT, null])
    const move = { from: hers, recipient: his, tokenId: 1n, amount: 1n }
    for (const [contract, pallet] of [
      ['7', 'nfts'],
      ['uniques:7', 'uniques'],
    ] as const) {
      const intent = await chain.transferNftIntent({ ...move, contract })
      const asked = { call: `${pallet}.transfer`, collection: '7', item: '1', dest: { Id: his } }
      expect(readAgain(runtime, intent)).toEqual([asked])
      expect(callsOf(runtime, intent.input)).toHaveLength(1)
    }
  })
})

describe('the id of a collection', () => {
  const chain = createSubstrateChain({ row, rpcUrl: 'http://127.0.0.1:1', memory: createMemory() })
  const outcome = (text: string) => {
    try {
      return chain.parseContract(text, 'contract_address')
    } catch (error) {
      return error instanceof AppError ? error.code : error
    }
  }

  test.each(['0', '7', '4294967295', 'uniques:7'])('%s is one', (text) => {
    expect(outcome(text)).toBe(text)
  })

  test.each([
    ['', 'address_invalid'],
    ['07', 'address_invalid'],
    ['4294967296', 'address_invalid'],
    ['-1', 'address_invalid'],
    ['0x7', 'address_invalid'],
    ['1e3', 'address_invalid'],
    [' 7', 'address_invalid'],
    ['asset:7', 'address_invalid'],
    ['pool:7', 'address_invalid'],
    ['foreign:0x02010903', 'address_invalid'],
    ['15oF4uVJwmo4TdGW7VfQxNLavjCXviqxT9S1MgbjMNHr6Sp5', 'address_invalid'],
    ['0x70997970C51812dc3A010C7d01b50e0d17dc79C8', 'network_mismatch'],
  ])('%s is none', (text, code) => {
    expect(outcome(text)).toBe(code)
  })
})
