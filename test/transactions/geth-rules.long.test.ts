// The pool for the ladder tests refuses what go-ethereum's pool refuses, with its messages; and it accepts the ladder.

import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import type { Hex } from 'viem'
import type { EvmUnsigned } from '../../src/chains/chain.ts'
import { classifyRefusal } from '../../src/chains/evm/delivery.ts'
import { buildLadder } from '../../src/chains/evm/ladder.ts'
import { fundedAccount, startChain, type TestChain } from '../support/chains.ts'
import { type GethRules, startGethRules, type Verdict } from '../support/geth-rules.ts'
import { longTest, someOf } from '../support/long.ts'

const GWEI = 1_000_000_000n
const GAS = 21_000n
const RECIPIENT = fundedAccount(5).address

let chain: TestChain
let node: GethRules
let accounts = 10

beforeAll(async () => {
  chain = await startChain('Ethereum')
  node = startGethRules(chain.rpcUrl)
  await chain.setAutomine(false)
})

afterEach(() => node.forget())

afterAll(async () => {
  await node.stop()
  await chain.stop()
})

/** A sender who has sent nothing yet. */
const newcomer = async (balance = 10n ** 18n) => {
  accounts += 1
  const account = fundedAccount(accounts)
  await chain.fund(account.address, balance)
  return account
}

type Sender = ReturnType<typeof fundedAccount>
type Offer = { readonly feeCap: bigint; readonly tip: bigint; readonly nonce?: number; readonly value?: bigint }

const offer = async (from: Sender, { feeCap, tip, nonce = 0, value = 1n }: Offer): Promise<Verdict> => {
  const fees = { maxFeePerGas: feeCap, maxPriorityFeePerGas: tip }
  const call = { to: RECIPIENT, value, gas: GAS, nonce }
  return node.send(await from.signTransaction({ type: 'eip1559', chainId: chain.chainId, ...fees, ...call }))
}

const FIRST = { feeCap: 10n * GWEI, tip: GWEI } as const

/** The node's message, and how this service classifies it. */
const refusalOf = ({ refusal }: Verdict) => ({
  said: refusal,
  taken: refusal === null ? 'accepted' : classifyRefusal({ code: -32000, message: refusal, data: undefined }).kind,
})

const OK = { said: null, taken: 'accepted' } as const

describe('a replacement', () => {
  test('must raise both fees by a tenth', async () => {
    const from = await newcomer()
    const underpriced = { said: 'replacement transaction underpriced', taken: 'underpriced' } as const
    expect(refusalOf(await offer(from, FIRST))).toEqual(OK)
    expect(refusalOf(await offer(from, { feeCap: 11n * GWEI - 1n, tip: 2n * GWEI }))).toEqual(underpriced)
    expect(refusalOf(await offer(from, { feeCap: 20n * GWEI, tip: (GWEI * 11n) / 10n - 1n }))).toEqual(underpriced)
    expect(refusalOf(await offer(from, { feeCap: 20n * GWEI, tip: GWEI }))).toEqual(underpriced)
    expect(refusalOf(await offer(from, { feeCap: 11n * GWEI, tip: (GWEI * 11n) / 10n }))).toEqual(OK)
  })

  test('must raise both fees by at least one wei', async () => {
    const from = await newcomer()
    expect((await offer(from, { feeCap: 5n, tip: 5n })).refusal).toBeNull()
    expect((await offer(from, { feeCap: 5n, tip: 5n, value: 2n })).refusal).toBe('replacement transaction underpriced')
    expect((await offer(from, { feeCap: 6n, tip: 6n })).refusal).toBeNull()
  })

  test('that is the same transaction is answered with "already known"', async () => {
    const from = await newcomer()
    await offer(from, FIRST)
    expect(refusalOf(await offer(from, FIRST))).toEqual({ said: 'already known', taken: 'accepted' })
  })
})

describe('a sender that cannot pay', () => {
  const noFunds = 'insufficient funds for gas * price + value: balance'
  const cost = GAS * FIRST.feeCap + 1n

  test('for this transaction', async () => {
    const from = await newcomer(cost - 1n)
    const said = `${noFunds} ${cost - 1n}, tx cost ${cost}, overshot 1`
    expect(refusalOf(await offer(from, FIRST))).toEqual({ said, taken: 'insufficient_funds' })
  })

  test('for this transaction and those before it', async () => {
    const from = await newcomer(2n * cost - 1n)
    expect((await offer(from, FIRST)).refusal).toBeNull()
    const said = `${noFunds} ${2n * cost - 1n}, queued cost ${cost}, tx cost ${cost}, overshot 1`
    expect(refusalOf(await offer(from, { ...FIRST, nonce: 1 }))).toEqual({ said, taken: 'insufficient_funds' })
  })

  test('for a higher fee and the transactions behind it', async () => {
    const from = await newcomer(2n * cost)
    for (const nonce of [0, 1]) expect((await offer(from, { ...FIRST, nonce })).refusal).toBeNull()
    const more = GAS * FIRST.feeCap
    const said = `${noFunds} ${2n * cost}, queued cost ${2n * cost}, tx bumped ${more}, overshot ${more}`
    const raised = { feeCap: 2n * FIRST.feeCap, tip: 2n * FIRST.tip }
    expect(refusalOf(await offer(from, raised))).toEqual({ said, taken: 'insufficient_funds' })
  })

  test('for a transaction in the pool: it is dropped, and those behind it wait', async () => {
    const from = await newcomer()
    const [first, second] = [
      await offer(from, { ...FIRST, value: 10n ** 17n }),
      await offer(from, { ...FIRST, nonce: 1 }),
    ]
    await chain.fund(from.address, 10n ** 16n)
    expect(await ask('eth_getTransactionByHash', [first.hash])).toBeNull()
    expect(await ask('eth_getTransactionByHash', [second.hash])).toMatchObject({ hash: second.hash })
  })
})

/** A request like a client's. */
const ask = async (method: string, params: readonly unknown[]): Promise<unknown> => {
  const body = JSON.stringify([{ jsonrpc: '2.0', id: 1, method, params }])
  const response = await fetch(node.url, { method: 'POST', body, headers: { 'content-type': 'application/json' } })
  const [answer] = (await response.json()) as readonly { readonly result: unknown }[]
  return answer?.result
}

describe('the pool always refuses', () => {
  test('a nonce that is used', async () => {
    const from = await newcomer()
    await offer(from, FIRST)
    await chain.mine()
    const said = 'nonce too low: next nonce 1, tx nonce 0'
    expect(refusalOf(await offer(from, { ...FIRST, value: 2n }))).toEqual({ said, taken: 'nonce_too_low' })
  })

  test('a tip below the least', async () => {
    const from = await newcomer()
    const said = 'transaction gas price below minimum: gas tip cap 0, minimum needed 1'
    expect(refusalOf(await offer(from, { ...FIRST, tip: 0n }))).toEqual({ said, taken: 'underpriced' })
  })

  test('a fee that must be a mistake', async () => {
    const from = await newcomer(10n ** 19n)
    const said = 'tx fee (2.10 ether) exceeds the configured cap (1.00 ether)'
    expect(refusalOf(await offer(from, { ...FIRST, feeCap: 100_000n * GWEI }))).toEqual({ said, taken: 'rejected' })
  })
})

longTest('behind a gap the pool keeps a limited number of transactions and silently drops the others', async () => {
  const from = await newcomer()
  const sent: Verdict[] = []
  for (let nonce = 1; nonce <= 66; nonce += 1) sent.push(await offer(from, { ...FIRST, nonce }))
  expect(sent.map(({ refusal }) => refusal)).toEqual(sent.map(() => null))
  expect(await ask('eth_getTransactionByHash', [sent[63]?.hash])).not.toBeNull()
  expect(await ask('eth_getTransactionByHash', [sent[65]?.hash])).toBeNull()
})

describe('the ladder', () => {
  const sign = (from: Sender, { gasLimit: gas, maxFeePerGas, maxPriorityFeePerGas, ...unsigned }: EvmUnsigned) =>
    from.signTransaction({
      type: 'eip1559',
      chainId: chain.chainId,
      ...{ gas, maxFeePerGas, maxPriorityFeePerGas, nonce: unsigned.nonce },
      ...{ to: unsigned.to as Hex, value: unsigned.value, data: unsigned.input },
    })

  const attemptsOf = (from: Sender, input: { nonce: number; feeCap: bigint; tip: bigint; fixedFees: boolean }) => {
    const unsigned: EvmUnsigned = {
      family: 'evm',
      chainId: chain.chainId,
      nonce: input.nonce,
      to: RECIPIENT,
      value: 1n,
      input: '0x',
      gasLimit: GAS,
      maxFeePerGas: input.feeCap,
      maxPriorityFeePerGas: input.tip,
    }
    const { to, value, input: data, maxFeePerGas } = unsigned
    const { rungs, cancel } = buildLadder({
      ...{ unsigned, atMarket: unsigned, from: from.address, ceilingWei: 2_000n * GWEI },
      intent: { to, value, input: data, ...(input.fixedFees ? { maxFeePerGas } : {}) },
      ...{ spendable: 10n ** 30n, worstCost: value + GAS * maxFeePerGas },
    })
    return [...rungs, cancel]
  }

  const cases = [
    ['fees of the market', { feeCap: 3n * GWEI, tip: GWEI, fixedFees: false }],
    ['the least of fees', { feeCap: 1n, tip: 1n, fixedFees: false }],
    ['fees that are fixed', { feeCap: 3n * GWEI, tip: 1_000_001n, fixedFees: true }],
  ] as const
  for (const [name, fees] of someOf(cases, 3)) {
    test(`with ${name}: each attempt replaces each one below it, whatever was skipped`, async () => {
      const from = await newcomer()
      const count = attemptsOf(from, { ...fees, nonce: 0 }).length
      expect(count).toBe(fees.fixedFees ? 2 : 7)
      let nonce = 0
      for (let low = 0; low < count; low += 1) {
        for (let high = low + 1; high < count; high += 1) {
          const attempts = attemptsOf(from, { ...fees, nonce })
          for (const at of [low, high]) {
            const { refusal } = await node.send(await sign(from, attempts[at] as EvmUnsigned))
            expect({ at, refusal }).toEqual({ at, refusal: null })
          }
          nonce += 1
        }
      }
    })
  }
})
