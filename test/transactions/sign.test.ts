import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Hex, parseTransaction, recoverTransactionAddress, type TransactionSerializedEIP1559 } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { startFakeNode } from '../chains/evm/fake-node.ts'
import { fundedAccount, startChain, type TestChain } from '../support/chains.ts'
import { type Gate, startGate } from '../support/gate.ts'
import { countRows } from '../support/rows.ts'
import { type Answer, type Service, startService } from '../support/service.ts'

const SECRET = 'testnet-secret'
const RECIPIENT = fundedAccount(5).address
/** A contract of one byte of code. */
const CREATION = '0x600160005360016000f3'
const MAX = (1n << 256n) - 1n

const COMPLETE = {
  to: RECIPIENT,
  value: '5',
  input: '0x',
  gasLimit: '21000',
  maxFeePerGas: '200',
  maxPriorityFeePerGas: '100',
  nonce: '7',
}

let chain: TestChain
let gate: Gate
let polygon: ReturnType<typeof startFakeNode>
let service: Service
let address: Hex

beforeAll(async () => {
  chain = await startChain('Ethereum')
  gate = startGate(chain.rpcUrl)
  // It answers only the question for its chain id.
  polygon = startFakeNode({ behaviour: ({ method }) => (method === 'eth_chainId' ? { result: '0x13882' } : undefined) })
  service = await startService({ rpcUrls: { Ethereum: gate.url, Polygon: polygon.rpcUrl } })
  address = (await service.newWallet({ network: 'Ethereum' })).address
})

afterAll(async () => {
  await service.close()
  await polygon.stop()
  await gate.stop()
  await chain.stop()
})

const sign = (unsigned_transaction: Record<string, unknown>, rest: Record<string, unknown> = {}) =>
  service.post('/transactions/sign', {
    network: 'Ethereum',
    signer_wallet_address: address,
    unsigned_transaction,
    developer_secret: SECRET,
    ...rest,
  })

const told = (answer: Answer) => ({ status: answer.status, code: answer.json?.code })

const signed = async (answer: Answer) => {
  expect(answer.status).toBe(200)
  const raw = answer.json as TransactionSerializedEIP1559
  expect(await recoverTransactionAddress({ serializedTransaction: raw })).toBe(address)
  return parseTransaction(raw)
}

/** Runs while the node is away, and restores the node. */
const withoutNode = async <Result>(work: () => Promise<Result>): Promise<Result> => {
  gate.setAway(true)
  try {
    return await work()
  } finally {
    gate.setAway(false)
  }
}

describe('with every field given', () => {
  test('signs the requested transaction for the network, and sends a confirmed node no request', async () => {
    await sign(COMPLETE)
    const transaction = await withoutNode(async () => signed(await sign(COMPLETE)))
    expect(transaction).toMatchObject({
      type: 'eip1559',
      chainId: chain.chainId,
      to: RECIPIENT.toLowerCase() as Hex,
      value: 5n,
      gas: 21_000n,
      maxFeePerGas: 200n,
      maxPriorityFeePerGas: 100n,
      nonce: 7,
    })
  })

  test('gives the same result for equal quantities in any notation', async () => {
    const plain = (await sign(COMPLETE)).json
    const same = [
      {
        ...COMPLETE,
        value: '0x5',
        gasLimit: '0x5208',
        maxFeePerGas: '0xC8',
        maxPriorityFeePerGas: '0x64',
        nonce: '0x7',
      },
      { ...COMPLETE, value: '005', nonce: '0x007' },
      { ...COMPLETE, input: '' },
      { ...COMPLETE, input: null },
      { ...COMPLETE, to: RECIPIENT.toLowerCase() },
      { ...COMPLETE, to: `0x${RECIPIENT.slice(2).toUpperCase()}` },
    ]
    for (const each of same) expect((await sign(each)).json).toBe(plain)
    const signers = [address.toLowerCase(), `0x${address.slice(2).toUpperCase()}`]
    for (const signer_wallet_address of signers) {
      expect((await sign(COMPLETE, { signer_wallet_address })).json).toBe(plain)
    }
    expect((await sign(COMPLETE, { network: null, user_pin: null })).json).toBe(plain)
  })

  test('keeps the bytes of call data in upper or lower case', async () => {
    const call = { ...COMPLETE, gasLimit: '30000', input: '0xABcdEF00' }
    expect((await signed(await sign(call))).data).toBe('0xabcdef00')
  })

  test('signs the largest value of each field, and refuses one more', async () => {
    const largest = {
      ...COMPLETE,
      value: MAX.toString(),
      maxFeePerGas: MAX.toString(),
      maxPriorityFeePerGas: `0x${MAX.toString(16)}`,
      // EIP-7825.
      gasLimit: (1n << 24n).toString(),
      nonce: ((1n << 53n) - 1n).toString(),
    }
    expect(await signed(await sign(largest))).toMatchObject({
      value: MAX,
      maxFeePerGas: MAX,
      gas: 1n << 24n,
      nonce: Number.MAX_SAFE_INTEGER,
    })
    for (const field of ['value', 'maxFeePerGas', 'gasLimit', 'nonce'] as const) {
      const answer = await sign({ ...largest, [field]: (BigInt(largest[field]) + 1n).toString() })
      expect(told(answer)).toEqual({ status: 400, code: 'invalid_input' })
      expect(answer.json.error).toContain(`"unsigned_transaction.${field}"`)
    }
    const era = await sign({ ...largest, era: '64' })
    expect([told(era), era.json.error]).toEqual([
      { status: 400, code: 'invalid_input' },
      'Field "unsigned_transaction.era" has no meaning on Ethereum.',
    ])
    const asset = await sign({ ...largest, asset_id: '1984' })
    expect([told(asset), asset.json.error]).toEqual([
      { status: 400, code: 'invalid_input' },
      'Field "unsigned_transaction.asset_id" has no meaning on Ethereum.',
    ])
  })

  test('signs zero for every field but the gas limit', async () => {
    const zero = { value: '0', gasLimit: '0x5208', maxFeePerGas: '0', maxPriorityFeePerGas: '0', nonce: '0' }
    const transaction = await signed(await sign({ to: RECIPIENT, ...zero }))
    expect([transaction.value ?? 0n, transaction.gas ?? 0n, transaction.nonce ?? 0]).toEqual([0n, 21_000n, 0])
    expect(told(await sign({ to: RECIPIENT, ...zero, gasLimit: '0x0' }))).toEqual({
      status: 400,
      code: 'invalid_input',
    })
  })

  test.each([
    ['a payment', { to: RECIPIENT }, 21_000n],
    ['call data of zeros and other bytes', { to: RECIPIENT, input: '0x00ff00ff' }, 21_100n],
    ['call data that nothing reads', { to: RECIPIENT, input: `0x${'ff'.repeat(100)}` }, 25_000n],
    ['a creation', { input: CREATION }, 53_138n],
  ])('of gas no less is signed than a block takes of %s', async (_what, transaction, least) => {
    const { to, input: data } = transaction as { to?: Hex; input?: Hex }
    /** Whether the chain mines it. It does so at once or never, whatever it answers. */
    const isMined = async (gas: bigint) => {
      const account = privateKeyToAccount(generatePrivateKey())
      await chain.fund(account.address)
      const sent = { account, gas, ...(to && { to }), ...(data && { data }) }
      await Promise.allSettled([chain.walletClient.sendTransaction(sent)])
      await chain.send({ to: RECIPIENT, value: 1n })
      return (await chain.publicClient.getTransactionCount({ address: account.address })) === 1
    }
    expect([await isMined(least - 1n), await isMined(least)]).toEqual([false, true])
    const { to: _, ...fields } = COMPLETE
    const { maxFeePerGas: __, ...open } = fields
    for (const rest of [fields, open]) {
      const answer = await sign({ ...rest, ...transaction, gasLimit: String(least - 1n) })
      expect(told(answer)).toEqual({ status: 400, code: 'invalid_input' })
      expect(answer.json.error).toContain(`"unsigned_transaction.gasLimit" must be at least ${least}`)
      expect(await signed(await sign({ ...rest, ...transaction, gasLimit: String(least) }))).toMatchObject({
        gas: least,
      })
    }
  })

  test('a tip above the fee cap is refused', async () => {
    const answer = await sign({ ...COMPLETE, maxPriorityFeePerGas: '201' })
    expect(told(answer)).toEqual({ status: 400, code: 'fee_too_low' })
  })

  test('quantities in other notations are refused', async () => {
    for (const value of ['0X5', '+5', '٥', '5n', '5.0', '0x', '-0', '5 ', '0b1', '1_000']) {
      expect({ value, ...told(await sign({ ...COMPLETE, value })) }).toEqual({
        value,
        status: 400,
        code: 'invalid_input',
      })
    }
  })
})

describe('a missing field', () => {
  test('is filled in: the next nonce, enough gas, and current fees', async () => {
    const transaction = await signed(await sign({ to: RECIPIENT, value: '1' }))
    expect(transaction).toMatchObject({ gas: 21_000n, value: 1n })
    expect(transaction.nonce ?? 0).toBe(0)
    const { baseFeePerGas } = await chain.publicClient.getBlock()
    expect(transaction.maxFeePerGas).toBeGreaterThan(baseFeePerGas ?? 0n)
  })

  test('is filled in without changing the given ones', async () => {
    const transaction = await signed(
      await sign({ to: RECIPIENT, gasLimit: '50000', nonce: '3', maxFeePerGas: '9000000000' }),
    )
    expect(transaction).toMatchObject({ gas: 50_000n, nonce: 3, maxFeePerGas: 9_000_000_000n })
  })

  test('may be the destination for a creation, but not both destination and input', async () => {
    for (const unsigned of [{ input: CREATION }, { to: null, input: CREATION }]) {
      const transaction = await signed(await sign(unsigned))
      expect(transaction.to).toBeUndefined()
      expect(transaction.data).toBe(CREATION)
    }
    for (const unsigned of [{}, { to: null, input: '' }, { value: '1', input: '0x' }]) {
      expect(told(await sign(unsigned))).toEqual({ status: 400, code: 'invalid_input' })
    }
  })

  test('cannot be filled in while the node does not answer: nothing is signed or recorded', async () => {
    const before = await countRows(service.database.url)
    await withoutNode(async () => {
      for (const field of ['nonce', 'gasLimit', 'maxFeePerGas', 'maxPriorityFeePerGas']) {
        const answer = await sign({ ...COMPLETE, [field]: null })
        expect({ field, ...told(answer) }).toEqual({ field, status: 503, code: 'node_unavailable' })
      }
      expect(await countRows(service.database.url)).toEqual(before)
      expect(told(await sign({ to: RECIPIENT }, { developer_secret: 'wrong' }))).toEqual({
        status: 403,
        code: 'INVALID_SECRET',
      })
    })
  })

  test('a call that would revert is refused with its reason', async () => {
    const token = await chain.deploy('TestToken', ['Test', 'TST', 18])
    const transfer = `0xa9059cbb${RECIPIENT.slice(2).toLowerCase().padStart(64, '0')}${'1'.padStart(64, '0')}`
    const answer = await sign({ to: token.address, input: transfer })
    expect(told(answer)).toEqual({ status: 400, code: 'execution_reverted' })
    expect(answer.json.error).toContain('ERC20InsufficientBalance')
  })
})

describe('the network', () => {
  test('is found by the address if the project has it on one network only', async () => {
    expect((await sign(COMPLETE, { network: null })).status).toBe(200)
    const owner = crypto.randomUUID()
    const [{ address: shared }] = await Promise.all([
      service.newWallet({ network: 'Ethereum', ownerId: owner }),
      service.newWallet({ network: 'Polygon', ownerId: owner }),
    ])
    const ambiguous = await sign(COMPLETE, { network: null, signer_wallet_address: shared })
    expect(told(ambiguous)).toEqual({ status: 400, code: 'network_required' })
    const chainIds = []
    for (const network of ['Ethereum', 'Polygon']) {
      const answer = await sign(COMPLETE, { network, signer_wallet_address: shared })
      chainIds.push(parseTransaction(answer.json as Hex).chainId)
    }
    expect(chainIds).toEqual([11_155_111, 80_002])
  })

  test('must be one on which the project has the wallet', async () => {
    expect(told(await sign(COMPLETE, { network: 'Polygon' }))).toEqual({ status: 404, code: 'not_found' })
  })
})
