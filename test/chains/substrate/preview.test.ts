// Previews, facts and balances. On a local Asset Hub without DryRunApi, forecasts are compared with what then happens.
// For the current Asset Hub, answers of DryRunApi are encoded by its real metadata.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Hex, Intent } from '../../../src/chains/chain.ts'
import { addressOf } from '../../../src/chains/substrate/address.ts'
import { createSubstrateChain } from '../../../src/chains/substrate/chain.ts'
import { type Runtime, readRuntime } from '../../../src/chains/substrate/runtime.ts'
import { blake2Hash, toHex } from '../../../src/chains/substrate/scale.ts'
import { storageKey } from '../../../src/chains/substrate/storage.ts'
import { substrateNetworkRow } from '../../../src/platform/networks.ts'
import { bytesToSign } from '../../../src/vault/rooms/keys/payloads.ts'
import { someOf } from '../../support/long.ts'
import { runtimeCallIn } from '../../support/rules.ts'
import { shared } from '../../support/shared.ts'
import { devAccount, localMetadataPins, startSubstrateChain } from '../../support/substrate.ts'
import { startFakeNode } from '../evm/fake-node.ts'
import { createMemory } from '../evm/memory.ts'
import { eventBytes, type FakeEvent, startFakeChain } from './fake-chain.ts'
import { FOREIGN, HELD } from './foreign-assets.ts'
import { assetHubRuntime } from './metadata.ts'

const UNIT = 10n ** 12n
const row = substrateNetworkRow({ network: 'Polkadot', environment: 'testnet', devnet: true })

const NEW = addressOf(row, new Uint8Array(32).fill(7))
const OWNER = addressOf(row, new Uint8Array(32).fill(9))
const POOR = addressOf(row, new Uint8Array(32).fill(8))

const local = await shared(startSubstrateChain('Polkadot'))
const bob = await devAccount('Bob')
const alice = await devAccount('Alice')
/** With SS58 prefix 0. */
const hers = addressOf(row, alice.publicKey)
const his = addressOf(row, bob.publicKey)
await local.fund(hers)
await local.fund(his)
await local.newBlock()
const chain = createSubstrateChain({
  row,
  rpcUrl: local.wsUrl,
  memory: createMemory(),
  metadataPins: localMetadataPins,
})
const metadata = (await local.rpc('state_getMetadata')) as Hex
const runtime = readRuntime(
  { specName: 'statemine', specVersion: 900, transactionVersion: 1 },
  { metadata, ss58Prefix: 0 },
)

type Call = ReturnType<Runtime['calls'][string][string]>
const made = (of: Runtime, pallet: string, name: string, ...values: readonly unknown[]): Call => {
  const make = of.calls[pallet]?.[name]
  if (make === undefined) throw new Error(`no call ${pallet}.${name}`)
  return make(...values)
}
/** The old names of renamed calls. */
const NAMES: Readonly<Record<string, string>> = { setClassMetadata: 'setCollectionMetadata' }
const call = (pallet: string, name: string, ...values: readonly unknown[]): Call => {
  const isThere = runtime.calls[pallet]?.[name] !== undefined
  return made(runtime, pallet, isThere ? name : (NAMES[name] ?? name), ...values)
}

const raw = (what: Call): Intent => ({ to: null, value: 0n, input: what.toHex() })
const coins = (to: string, value: bigint): Intent => ({ to, value, input: '0x' })

const send = async (what: Call) => {
  const { unsigned } = await chain.prepare(raw(what), hers, { pending: async () => [] })
  const signed = chain.assemble(unsigned, alice.sign(bytesToSign('substrate', chain.payloadOf(unsigned))))
  expect(await chain.broadcast(signed.raw)).toEqual({ kind: 'accepted' })
  return local.included(signed.raw)
}

await send(
  call('utility', 'batchAll', [
    call('assets', 'create', 7, hers, 10),
    call('assets', 'setMetadata', 7, 'Seven\u202e\n', 'SVN', 3),
    call('assets', 'mint', 7, hers, 100),
    call('uniques', 'create', 7, hers),
    call('uniques', 'setClassMetadata', 7, 'Doors', false),
    call('uniques', 'mint', 7, 1, hers),
    call('uniques', 'create', 8, hers),
    call('uniques', 'setClassMetadata', 8, 'ipfs://QmNothing', false),
  ]),
)

const NOT_RUN = /^not simulated: the network cannot run a call in advance; /

describe('a runtime without DryRunApi', () => {
  test('forecasts coins, assets and NFTs one after the other, and says that they were not simulated', async () => {
    const previews = await chain.preview(hers, [
      coins(NEW, UNIT),
      raw(call('assets', 'transfer', 7, his, 60)),
      raw(call('uniques', 'transfer', 7, 1, his)),
      raw(call('assets', 'transfer', 7, his, 60)),
      raw(call('uniques', 'transfer', 7, 1, his)),
      coins(NEW, 1n),
    ])
    expect(previews.map(({ success, changes }) => [success, changes])).toEqual([
      [true, [{ standard: 'native', contract: null, tokenId: null, from: hers, to: NEW, amount: UNIT }]],
      [true, [{ standard: 'erc20', contract: 'asset:7', tokenId: null, from: hers, to: his, amount: 60n }]],
      [true, [{ standard: 'erc721', contract: '7', tokenId: 1n, from: hers, to: his, amount: 1n }]],
      [false, []],
      // It is another's by then, who may have let her move it.
      [true, null],
      [true, [{ standard: 'native', contract: null, tokenId: null, from: hers, to: NEW, amount: 1n }]],
    ])
    expect(previews[3]?.error).toBe('execution reverted: the sender has too little')
    for (const index of [0, 1, 2, 4, 5]) expect(previews[index]?.error).toMatch(NOT_RUN)
    expect(previews[0]?.decoded).toEqual({
      functionName: 'balances.transfer_keep_alive',
      arguments: { dest: NEW, value: UNIT.toString() },
    })
    expect(previews[1]?.decoded?.arguments).toEqual({ id: '7', target: his, amount: '60' })
  })

  test('forecasts a batch as a whole: a failure undoes its transfers', async () => {
    const pay = (planck: bigint) => call('balances', 'transferKeepAlive', NEW, planck)
    const [fine, poor, dust, single] = await chain.preview(hers, [
      raw(call('utility', 'batchAll', [pay(UNIT), pay(2n * UNIT)])),
      raw(call('utility', 'batchAll', [call('assets', 'transfer', 7, his, 100), pay(10n ** 30n)])),
      raw(call('utility', 'batchAll', [call('assets', 'transfer', 7, NEW, 9)])),
      raw(call('assets', 'transfer', 7, his, 100)),
    ])
    expect(fine?.changes?.map(({ amount }) => amount)).toEqual([UNIT, 2n * UNIT])
    expect(poor).toMatchObject({ success: false, changes: [] })
    expect(dust).toMatchObject({ success: false, error: expect.stringContaining('less than the minimum balance') })
    expect(single).toMatchObject({ success: true })
  })

  test('says that other calls are not simulated, and who cannot pay a fee', async () => {
    const [remark, some] = await chain.preview(hers, [
      raw(call('system', 'remark', '0x01')),
      raw(call('utility', 'batch', [call('balances', 'transferKeepAlive', his, UNIT)])),
    ])
    for (const each of [remark, some]) {
      expect(each).toMatchObject({ success: true, changes: null, error: expect.stringMatching(NOT_RUN) })
    }
    const [nothing, self] = [coins(his, UNIT), raw(call('system', 'remark', '0x01'))]
    for (const each of await chain.preview(POOR, [nothing, self])) {
      expect(each).toMatchObject({ success: false, error: expect.stringMatching(/^balance insufficient: /) })
    }
  })

  test.each([
    ['bytes that are no call', { to: null, input: '0xffff' }],
    ['a call beside a recipient', { to: NEW, input: '0xffff' }],
    ['a value beyond u128', { to: NEW, value: 2n ** 128n }],
    ['a tip beyond u128', { to: NEW, maxPriorityFeePerGas: 2n ** 128n }],
    ['a nonce beyond u32', { to: NEW, nonce: 2 ** 32 }],
  ] as const)('refuses %s', async (_, wrong) => {
    const refused = chain.preview(hers, [{ value: 0n, input: '0x', ...wrong }])
    await expect(refused).rejects.toMatchObject({ code: 'invalid_input' })
  })

  test('the forecast is what then happens', async () => {
    const transfer = call('utility', 'batchAll', [
      call('assets', 'transfer', 7, his, 60),
      call('balances', 'transferKeepAlive', his, UNIT),
      call('uniques', 'transfer', 7, 1, his),
    ])
    const [foretold] = await chain.preview(hers, [raw(transfer)])
    const { number } = await send(transfer)
    const [block] = (await chain.movements({ fromBlock: BigInt(number), toBlock: BigInt(number) })) ?? []
    const happened = block?.movements.filter(({ from }) => from === hers) ?? []
    expect(happened).toHaveLength(3)
    expect(happened).toMatchObject([...(foretold?.changes ?? [])])
    const { coin, tokens } = await chain.balances({ address: his, contracts: ['asset:7', 'asset:99', '7', hers] })
    expect([...tokens]).toEqual([['asset:7', 60n]])
    expect(coin).toBeGreaterThan(UNIT)
  })
})

test('assets and collections are known by their ids; accounts and missing ids are no contracts', async () => {
  const facts = await chain.facts(['asset:7', '7', '8', 'uniques:7', 'asset:99', '99', hers, '07', '4294967296'])
  const nothing = { isContract: false, standard: 'other', name: '', symbol: '', decimals: null } as const
  expect(Object.fromEntries(facts)).toEqual({
    'asset:7': { isContract: true, standard: 'erc20', name: 'Seven', symbol: 'SVN', decimals: 3 },
    '7': { isContract: true, standard: 'erc721', name: 'Doors', symbol: '', decimals: null },
    '8': { isContract: true, standard: 'erc721', name: '', symbol: '', decimals: null },
    'uniques:7': { isContract: true, standard: 'erc721', name: 'Doors', symbol: '', decimals: null },
    ...{ 'asset:99': nothing, '99': nothing, [hers]: nothing, '07': nothing, '4294967296': nothing },
  })
})

test('a policy decodes calls of the runtime, and no call for a plain transfer', async () => {
  expect(await runtimeCallIn(chain, coins(his, 1n))).toBeNull()
  const read = await runtimeCallIn(chain, raw(call('system', 'remark', '0x01')))
  expect(read).toEqual({
    functionName: 'system.remark',
    values: new Map([['remark', { kind: 'bytes', value: '0x01' }]]),
    readBy: runtime.bytesHash,
  })
})

describe('a runtime with DryRunApi', () => {
  const current = assetHubRuntime()
  const fake = startFakeChain([{ runtime: current, by: current }])
  afterAll(() => fake.stop())
  const hub = createSubstrateChain({
    row: { ...row, genesisHash: fake.hashOf(0) },
    rpcUrl: fake.rpcUrl,
    memory: createMemory(),
  })

  /** DispatchError: Token (7), FundsUnavailable (0). */
  const FUNDS_UNAVAILABLE = '0700'
  const bytesOf = (event: readonly [string, string, readonly unknown[]]): string =>
    eventBytes(current, [null, ...event] satisfies FakeEvent).toString('hex')
  const effects = (events: readonly string[], error?: string): Hex => {
    const result = error === undefined ? '000000' : `010000${error}`
    const length = Buffer.from(current.registry.createType('Compact<u32>', events.length).toU8a()).toString('hex')
    // Ok; no weight, a fee; the events; no messages to other chains.
    return `0x00${result}${length}${events.join('')}0000`
  }

  const dispatchError = (error: string) => current.registry.createType('DispatchError', `0x${error}`)

  /** The part of the codec's call that we use. */
  type Dry = { readonly section: string; readonly method: string; readonly args: readonly Dried[] }
  type Dried = { toU8a(isBare?: boolean): Uint8Array; toString(): string }
  const read = (hex: string): Dry => current.registry.createType('Call', hex) as unknown as Dry

  /** A remark with an event tells its hash; one without brings 5 coins in; a transfer takes out of what is there. */
  const run = (each: Dry, pot: { left: bigint }): { readonly events: readonly string[]; readonly error?: string } => {
    const [first, second] = each.args
    const data = first?.toU8a(true) ?? new Uint8Array()
    if (each.method === 'remarkWithEvent') {
      return { events: [bytesOf(['System', 'Remarked', [hers, toHex(blake2Hash(data))]])] }
    }
    if (each.method === 'remark') pot.left += 5n * UNIT
    if (each.section === 'foreignAssets') {
      return { events: [bytesOf(['ForeignAssets', 'Transferred', [first, hers, his, String(each.args[2])]])] }
    }
    if (each.method !== 'transferKeepAlive') return { events: [] }
    const value = BigInt(String(second))
    if (value > pot.left) return { events: [], error: FUNDS_UNAVAILABLE }
    pot.left -= value
    // The last of MultiAddress::Id is the account.
    return { events: [bytesOf(['Balances', 'Transfer', [hers, data.slice(-32), value]])] }
  }

  const asked: string[] = []
  const answer = (input: Hex): Hex => {
    // Behind the origin: system, signed, and 32 bytes.
    const dry = read(`0x${input.slice(2 + 2 * 34)}`)
    asked.push(dry.method)
    const pot = { left: 10n * UNIT }
    if (dry.method !== 'forceBatch') {
      const { events, error } = run(dry, pot)
      return effects(events, error)
    }
    const calls = [...(dry.args[0] as unknown as readonly Dry[])]
    const events = calls.flatMap((each) => {
      const { events: own, error } = run(each, pot)
      const end: Parameters<typeof bytesOf>[0] =
        error === undefined ? ['Utility', 'ItemCompleted', []] : ['Utility', 'ItemFailed', [dispatchError(error)]]
      return [...own, bytesOf(end)]
    })
    return effects([...events, bytesOf(['Utility', 'BatchCompletedWithErrors', []])])
  }

  /** Every account has a thousand coins and nonce 0. */
  const rich = (): Hex => {
    const type = current.storage.system?.account?.meta.type.asMap.value
    if (type === undefined) throw new Error('no System.Account')
    const info = { providers: 1, data: { free: 1_000n * UNIT } }
    return current.registry.createType(current.registry.createLookupType(type), info).toHex()
  }
  /** The stored entry of a map, by its key. */
  const stored = (pallet: string, entry: string, key: unknown, value: object): [string, Hex] => {
    const type = current.storage[pallet]?.[entry]?.meta.type.asMap.value
    if (type === undefined) throw new Error(`no ${pallet}.${entry}`)
    const made = current.registry.createType(current.registry.createLookupType(type), value)
    return [storageKey(current, pallet, entry, [key]), made.toHex()]
  }
  const ETHER = { parents: 2, interior: { X1: [{ GlobalConsensus: { Ethereum: { chainId: 1 } } }] } }
  const kept = new Map<string, Hex | null>([
    stored('nfts', 'collection', 7, { owner: OWNER, ownerDeposit: 1, items: 2 }),
    stored('nfts', 'collectionMetadataOf', 7, { deposit: 1, data: 'Doors' }),
    stored('uniques', 'class', 7, { owner: OWNER, issuer: OWNER, admin: OWNER, freezer: OWNER }),
    stored('uniques', 'classMetadataOf', 7, { deposit: 1, data: 'https://doors.example' }),
    stored('assets', 'asset', 1984, { owner: OWNER, issuer: OWNER, admin: OWNER, freezer: OWNER, status: 'Live' }),
    stored('assets', 'metadata', 1984, { name: 'Tether USD', symbol: 'USDt', decimals: 6 }),
    stored('foreignAssets', 'asset', ETHER, { owner: OWNER, status: 'Live' }),
    stored('foreignAssets', 'metadata', ETHER, { name: 'Ether', symbol: 'ETH', decimals: 18 }),
    stored('poolAssets', 'asset', 7, { owner: OWNER, status: 'Live' }),
    ...HELD.map(({ key, value }) => [key, value] as const),
    [storageKey(current, 'poolAssets', 'metadata', [7]), null],
  ])
  const ACCOUNT_PREFIX = '0x26aa394eea5630e07c48ae0c9558cef7b99d880ec681799c0cf30e8886371da9'

  beforeAll(() => {
    fake.behaveBefore(({ method, params: [first, second] }) => {
      if (method === 'system_accountNextIndex') return { result: 0 }
      const entry = method === 'state_getStorage' ? kept.get(String(first)) : undefined
      if (entry !== undefined) return { result: entry }
      if (method === 'state_getStorage' && String(first).startsWith(ACCOUNT_PREFIX)) return { result: rich() }
      // A runtime with its metadata hash refuses the signature.
      if (first === 'TaggedTransactionQueue_validate_transaction') return { result: '0x010004' }
      if (first === 'TransactionPaymentApi_query_info') return { result: `0x000000${'00'.repeat(16)}` }
      return first === 'DryRunApi_dry_run_call' ? { result: answer(second as Hex) } : undefined
    })
  })

  test('reports for each call what moves or why it fails', async () => {
    const previews = await hub.preview(hers, [coins(his, UNIT), coins(his, 11n * UNIT), coins(NEW, 2n)])
    expect(asked.at(-1)).toBe('forceBatch')
    const moved = (to: string, amount: bigint) => [
      { standard: 'native' as const, contract: null, tokenId: null, from: hers, to, amount },
    ]
    expect(previews.map(({ success, error, changes }) => [success, error, changes])).toEqual([
      [true, null, moved(his, UNIT)],
      [false, 'execution reverted: Token.FundsUnavailable', []],
      [true, null, moved(NEW, 2n)],
    ])
    const [alone] = await hub.preview(hers, [coins(his, 11n * UNIT)])
    expect(asked.at(-1)).toBe('transferKeepAlive')
    expect(alone).toMatchObject({ success: false, error: 'execution reverted: Token.FundsUnavailable', changes: [] })
  })

  describe('with a node whose bytes the codec cannot read', () => {
    const one = [coins(his, UNIT)]
    const two = [coins(his, UNIT), coins(NEW, 2n)]
    const CASES = {
      'a batch without its marks': ['DryRunApi_dry_run_call', effects([]), two],
      'an event without its bytes': ['DryRunApi_dry_run_call', '0x0000000004', one],
      'metadata that ends early': ['Metadata_metadata_at_version', '0x0108ff', one],
      'a class of extrinsics that there is not': [
        'TransactionPaymentApi_query_info',
        `0x000007${'00'.repeat(16)}`,
        one,
      ],
    } as const
    test.each(someOf(Object.entries(CASES), 4))('%s: asks another node', async (_, [method, result, intents]) => {
      const spoilt: string[] = []
      const ill = startFakeNode({
        behind: fake.rpcUrl,
        behaviour: ({ params: [first] }) => {
          if (first !== method) return undefined
          spoilt.push(method)
          return { result }
        },
      })
      const chain = createSubstrateChain({
        row: { ...row, genesisHash: fake.hashOf(0) },
        rpcUrl: ill.rpcUrl,
        furtherRpcUrls: [fake.rpcUrl],
        memory: createMemory(),
      })
      const previews = await chain.preview(hers, intents).finally(() => ill.stop())
      expect(spoilt.length).toBeGreaterThan(0)
      expect(previews).toEqual(await hub.preview(hers, intents))
    })
  })

  test('has facts of its assets and of collections of both pallets', async () => {
    const nft = { isContract: true, standard: 'erc721', symbol: '', decimals: null } as const
    // No Location, one with a byte too much, and one whose number an encoder would spell in fewer bytes.
    const wrong = ['foreign:0x02', 'foreign:0x020109070400', 'foreign:0x0201090705000000']
    const words = ['asset:1984', '7', 'uniques:7', FOREIGN.ether, 'pool:7', ...wrong]
    const nothing = { isContract: false, standard: 'other', name: '', symbol: '', decimals: null } as const
    expect(Object.fromEntries(await hub.facts(words))).toEqual({
      ...Object.fromEntries(wrong.map((word) => [word, nothing])),
      [FOREIGN.ether]: { isContract: true, standard: 'erc20', name: 'Ether', symbol: 'ETH', decimals: 18 },
      'pool:7': { isContract: true, standard: 'erc20', name: '', symbol: '', decimals: null },
      'asset:1984': { isContract: true, standard: 'erc20', name: 'Tether USD', symbol: 'USDt', decimals: 6 },
      '7': { ...nft, name: 'Doors' },
      'uniques:7': { ...nft, name: '' },
    })
  })

  test('reads balances of foreign assets from entries of the real chain', async () => {
    for (const { holder, contract, amount } of HELD) {
      const { tokens } = await hub.balances({ address: holder, contracts: [contract, 'foreign:0x02', '7'] })
      expect([...tokens]).toEqual([[contract, amount]])
    }
  })

  test('reports movements of a foreign asset', async () => {
    const transfer = made(current, 'foreignAssets', 'transfer', ETHER, his, 5n)
    const [preview] = await hub.preview(hers, [raw(transfer)])
    expect(preview).toMatchObject({ success: true, decoded: { functionName: 'foreign_assets.transfer' } })
    expect(preview?.changes).toEqual([
      { standard: 'erc20', contract: FOREIGN.ether, tokenId: null, from: hers, to: his, amount: 5n },
    ])
  })

  test('refuses a call that would fail, unless it succeeds behind pending calls', async () => {
    const intent = coins(his, 12n * UNIT)
    // As they are recorded.
    const remark = { ...raw(made(current, 'system', 'remark', '0x01')), gasLimit: 0n, from: hers, nonce: 0 }
    const options = (behind: readonly (typeof remark)[]) => ({ pending: async () => behind })
    await expect(hub.prepare(intent, hers, options([]))).rejects.toMatchObject({
      code: 'execution_reverted',
      message: 'execution reverted: Token.FundsUnavailable',
    })
    const { unsigned } = await hub.prepare(intent, hers, options([remark]))
    expect(unsigned).toMatchObject({ from: hers, value: 12n * UNIT })
    const again = { ...coins(his, 5n * UNIT), gasLimit: 0n, from: hers, nonce: 1 }
    await expect(hub.prepare(intent, hers, options([remark, again]))).rejects.toMatchObject({
      code: 'execution_reverted',
    })
  })
})
