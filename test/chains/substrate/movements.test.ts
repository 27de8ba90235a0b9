import { afterAll, describe, expect, test } from 'bun:test'
import {
  type BlockMovements,
  type Chain,
  type Hex,
  RangeTooWide,
  type RecordedMovement,
} from '../../../src/chains/chain.ts'
import { createRpc, question } from '../../../src/chains/node/rpc.ts'
import { hash } from '../../../src/chains/node/wire.ts'
import { addressOf } from '../../../src/chains/substrate/address.ts'
import { hashOfExtrinsic } from '../../../src/chains/substrate/blocks.ts'
import { createSubstrateChain } from '../../../src/chains/substrate/chain.ts'
import { contractIdOf } from '../../../src/chains/substrate/contracts.ts'
import { type Runtime, readRuntime } from '../../../src/chains/substrate/runtime.ts'
import { toHex } from '../../../src/chains/substrate/scale.ts'
import { encodePayload } from '../../../src/chains/substrate/vnft.ts'
import { polkadot } from '../../../src/platform/networks/polkadot.ts'
import { vara as varaFile } from '../../../src/platform/networks/vara.ts'
import { substrateNetworkRow } from '../../../src/platform/networks.ts'
import { bytesToSign } from '../../../src/vault/rooms/keys/payloads.ts'
import { longTest, someOf } from '../../support/long.ts'
import { shared } from '../../support/shared.ts'
import { devAccount, localMetadataPins, startSubstrateChain } from '../../support/substrate.ts'
import { createMemory } from '../evm/memory.ts'
import { type FakeBlock, type FakeEvent, startFakeChain } from './fake-chain.ts'
import { FOREIGN, WETH } from './foreign-assets.ts'
import { assetHubRuntime, varaRuntime } from './metadata.ts'
import { differencesOf } from './specs.ts'

const UNIT = 10n ** 12n
const rowOf = (network: 'Polkadot' | 'Vara') => substrateNetworkRow({ network, environment: 'testnet', devnet: true })

type Account = Awaited<ReturnType<typeof devAccount>>

const own = ({ publicKey }: Pick<Account, 'publicKey'>, network: 'Polkadot' | 'Vara' = 'Polkadot') =>
  addressOf(rowOf(network), publicKey)

const local = await shared(startSubstrateChain('Polkadot'))
const [alice, bob] = [await devAccount('Alice'), await devAccount('Bob')]
await local.fund(alice.address)
await local.fund(bob.address)
await local.newBlock()
const chain = createSubstrateChain({
  ...{ row: rowOf('Polkadot'), rpcUrl: local.wsUrl },
  ...{ memory: createMemory(), metadataPins: localMetadataPins },
})
const metadata = (await local.rpc('state_getMetadata')) as Hex
const version = { specName: 'statemine', specVersion: 900, transactionVersion: 1 }
const runtime = readRuntime(version, { metadata, ss58Prefix: 0 })

type Call = ReturnType<Runtime['calls'][string][string]>
const call = (pallet: string, name: string, ...values: readonly unknown[]): Call => {
  const make = runtime.calls[pallet]?.[name]
  if (make === undefined) throw new Error(`no call ${pallet}.${name}`)
  return make(...values)
}

/** Puts it into a block of its own. */
const send = async (made: Call, by = alice) => {
  const intent = { to: null, value: 0n, input: made.toHex() }
  const { unsigned } = await chain.prepare(intent, own(by), { pending: async () => [] })
  const { raw, hash } = chain.assemble(unsigned, by.sign(bytesToSign('substrate', chain.payloadOf(unsigned))))
  expect(await chain.broadcast(raw)).toEqual({ kind: 'accepted' })
  const { number } = await local.included(raw)
  return { hash, number: BigInt(number) }
}

const movedIn = async (fromBlock: bigint, toBlock = fromBlock, of = chain): Promise<readonly BlockMovements[]> => {
  const blocks = await of.movements({ fromBlock, toBlock })
  if (blocks === null) throw new Error('the node does not have the blocks')
  return blocks
}

/** In each block the runtime also pays the author of the block before, outside of any extrinsic. */
const movedByPeople = async (fromBlock: bigint, toBlock = fromBlock): Promise<readonly BlockMovements[]> =>
  (await movedIn(fromBlock, toBlock)).map(({ movements, ...block }) => ({
    ...block,
    movements: movements.filter(({ transactionHash }) => transactionHash !== block.hash),
  }))

const told = (blocks: readonly BlockMovements[]) =>
  blocks.flatMap(({ movements }) =>
    movements.map(({ standard, contract, tokenId, from, to, amount }) => [
      standard,
      contract,
      tokenId,
      from,
      to,
      amount,
    ]),
  )

describe('a local Asset Hub', () => {
  let first = 0n

  test('reports the transfers of an extrinsic in order, each at its own position, without the fee', async () => {
    const calls = [1n, 2n, 1n].map((units) => call('balances', 'transferKeepAlive', bob.address, units * UNIT))
    const { hash, number } = await send(call('utility', 'batchAll', calls))
    first = number
    const [block] = await movedByPeople(number)
    const ref = await chain.block(number)
    expect(block).toMatchObject({ number, hash: ref?.hash, parentHash: ref?.parentHash, timestampMs: ref?.timestampMs })
    expect(Math.abs(Date.now() - (block?.timestampMs ?? 0))).toBeLessThan(60_000)
    expect(block?.isTraced).toBe(true)
    const alike = { standard: 'native', contract: null, tokenId: null, from: own(alice), to: own(bob), itemIndex: 0 }
    expect(block?.movements).toEqual(
      [UNIT, 2n * UNIT, UNIT].map((amount) => {
        const sent = { transactionHash: hash, initiatedBy: own(alice) }
        return { ...alike, ...sent, amount, logIndex: expect.any(Number) } as RecordedMovement
      }),
    )
    const places = block?.movements.map(({ logIndex }) => logIndex) ?? []
    expect(new Set(places).size).toBe(3)
    expect(places).toEqual(places.toSorted((one, other) => one - other))
  })

  test('reports nothing for a failed extrinsic', async () => {
    const calls = [call('balances', 'transferKeepAlive', bob.address, UNIT), call('uniques', 'burn', 99, 1, null)]
    const { number } = await send(call('utility', 'batchAll', calls))
    expect(told(await movedByPeople(number))).toEqual([])
  })

  test('reports assets and NFTs that are minted, moved and burned', async () => {
    const [hers, his, nobody] = [own(alice), own(bob), polkadot.nobody]
    const { number } = await send(
      call('utility', 'batchAll', [
        call('assets', 'create', 7, alice.address, 1),
        call('assets', 'mint', 7, alice.address, 100),
        call('assets', 'transfer', 7, bob.address, 30),
        call('assets', 'burn', 7, alice.address, 5),
        call('uniques', 'create', 7, alice.address),
        call('uniques', 'mint', 7, 1, alice.address),
        call('uniques', 'transfer', 7, 1, bob.address),
        call('uniques', 'burn', 7, 1, null),
      ]),
    )
    const all = [
      ['erc20', 'asset:7', null, nobody, hers, 100n],
      ['erc20', 'asset:7', null, hers, his, 30n],
      ['erc20', 'asset:7', null, hers, nobody, 5n],
      ['erc721', '7', 1n, nobody, hers, 1n],
      ['erc721', '7', 1n, hers, his, 1n],
      ['erc721', '7', 1n, his, nobody, 1n],
    ]
    expect(told(await movedByPeople(number))).toEqual(all)
    const of = (await chain.eventMovements({ fromBlock: 0n, toBlock: number, address: his })) ?? []
    expect(of.map((block) => block.number)).toEqual([first, number])
    expect(told(of.slice(1))).toEqual(all.filter((each) => each.includes(his)))
  })

  test('agrees with balances, although no event reports the fees', async () => {
    const found = await differencesOf(chain, { fromBlock: first, of: [own(alice), own(bob)] })
    expect(found.length).toBeGreaterThanOrEqual(3)
    expect(found.flat()).toEqual([])
  })

  longTest('continues over a runtime upgrade, and only over final blocks', async () => {
    const specVersion = await local.upgradeRuntime()
    const { number } = await send(call('balances', 'transferKeepAlive', bob.address, 5n * UNIT))
    expect(specVersion).toBe(901)
    const amounts = (await movedByPeople(first, number)).flatMap(({ movements }) =>
      movements.flatMap(({ standard, amount }) => (standard === 'native' ? [amount] : [])),
    )
    expect(amounts).toEqual([UNIT, 2n * UNIT, UNIT, 5n * UNIT])
    expect(await chain.history(number)).toBe('kept')
    expect(await chain.history(0n)).toBe('kept')
    await local.setFinalityLag(1)
    expect(await chain.movements({ fromBlock: first, toBlock: number })).toBeNull()
    expect(await chain.history(number)).toBe('not_there')
  })
})

describe('a fake chain with real metadata', () => {
  const hub = assetHubRuntime()
  const SIGNED: Hex = '0x0c840102'
  const BARE: Hex = '0x0c040102'
  const nodes: ReturnType<typeof startFakeChain>[] = []
  const heard: string[] = []
  const startChain = (blocks: readonly FakeBlock[], network: 'Polkadot' | 'Vara' = 'Polkadot') => {
    const node = startFakeChain(blocks)
    const row = { ...rowOf(network), genesisHash: node.hashOf(0) }
    const onTrouble = (trouble: string) => heard.push(trouble)
    const made = createSubstrateChain({ row, rpcUrl: node.rpcUrl, memory: createMemory(), onTrouble })
    nodes.push(node)
    return { node, chain: made }
  }
  const chainOf = (...args: Parameters<typeof startChain>): Chain => startChain(...args).chain
  afterAll(() => Promise.all(nodes.map((node) => node.stop())))
  const genesis = (of: Runtime): FakeBlock => ({ runtime: of, by: of })
  /** The chain of several tests, so that the metadata is read once. */
  const blocks: FakeBlock[] = [genesis(hub)]
  const { node: common, chain: commonChain } = startChain(blocks)
  /** Adds a block with these events. @returns its number */
  const happen = (events: readonly FakeEvent[]): bigint => {
    blocks.push({ runtime: hub, by: hub, extrinsics: [BARE, SIGNED], events })
    return BigInt(blocks.length - 1)
  }

  test('distinguishes NFTs of both pallets of the current Asset Hub', async () => {
    const events: readonly FakeEvent[] = [
      [1, 'Nfts', 'Issued', [5, 9, alice.publicKey]],
      [1, 'Nfts', 'Transferred', [5, 9, alice.publicKey, bob.publicKey]],
      [1, 'Nfts', 'Burned', [5, 9, bob.publicKey]],
      [1, 'Uniques', 'Issued', [5, 9, alice.publicKey]],
      [1, 'Nfts', 'Created', [6, alice.publicKey, alice.publicKey]],
    ]
    const number = happen(events)
    const [hers, his, nobody] = [own(alice), own(bob), polkadot.nobody]
    expect(told(await movedIn(number, number, commonChain))).toEqual([
      ['erc721', '5', 9n, nobody, hers, 1n],
      ['erc721', '5', 9n, hers, his, 1n],
      ['erc721', '5', 9n, his, nobody, 1n],
      ['erc721', 'uniques:5', 9n, nobody, hers, 1n],
    ])
  })

  test('reports assets of all three pallets by their own contracts, and deposits and withdrawals of a swap', async () => {
    const at = (parents: number, ...junctions: readonly object[]) => ({
      ...{ parents, interior: { [`X${junctions.length}`]: junctions } },
    })
    const ethereum = { GlobalConsensus: { Ethereum: { chainId: 1 } } }
    const weth = at(2, ethereum, { AccountKey20: { network: null, key: WETH } })
    const vdot = at(1, { Parachain: 2030 }, { GeneralKey: { length: 2, data: `0x0900${'00'.repeat(30)}` } })
    const [she, he] = [alice.publicKey, bob.publicKey]
    const events: readonly FakeEvent[] = [
      [1, 'ForeignAssets', 'Issued', [at(2, ethereum), she, 10n ** 30n]],
      [1, 'ForeignAssets', 'Transferred', [weth, she, he, 2]],
      [1, 'ForeignAssets', 'Burned', [vdot, he, 3]],
      [1, 'ForeignAssets', 'Deposited', [at(1, { Parachain: 3369 }), she, 4]],
      [1, 'PoolAssets', 'Transferred', [7, she, he, 5]],
      [1, 'Assets', 'Transferred', [7, she, he, 6]],
      [1, 'Assets', 'Withdrawn', [1984, she, 7]],
      [1, 'Assets', 'Deposited', [1337, he, 8]],
      [1, 'ForeignAssets', 'Touched', [weth, she, he]],
    ]
    const number = happen(events)
    const [hers, his, nobody] = [own(alice), own(bob), polkadot.nobody]
    const moved = told(await movedIn(number, number, commonChain))
    expect(moved).toEqual([
      ['erc20', FOREIGN.ether, null, nobody, hers, 10n ** 30n],
      ['erc20', FOREIGN.weth, null, hers, his, 2n],
      ['erc20', FOREIGN.vdot, null, his, nobody, 3n],
      ['erc20', 'foreign:0x010100a534', null, nobody, hers, 4n],
      ['erc20', 'pool:7', null, hers, his, 5n],
      ['erc20', 'asset:7', null, hers, his, 6n],
      ['erc20', 'asset:1984', null, hers, nobody, 7n],
      ['erc20', 'asset:1337', null, nobody, his, 8n],
    ])
    // Back from its word to what the event has.
    for (const [index, location] of [at(2, ethereum), weth, vdot].entries()) {
      const [id, type] = [contractIdOf(String(moved[index]?.[1]))?.id, 'StagingXcmV5Location' as 'u32']
      expect(hub.registry.createType(type, id).toHex()).toBe(hub.registry.createType(type, location).toHex())
    }
  })

  test('reports the block for movements of the runtime and of inherents, and the extrinsic for all others', async () => {
    const events: readonly FakeEvent[] = [
      [null, 'Balances', 'Minted', [alice.publicKey, 10n]],
      [0, 'Balances', 'Transfer', [alice.publicKey, bob.publicKey, 11n]],
      [1, 'Balances', 'Withdraw', [alice.publicKey, 99n]],
      [1, 'Balances', 'Burned', [alice.publicKey, 12n]],
      [1, 'TransactionPayment', 'TransactionFeePaid', [alice.publicKey, 99n, 0n]],
    ]
    const [first, second] = [happen(events), happen(events)]
    const [one, two] = await movedIn(first, second, commonChain)
    const places = (block: BlockMovements | undefined) =>
      block?.movements.map(({ transactionHash, logIndex, amount }) => [transactionHash, logIndex, amount])
    // The block of the runtime and of inherents has no sender; this extrinsic has no signer's key.
    expect(one?.movements.map(({ initiatedBy }) => initiatedBy)).toEqual([null, null, null])
    const hash = hashOfExtrinsic(SIGNED)
    expect(places(one)).toEqual([
      [common.hashOf(Number(first)), 0, 10n],
      [common.hashOf(Number(first)), 1, 11n],
      [hash, 3, 12n],
    ])
    expect(places(two)?.slice(0, 2)).toEqual([
      [common.hashOf(Number(second)), 0, 10n],
      [common.hashOf(Number(second)), 1, 11n],
    ])
  })

  test('decodes the block of a runtime upgrade by the old runtime', async () => {
    // Weights had one number and now have two, so the other runtime's metadata cannot decode the events.
    const transfer = (planck: bigint): readonly FakeEvent[] => [
      [0, 'System', 'ExtrinsicSuccess', [{}]],
      [0, 'Balances', 'Transfer', [alice.publicKey, bob.publicKey, planck]],
    ]
    const extrinsics = [SIGNED]
    const { node, chain: of } = startChain([
      genesis(runtime),
      { runtime, by: runtime, extrinsics, events: transfer(1n) },
      { runtime: hub, by: runtime, extrinsics, events: transfer(2n) },
      { runtime: hub, by: hub, extrinsics, events: transfer(3n) },
    ])
    expect(told(await movedIn(1n, 3n, of)).map((each) => each[5])).toEqual([1n, 2n, 3n])
    expect(told(await movedIn(2n, 2n, of)).map((each) => each[5])).toEqual([2n])
    const ends = [2, 3].map((number) => ({ hash: hashOfExtrinsic(SIGNED), blockHash: node.hashOf(number) }))
    for (const end of ends) expect(await of.statuses([end])).toMatchObject([{ kind: 'mined', success: true }])
  })

  test('fails on events that it cannot decode', async () => {
    heard.length = 0
    blocks.push({ runtime: hub, by: hub, events: '0x0400ff' })
    const number = BigInt(blocks.length - 1)
    await expect(commonChain.movements({ fromBlock: number, toBlock: number })).rejects.toMatchObject({
      trouble: 'unreadable',
    })
    expect(heard).toEqual(['unreadable'])
    heard.length = 0
  })

  test.each(
    someOf(
      [
        ['of an unknown form', '0x6d65746199'],
        ['of no bytes', '0x'],
        ['without pallets', `0x6d6574610e${'00'.repeat(99)}`],
        ['cut short', toHex(hub.bytes).slice(0, 100_000)],
      ],
      4,
    ),
  )('refuses metadata %s, and asks for it again', async (_what, result) => {
    heard.length = 0
    const { node, chain: of } = startChain([genesis(runtime), genesis(runtime)])
    node.behaveBefore(({ method }) => (method === 'state_getMetadata' ? { result } : undefined))
    await expect(of.movements({ fromBlock: 1n, toBlock: 1n })).rejects.toMatchObject({ trouble: 'unreadable' })
    expect(heard).toEqual(['unreadable'])
    node.behaveBefore(() => undefined)
    expect(await movedIn(1n, 1n, of)).toHaveLength(1)
  })

  test('names an archive node if the node has pruned the state', async () => {
    const kept = { runtime: hub, by: hub }
    const of = chainOf([genesis(hub), { ...kept, forgotten: true }, { ...kept, forgotten: true }, kept, kept])
    // A block is decoded with its parent's state.
    expect(await Promise.all([1n, 2n, 3n, 4n, 5n].map((number) => of.history(number)))).toEqual([
      ...(['kept', 'pruned', 'pruned', 'kept', 'not_there'] as const),
    ])
    await expect(of.movements({ fromBlock: 2n, toBlock: 4n })).rejects.toThrow('archive node')
  })

  longTest('reports a range that is too wide', async () => {
    const { node, chain: of } = startChain([genesis(hub), genesis(hub), genesis(hub)])
    await expect(of.movements({ fromBlock: 0n, toBlock: 256n })).rejects.toBeInstanceOf(RangeTooWide)
    node.behaveBefore(({ method }) =>
      method === 'state_getStorage' ? { error: { code: -32_008, message: 'Response is too big' } } : undefined,
    )
    await expect(of.movements({ fromBlock: 1n, toBlock: 2n })).rejects.toBeInstanceOf(RangeTooWide)
    await expect(of.movements({ fromBlock: 1n, toBlock: 1n })).rejects.toMatchObject({ trouble: 'refused' })
  })

  const vara = varaRuntime()
  if (vara === null) console.log('Not run: what VNFT programs tell, as VARA_METADATA names no file.')
  test.skipIf(vara === null)('tells what VNFT programs say of their tokens, and no more', async () => {
    if (vara === null) throw new Error('expected the metadata of Vara')
    const program = `0x${'ab'.repeat(32)}`
    const says = (payload: Hex, destination = `0x${'00'.repeat(32)}`): FakeEvent => [
      ...([0, 'Gear', 'UserMessageSent'] as const),
      [{ id: program, source: program, destination, payload, value: 0, details: null }, null],
    ]
    const [hers, his] = [toHex(alice.publicKey), toHex(bob.publicKey)]
    const event = (name: string, types: readonly string[], values: readonly unknown[], service = 'Vnft') =>
      encodePayload({ service, name, types }, values)
    const [actor, big] = ['[u8;32]', 2n ** 200n + 1n]
    const metadata = '(Text,Text,Text,Text)'
    const events = [
      says(event('Minted', [actor, 'U256'], [hers, big])),
      says(event('Transfer', [actor, actor, 'U256'], [hers, his, big])),
      says(event('Transferred', [actor, actor, 'U256'], [his, hers, 1n])),
      says(event('Burned', [actor, 'U256'], [hers, 0n])),
      // 28 letters and four lengths: as long as an id.
      says(event('Minted', [actor, metadata], [hers, ['Door', 'A red door.', 'https://d.co', '-']])),
      says(event('Transfer', [actor, actor, 'U256'], [hers, his, 5n], 'Vft')),
      says(`${event('Transfer', [actor, actor, 'U256'], [hers, his, 5n])}00`),
      says(event('Transfer', [actor, actor, 'U256'], [hers, his, 5n]), hers),
      says('0x'),
      says('0x10566e6674'),
    ]
    const of = chainOf([genesis(vara), { runtime: vara, by: vara, extrinsics: [BARE], events }], 'Vara')
    const [she, he, nobody] = [own(alice, 'Vara'), own(bob, 'Vara'), varaFile.nobody]
    expect(told(await movedIn(1n, 1n, of))).toEqual([
      ['erc721', program, big, nobody, she, 1n],
      ['erc721', program, big, she, he, 1n],
      ['erc721', program, 1n, he, she, 1n],
      ['erc721', program, 0n, she, nobody, 1n],
    ])
  })
})

for (const network of ['Polkadot', 'Vara'] as const) {
  const name = `${network.toUpperCase()}_TEST_WS`
  const rpcUrl = process.env[name]
  if (!rpcUrl) console.log(`Not run: the newest blocks of ${network}, as ${name} names no node.`)
  test.skipIf(!rpcUrl)(`reads the newest final blocks of a node of ${network}`, async () => {
    if (!rpcUrl) throw new Error('expected a node')
    const plain = createRpc({ rpcUrl, network })
    const genesisHash = await plain.ask(question('chain_getBlockHash', [0], hash))
    const of = createSubstrateChain({ row: { ...rowOf(network), genesisHash }, rpcUrl, memory: createMemory() })
    const { number } = (await of.head()).latest
    const range = { fromBlock: number - 7n, toBlock: number }
    expect(await of.history(range.fromBlock)).toBe('kept')
    const blocks = await movedIn(range.fromBlock, range.toBlock, of)
    expect(blocks.map((block) => block.number)).toEqual(
      Array.from({ length: 8 }, (_, at) => range.fromBlock + BigInt(at)),
    )
    for (const [, contract, , from, to] of told(blocks)) {
      for (const address of [from, to]) expect(of.parseAddress(String(address), 'address')).toBe(String(address))
      if (contract !== null)
        expect(String(contract)).toMatch(/^(((asset|pool|uniques):)?[0-9]+|(foreign:)?0x[0-9a-f]+)$/)
    }
  })
}

test("nobody's address is that of the all-zero public key", () => {
  for (const network of ['Polkadot', 'Vara'] as const) {
    expect(substrateNetworkRow({ network: network, environment: 'testnet', devnet: true }).nobody).toBe(
      addressOf(rowOf(network), new Uint8Array(32)),
    )
  }
})
