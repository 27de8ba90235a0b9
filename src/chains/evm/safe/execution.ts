// What a Safe is told to do, as call data. One call goes as it is; several go by delegate call to MultiSendCallOnly, all or
// none; a creation by delegate call to CreateCall, because a Safe creates nothing by itself.
// The signature is the sender's approval (v = 1): it holds while the owner sends, so that no inner nonce has to be kept and a
// stranger who resends it is refused. safeTxGas is 0, so that what fails within reverts the whole (GS013).

import { decodeFunctionData, encodeFunctionData, encodePacked, parseAbi, size, slice } from 'viem'
import { AppError } from '../../../errors.ts'
import type { Hex, Intent } from '../../chain.ts'
import type { ContractWallet } from '../../contract-wallets.ts'
import { hexText } from '../../node/wire.ts'
import { checksum, ZERO_ADDRESS } from '../address.ts'
import { SAFE_ADDRESSES } from './settings.ts'

const SAFE = parseAbi([
  'function execTransaction(address to, uint256 value, bytes data, uint8 operation, uint256 safeTxGas, uint256 baseGas, uint256 gasPrice, address gasToken, address refundReceiver, bytes signatures) payable returns (bool success)',
])
const MULTI_SEND = parseAbi(['function multiSend(bytes transactions) payable'])
const CREATE_CALL = parseAbi([
  'function performCreate(uint256 value, bytes deploymentData) returns (address newContract)',
])

/** Enum.Operation of the Safe. */
const OPERATION = { call: 0, delegateCall: 1 } as const

/** The part of a Safe's transaction that differs from one to the next. */
type SafeOperation = {
  readonly to: Hex
  readonly value: bigint
  readonly data: Hex
  readonly operation: number
}

type Element = Pick<SafeOperation, 'to' | 'value' | 'data'>

/** An operation, a target, a value and a length before the data of each: MultiSend packs them without padding. */
const ELEMENT_HEAD_BYTES = { to: 1, value: 21, length: 53, data: 85 } as const

/** Call data of MultiSend for these calls. Pure. */
export const multiSendData = (elements: readonly Element[]): Hex => {
  const packed = elements.map(({ to, value, data }) =>
    encodePacked(
      ['uint8', 'address', 'uint256', 'uint256', 'bytes'],
      [OPERATION.call, to, value, BigInt(size(data)), data],
    ).slice(2),
  )
  return encodeFunctionData({ abi: MULTI_SEND, args: [`0x${packed.join('')}`] })
}

const elementOf = ({ to, value, input }: Intent, index: number): Element => {
  if (to !== null) return { to: hexText(to), value, data: input }
  throw new AppError(
    'invalid_input',
    `Field "unsigned_transactions.${index}.to" must not be empty: a contract wallet creates a contract only by itself, not among several transactions.`,
  )
}

/** @throws invalid_input (a creation among several), Error for none at all: a mistake of ours. Pure. */
export const operationOf = (intents: readonly Intent[]): SafeOperation => {
  const [first] = intents
  if (first === undefined) throw new Error('expected at least one intent')
  const { call, delegateCall } = OPERATION
  if (intents.length > 1) {
    const data = multiSendData(intents.map(elementOf))
    return { to: SAFE_ADDRESSES.multiSendCallOnly, value: 0n, data, operation: delegateCall }
  }
  if (first.to !== null) return { ...elementOf(first, 0), operation: call }
  const data = encodeFunctionData({ abi: CREATE_CALL, args: [first.value, first.input] })
  return { to: SAFE_ADDRESSES.createCall, value: 0n, data, operation: delegateCall }
}

/** Call data of execTransaction, without refunds. Pure. */
export const executionData = (
  { to, value, data, operation }: SafeOperation,
  { safeTxGas, signatures }: { readonly safeTxGas: bigint; readonly signatures: Hex },
): Hex =>
  encodeFunctionData({
    abi: SAFE,
    args: [to, value, data, operation, safeTxGas, 0n, 0n, ZERO_ADDRESS, ZERO_ADDRESS, signatures],
  })

/** r: the approver; s: unused; v: 1 (Safe.checkNSignatures). */
const senderApproval = (owner: string): Hex => encodePacked(['uint256', 'uint256', 'uint8'], [BigInt(owner), 0n, 1])

const senderApproved = (owner: string, intents: readonly Intent[]): Hex =>
  executionData(operationOf(intents), { safeTxGas: 0n, signatures: senderApproval(owner) })

/** What the sender fixed of the transaction itself. Pure. */
export const senderPartOf = ([first]: readonly Intent[]): Pick<
  Intent,
  'gasLimit' | 'maxFeePerGas' | 'maxPriorityFeePerGas' | 'nonce'
> => {
  if (first === undefined) return {}
  const { to: _, value: __, input: ___, ...senderPart } = first
  return senderPart
}

/** Pure. */
export const execution = ({ address, owner }: ContractWallet, intents: readonly Intent[]): Intent => ({
  to: address,
  value: 0n,
  input: senderApproved(owner, intents),
  ...senderPartOf(intents),
})

/** null where the lengths do not add up. */
const unpackElements = (packed: Hex): readonly Intent[] | null => {
  const intents: Intent[] = []
  const end = size(packed)
  for (let at = 0; at < end; ) {
    const { to, value, length, data } = ELEMENT_HEAD_BYTES
    if (at + data > end) return null
    const part = (from: number, until: number): Hex => slice(packed, at + from, at + until)
    const byteCount = BigInt(part(length, data))
    if (byteCount > BigInt(end - at - data)) return null
    const next = data + Number(byteCount)
    const input = byteCount === 0n ? '0x' : part(data, next)
    intents.push({ to: checksum(part(to, value)), value: BigInt(part(value, length)), input })
    at += next
  }
  return intents
}

const unpackOperation = ({ to, value, data, operation }: SafeOperation): readonly Intent[] | null => {
  if (operation === OPERATION.call) return [{ to, value, input: data }]
  if (to === SAFE_ADDRESSES.multiSendCallOnly) {
    return unpackElements(decodeFunctionData({ abi: MULTI_SEND, data }).args[0])
  }
  if (to !== SAFE_ADDRESSES.createCall) return null
  const [creationValue, input] = decodeFunctionData({ abi: CREATE_CALL, data }).args
  return [{ to: null, value: creationValue, input }]
}

const unpack = (input: Hex): { readonly owner: string; readonly intents: readonly Intent[] } | null => {
  try {
    const [to, value, data, operation, , , , , , signatures] = decodeFunctionData({ abi: SAFE, data: input }).args
    const intents = unpackOperation({ to, value, data, operation })
    return intents === null ? null : { owner: slice(signatures, 12, 32), intents }
  } catch {
    // Whatever the decoder could not read, we did not write.
    return null
  }
}

/** What `execution` made of its intents, byte for byte, whoever the owner; null for all else. Pure. */
export const executed = (input: Hex): readonly Intent[] | null => {
  const lower = hexText(input.toLowerCase())
  const found = unpack(lower)
  if (found === null || found.intents.length === 0) return null
  return senderApproved(found.owner, found.intents) === lower ? found.intents : null
}
