import { beforeAll, describe, expect, test } from 'bun:test'
import {
  type Address,
  encodeAbiParameters,
  encodeFunctionData,
  getAddress,
  type Hex,
  pad,
  toHex,
  zeroAddress,
} from 'viem'
import { namehash } from 'viem/ens'
import { importTokenList } from '../../src/assets/tokens/lists.ts'
import { createNames } from '../../src/chains/evm/names.ts'
import { createRpc } from '../../src/chains/node/rpc.ts'
import { evmNetworkRow } from '../../src/platform/networks.ts'
import { fundedAccount, type TestChain } from '../support/chains.ts'
import { commonWorld } from '../support/common-service.ts'
import { longTest, someOf } from '../support/long.ts'

const REGISTRY = '0x00000000000C2E074eC69A0dFb2997BA6C7d2e1e'
const alice = fundedAccount(1).address

const { chain, service } = await commonWorld()

const metadata = (addresses: string) => service.get('/addresses/metadata', { network: 'Ethereum', addresses })
const lookup = (name: string) => service.get('/addresses/lookup-by-name', { name })

describe('what addresses are', () => {
  test('are described under the text of the request, in any letter case', async () => {
    const token = await chain.deploy('TestToken', ['Coin', 'COIN', 6])
    const nft = await chain.deploy('WizardCollection', ['Doors', 'DOOR', alice])
    const multi = await chain.deploy('MultiToken', ['', alice])
    const neither = await chain.deploy('NameRegistry')
    const logoURI = 'https://example.com/coin.png'
    const listed = {
      chainId: chain.chainId,
      address: token.address,
      name: 'Another',
      symbol: 'X',
      decimals: 9,
      logoURI,
    }
    const list = {
      name: 'L',
      version: { major: 1, minor: 0, patch: 0 },
      tokens: [{ ...listed, extensions: { displayDecimals: 3 } }],
    }
    await importTokenList(service.ctx, { text: JSON.stringify(list), actor: 'operator' })
    const upper = `0X${token.address.slice(2).toUpperCase()}`
    const asked = [token.address, upper, nft.address.toLowerCase(), multi.address, neither.address, alice]
    const { status, json } = await metadata(asked.join())
    expect(status).toBe(200)
    const network = 'Ethereum'
    // The list gives the logo and display decimals; the contract gives the rest.
    const shown = {
      ...{ network, address: token.address, type: 'token', name: 'Coin', logo_url: logoURI, nft: null },
      token: {
        ...{ uuid: expect.any(String), network, contract_address: token.address, name: 'Coin', symbol: 'COIN' },
        ...{ decimals: 6, display_decimals: 3, logo_url: logoURI },
      },
    }
    expect(json).toEqual({
      [token.address]: shown,
      [upper]: shown,
      [nft.address.toLowerCase()]: {
        ...{ network, address: nft.address, type: 'nft', name: 'Doors', logo_url: '', token: null },
        nft: { network, contract_address: nft.address, name: 'Doors', image_url: '', symbol: 'DOOR' },
      },
      [multi.address]: {
        ...{ network, address: multi.address, type: 'nft', name: '', logo_url: '', token: null },
        nft: { network, contract_address: multi.address, name: '', image_url: '', symbol: '' },
      },
      [neither.address]: {
        ...{ network, address: neither.address, type: 'other', name: '', logo_url: '', token: null, nft: null },
      },
      [alice]: null,
    })
  })

  test('are accepted up to a hundred, and refused if one is invalid', async () => {
    const some = (count: number) => Array.from({ length: count }, (_, at) => `0x${String(at).padStart(40, '0')}`).join()
    expect(Object.keys((await metadata(some(100))).json).length).toBe(100)
    expect((await metadata(some(101))).json.code).toBe('invalid_input')
    const second = { error: expect.stringContaining('"addresses.1"'), code: 'address_invalid' }
    expect((await metadata(`${alice},`)).json).toEqual(second)
    expect((await metadata('__proto__')).json.code).toBe('address_invalid')
    const elsewhere = await service.get('/addresses/metadata', { network: 'Vara', addresses: alice })
    expect([elsewhere.status, elsewhere.json.error]).toEqual([501, 'Vara has no node in this deployment.'])
  })
})

describe('what contracts say about themselves', () => {
  const bytesOf = (text: string | Buffer): Hex => toHex(Buffer.from(text))
  /** ABI encoding of a string whose bytes may be invalid UTF-8. */
  const said = (text: string | Buffer) => encodeAbiParameters([{ type: 'bytes' }], [bytesOf(text)])
  const number = (value: bigint) => pad(toHex(value), { size: 32 })
  const [fails, neverEnds] = ['0x', '0x01'] as const

  /** One token in all answers that show it, which must agree; the amounts are seven base units. */
  const shownOf = async (token: Hex) => {
    const at = getAddress(token)
    const wallet = await service.newWallet({ network: 'Ethereum' })
    await insertReceived(at, wallet.address)
    const query = { network: 'Ethereum', wallet_address: wallet.address }
    const input = `0xa9059cbb${pad(alice).slice(2)}${number(7n).slice(2)}`
    const unsigned_transaction = { to: at, input }
    const body = { network: 'Ethereum', from: wallet.address, unsigned_transaction }
    const answers = await Promise.all([
      ...[service.post('/transactions/preview', body), metadata(at)],
      ...[service.get('/tokens/balances', query), service.get('/activity', query)],
    ])
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200])
    const [previewed, described, balances, activity] = answers.map(({ json }) => json)
    const isIt = (each: { contract_address: string }) => each.contract_address === at
    const { raw_balance, display_balance, ...held } = balances.find(isIt)
    const [change] = previewed.simulation.asset_changes
    const { name, symbol, decimals, decimals_unknown, display_decimals } = held
    expect(previewed.contract).toEqual(described[at])
    expect(described[at]).toMatchObject({ type: 'token', name, token: held })
    expect(change).toMatchObject({ token: held, raw_amount: '7', amount: display_balance })
    expect(activity).toMatchObject([{ token: held, metadata: { amount: display_balance } }])
    const unknown = decimals_unknown === undefined ? {} : { decimals_unknown }
    return { name, symbol, decimals, ...unknown, display_decimals, amount: display_balance, raw_balance }
  }
  const usual = {
    name: 'A coin',
    symbol: 'COIN',
    decimals: 6,
    display_decimals: 4,
    amount: '0.000007',
    raw_balance: '7',
  }
  const answersOf = ({ name = said('A coin'), symbol = said('COIN'), decimals = number(6n) } = {}) =>
    [name, symbol, decimals] as const

  /** Amounts are marked as what they are. */
  const raw = { decimals: 0, decimals_unknown: true, display_decimals: 0, amount: '7' }
  const tiny = `0.${'0'.repeat(254)}7`
  const TOLD: readonly [string, Parameters<typeof answersOf>[0], Partial<typeof usual & typeof raw>][] = [
    ['controls and marks', { name: said('A\u0000 \u202eco\u2066in\n\u200b') }, { name: 'A coin' }],
    ['bytes32', { name: pad(bytesOf('Maker'), { dir: 'right', size: 32 }) }, { name: 'Maker' }],
    ['no UTF-8', { name: said(Buffer.from('6f6bfffe21', 'hex')) }, { name: 'ok\ufffd\ufffd!' }],
    ['no UTF-8 in bytes32', { symbol: pad('0x6f6bff21', { dir: 'right', size: 32 }) }, { symbol: 'ok\ufffd!' }],
    ['what never ends', { name: neverEnds, symbol: neverEnds }, { name: '', symbol: '' }],
    ['HTML', { symbol: said('<img src=x onerror=a(1)>') }, { symbol: '<img src=x onerror=a(1)>' }],
    ['nothing', { name: fails, symbol: fails, decimals: fails }, { name: '', symbol: '', ...raw }],
    ['half an encoding', { name: said('A coin').slice(0, 130) as Hex }, { name: '' }],
    ['256 decimals', { decimals: number(256n) }, raw],
    ['255 decimals', { decimals: number(255n) }, { decimals: 255, amount: tiny }],
    ['2^200 decimals', { decimals: number(1n << 200n) }, raw],
    ['zero decimals', { decimals: number(0n) }, { decimals: 0, display_decimals: 0, amount: '7' }],
  ]

  test.each(someOf(TOLD, 4))('is limited and shown as text: %s', async (_, answers, shown) => {
    const token = await chain.deploy('ToldToken', answersOf(answers))
    expect(await shownOf(token.address)).toEqual({ ...usual, ...shown })
  })

  test('is used for amounts also of a contract that is no full ERC-20', async () => {
    const debt = await chain.deploy('DebtToken')
    const { address: from } = await service.newWallet({ network: 'Ethereum' })
    const input = encodeFunctionData({ abi: debt.abi, functionName: 'borrow', args: [from, 1_500_000_000n] })
    const body = { network: 'Ethereum', from, unsigned_transaction: { to: debt.address, input } }
    const previewed = (await service.post('/transactions/preview', body)).json
    expect(previewed.contract).toMatchObject({ type: 'other', token: null })
    const token = { symbol: 'variableDebtUSDC', decimals: 6, display_decimals: 4 }
    const [change] = previewed.simulation.asset_changes
    expect(change).toMatchObject({ token, amount: '1500', raw_amount: '1500000000' })
    expect(change.token).not.toHaveProperty('decimals_unknown')
    await insertReceived(debt.address, from)
    const activity = await service.get('/activity', { network: 'Ethereum', wallet_address: from })
    expect(activity.json).toMatchObject([{ token, metadata: { amount: '0.000007' } }])
    await chain.send({ to: debt.address, data: input })
    const balances = await service.get('/tokens/balances', { network: 'Ethereum', wallet_address: from })
    expect(balances.json[1]).toMatchObject({ ...token, display_balance: '1500', raw_balance: '1500000000' })
  })

  longTest('is cut if it is long, and left out if reading it costs too much', async () => {
    const [, symbol, decimals] = answersOf()
    for (const [length, name] of [
      [65_536n, 'A'.repeat(64)],
      [1_048_576n, ''],
    ] as const) {
      const { address } = await chain.deploy('LongToken', [length, symbol, decimals])
      expect(await shownOf(address)).toEqual({ ...usual, name })
    }
  })

  longTest('is read through proxies of every kind', async () => {
    const { address, abi } = await chain.deploy('ToldToken', [fails, fails, fails])
    const setUp = encodeFunctionData({ abi, functionName: 'setUp', args: answersOf() })
    const proxy = await chain.deploy('TokenProxy', [address, setUp])
    const beacon = await chain.deploy('TokenBeacon', [address])
    const behindBeacon = await chain.deploy('TokenBeaconProxy', [beacon.address, setUp])
    // ERC-1167, initialised in a later transaction.
    const minimal = '0x00000000000000000000000000000000000011a7'
    await chain.rpc('anvil_setCode', [
      minimal,
      `0x363d3d373d3d3d363d73${address.slice(2)}5af43d82803e903d91602b57fd5bf3`,
    ])
    await chain.send({ to: minimal, data: setUp })
    for (const each of [proxy.address, behindBeacon.address, minimal] as const) {
      expect(await shownOf(each)).toEqual(usual)
    }
  })

  test('is read again if there was no name at first', async () => {
    const { address, abi } = await chain.deploy('ToldToken', [fails, fails, fails])
    const named = { name: 'A coin', token: { symbol: 'COIN', decimals: 6 } }
    const shown = async () => (await metadata(address)).json[address]
    expect(await shown()).toMatchObject({ name: '', token: { symbol: '', decimals: 0 } })
    await chain.send({ to: address, data: encodeFunctionData({ abi, functionName: 'setUp', args: answersOf() }) })
    expect(await shown()).toMatchObject({ name: '' })
    await passMinutes(11)
    expect(await shown()).toMatchObject(named)
    // A known name is kept.
    const other = answersOf({ name: said('Another') })
    await chain.send({ to: address, data: encodeFunctionData({ abi, functionName: 'setUp', args: other }) })
    await passMinutes(11)
    expect(await shown()).toMatchObject(named)
  })
})

describe('names', () => {
  let registry: Awaited<ReturnType<TestChain['deploy']>>

  beforeAll(async () => {
    const deployed = await chain.deploy('NameRegistry')
    const code = await chain.publicClient.getCode({ address: deployed.address })
    await chain.rpc('anvil_setCode', [REGISTRY, code])
    registry = { address: REGISTRY, abi: deployed.abi }
  })

  const setResolver = (name: string, to: Address) =>
    chain.write({ contract: registry, functionName: 'setResolver', args: [namehash(name), to] })

  // EIP-137, "namehash algorithm".
  test.each([
    ['', '0x0000000000000000000000000000000000000000000000000000000000000000'],
    ['eth', '0x93cdeb708b7545dc668eb9280176169d1c33cfd8ed6f04690a0bcc88a93fc4ae'],
    ['foo.eth', '0xde9b09fd7c5f901e23a3f19fecc54828e9c848539801e86591bd9801b019f84f'],
  ] as const)('have the hash of EIP-137: %p', (name, hash: Hex) => expect(namehash(name)).toBe(hash))

  test('resolve to their address in any letter case', async () => {
    const resolver = await chain.deploy('NameResolver')
    await setResolver('foo.eth', resolver.address)
    // With the hash of the test vector, not computed by the library under test.
    const node = '0xde9b09fd7c5f901e23a3f19fecc54828e9c848539801e86591bd9801b019f84f'
    await chain.write({ contract: resolver, functionName: 'setAddr', args: [node, alice] })
    expect((await lookup('foo.eth')).json).toEqual({ address: getAddress(alice) })
    expect((await lookup('FOO.eth')).json).toEqual({ address: getAddress(alice) })
    expect((await lookup('bar.eth')).json).toEqual({ address: null })
    // A resolver without wildcards does not resolve names below its own.
    await chain.write({ contract: resolver, functionName: 'setAddr', args: [namehash('sub.foo.eth'), alice] })
    expect((await lookup('sub.foo.eth')).json).toEqual({ address: null })
  })

  test('below a wildcard resolve as ENSIP-10 says', async () => {
    const wildcard = await chain.deploy('WildcardResolver', [alice, ''])
    await setResolver('wild.eth', wildcard.address)
    for (const name of ['wild.eth', 'a.wild.eth', 'a.b.wild.eth']) {
      expect((await lookup(name)).json).toEqual({ address: getAddress(alice) })
    }
    const nobody = await chain.deploy('WildcardResolver', [zeroAddress, ''])
    await setResolver('nobody.eth', nobody.address)
    expect((await lookup('nobody.eth')).json).toEqual({ address: null })
  })

  test('with off-chain data (EIP-3668) have no address, and nothing is fetched', async () => {
    let fetched = 0
    const stranger = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response(String(++fetched)) })
    const offchain = await chain.deploy('WildcardResolver', [
      alice,
      `http://127.0.0.1:${stranger.port}/{sender}/{data}`,
    ])
    await setResolver('off.eth', offchain.address)
    expect((await lookup('a.off.eth')).json).toEqual({ address: null })
    expect(fetched).toBe(0)
    await stranger.stop(true)
  })

  test('with an account or a failing contract as resolver have no address', async () => {
    await setResolver('account.eth', alice)
    expect((await lookup('account.eth')).json).toEqual({ address: null })
    const failing = await chain.deploy('TestToken', ['Coin', 'COIN', 6])
    await setResolver('failing.eth', failing.address)
    expect((await lookup('failing.eth')).json).toEqual({ address: null })
  })

  test.each([
    'a..eth',
    '.eth',
    'eth.',
    'a b.eth',
    'a\u200b_b.eth',
    'аpple.eth',
    `${'a'.repeat(64)}.eth`,
    'x_y.eth',
    `[${'0'.repeat(64)}].eth`,
  ])('with characters or label lengths that ENSIP-15 forbids are refused: %p', async (name) => {
    const { status, json } = await lookup(name)
    expect({ status, code: json.code }).toEqual({ status: 400, code: 'invalid_input' })
  })

  test('exist only on Ethereum', () => {
    const row = evmNetworkRow({ network: 'Base', environment: 'mainnet', devnet: false })
    const rpc = createRpc({ rpcUrl: chain.rpcUrl, network: 'Base' })
    expect(createNames({ rpc, row })).toBeNull()
  })
})

describe('balances', () => {
  test('are the coin, listed tokens and received tokens, each with its own decimals', async () => {
    const { address } = await service.newWallet({ network: 'Ethereum' })
    const balances = (wallet: string) =>
      service.get('/tokens/balances', { network: 'Ethereum', wallet_address: wallet })
    const [coin, ...none] = (await balances(address)).json
    expect(coin).toMatchObject({ contract_address: 'ETH', raw_balance: '0', display_balance: '0' })
    expect(none).toEqual([])
    const listed = await chain.deploy('TestToken', ['Listed', 'L', 6])
    const moved = await chain.deploy('TestToken', ['Moved', 'M', 18])
    const empty = await chain.deploy('TestToken', ['Empty', 'E', 18])
    const nft = await chain.deploy('WizardCollection', ['Doors', 'DOOR', fundedAccount(0).address])
    const odd = await chain.deploy('NameRegistry')
    const tokens = [listed, empty, nft, odd, { address: alice }].map((each) => ({
      ...{ chainId: chain.chainId, address: each.address, name: 'x', symbol: 'x', decimals: 1 },
    }))
    const list = { name: 'B', version: { major: 1, minor: 0, patch: 0 }, tokens }
    await importTokenList(service.ctx, { text: JSON.stringify(list), actor: 'operator' })
    await chain.fund(address, 1_500_000_000_000_000_000n)
    await chain.write({ contract: listed, functionName: 'mint', args: [address, 1_250_000n] })
    await chain.write({ contract: moved, functionName: 'mint', args: [address, 7n] })
    await chain.write({ contract: nft, functionName: 'safeMint', args: [address, 'ipfs://x'] })
    const shown = async () =>
      (await balances(address.toLowerCase())).json.map((each: Record<string, unknown>) => [
        ...[each.symbol, each.decimals, each.raw_balance, each.display_balance],
      ])
    const before = [
      ['ETH', 18, '1500000000000000000', '1.5'],
      ['L', 6, '1250000', '1.25'],
    ]
    expect(await shown()).toEqual(before)
    await insertReceived(moved.address, address)
    expect(await shown()).toEqual([before[0], ['M', 18, '7', '0.000000000000000007'], before[1]])
    expect((await balances(alice)).json.code).toBe('wallet_forbidden')
  })
})

/** Stores the facts of contracts. */
const passMinutes = async (minutes: number) => {
  await service.database.sql`update contract_facts set read_at = read_at - make_interval(mins => ${minutes})`
}

/** As the indexer stores received tokens. */
const insertReceived = async (contract: string, address: string) => {
  await service.database
    .sql`insert into movements (id, network, address, direction, counterparty, standard, contract, amount, block_number,
    transaction_hash, log_index, item_index, at) values (gen_random_uuid(), 'Ethereum', ${address}, 'in', ${alice}, 'erc20', ${contract}, 7, 1,
    '0x01', 0, 0, now())`
}
