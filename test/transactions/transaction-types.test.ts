// Transactions of the types 0, 1 and 2: each as it is asked for, taken by a real chain, and what is refused.

import { beforeAll, describe, expect, test } from 'bun:test'
import type { Sql } from 'postgres'
import { type Hex, parseTransaction, recoverTransactionAddress, type TransactionSerialized } from 'viem'
import { fundedAccount, type TestChain } from '../support/chains.ts'
import { commonWorld } from '../support/common-service.ts'
import type { Answer, Service } from '../support/service.ts'

const SECRET = 'testnet-secret'
const RECIPIENT = fundedAccount(5).address
const GWEI = 10n ** 9n
const SLOT: Hex = `0x${'0'.repeat(63)}1`
const ACCESS_LIST = [{ address: RECIPIENT, storageKeys: [SLOT, `0x${'Ab'.repeat(32)}`] }]
/** 21000, an address and two slots. */
const LISTED_GAS = 27_200n

let chain: TestChain
let service: Service
let address: Hex
let contract: Hex
let sql: Sql

beforeAll(async () => {
  ;({ chain, service } = await commonWorld())
  sql = service.database.sql
  address = (await service.newWallet({ network: 'Ethereum' })).address
  await chain.fund(address)
  const of = { network: 'Ethereum', name: 'Safe', type: 'contract', control_mode: 'developer' }
  contract = (await service.post('/wallets', { ...of, developer_secret: SECRET })).json.address
})

const act = (path: string, unsigned_transaction: object, signer_wallet_address: string = address) =>
  service.post(path, { network: 'Ethereum', signer_wallet_address, unsigned_transaction, developer_secret: SECRET })
const sign = (unsigned: object) => act('/transactions/sign', unsigned)

const refusal = ({ status, json }: Answer) => [status, json?.code, json?.error]
const bad = (sentence: string) => [400, 'invalid_input', expect.stringContaining(sentence)]

/** Sends what was signed to the chain. */
const mined = async ({ status, json }: Answer) => {
  expect(status).toBe(200)
  const raw: TransactionSerialized = json
  expect(await recoverTransactionAddress({ serializedTransaction: raw })).toBe(address)
  const hash = await chain.publicClient.sendRawTransaction({ serializedTransaction: raw })
  const receipt = await chain.receiptOf(hash)
  const seen = await chain.publicClient.getTransaction({ hash })
  return { raw: parseTransaction(raw), receipt, seen, hash }
}

const fees = { maxFeePerGas: String(20n * GWEI), maxPriorityFeePerGas: String(GWEI) }
const price = { gasPrice: String(15n * GWEI) }

describe('the fields decide the type, and the chain takes it', () => {
  test.each([
    ['legacy', '0', price],
    ['legacy', '0x0', { ...price, gasLimit: '21000' }],
    ['eip2930', '1', { ...price, accessList: [] }],
    ['eip2930', '0x1', { ...price, accessList: ACCESS_LIST }],
    ['eip1559', '2', fees],
    ['eip1559', '0x2', { ...fees, accessList: ACCESS_LIST }],
    ['eip1559', '2', { accessList: ACCESS_LIST }],
  ] as const)('%s is type %s', async (name, type, fields) => {
    const before = await chain.publicClient.getBalance({ address: RECIPIENT })
    const unsigned = { to: RECIPIENT, value: '5', ...fields }
    expect((await sign({ ...unsigned, type })).json).toBe((await sign(unsigned)).json)
    const { raw, receipt, seen, hash } = await mined(await sign(unsigned))
    expect([raw.type, receipt.type, receipt.status]).toEqual([name, name, 'success'])
    expect(raw.chainId).toBe(chain.chainId)
    expect(await chain.publicClient.getBalance({ address: RECIPIENT })).toBe(before + 5n)
    if ('gasPrice' in fields) expect([raw.gasPrice, receipt.effectiveGasPrice]).toEqual([15n * GWEI, 15n * GWEI])
    const list = 'accessList' in fields ? fields.accessList : []
    const inLowerCase = (value: unknown) => JSON.stringify(value).toLowerCase()
    expect(inLowerCase(seen.accessList ?? [])).toBe(inLowerCase(list))
    expect(receipt.gasUsed).toBe(list.length === 0 ? 21_000n : LISTED_GAS)
    const [row] = await sql`select details from audit where details->>'hash' = ${hash}`
    const told = name === 'eip1559' ? undefined : name === 'legacy' ? '0' : '1'
    expect(row?.details).toMatchObject({ to: RECIPIENT.toLowerCase(), value: '5', chain_id: String(chain.chainId) })
    expect(row?.details.transaction_type).toBe(told)
  })

  test('a call and a creation are signed with a gas price', async () => {
    const token = await chain.deploy('TestToken', ['Test', 'TST', 18])
    const input = `0x095ea7b3${RECIPIENT.slice(2).toLowerCase().padStart(64, '0')}${'1'.padStart(64, '0')}`
    const { receipt } = await mined(await sign({ to: token.address, input, ...price }))
    expect([receipt.status, receipt.logs.length]).toEqual(['success', 1])
    const made = await mined(await sign({ input: '0x600160005360016000f3', ...price }))
    expect([made.receipt.type, made.receipt.contractAddress === null]).toEqual(['legacy', false])
  })
})

describe('what contradicts itself is refused, with the name of the field', () => {
  const to = RECIPIENT
  const entry = { address: RECIPIENT, storageKeys: [] }
  const keys = (length: number) => Array.from({ length }, () => SLOT)

  test.each([
    ['gasPrice', { ...price, maxFeePerGas: '1' }],
    ['gasPrice', { ...price, maxPriorityFeePerGas: '1' }],
    ['gasPrice', { gasPrice: '-1' }],
    ['gasPrice', { gasPrice: (1n << 256n).toString() }],
    ['type', { ...price, type: '1' }],
    ['type', { ...price, type: '2' }],
    ['type', { ...price, accessList: [], type: '0' }],
    ['type', { type: '0' }],
    ['type', { accessList: [], type: '1' }],
    ['type', { type: '3' }],
    ['type', { type: '4' }],
    ['type', { type: 'legacy' }],
    ['accessList', { accessList: {} }],
    ['accessList', { accessList: Array.from({ length: 257 }, () => entry) }],
    [
      'accessList',
      {
        accessList: [
          { ...entry, storageKeys: keys(600) },
          { ...entry, storageKeys: keys(425) },
        ],
      },
    ],
    ['accessList.0.storageKeys', { accessList: [{ ...entry, storageKeys: keys(1_025) }] }],
    ['accessList.0.storageKeys.1', { accessList: [{ ...entry, storageKeys: [SLOT, '0x01'] }] }],
    ['accessList.0.storageKeys', { accessList: [{ address: RECIPIENT }] }],
  ])('%s', async (field, fields) => {
    const answer = await sign({ to, value: '1', ...fields })
    expect(refusal(answer)).toEqual(bad(`"unsigned_transaction.${field}"`))
  })

  test('an address of the list must be one', async () => {
    for (const [at, address] of [
      [0, '0x12'],
      [1, `0x${'Ab'.repeat(20)}`],
    ] as const) {
      const accessList = [...Array.from({ length: at }, () => entry), { ...entry, address }]
      const told = refusal(await sign({ to, value: '1', accessList }))
      const field = `"unsigned_transaction.accessList.${at}.address"`
      expect(told).toEqual([400, 'address_invalid', expect.stringContaining(field)])
    }
  })

  test('a gas limit must be enough for the access list', async () => {
    const at = (gas: bigint) => sign({ to, ...price, accessList: ACCESS_LIST, gasLimit: String(gas) })
    expect(refusal(await at(LISTED_GAS - 1n))).toEqual(bad(`"unsigned_transaction.gasLimit" must be at least 27200`))
    expect((await at(LISTED_GAS)).status).toBe(200)
  })
})

describe('elsewhere', () => {
  const send = '/transactions/sign-and-send'
  const batch = (unsigned: object) =>
    service.post('/transactions/batch-sign-and-send', {
      ...{ network: 'Ethereum', signer_wallet_address: contract, developer_secret: SECRET },
      unsigned_transactions: [{ to: RECIPIENT, ...unsigned }],
    })

  test('what is sent is of type 2 without an access list', async () => {
    for (const [field, fields] of [
      ['gasPrice', price],
      ['gasPrice', { ...price, accessList: ACCESS_LIST }],
      ['accessList', { accessList: ACCESS_LIST }],
    ] as const) {
      const answer = await act(send, { to: RECIPIENT, value: '1', ...fields })
      expect(refusal(answer)).toEqual(bad(`"unsigned_transaction.${field}" must be absent: what is sent is of type 2`))
      expect(refusal(await batch(fields))).toEqual(bad(`"unsigned_transactions.0.${field}" must be absent`))
    }
    const sent = await act(send, { to: RECIPIENT, value: '1', type: '2', accessList: [] })
    expect([sent.status, sent.json.status]).toEqual([200, 'submitted'])
  })

  test('the key of a contract wallet signs no other type either', async () => {
    for (const [field, fields] of [
      ['gasPrice', price],
      ['accessList', { accessList: ACCESS_LIST }],
    ] as const) {
      const answer = await act('/transactions/sign', { to: RECIPIENT, value: '1', ...fields }, contract)
      expect(refusal(answer)).toEqual(bad(`"unsigned_transaction.${field}" must be absent: the key of a wallet`))
    }
  })

  test('a preview takes them, and counts the gas of an access list', async () => {
    const preview = async (unsigned_transaction: object) => {
      const { status, json } = await service.post('/transactions/preview', {
        ...{ network: 'Ethereum', from: address },
        unsigned_transaction: { to: RECIPIENT, value: '3', ...unsigned_transaction },
      })
      return [
        status,
        json?.simulation?.success,
        json?.simulation?.error ?? null,
        json?.simulation?.asset_changes?.length,
      ]
    }
    expect(await preview({ ...price, accessList: ACCESS_LIST })).toEqual([200, true, null, 1])
    const [status, success, error] = await preview({ ...price, accessList: ACCESS_LIST, gasLimit: '27199' })
    expect([status, success, error]).toEqual([200, false, 'execution failed: intrinsic gas too low (27200 needed)'])
  })
})
