// What the audit tells of calls of a contract wallet: read strictly, and of what cannot be read nothing is made up.

import { describe, expect, test } from 'bun:test'
import {
  concatHex,
  encodeFunctionData,
  encodePacked,
  type Hex,
  hashTypedData,
  parseAbi,
  serializeTransaction,
  size,
} from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import type { Payload, TypedData } from '../../src/vault/language/payload.ts'
import { readSigningFacts } from '../../src/vault/rooms/keys/facts.ts'
import { toSign } from '../../src/vault/rooms/keys/payloads.ts'
import { MULTI_SEND_CALL_ONLY, safeOf } from '../../src/vault/rooms/keys/safe.ts'
import { bytesOf } from './support.ts'

const CHAIN = { family: 'evm', chainId: 11_155_111 } as const
const ACCOUNT = privateKeyToAccount(`0x${'03'.repeat(32)}`)
const publicKey = bytesOf(ACCOUNT.publicKey.slice(2))
const SAFE: Hex = `0x${safeOf(publicKey)}`
const BATCH: Hex = `0x${MULTI_SEND_CALL_ONLY}`
const [ALICE, BOB, NOBODY] = [`0x${'aa'.repeat(20)}`, `0x${'bb'.repeat(20)}`, `0x${'00'.repeat(20)}`] as const
const ABI = parseAbi([
  'function execTransaction(address to, uint256 value, bytes data, uint8 operation, uint256 safeTxGas, uint256 baseGas, uint256 gasPrice, address gasToken, address refundReceiver, bytes signatures)',
  'function multiSend(bytes transactions)',
  'function addOwnerWithThreshold(address owner, uint256 threshold)',
])

type Call = { readonly to: Hex; readonly value?: bigint; readonly data?: Hex; readonly operation?: number }

const execution = ({ to, value = 0n, data = '0x', operation = 0 }: Call, gasPrice = 0n): Hex =>
  encodeFunctionData({
    abi: ABI,
    functionName: 'execTransaction',
    args: [to, value, data, operation, 0n, 0n, gasPrice, NOBODY, NOBODY, '0x'],
  })
const batchOf = (calls: readonly Call[]): Call => {
  const packed = calls.map(({ to, value = 0n, data = '0x' }) =>
    encodePacked(['uint8', 'address', 'uint256', 'uint256', 'bytes'], [0, to, value, BigInt(size(data)), data]),
  )
  const data = encodeFunctionData({ abi: ABI, functionName: 'multiSend', args: [concatHex(packed)] })
  return { to: BATCH, data, operation: 1 }
}

const transaction = (to: Hex, data: Hex, value = 0n): Payload => {
  const of = { type: 'eip1559', chainId: CHAIN.chainId, nonce: 4, gas: 1n, to, data, value } as const
  return { kind: 'evm_transaction', unsigned: bytesOf(serializeTransaction(of).slice(2)) }
}
const factsIn = (...payloads: readonly Payload[]) =>
  readSigningFacts(
    { chain: CHAIN, publicKey },
    payloads.map((payload) => ({ payload, ...toSign('evm', payload) })),
  )

const of = { chain_id: '11155111', nonce: '4' }
const owner = encodeFunctionData({ abi: ABI, functionName: 'addOwnerWithThreshold', args: [ALICE, 1n] })

test.each([
  ['0', { type: 'legacy' }],
  ['1', { type: 'eip2930', accessList: [{ address: BOB, storageKeys: [] }] }],
] as const)('a transaction of type %s is recorded with its type', (transaction_type, form) => {
  const fields = { ...form, chainId: CHAIN.chainId, nonce: 4, gas: 1n, gasPrice: 1n, to: ALICE, value: 5n } as const
  const payload = { kind: 'evm_transaction', unsigned: bytesOf(serializeTransaction(fields).slice(2)) } as const
  expect(factsIn(payload)).toEqual({ ...of, transaction_type, to: ALICE, value: '5' })
})

describe('an execution of the key’s contract wallet', () => {
  test('is recorded with the calls of the wallet', () => {
    const data = execution({ to: ALICE, value: 5n })
    expect(factsIn(transaction(SAFE, data))).toEqual({ ...of, to: ALICE, value: '5', contract_wallet: SAFE })
    const both = execution(
      batchOf([
        { to: ALICE, value: 1n },
        { to: BOB, value: 2n, data: '0x01' },
      ]),
    )
    const calls = { to: `${ALICE} ${BOB}`, value: '1 2', calls: '2' }
    expect(factsIn(transaction(SAFE, both))).toEqual({ ...of, ...calls, contract_wallet: SAFE })
  })

  test('of very many calls is recorded in a bounded row, with their number', () => {
    const many = execution(batchOf(Array.from({ length: 1_000 }, () => ({ to: ALICE }))))
    const { to = '', calls } = factsIn(transaction(SAFE, many))
    expect([to.split(' ').length, calls]).toEqual([100, '1000'])
  })

  test.each([
    ['a call of itself', execution({ to: SAFE, data: owner })],
    ['foreign code', execution({ to: ALICE, data: '0x01', operation: 1 })],
    ['a refund of gas', execution({ to: ALICE, value: 5n }, 1n)],
    ['cut call data', execution({ to: ALICE, value: 5n }).slice(0, 200) as Hex],
  ])('with %s is recorded as a call of the wallet', (_, data) => {
    expect(factsIn(transaction(SAFE, data, 3n))).toEqual({ ...of, to: SAFE, value: '3' })
  })

  test('of another contract wallet is recorded as a call to that wallet', () => {
    const data = execution({ to: ALICE, value: 5n })
    expect(factsIn(transaction(BOB, data))).toEqual({ ...of, to: BOB, value: '0' })
  })

  test('is also recorded if the same use signs another one', () => {
    const [one, other] = [execution({ to: ALICE, value: 5n }), execution({ to: BOB, value: 5n })]
    const told = factsIn(transaction(SAFE, one), transaction(SAFE, one), transaction(SAFE, other))
    expect(JSON.parse(told.further ?? '')).toEqual([{ ...of, to: BOB, value: '5', contract_wallet: SAFE }])
    // Of very many calls each, as many as fit into a row.
    const many = execution(batchOf(Array.from({ length: 100 }, () => ({ to: ALICE }))))
    const some = factsIn(transaction(SAFE, one), transaction(SAFE, many), transaction(SAFE, many)).further ?? ''
    expect([some.length < 8_200, JSON.parse(some).length]).toEqual([true, 1])
  })
})

describe('a transaction of a contract wallet that its owner signs as typed data', () => {
  const word = { name: 'to', type: 'address' }
  const types = {
    SafeTx: [
      word,
      { name: 'value', type: 'uint256' },
      { name: 'data', type: 'bytes' },
      { name: 'operation', type: 'uint8' },
      { name: 'safeTxGas', type: 'uint256' },
      { name: 'baseGas', type: 'uint256' },
      { name: 'gasPrice', type: 'uint256' },
      { name: 'gasToken', type: 'address' },
      { name: 'refundReceiver', type: 'address' },
      { name: 'nonce', type: 'uint256' },
    ],
  }
  const zeros = { safeTxGas: 0, baseGas: 0, gasPrice: 0, gasToken: NOBODY, refundReceiver: NOBODY }
  const message = { to: ALICE, value: '5', data: '0x', operation: 0, nonce: 7n, ...zeros }
  const domain = { chainId: CHAIN.chainId, verifyingContract: SAFE }
  const typedData: TypedData = { domain, types, primaryType: 'SafeTx', message }
  const told = (changes: Partial<TypedData>) => factsIn({ kind: 'typed_data', typedData: { ...typedData, ...changes } })
  const unread = { chain_id: '11155111', contract_wallet: SAFE }

  test('is recorded with the calls of the wallet', () => {
    expect(told({})).toEqual({ ...unread, contract_wallet_nonce: '7', to: ALICE, value: '5' })
  })

  const asTyped = (chainId: number, contract: string, primary_type = 'SafeTx') => ({
    primary_type,
    domain: JSON.stringify({ chainId: String(chainId), verifyingContract: contract }),
  })

  test('is recorded as typed data of its wallet and chain if it has another form, wallet or chain', () => {
    const other = { ...unread, ...asTyped(domain.chainId, SAFE) }
    expect(told({ message: { ...message, operation: 1 } })).toEqual(other)
    expect(told({ types: { SafeTx: [word] }, message: { to: ALICE } })).toEqual(other)
    expect(told({ domain: { ...domain, chainId: 1 } })).toEqual({ ...unread, chain_id: '1', ...asTyped(1, SAFE) })
    const ofBob = { ...unread, contract_wallet: BOB, ...asTyped(domain.chainId, BOB) }
    expect(told({ domain: { ...domain, verifyingContract: BOB } })).toEqual(ofBob)
  })

  test('is told from other typed data, which is recorded by its primary type and domain', () => {
    const mail = { primaryType: 'Mail', types: { Mail: [word] }, message: { to: ALICE } }
    expect(told(mail)).toEqual(asTyped(domain.chainId, SAFE, 'Mail'))
    const accepted = { kind: 'safe_typed_data', chainId: 1, safe: SAFE, typedData: { ...mail, domain: {} } } as const
    expect(factsIn(accepted)).toEqual({
      primary_type: 'Mail',
      domain: '{}',
      contract_wallet: SAFE,
      typed_data_hash: hashTypedData(accepted.typedData as never),
    })
  })

  test('is recorded with at most 256 characters of each name', () => {
    const name = '\u{1f600}'.repeat(300)
    const long = told({ domain: { name }, primaryType: 'Mail', types: { Mail: [] }, message: {} })
    expect(long.domain).toBe(JSON.stringify({ name: '\u{1f600}'.repeat(256) }))
  })
})
