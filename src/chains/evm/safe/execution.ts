// Call data for executions by a Safe. One call is passed as it is. Several calls go by delegate call to
// MultiSendCallOnly, all or none. A creation goes by delegate call to CreateCall, because a Safe cannot create
// contracts itself. The signature is the sender's approval (v = 1). It is valid only if the owner is the sender, so the
// inner nonce need not be known, and no other account can resend it. safeTxGas is 0, so that a failure inside reverts
// all of it (GS013).

import { decodeFunctionData, encodeFunctionData, encodePacked, parseAbi, size, slice } from 'viem/utils'
import { AppError } from '../../../platform/errors.ts'
import type { Hex, Intent } from '../../chain.ts'
import type { ContractOperation, ContractWallet } from '../../contract-wallets.ts'
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

type Element = Pick<ContractOperation, 'to' | 'value' | 'data'>

/** MultiSend packs each call without padding: operation, target, value, length, data. These are the offsets. */
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

const toElement = ({ to, value, input }: Intent, index: number): Element => {
  if (to !== null) return { to: hexText(to), value, data: input }
  throw new AppError(
    'invalid_input',
    `Field "unsigned_transactions.${index}.to" must not be empty: a contract wallet creates a contract only by itself, not among several transactions.`,
  )
}

/** @throws invalid_input for a creation among several intents. Pure. */
export const combine = (intents: readonly Intent[]): ContractOperation => {
  const [first] = intents
  if (first === undefined) throw new Error('expected at least one intent')
  const { call, delegateCall } = OPERATION
  if (intents.length > 1) {
    const data = multiSendData(intents.map(toElement))
    return { to: SAFE_ADDRESSES.multiSendCallOnly, value: 0n, data, operation: delegateCall }
  }
  if (first.to !== null) return { ...toElement(first, 0), operation: call }
  const data = encodeFunctionData({ abi: CREATE_CALL, args: [first.value, first.input] })
  return { to: SAFE_ADDRESSES.createCall, value: 0n, data, operation: delegateCall }
}

/** Call data of execTransaction, without refunds. Pure. */
export const executionData = (
  { to, value, data, operation }: ContractOperation,
  { safeTxGas, signatures }: { readonly safeTxGas: bigint; readonly signatures: Hex },
): Hex =>
  encodeFunctionData({
    abi: SAFE,
    args: [to, value, data, operation, safeTxGas, 0n, 0n, ZERO_ADDRESS, ZERO_ADDRESS, signatures],
  })

/** r is the approver, s is unused, v is 1 (Safe.checkNSignatures). */
const senderApproval = (owner: string): Hex => encodePacked(['uint256', 'uint256', 'uint8'], [BigInt(owner), 0n, 1])

const senderApproved = (owner: string, intents: readonly Intent[]): Hex =>
  executionData(combine(intents), { safeTxGas: 0n, signatures: senderApproval(owner) })

/** Gas, fees and nonce of the outer transaction: those of the first intent. Pure. */
export const pickSenderPart = ([first]: readonly Intent[]): Omit<Intent, 'to' | 'value' | 'input'> => {
  if (first === undefined) return {}
  const { to: _, value: __, input: ___, ...senderPart } = first
  return senderPart
}

export const execution = ({ address, owner }: ContractWallet, intents: readonly Intent[]): Intent => ({
  to: address,
  value: 0n,
  input: senderApproved(owner, intents),
  ...pickSenderPart(intents),
})

/** null if the lengths do not match the data, or an element is no plain call: MultiSendCallOnly undoes such a batch. */
const unpackElements = (packed: Hex): readonly Intent[] | null => {
  const intents: Intent[] = []
  const end = size(packed)
  for (let at = 0; at < end; ) {
    const { to, value, length, data } = ELEMENT_HEAD_BYTES
    if (at + data > end) return null
    const part = (from: number, until: number): Hex => slice(packed, at + from, at + until)
    if (Number(part(0, to)) !== OPERATION.call) return null
    const byteCount = BigInt(part(length, data))
    if (byteCount > BigInt(end - at - data)) return null
    const next = data + Number(byteCount)
    const input = byteCount === 0n ? '0x' : part(data, next)
    intents.push({ to: checksum(part(to, value)), value: BigInt(part(value, length)), input })
    at += next
  }
  return intents
}

const unpackOperation = ({ to, value, data, operation }: ContractOperation): readonly Intent[] | null => {
  if (operation === OPERATION.call) return [{ to, value, input: data }]
  if (to === SAFE_ADDRESSES.multiSendCallOnly) {
    return unpackElements(decodeFunctionData({ abi: MULTI_SEND, data }).args[0])
  }
  if (to !== SAFE_ADDRESSES.createCall) return null
  const [creationValue, input] = decodeFunctionData({ abi: CREATE_CALL, data }).args
  return [{ to: null, value: creationValue, input }]
}

/** null for data of another form, and for a delegate call of other code. Pure. */
export const callsOf = (operation: ContractOperation): readonly Intent[] | null => {
  try {
    return unpackOperation(operation)
  } catch {
    // The data is not a call of the function that this contract has.
    return null
  }
}

const unpack = (input: Hex): { readonly owner: string; readonly intents: readonly Intent[] } | null => {
  try {
    const [to, value, data, operation, , , , , , signatures] = decodeFunctionData({ abi: SAFE, data: input }).args
    const intents = unpackOperation({ to, value, data, operation })
    return intents === null ? null : { owner: slice(signatures, 12, 32), intents }
  } catch {
    // Data that cannot be decoded was not encoded by this service.
    return null
  }
}

/** The intents from which `execution` makes exactly these bytes, for any owner; null for other data. Pure. */
export const executed = (input: Hex): readonly Intent[] | null => {
  const lower = hexText(input.toLowerCase())
  const found = unpack(lower)
  if (found === null || found.intents.length === 0) return null
  return senderApproved(found.owner, found.intents) === lower ? found.intents : null
}
