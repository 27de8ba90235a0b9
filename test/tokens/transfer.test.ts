// Transfers of tokens and of the coin, to one or several recipients, on a chain with a worker.

import { expect, test } from 'bun:test'
import { type Address, encodeFunctionData, parseAbi, parseEther } from 'viem'
import { tokenAbi } from '../../src/chains/evm/contracts/token.generated.ts'
import { fundedAccount } from '../support/chains.ts'
import { longTest, someOf } from '../support/long.ts'
import { shared } from '../support/shared.ts'
import { network, startTokenWorld } from './world.ts'

const ERC20 = parseAbi([
  'function transfer(address to, uint256 value)',
  'function balanceOf(address owner) view returns (uint256)',
])
const STRANGER = fundedAccount(5).address

const world = await shared(startTokenWorld())
const [alice, bob, safe] = [await world.newWallet(), await world.newWallet(), await world.newWallet('contract')]
const token = (await world.create(alice)).contract_address

const unitsOf = (address: Address, owner: Address) =>
  world.chain.publicClient.readContract({ address, abi: ERC20, functionName: 'balanceOf', args: [owner] })

const coinsOf = (address: Address) => world.chain.publicClient.getBalance({ address })

/** What a preview says that a call moves. */
const foretold = async (from: Address, unsigned: object) => {
  const asked = { network, from, unsigned_transaction: unsigned }
  const { json } = await world.service.post('/transactions/preview', asked)
  const { function_name, simulation } = json
  type Change = { readonly from: string; readonly to: string; readonly amount: string }
  const moves = (simulation.asset_changes as Change[]).map((each) => [each.from, each.to, each.amount])
  return { function_name, moves, success: simulation.success, error: simulation.error }
}

test('a token is sent in whole units, and preview and activity show the same amount', async () => {
  const input = encodeFunctionData({ abi: ERC20, functionName: 'transfer', args: [bob, 1_500_000n] })
  expect(await foretold(alice, { to: token, input })).toMatchObject({
    function_name: 'transfer',
    moves: [[alice, bob, '1.5']],
  })
  const sent = await world.succeeded(await world.transfer({ from: alice, token, recipient: bob, amount: '1.5' }))
  expect(sent.contract_address).toBeNull()
  expect(await world.activityOf(alice, sent)).toEqual([['send_token', '1.5', 'PNT']])
  expect(await world.activityOf(bob, sent)).toEqual([['receive_token', '1.5', 'PNT']])
  expect(await world.held(bob, token)).toBe('1.5')
}, 60_000)

test('tokens for their own contract are refused, and a preview of such a call warns', async () => {
  const { status, json } = await world.transfer({ from: alice, token, recipient: token.toLowerCase(), amount: '1' })
  expect([status, json.code]).toEqual([400, 'invalid_input'])
  expect(json.error).toContain('"recipient" must not be the contract of the token')
  const previewOf = async (recipient: Address) => {
    const input = encodeFunctionData({ abi: ERC20, functionName: 'transfer', args: [recipient, 1n] })
    return (
      await world.service.post('/transactions/preview', {
        network,
        from: alice,
        unsigned_transaction: { to: token, input },
      })
    ).json
  }
  expect((await previewOf(token)).warnings).toEqual(['It sends tokens to their own contract, where they are lost.'])
  expect(await previewOf(bob)).not.toHaveProperty('warnings')
}, 60_000)

longTest(
  'the coin is sent by its word',
  async () => {
    const before = await coinsOf(STRANGER)
    await world.succeeded(await world.transfer({ from: alice, token: 'ETH', recipient: STRANGER, amount: '0.25' }))
    await world.succeeded(await world.transfer({ from: safe, token: 'ETH', recipient: STRANGER, amount: '0.5' }))
    expect((await coinsOf(STRANGER)) - before).toBe(parseEther('0.75'))
  },
  60_000,
)

longTest(
  'of a token that keeps a fee, preview and activity show what arrives',
  async () => {
    const fee = await world.chain.deploy('FeeToken', [STRANGER])
    await world.chain.write({ contract: fee, functionName: 'mint', args: [alice, parseEther('10')] })
    const input = encodeFunctionData({ abi: ERC20, functionName: 'transfer', args: [bob, parseEther('2')] })
    expect((await foretold(alice, { to: fee.address, input })).moves).toEqual([
      [alice, STRANGER, '0.02'],
      [alice, bob, '1.98'],
    ])
    const body = { from: alice, token: fee.address, recipient: bob, amount: '2' }
    const sent = await world.succeeded(await world.transfer(body))
    expect(await world.activityOf(bob, sent)).toEqual([['receive_token', '1.98', 'FEE']])
    expect(await world.activityOf(alice, sent)).toEqual([
      ['send_token', '0.02', 'FEE'],
      ['send_token', '1.98', 'FEE'],
    ])
    expect(await unitsOf(fee.address, bob)).toBe(parseEther('1.98'))
  },
  60_000,
)

longTest(
  'a token whose functions return nothing is sent by both types of wallets',
  async () => {
    const silent = await world.chain.deploy('SilentToken')
    for (const from of [alice, safe]) {
      await world.chain.write({ contract: silent, functionName: 'mint', args: [from, 5_000_000n] })
      const body = { from, token: silent.address, recipient: bob, amount: '2.000001' }
      const sent = await world.succeeded(await world.transfer(body))
      expect(await world.activityOf(from, sent)).toEqual([['send_token', '2.000001', 'SIL']])
    }
    const transfers = [
      { recipient: bob, amount: '1' },
      { recipient: STRANGER, amount: '0.5' },
    ]
    await world.succeeded(await world.batch({ from: safe, token: silent.address, transfers }))
    expect(await unitsOf(silent.address, bob)).toBe(2n * 2_000_001n + 1_000_000n)
  },
  60_000,
)

test('a token that answers false instead of reverting is refused, and moves nothing', async () => {
  const no = await world.chain.deploy('FalseToken')
  for (const from of [alice, safe]) {
    await world.chain.write({ contract: no, functionName: 'mint', args: [from, parseEther('1')] })
    const body = { from, token: no.address, recipient: bob, amount: '1.5' }
    const { status, json } = await world.transfer(body)
    expect([status, json.code, json.error]).toEqual([
      400,
      'execution_reverted',
      'The token does not transfer this: its function "transfer" does not return true.',
    ])
  }
  for (const from of someOf([alice, safe], 2)) {
    const body = { from, token: no.address, recipient: bob, amount: '0.5' }
    const sent = await world.succeeded(await world.transfer(body))
    expect(await world.activityOf(from, sent)).toEqual([['send_token', '0.5', 'FLS']])
  }
  // As a call of one's own it succeeds, and neither preview nor activity show a movement.
  const input = encodeFunctionData({ abi: ERC20, functionName: 'transfer', args: [bob, parseEther('9')] })
  expect(await foretold(alice, { to: no.address, input })).toMatchObject({ success: true, moves: [] })
}, 60_000)

test('more than the wallet has is refused with the reason of the token', async () => {
  for (const from of [alice, safe]) {
    const { status, json } = await world.transfer({ from, token, recipient: bob, amount: '9999999' })
    expect([status, json.code]).toEqual([400, 'execution_reverted'])
    expect(json.error).toContain('ERC20InsufficientBalance')
  }
})

const several = (count: number, amount = '0.000001') =>
  Array.from({ length: count }, (_, index) => ({
    recipient: `0x${index.toString(16).padStart(4, '0').padStart(40, 'a')}`,
    amount,
  }))

longTest(
  'a key sends a token that was created here to 50 recipients in one transaction',
  async () => {
    const transfers = [...several(48), { recipient: bob, amount: '2' }, { recipient: bob, amount: '3' }]
    const units = transfers.map(({ amount }) => BigInt(Math.round(Number(amount) * 1e6)))
    const recipients = transfers.map(({ recipient }) => recipient as Address)
    const input = encodeFunctionData({ abi: tokenAbi, functionName: 'batchTransfer', args: [recipients, units] })
    const preview = await foretold(alice, { to: token, input })
    expect(preview.function_name).toBe('batchTransfer')
    expect(preview.moves).toHaveLength(50)
    const before = await unitsOf(token, bob)
    const sent = await world.succeeded(await world.batch({ from: alice, token, transfers }))
    expect(await world.activityOf(bob, sent)).toEqual([
      ['receive_token', '2', 'PNT'],
      ['receive_token', '3', 'PNT'],
    ])
    expect((await unitsOf(token, bob)) - before).toBe(5_000_000n)
    expect(await unitsOf(token, several(1)[0]?.recipient as Address)).toBe(1n)
  },
  60_000,
)

test('all or nothing: a batch of more than the key has moves nothing', async () => {
  const transfers = [...several(2), { recipient: bob, amount: '9999999' }]
  const { status, json } = await world.batch({ from: alice, token, transfers })
  expect([status, json.code]).toEqual([400, 'execution_reverted'])
  expect(json.error).toContain('ERC20InsufficientBalance')
})

longTest(
  'a key cannot send a foreign token to several recipients at once, and a contract wallet can',
  async () => {
    const foreign = await world.chain.deploy('TestToken', ['Foreign', 'FOR', 18])
    for (const from of [alice, safe]) {
      await world.chain.write({ contract: foreign, functionName: 'mint', args: [from, parseEther('10')] })
    }
    const transfers = [
      { recipient: bob, amount: '1.5' },
      { recipient: STRANGER, amount: '2' },
    ]
    const refused = await world.batch({ from: alice, token: foreign.address, transfers })
    expect([refused.status, refused.json.code]).toEqual([400, 'batch_unsupported'])
    // One transfer is no batch.
    await world.succeeded(await world.batch({ from: alice, token: foreign.address, transfers: transfers.slice(0, 1) }))
    const sent = await world.succeeded(await world.batch({ from: safe, token: foreign.address, transfers }))
    expect(await world.activityOf(safe, sent)).toEqual([
      ['send_token', '1.5', 'FOR'],
      ['send_token', '2', 'FOR'],
    ])
    const most = await world.batch({
      from: safe,
      token: foreign.address,
      transfers: [...transfers, { recipient: bob, amount: '2' }, { recipient: bob, amount: '1.5' }],
    })
    expect([most.status, most.json.code]).toEqual([400, 'execution_reverted'])
    expect(most.json.error).toContain('(transfers.3)')
  },
  60_000,
)

test('coins go to several recipients in one transaction, all or nothing', async () => {
  const refuser = (await world.chain.deploy('Refuser')).address
  for (const from of someOf([alice, safe], 2)) {
    const before = await coinsOf(bob)
    const transfers = [
      { recipient: bob, amount: '1' },
      ...several(48, '0.000000000000000001'),
      { recipient: bob, amount: '2' },
    ]
    const sent = await world.succeeded(await world.batch({ from, token: 'ETH', transfers }))
    expect((await coinsOf(bob)) - before).toBe(parseEther('3'))
    expect(await world.activityOf(bob, sent)).toEqual([
      ['receive_token', '1', 'ETH'],
      ['receive_token', '2', 'ETH'],
    ])
    expect(sent.contract_address).toBeNull()
    const some = [
      { recipient: bob, amount: '1' },
      { recipient: refuser, amount: '1' },
    ]
    const { status, json } = await world.batch({ from, token: 'ETH', transfers: some })
    expect([status, json.code]).toEqual([400, 'execution_reverted'])
    expect(json.error).toContain(from === alice ? `CoinsRefused(recipient: ${refuser})` : 'no, thanks (transfers.1)')
    expect((await coinsOf(bob)) - before).toBe(parseEther('3'))
  }
}, 60_000)

test('bad fields are refused with their name', async () => {
  const one = { from: alice, token, recipient: bob, amount: '1' }
  const amounts = [
    '0',
    '0.000000',
    '-1',
    '+1',
    '1e3',
    '0.0000001',
    '1.0000000',
    ' 1',
    '1 ',
    '',
    '.5',
    '5.',
    '1,5',
    1,
    null,
    '0x1',
  ]
  for (const amount of someOf([String(2n ** 256n), ...amounts], 3)) {
    const { status, json } = await world.transfer({ ...one, amount })
    expect({ amount, status, code: json.code }).toEqual({ amount, status: 400, code: 'invalid_input' })
    expect(json.error).toContain('"amount"')
  }
  const bad = (index: number, entry: object) =>
    world.batch({ from: alice, token, transfers: [...several(index), { recipient: bob, amount: '1', ...entry }] })
  for (const [entry, field, code] of [
    [{ amount: '1.0000000' }, 'transfers.2.amount', 'invalid_input'],
    [{ amount: '0' }, 'transfers.2.amount', 'invalid_input'],
    [{ amount: '-1' }, 'transfers.2.amount', 'invalid_input'],
    // In most tokens nobody can move what their own contract has.
    [{ recipient: token.toLowerCase() }, 'transfers.2.recipient', 'invalid_input'],
    [{ recipient: '0x12' }, 'transfers.2.recipient', 'address_invalid'],
    [{ more: '1' }, 'transfers.2.more', 'invalid_input'],
  ] as const) {
    const { status, json } = await bad(2, entry)
    expect([status, json.code]).toEqual([400, code])
    expect(json.error).toContain(`"${field}"`)
  }
  for (const transfers of [[], several(51), 'all', undefined, {}]) {
    const { status, json } = await world.batch({ from: alice, token, transfers })
    expect([status, json.code]).toEqual([400, 'invalid_input'])
    expect(json.error).toContain('"transfers"')
  }
  const most = { recipient: bob, amount: String(2n ** 256n - 1n).slice(0, -6) }
  const over = await world.batch({ from: alice, token, transfers: [most, most] })
  expect([over.status, over.json.code]).toEqual([400, 'invalid_input'])
  expect((await world.transfer({ ...one, token: STRANGER })).json.error).toContain('"token"')
  expect((await world.transfer({ ...one, token: 'DOT' })).json.code).toBe('address_invalid')
  expect((await world.transfer({ ...one, from: STRANGER })).json.code).toBe('not_found')
}, 60_000)
