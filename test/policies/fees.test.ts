// Fees and nonces of a use by a policy: each way in which a developer could burn, take or hold back the owner's coins.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import {
  type Hex,
  parseEther,
  parseTransaction,
  type TransactionSerializedEIP1559,
  type TransactionSerializedEIP2930,
} from 'viem'
import { deploymentData } from '../../src/chains/evm/safe/settings.ts'
import { longTest, someOf } from '../support/long.ts'
import {
  ANYTHING,
  callOf,
  DENIED,
  DONE,
  network,
  PIN,
  RECIPIENT,
  rule,
  type SafeWorld,
  SECRET,
  STRANGER,
  startSafeWorld,
  told,
} from './safe-world.ts'

const GWEI = 10n ** 9n
const PAYMENT_GAS = 21_000n
const TRANSFER = 'function transfer(address to, uint256 value) returns (bool)'
const APPROVE = 'function approve(address spender, uint256 value) returns (bool)'
const MINT = 'function mint(address to, string uri)'
const MAX = 2n ** 256n - 1n

let world: SafeWorld
let token: { readonly address: Hex }

beforeAll(async () => {
  world = await startSafeWorld()
  token = await world.chain.deploy('TestToken', ['Test', 'TST', 6])
})

afterAll(() => world.close())

const newWallet = async (coins = '100') => {
  const wallet = await world.service.newWallet({ network, pin: PIN, ownerId: crypto.randomUUID() })
  await world.chain.fund(wallet.address, parseEther(coins))
  return wallet
}

const feesOf = async (uuid: string) => {
  const [row] = await world.sql`select max_total_fee, spent_fee, uses::int from policies where id = ${uuid}`
  return { budget: BigInt(row?.max_total_fee), spent: BigInt(row?.spent_fee), uses: row?.uses }
}

/** The highest gas cost of each recorded encoding, by transaction. */
const gasFeesOf = async (walletId: string): Promise<readonly (readonly bigint[])[]> => {
  const rows = await world.sql<{ id: string; raw: Hex }[]>`select t.id, a.raw from tests.attempts a
    join transactions t on t.id = a.transaction_id where t.wallet_id = ${walletId} order by t.nonce, a.kind desc, a.rung`
  const byId = Map.groupBy(rows, ({ id }) => id)
  return [...byId.values()].map((attempts) => attempts.map(({ raw }) => gasFeeOf(raw)))
}

const gasFeeOf = (raw: Hex): bigint => {
  const { gas = 0n, maxFeePerGas = 0n } = parseTransaction(raw as TransactionSerializedEIP1559)
  return gas * maxFeePerGas
}

const dearest = (fees: readonly bigint[]): bigint => fees.reduce((one, other) => (one > other ? one : other), 0n)

/** The base fee of the next block, from the chain. */
const marketOf = async () => {
  const open = await newWallet()
  const raw = (await world.sign(open, { to: RECIPIENT })).json
  expect(raw.code).toBe('credential_required')
  const { json } = await world.post('sign', open, {
    unsigned_transaction: { to: RECIPIENT },
    developer_secret: undefined,
    user_pin: PIN,
  })
  const { maxFeePerGas = 0n, maxPriorityFeePerGas = 0n } = parseTransaction(json as TransactionSerializedEIP1559)
  return { maxFeePerGas, maxPriorityFeePerGas }
}

const acts = () => [world.sign, world.send] as const

describe('a policy of one contract, one function, no value and one use, for a wallet with 100 coins', () => {
  const setUp = async () => {
    const wallet = await newWallet()
    const nfts = await world.chain.deploy('WizardCollection', ['Doors', 'DOOR', wallet.address])
    const rules = [
      rule('to', 'eq', nfts.address),
      rule('decodedInput.function', 'eq', 'safeMint'),
      rule('value', 'eq', '0'),
    ]
    const uuid = await world.policy(wallet, rules, { max_total_value: '0', max_uses: 1 })
    const input = callOf(MINT.replace('mint', 'safeMint'), wallet.address, 'ipfs://one')
    return { wallet, uuid, call: { to: nfts.address, input } }
  }

  test('does not let the developer burn half of the coins as a fee', async () => {
    const { wallet, uuid, call } = await setUp()
    const burning = {
      gasLimit: '16000000',
      maxFeePerGas: String(2_000n * GWEI),
      maxPriorityFeePerGas: String(1_990n * GWEI),
    }
    const below = { ...burning, maxFeePerGas: String(999n * GWEI), maxPriorityFeePerGas: String(999n * GWEI) }
    const { gasLimit, maxFeePerGas, maxPriorityFeePerGas } = below
    for (const act of acts()) {
      const dear = [burning, below, { gasLimit }, { maxFeePerGas }, { maxFeePerGas, maxPriorityFeePerGas }]
      for (const terms of someOf(dear, 3)) {
        expect(told(await act(wallet, { ...call, ...terms }))).toEqual(DENIED)
      }
    }
    expect(await feesOf(uuid)).toMatchObject({ spent: 0n, uses: 0 })
    expect(await gasFeesOf(wallet.id)).toEqual([])
    expect(told(await world.send(wallet, call))).toEqual(DONE)
    const { spent, uses } = await feesOf(uuid)
    expect(uses).toBe(1)
    // All signed encodings together cost at most a hundredth of the wallet's coins.
    expect(spent).toBe(dearest((await gasFeesOf(wallet.id))[0] ?? []))
    expect(spent).toBeLessThan(parseEther('1'))
  })

  longTest('allows gas and fees up to twice what we would choose, and names that limit', async () => {
    const { wallet, call } = await setUp()
    await world.policy(wallet, [rule('decodedInput.function', 'eq', 'safeMint(address,string)')])
    const chosen = parseTransaction((await world.sign(wallet, call)).json as TransactionSerializedEIP1559)
    const { gas = 0n, maxFeePerGas = 0n, maxPriorityFeePerGas = 0n } = chosen
    const most = {
      gasLimit: 2n * gas,
      maxFeePerGas: 2n * maxFeePerGas,
      maxPriorityFeePerGas: 2n * maxPriorityFeePerGas,
    }
    for (const [field, amount] of Object.entries(most)) {
      for (const act of acts()) {
        const refused = await act(wallet, { ...call, [field]: String(amount + 1n) })
        expect(told(refused)).toEqual(DENIED)
        expect(refused.json.error).toContain(`"unsigned_transaction.${field}" must be at most ${amount}`)
      }
      const signed = await world.sign(wallet, { ...call, [field]: String(amount) })
      expect(told(signed)).toEqual(DONE)
    }
    const all = Object.fromEntries(Object.entries(most).map(([field, amount]) => [field, String(amount)]))
    expect(
      parseTransaction((await world.sign(wallet, { ...call, ...all })).json as TransactionSerializedEIP1559),
    ).toMatchObject({
      gas: most.gasLimit,
      maxFeePerGas: most.maxFeePerGas,
    })
    expect(told(await world.send(wallet, { ...call, ...all }))).toEqual(DONE)
    // The owner may choose any fee.
    const burning = { ...call, gasLimit: '16000000', maxFeePerGas: String(999n * GWEI), nonce: '9' }
    expect(
      told(
        await world.post('sign', wallet, { unsigned_transaction: burning, user_pin: PIN, developer_secret: undefined }),
      ),
    ).toEqual(DONE)
  })
})

describe('a gas price', () => {
  test('may be at most our own fee cap, and the budget is charged with all of it', async () => {
    const wallet = await newWallet()
    const uuid = await world.policy(wallet, [rule('value', 'le', '1000')])
    const { maxFeePerGas: most } = await marketOf()
    const accessList = [{ address: RECIPIENT, storageKeys: [`0x${'0'.repeat(64)}`] }]
    const priced = (gasPrice: bigint) => world.sign(wallet, { to: RECIPIENT, gasPrice: String(gasPrice), accessList })
    const dear = await priced(most + 1n)
    expect(told(dear)).toEqual(DENIED)
    expect(dear.json.error).toContain(`"unsigned_transaction.gasPrice" must be at most ${most}`)
    expect(await feesOf(uuid)).toMatchObject({ spent: 0n, uses: 0 })
    const raw = parseTransaction((await priced(most)).json as TransactionSerializedEIP2930)
    expect(raw).toMatchObject({ type: 'eip2930', gasPrice: most })
    expect(raw.gas).toBeGreaterThanOrEqual(25_300n)
    expect(await feesOf(uuid)).toMatchObject({ spent: (raw.gas ?? 0n) * most, uses: 1 })
  })
})

describe('call data', () => {
  test('is not allowed by a rule on the value alone: no transfer of all, no unlimited approval', async () => {
    const wallet = await newWallet()
    await world.policy(wallet, [rule('value', 'le', '1000')])
    await world.policy(wallet, [rule('to', 'eq', token.address)])
    const inputs = [callOf(TRANSFER, STRANGER, MAX), callOf(APPROVE, STRANGER, MAX), '0x12', '0xdeadbeef']
    for (const input of someOf(inputs, 2)) {
      for (const act of acts()) expect(told(await act(wallet, { to: token.address, input }))).toEqual(DENIED)
    }
    expect(told(await world.sign(wallet, { to: RECIPIENT, value: '1000' }))).toEqual(DONE)
    await world.policy(wallet, [rule('decodedInput.function', 'eq', 'approve(address,uint256)')])
    expect(told(await world.sign(wallet, { to: token.address, input: callOf(APPROVE, STRANGER, MAX) }))).toEqual(DONE)
    expect(told(await world.sign(wallet, { to: token.address, input: callOf(TRANSFER, STRANGER, MAX) }))).toEqual(
      DENIED,
    )
  })

  longTest('is not allowed in a batch of a contract wallet either, nor next to a payment', async () => {
    const safe = await world.newDeployedSafe()
    await world.policy(safe, [rule('value', 'le', '1000')])
    const payment = { to: RECIPIENT, value: '1' }
    const approval = { to: token.address, input: callOf(APPROVE, STRANGER, MAX) }
    for (const act of world.acts) expect(told(await act(safe, approval))).toEqual(DENIED)
    for (const calls of [
      [payment, approval],
      [approval, approval],
    ])
      expect(told(await world.batch(safe, calls))).toEqual(DENIED)
    expect(told(await world.batch(safe, [payment, payment]))).toEqual(DONE)
    await world.policy(safe, [rule('decodedInput.function', 'eq', 'approve(address,uint256)')])
    expect(told(await world.batch(safe, [approval, approval]))).toEqual(DONE)
    // Every transaction must match, and a payment has no function.
    expect(told(await world.batch(safe, [payment, approval]))).toEqual(DENIED)
  })
})

describe('a signature under a policy', () => {
  test('needs the next nonce, so that at most one outlives its policy', async () => {
    for (const make of someOf([newWallet, world.newSafe, world.newDeployedSafe], 3)) {
      const wallet = await make()
      const uuid = await world.policy(wallet, ANYTHING)
      for (const nonce of someOf(
        Array.from({ length: 20 }, (_, index) => index + 1),
        20,
      )) {
        const answer = await world.sign(wallet, { to: RECIPIENT, nonce: String(nonce) })
        expect(told(answer)).toEqual(DENIED)
        expect(answer.json.error).toContain('only the next nonce can be used, which is 0')
      }
      // Fixing all fields does not help.
      const whole = { gasLimit: '21000', maxFeePerGas: String(2n * GWEI), maxPriorityFeePerGas: '1000000', nonce: '5' }
      expect(told(await world.sign(wallet, { to: RECIPIENT, ...whole }))).toEqual(DENIED)
      const signed = [{}, { nonce: '0' }].map((more) => world.sign(wallet, { to: RECIPIENT, ...more }))
      for (const answer of await Promise.all(signed)) {
        expect(told(answer)).toEqual(DONE)
        expect(parseTransaction(answer.json as TransactionSerializedEIP1559).nonce ?? 0).toBe(0)
      }
      expect(await feesOf(uuid)).toMatchObject({ uses: 2 })
    }
  })

  longTest('counts recorded and mined transactions for the next nonce', async () => {
    const wallet = await newWallet()
    await world.policy(wallet, ANYTHING)
    expect(told(await world.send(wallet, { to: RECIPIENT }))).toEqual(DONE)
    expect(told(await world.sign(wallet, { to: RECIPIENT, nonce: '0' }))).toEqual(DENIED)
    const { json } = await world.sign(wallet, { to: RECIPIENT, nonce: '1' })
    expect(parseTransaction(json as TransactionSerializedEIP1559).nonce).toBe(1)
  })

  longTest(
    "does not count transactions in the node's pool, so no queue of signatures outlives the policy there",
    async () => {
      const wallet = await newWallet()
      await world.policy(wallet, ANYTHING)
      await world.chain.setAutomine(false)
      try {
        const { json } = await world.sign(wallet, { to: RECIPIENT })
        await world.chain.publicClient.sendRawTransaction({ serializedTransaction: json })
        expect(told(await world.sign(wallet, { to: RECIPIENT, nonce: '1' }))).toEqual(DENIED)
        const again = await world.sign(wallet, { to: RECIPIENT })
        expect(parseTransaction(again.json as TransactionSerializedEIP1559).nonce ?? 0).toBe(0)
        await world.chain.mine()
      } finally {
        await world.chain.setAutomine(true)
      }
      const { json } = await world.sign(wallet, { to: RECIPIENT })
      expect(parseTransaction(json as TransactionSerializedEIP1559).nonce).toBe(1)
    },
  )
})

describe('the fee budget', () => {
  longTest('is by default what 2,500 ordinary transactions cost at current fees, and is shown', async () => {
    const wallet = await newWallet()
    const { maxFeePerGas } = await marketOf()
    const uuid = await world.policy(wallet, ANYTHING)
    const { budget } = await feesOf(uuid)
    expect(budget).toBe(2_500n * 100_000n * maxFeePerGas)
    const own = await world.policy(wallet, ANYTHING, { max_total_fee: '123456789' })
    const { json } = await world.service.get('/policies', { network, wallet_address: wallet.address })
    expect(json.map((each: { uuid: string; max_total_fee: string }) => [each.uuid, each.max_total_fee])).toEqual([
      [uuid, String(budget)],
      [own, '123456789'],
    ])
  })

  test('is charged once per transaction, with the most expensive of its signatures, the cancel included', async () => {
    const wallet = await newWallet()
    const uuid = await world.policy(wallet, ANYTHING)
    for (let count = 0; count < 2; count += 1) expect(told(await world.send(wallet, { to: RECIPIENT }))).toEqual(DONE)
    const fees = await gasFeesOf(wallet.id)
    expect(fees.map(({ length }) => length)).toEqual([7, 7])
    expect((await feesOf(uuid)).spent).toBe(fees.map(dearest).reduce((one, other) => one + other, 0n))
  })

  longTest('is charged again for a new signature, whose fee stays near the market', async () => {
    const wallet = await newWallet()
    const uuid = await world.policy(wallet, ANYTHING)
    const { json: sent } = await world.send(wallet, { to: RECIPIENT, value: '7' })
    const speedUp = () =>
      world.service.post('/transactions/speed-up', { transaction_id: sent.transaction_id, developer_secret: SECRET })
    let expected = dearest((await gasFeesOf(wallet.id))[0] ?? [])
    const answers: unknown[] = []
    for (let times = 0; times < 5; times += 1) {
      const before = new Set((await gasFeesOf(wallet.id))[0])
      const answer = told(await speedUp())
      answers.push(answer)
      if (answer[0] !== 200) continue
      expected += dearest(((await gasFeesOf(wallet.id))[0] ?? []).filter((fee) => !before.has(fee)))
      // As if the node had received it, so the next one must offer more.
      await world.sql`update transactions set chosen = rungs - 1 where id = ${sent.transaction_id}`
    }
    expect(answers[0]).toEqual(DONE)
    expect(answers.at(-1)).toEqual(DENIED)
    const { spent, uses } = await feesOf(uuid)
    expect([spent, uses]).toEqual([expected, 1 + answers.filter((each) => Bun.deepEquals(each, DONE)).length])
  })

  longTest('is charged for a signature that is not sent', async () => {
    const wallet = await newWallet()
    const uuid = await world.policy(wallet, ANYTHING)
    const { json } = await world.sign(wallet, { to: RECIPIENT, value: '7' })
    expect((await feesOf(uuid)).spent).toBe(gasFeeOf(json))
  })

  test('refuses a fee that it cannot cover, names the amount, and is not charged', async () => {
    const wallet = await newWallet()
    const { maxFeePerGas } = await marketOf()
    const fee = PAYMENT_GAS * maxFeePerGas
    const uuid = await world.policy(wallet, ANYTHING, { max_total_fee: String(fee - 1n) })
    for (const act of acts()) {
      const answer = await act(wallet, { to: RECIPIENT, value: '1' })
      expect(told(answer)).toEqual(DENIED)
      expect(answer.json.error).toMatch(/has enough left: it needs one use and 0\.0\d+ ETH of the fee budget/)
    }
    expect(await feesOf(uuid)).toMatchObject({ spent: 0n, uses: 0 })
    expect(await gasFeesOf(wallet.id)).toEqual([])
    // The next policy that allows the use is charged.
    const next = await world.policy(wallet, ANYTHING, { max_total_fee: String(fee) })
    expect(told(await world.sign(wallet, { to: RECIPIENT, value: '1' }))).toEqual(DONE)
    expect(told(await world.sign(wallet, { to: RECIPIENT, value: '1' }))).toEqual(DENIED)
    expect([(await feesOf(uuid)).spent, (await feesOf(next)).spent]).toEqual([0n, fee])
  })

  longTest("is also charged for a contract wallet's deployment, whose fee its owner's key pays", async () => {
    const safe = await world.newSafe()
    const uuid = await world.policy(safe, ANYTHING)
    expect(told(await world.send(safe, { to: RECIPIENT, value: '1' }))).toEqual(DONE)
    const fees = await gasFeesOf(safe.id)
    expect(fees).toHaveLength(2)
    expect((await feesOf(uuid)).spent).toBe(fees.map(dearest).reduce((one, other) => one + other, 0n))
    // The second transaction needs no deployment.
    const before = (await feesOf(uuid)).spent
    expect(told(await world.send(safe, { to: RECIPIENT, value: '1' }))).toEqual(DONE)
    const after = await gasFeesOf(safe.id)
    expect((await feesOf(uuid)).spent - before).toBe(dearest(after[2] ?? []))
  })

  longTest('must cover both the execution and the deployment', async () => {
    const safe = await world.newSafe()
    const twin = await world.newSafe()
    await world.policy(twin, ANYTHING)
    expect(told(await world.send(twin, { to: RECIPIENT, value: '1' }))).toEqual(DONE)
    const [deployment = [], execution = []] = await gasFeesOf(twin.id)
    const both = dearest(deployment) + dearest(execution)
    // Gas and fees differ a little, because addresses differ in their zero bytes.
    const short = await world.policy(safe, ANYTHING, { max_total_fee: String((both * 95n) / 100n) })
    expect(told(await world.send(safe, { to: RECIPIENT, value: '1' }))).toEqual(DENIED)
    expect(await gasFeesOf(safe.id)).toEqual([])
    expect((await feesOf(short)).spent).toBe(0n)
    // If somebody else deploys the wallet, the budget is not charged for it.
    await world.chain.send({
      to: (await world.contractWallets.deployment({ address: safe.address, owner: safe.owner })).to as Hex,
      data: deploymentData(safe),
    })
    expect(told(await world.send(safe, { to: RECIPIENT, value: '1' }))).toEqual(DONE)
  })

  longTest('limits gas and fees of batches and contract wallets as for an eoa wallet', async () => {
    const safe = await world.newDeployedSafe()
    await world.policy(safe, ANYTHING)
    for (const act of acts()) {
      for (const terms of [{ gasLimit: '16000000' }, { maxFeePerGas: String(900n * GWEI) }]) {
        expect(told(await act(safe, { to: RECIPIENT, value: '1', ...terms }))).toEqual(DENIED)
      }
    }
    const chosen = parseTransaction(
      (await world.sign(safe, { to: RECIPIENT, value: '1' })).json as TransactionSerializedEIP1559,
    )
    const gasLimit = String(2n * (chosen.gas ?? 0n))
    expect(told(await world.send(safe, { to: RECIPIENT, value: '1', gasLimit }))).toEqual(DONE)
  })
})

test('a use that no policy allows is refused with a clear reason', async () => {
  const wallet = await newWallet()
  await world.policy(wallet, [rule('value', 'eq', '1')])
  const { json } = await world.service.post('/transactions/sign', {
    network,
    signer_wallet_address: wallet.address,
    unsigned_transaction: { to: RECIPIENT, value: '2' },
    developer_secret: SECRET,
  })
  expect(json.error).toMatch(/^No policy of this wallet allows this: it needs the "user_pin" or a "user_secret"\./)
})
