// A preview tells whether a policy allows the transaction, and the developer's request then agrees. The suite has short
// cases of it in delegated.test.ts.

import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type Address, encodeFunctionData, parseAbi } from 'viem'
import { fundedAccount, startChain, type TestChain } from '../support/chains.ts'
import { type Service, startService } from '../support/service.ts'

const network = 'Ethereum'
const PIN = '493817'
const SECRET = 'testnet-secret'
const RECIPIENT = fundedAccount(5).address
const STRANGER = fundedAccount(6).address
const ERC20 = parseAbi([
  'function transfer(address to, uint256 value)',
  'function approve(address spender, uint256 value)',
])

let chain: TestChain
let service: Service
let token: Address

beforeAll(async () => {
  chain = await startChain(network)
  service = await startService({ rpcUrls: { [network]: chain.rpcUrl } })
  token = (await chain.deploy('TestToken', ['Test', 'TST', 6])).address
})

afterAll(async () => {
  await service.close()
  await chain.stop()
})

const FREE = { never: null, needs_approval: false }

const rule = (argument: string, operator: string, value: string) => ({ argument, operator, value })

const newWallet = async () => {
  const wallet = await service.newWallet({ network, pin: PIN })
  await chain.fund(wallet.address)
  await chain.write({
    contract: { address: token, abi: parseAbi(['function mint(address, uint256)']) },
    functionName: 'mint',
    args: [wallet.address, 1_000n],
  })
  return wallet.address
}

const makePolicy = async (wallet: string, rules: readonly object[], rest: object = {}): Promise<string> => {
  const body = { network, wallet_address: wallet, argument_rules: rules, user_pin: PIN, ...rest }
  return (await service.post('/policies', body)).json.uuid
}

const preview = async (from: string, unsigned_transaction: object, client: Pick<Service, 'post'> = service) =>
  (await client.post('/transactions/preview', { network, from, unsigned_transaction })).json.policy

const sign = async (wallet: string, unsigned_transaction: object): Promise<number> => {
  const body = { network, signer_wallet_address: wallet, unsigned_transaction, developer_secret: SECRET }
  return (await service.post('/transactions/sign', body)).status
}

const call = (functionName: 'transfer' | 'approve', value: bigint) => ({
  to: token,
  input: encodeFunctionData({ abi: ERC20, functionName, args: [RECIPIENT, value] }),
})

test('a preview names the policy that would be charged, or what each lacks, and the request is answered so', async () => {
  const wallet = await newWallet()
  const uuid = await makePolicy(
    wallet,
    [
      rule('to', 'eq', token),
      rule('decodedInput.function', 'eq', 'transfer'),
      rule('decodedInput.to', 'eq', RECIPIENT),
      rule('decodedInput.value', 'lt', '10'),
    ],
    { max_total_value: '5' },
  )
  const payments = await makePolicy(wallet, [rule('value', 'le', '100')], { max_total_value: '120', max_uses: 2 })
  const allowedBy = (policy: string) => ({ allowed: true, uuid: policy, ...FREE, refusals: [] })
  const refused = (...reasons: readonly (readonly [string, number | null])[]) => ({
    ...{ allowed: false, uuid: null, ...FREE },
    refusals: reasons.map(([reason, at], index) => ({ uuid: [uuid, payments][index], reason, rule: at })),
  })
  const wrongValue = [
    { to: STRANGER, value: '101' },
    refused(['value_exceeded', null], ['rule_not_matched', 0]),
  ] as const
  for (const [transaction, expected] of [
    [call('transfer', 9n), allowedBy(uuid)],
    [call('transfer', 10n), refused(['rule_not_matched', 3], ['function_not_named', null])],
    [call('approve', 9n), refused(['rule_not_matched', 1], ['function_not_named', null])],
    [{ ...call('transfer', 9n), value: '6' }, refused(['value_exceeded', null], ['function_not_named', null])],
    wrongValue,
    [{ to: STRANGER, value: '4' }, allowedBy(payments)],
    [{ to: STRANGER, value: '100' }, allowedBy(payments)],
    // Two uses are over by now.
    [{ to: STRANGER, value: '100' }, refused(['value_exceeded', null], ['used_up', null])],
  ] as const) {
    expect(await preview(wallet, transaction)).toEqual(expected)
    expect(await sign(wallet, transaction)).toBe(expected.allowed ? 200 : 403)
  }
  const { json } = await service.get('/policies', { network, wallet_address: wallet })
  const charged = json.map((each: Record<string, unknown>) => [each.uses, each.spent_value, each.max_total_value])
  expect(charged).toEqual([
    [1, '0', '5'],
    [2, '104', '120'],
  ])
  for (const { spent_fee, max_total_fee } of json) {
    expect(BigInt(spent_fee)).toBeGreaterThan(0n)
    expect(BigInt(spent_fee)).toBeLessThanOrEqual(BigInt(max_total_fee))
  }
})

test('a preview says which limit on a token or in a period has too little left, and the request gets the same answer', async () => {
  const wallet = await newWallet()
  const rules = [rule('decodedInput.function', 'eq', 'transfer'), rule('to', 'eq', token)]
  const limits = {
    token_limits: [
      { contract_address: token, max_total: '10' },
      { contract_address: token, max_total: '8', per_seconds: 86_400 },
    ],
    rolling_limits: [{ per_seconds: 3_600, max_uses: 3, max_total_value: '5' }],
  }
  const uuid = await makePolicy(wallet, rules, limits)
  const allowed = { allowed: true, uuid, ...FREE, refusals: [] }
  const refused = (reason: string) => ({
    ...{ allowed: false, uuid: null, ...FREE },
    refusals: [{ uuid, reason, rule: null }],
  })
  const longer = call('transfer', 0n)
  for (const [transaction, expected] of [
    [call('transfer', 9n), refused('token_exceeded')],
    [{ ...longer, input: `${longer.input}00` }, refused('token_unknown')],
    [{ to: token, value: '1' }, refused('token_unknown')],
    [{ ...call('transfer', 0n), value: '6' }, refused('rolling_exceeded')],
    [call('transfer', 5n), allowed],
    [call('transfer', 4n), refused('token_exceeded')],
    [call('transfer', 3n), allowed],
    [call('transfer', 0n), allowed],
    [call('transfer', 0n), refused('rolling_exceeded')],
  ] as const) {
    expect([transaction, await preview(wallet, transaction)]).toEqual([transaction, expected])
    expect(await sign(wallet, transaction)).toBe(expected.allowed ? 200 : 403)
  }
  const [shown] = (await service.get('/policies', { network, wallet_address: wallet })).json
  expect(shown.token_limits.map(({ spent }: { spent: string }) => spent)).toEqual(['8', '8'])
  expect(shown.rolling_limits).toEqual([
    { per_seconds: 3_600, max_total_value: '5', max_uses: 3, spent_value: '0', uses: 3 },
  ])
  // The words for the owner tell the same.
  const { json } = await service.get('/policies/described', { uuid })
  const texts = (sentences: { text: string }[][]) => sentences.map((parts) => parts.map(({ text }) => text).join(''))
  expect(texts(json[0].words.used).slice(-4)).toEqual([
    'Counted in any hour: 3 of 3 times.',
    'Counted in any hour: 0 ETH of 0.000000000000000005 ETH.',
    'Counted in all: 0.000008 TST of 0.00001 TST.',
    'Counted in any day: 0.000008 TST of 0.000008 TST.',
  ])
})

test('a preview tells what no policy can allow', async () => {
  const wallet = await newWallet()
  await makePolicy(wallet, [rule('value', 'ge', '0')])
  const creation = { input: '0x6000' }
  const { never, ...told } = await preview(wallet, creation)
  expect(told).toEqual({ allowed: false, uuid: null, needs_approval: false, refusals: [] })
  expect(never).toMatch(/^No policy lets the developer create a contract/)
  expect(await sign(wallet, creation)).toBe(403)
})

test('the transactions of a bundle are judged one after the other, each as a separate use', async () => {
  const wallet = await newWallet()
  const first = await makePolicy(wallet, [rule('to', 'eq', RECIPIENT)], { max_uses: 2, max_total_value: '10' })
  const bundle = async (...transactions: readonly (readonly [string, string])[]) => {
    const unsigned_transactions = transactions.map(([to, value]) => ({ to, value }))
    const { json } = await service.post('/transactions/preview-bundle', {
      network,
      from: wallet,
      unsigned_transactions,
    })
    type Told = { policy: { uuid: string | null; refusals: { reason: string }[] } }
    return json.map(({ policy }: Told) => policy.uuid ?? policy.refusals.map(({ reason }) => reason))
  }
  expect(await bundle([RECIPIENT, '1'], [STRANGER, '1'])).toEqual([first, ['rule_not_matched']])
  expect(await bundle([RECIPIENT, '6'], [RECIPIENT, '5'])).toEqual([first, ['value_exceeded']])
  expect(await bundle([RECIPIENT, '6'], [RECIPIENT, '4'], [RECIPIENT, '0'])).toEqual([first, first, ['used_up']])
  const second = await makePolicy(wallet, [rule('to', 'eq', RECIPIENT)], {
    rolling_limits: [{ per_seconds: 3_600, max_uses: 1 }],
  })
  expect(await bundle([RECIPIENT, '6'], [RECIPIENT, '5'], [RECIPIENT, '4'], [RECIPIENT, '0'])).toEqual([
    ...[first, second, first],
    ['used_up', 'rolling_exceeded'],
  ])
})

test('without a policy nothing is allowed', async () => {
  const none = { allowed: false, uuid: null, ...FREE, refusals: [] }
  expect(await preview(await newWallet(), { to: RECIPIENT, value: '1' })).toEqual(none)
})

test('nothing is told of other wallets: those of developers, of nobody, and of another caller', async () => {
  const payment = { to: RECIPIENT, value: '1' }
  const { address: developers } = await service.newWallet({ network })
  expect(await preview(developers, payment)).toBeUndefined()
  expect(await preview(STRANGER, payment)).toBeUndefined()
  const users = await newWallet()
  await makePolicy(users, [rule('value', 'ge', '0')])
  const session = (await service.post('/users/login-anonymously', {}, { authorization: undefined })).json
  const user = service.as({ projectId: service.project.projectId, apiKey: session.access_token })
  expect(await preview(users, payment, user)).toBeUndefined()
})
