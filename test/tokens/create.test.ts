// Tokens that the service creates and mints, on a chain with a worker.

import { expect, test } from 'bun:test'
import { parseAbi } from 'viem'
import { createProject } from '../../src/operators/projects.ts'
import { fundedAccount } from '../support/chains.ts'
import { longTest, someOf } from '../support/long.ts'
import { shared } from '../support/shared.ts'
import { network, SECRET, startTokenWorld, type TokenWorld } from './world.ts'

const ABI = parseAbi([
  'function name() view returns (string)',
  'function symbol() view returns (string)',
  'function decimals() view returns (uint8)',
  'function totalSupply() view returns (uint256)',
  'function owner() view returns (address)',
])
const LOGO = 'https://example.com/points.png'
const RECIPIENT = fundedAccount(5).address

const world = await shared(startTokenWorld())
const owner = await world.newWallet()
const made = await world.create(owner, { logo_url: LOGO })
const [creation, token] = [made, made.contract_address]

const facts = (address: string, who: Pick<TokenWorld['service'], 'get'> = world.service) =>
  who.get('/tokens/tokens', { network, token: address })

test('a token has the name, symbol, decimals, supply and owner that were asked for', async () => {
  const read = (functionName: 'name' | 'symbol' | 'decimals' | 'totalSupply' | 'owner') =>
    world.chain.publicClient.readContract({ address: token, abi: ABI, functionName })
  expect(
    await Promise.all([read('name'), read('symbol'), read('decimals'), read('totalSupply'), read('owner')]),
  ).toEqual(['Points', 'PNT', 6, 1_000_000_000n, owner])
  expect(await world.activityOf(owner, creation)).toEqual([['receive_token', '1000', 'PNT']])
  expect(await world.held(owner, token)).toBe('1000')
})

test('its project sees its logo, and others do not', async () => {
  await world.activityOf(owner, creation)
  const shown = { network, contract_address: token, name: 'Points', symbol: 'PNT', decimals: 6, display_decimals: 4 }
  expect((await facts(token.toLowerCase())).json).toMatchObject({ ...shown, logo_url: LOGO })
  const { json } = await world.service.get('/tokens/balances', { network, wallet_address: owner })
  expect(json).toContainEqual(expect.objectContaining({ contract_address: token, logo_url: LOGO }))
  const stranger = world.service.as(await createProject(world.service.ctx, { name: 'Other', actor: 'operator' }))
  expect((await facts(token, stranger)).json).toMatchObject({ ...shown, logo_url: '' })
})

test('the coin is found by its word, and an address without a token is not found', async () => {
  expect((await facts('ETH')).json).toMatchObject({ contract_address: 'ETH', decimals: 18, display_decimals: 6 })
  for (const address of [RECIPIENT, (await world.chain.deploy('TipJar')).address]) {
    const { status, json } = await facts(address)
    expect([status, json.code]).toEqual([404, 'not_found'])
  }
  expect((await facts('MATIC')).json.code).toBe('address_invalid')
  expect((await facts('asset:1984')).json.code).toBe('address_invalid')
})

longTest(
  'a contract wallet creates a token and mints it',
  async () => {
    const safe = await world.newWallet('contract')
    const { contract_address: its } = await world.create(safe, {
      decimals: '36',
      initial_supply: '0.000000000000000000000000000000000001',
    })
    const minted = await world.succeeded(await world.mint({ from: safe, contract_address: its, amount: '2' }))
    await world.activityOf(safe, minted)
    expect(await world.held(safe, its)).toBe('2.000000000000000000000000000000000001')
  },
  60_000,
)

test('the owner mints a token, others may not, a collection is none, and the activity shows what was minted', async () => {
  const minted = await world.succeeded(
    await world.mint({ from: owner, contract_address: token, recipient: owner, amount: '0.000001' }),
  )
  expect(await world.activityOf(owner, minted)).toEqual([['receive_token', '0.000001', 'PNT']])
  const other = await world.newWallet()
  const refused = await world.mint({ from: other, contract_address: token, amount: '1' })
  expect([refused.status, refused.json.code]).toEqual([400, 'mint_unauthorized'])
  const collection = await world.chain.deploy('WizardCollection', ['Doors', 'DOOR', other])
  const answer = await world.mint({ from: other, contract_address: collection.address, amount: '1' })
  expect([answer.status, answer.json.code]).toEqual([400, 'invalid_input'])
}, 60_000)

longTest(
  'a token that was not created here is minted too, and what is no such token is not',
  async () => {
    const other = await world.newWallet()
    const free = await world.chain.deploy('TestToken', ['Free', 'FRE', 18])
    const freely = await world.succeeded(
      await world.mint({ from: other, contract_address: free.address, amount: '1.5' }),
    )
    expect(await world.activityOf(other, freely)).toEqual([['receive_token', '1.5', 'FRE']])
    expect(await world.held(other, free.address)).toBe('1.5')
    // An account is no token, and wrapped coins are not minted by this function.
    for (const [address, code] of [
      [RECIPIENT, 'invalid_input'],
      [(await world.chain.deploy('WrappedCoin')).address, 'mint_unsupported'],
    ] as const) {
      const answer = await world.mint({ from: other, contract_address: address, amount: '1' })
      expect([answer.status, answer.json.code]).toEqual([400, code])
    }
  },
  60_000,
)

test('bad fields are refused with their name, and nothing is recorded', async () => {
  const good = { network, from: owner, name: 'Points', symbol: 'PNT', decimals: '6', ...SECRET }
  const cases: readonly (readonly [field: string, ...values: unknown[]])[] = [
    ['decimals', '37', '-1', '06', '1.0', '', '1e1', ' 6', 6, null, '0x6', undefined],
    ['initial_supply', '-1', '1e3', '1.0000001', '', ' 1', '+1', 1, '0x1', String(2n ** 256n)],
    ['name', '', 'x'.repeat(65), 7, undefined],
    ['symbol', '', 'x'.repeat(33), undefined],
    ['logo_url', 'http://example.com/x.png', 'data:image/png;base64,AA==', 'javascript:alert(1)', ''],
    ['other', 'x'],
  ]
  for (const [field, ...values] of cases) {
    for (const value of someOf(values, 3)) {
      const { status, json } = await world.service.post('/tokens', { ...good, [field]: value })
      expect({ field, value, status, code: json.code }).toEqual({ field, value, status: 400, code: 'invalid_input' })
      expect(json.error).toContain(`"${field}"`)
    }
  }
  const mint = { from: owner, contract_address: token, recipient: RECIPIENT, amount: '1' }
  const amounts = ['0', '0.0', '-1', '0.0000001', '1e3', '1.0000000', String(2n ** 256n), ' 1', '1 ', 1, '', '.5', '5.']
  for (const amount of someOf(amounts, 3)) {
    const { status, json } = await world.mint({ ...mint, amount })
    expect({ amount, status, code: json.code }).toEqual({ amount, status: 400, code: 'invalid_input' })
    expect(json.error).toContain('"amount"')
  }
  // The supply is counted in 256 bits.
  expect((await world.mint({ ...mint, amount: `${(2n ** 256n - 1n) / 10n ** 6n}` })).json.code).not.toBe('submitted')
  expect((await world.mint({ ...mint, recipient: '0x12' })).json.code).toBe('address_invalid')
  expect((await world.mint({ ...mint, developer_secret: 'wrong-secret' })).json.code).toBe('INVALID_SECRET')
}, 60_000)

longTest('a repeated request creates one token', async () => {
  const body = { network, from: owner, name: 'Once', symbol: 'ONE', decimals: '0', initial_supply: '7', ...SECRET }
  const key = { 'idempotency-key': 'one token' }
  const [one, two] = [await world.service.post('/tokens', body, key), await world.service.post('/tokens', body, key)]
  expect(two.json).toEqual(one.json)
  await world.succeeded(one)
})
