// Checks that a payload is what approvers approved.
//
// On EVM networks the vault reads the payload. It must contain the approved calls of the wallet, or of the contract
// wallet that obeys its key, with the nonce, gas and fees that the request fixes. Cancels are allowed. policy-key.ts
// ensures that one use signs one transaction. An extrinsic cannot be read without the runtime's metadata: there the
// vault relies on the API. Typed data must have the digest of the approved one.

import type { KeyUse } from '../../contract/vault.ts'
import type { Call } from '../../language/call-rules.ts'
import type { Payload, TypedData } from '../../language/payload.ts'
import { typedDataDigest } from '../../language/typed-data.ts'
import { callsExecuted, callsSigned, MULTI_SEND_CALL_ONLY, ownerOf, PROXY_FACTORY, safeOf } from '../keys/safe.ts'
import { fieldsOfTransaction, type TransactionFields } from '../keys/transaction-fields.ts'

/** In decimal digits; absent if the request leaves it open. */
type Fixed = {
  readonly nonce?: string
  readonly gasLimit?: string
  readonly maxFeePerGas?: string
  readonly maxPriorityFeePerGas?: string
  readonly gasPrice?: string
  readonly accessList?: readonly { readonly address: string; readonly storageKeys: readonly string[] }[]
}

type ApprovedIntent = Fixed & { readonly to?: string; readonly value: string; readonly input: string }

/** The parts of a request (src/signing/policies/request.ts) that the vault reads. */
type ApprovedRequest = {
  readonly action: string
  readonly wallet_type: string
  readonly intents: readonly ApprovedIntent[]
  readonly typed_data?: TypedData
  /** The nonce of the transaction that a speed-up signs again. */
  readonly signer_nonce?: string
}

const hexOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')
const integerOf = (bytes: Uint8Array): bigint => BigInt(`0x0${hexOf(bytes)}`)

type SigningWallet = { readonly chainId: number; readonly publicKey: Uint8Array; readonly isContractWallet: boolean }

/** A payload that no approver saw. No honest API sends it. */
const unapproved = () => new Error('asked to sign what was not approved')

/**
 * A payload with the calls that the wallet makes by it. A `carrier` transports the deployment of a contract wallet and
 * a call that has its own signature. `fields` are null for a payload that is not a transaction.
 */
type Signed = {
  readonly is: 'cancel' | 'deployment' | 'carrier' | 'calls'
  readonly calls: readonly Call[]
  readonly fields: TransactionFields | null
}

const transactionIn = ({ publicKey, isContractWallet }: SigningWallet, unsigned: Uint8Array): Signed => {
  const fields = fieldsOfTransaction(unsigned)
  const call = { to: hexOf(fields.to), value: integerOf(fields.value), data: fields.data }
  const { to, value, data } = call
  if (value === 0n && data.length === 0 && to === ownerOf(publicKey)) return { is: 'cancel', calls: [], fields }
  if (!isContractWallet) return { is: 'calls', calls: [call], fields }
  // These contracts own nothing, and a Safe accepts no call from them without a signature.
  if (value === 0n && to === PROXY_FACTORY) return { is: 'deployment', calls: [], fields }
  if (value === 0n && to === MULTI_SEND_CALL_ONLY) return { is: 'carrier', calls: [], fields }
  const safe = safeOf(publicKey)
  if (value !== 0n || to !== safe) throw unapproved()
  return { is: 'calls', calls: callsExecuted(safe, data), fields }
}

const signedIn = (signer: SigningWallet, payload: Exclude<Payload, { readonly kind: 'extrinsic' }>): Signed => {
  if (payload.kind === 'evm_transaction') return transactionIn(signer, payload.unsigned)
  if (payload.kind !== 'typed_data' || !signer.isContractWallet) throw unapproved()
  const { publicKey, chainId } = signer
  const calls = callsSigned({ safe: safeOf(publicKey), chainId }, payload.typedData)
  return { is: 'calls', calls, fields: null }
}

const isIntent = ({ to, value, data }: Call, intent: ApprovedIntent | undefined): boolean =>
  intent !== undefined &&
  to === (intent.to ?? '0x').slice(2).toLowerCase() &&
  value === BigInt(intent.value) &&
  hexOf(data) === intent.input.slice(2).toLowerCase()

const isSameList = ({ accessList: approved = [] }: Fixed, { accessList }: TransactionFields): boolean => {
  const digits = (hex: string) => hex.slice(2).toLowerCase()
  const read = approved.map(({ address, storageKeys }) => ({
    address: digits(address),
    slots: storageKeys.map(digits),
  }))
  return JSON.stringify(read) === JSON.stringify(accessList)
}

/** The service itself makes cancels, which use the same nonce at other fees, and deployments, which come before. */
const isAsFixed = (fixed: Fixed, { is, fields }: Signed): boolean => {
  if (is === 'deployment' || fields === null) return true
  const isFixed = (text: string | undefined, bytes: Uint8Array) =>
    text === undefined || BigInt(text) === integerOf(bytes)
  if (!isFixed(fixed.nonce, fields.nonce)) return false
  if (is === 'cancel') return true
  return (
    isFixed(fixed.gasLimit, fields.gas) &&
    isFixed(fixed.maxFeePerGas, fields.maxFeePerGas) &&
    isFixed(fixed.maxPriorityFeePerGas, fields.maxPriorityFeePerGas) &&
    // A gas price is both fees.
    isFixed(fixed.gasPrice, fields.maxFeePerGas) &&
    isFixed(fixed.gasPrice, fields.maxPriorityFeePerGas) &&
    isSameList(fixed, fields)
  )
}

type Check = (uses: readonly KeyUse[]) => void

const payloadsOf = (uses: readonly KeyUse[]): readonly Payload[] => uses.flatMap(({ payloads }) => payloads)

/** A contract wallet signs typed data in a form of its own. */
const createTypedDataReader = ({ wallet_type: type, typed_data: approved }: ApprovedRequest): Check => {
  if (approved === undefined) throw unapproved()
  const digest = typedDataDigest(approved)
  const kind = type === 'contract' ? 'safe_typed_data' : 'typed_data'
  return (uses) => {
    for (const payload of payloadsOf(uses)) {
      if (payload.kind !== kind || !Buffer.from(typedDataDigest(payload.typedData)).equals(digest)) throw unapproved()
    }
  }
}

/**
 * Makes a check that refuses payloads that were not approved. On EVM networks the calls of a transaction must be the
 * approved ones, in their order.
 * @param request the approved request, as canonical JSON.
 */
export const createApprovedReader = (request: string, wallet: Omit<SigningWallet, 'isContractWallet'>): Check => {
  const approved: ApprovedRequest = JSON.parse(request)
  const { action, wallet_type: type, intents, signer_nonce: signerNonce } = approved
  if (action === 'sign-typed-data') return createTypedDataReader(approved)
  const signer = { ...wallet, isContractWallet: type === 'contract' }
  const isSpeedUp = action === 'speed-up'
  // Gas, fees and nonce of the first intent apply to the whole transaction.
  const fixed: Fixed = { ...intents[0], ...(signerNonce === undefined ? {} : { nonce: signerNonce }) }
  if (isSpeedUp && signerNonce === undefined) throw unapproved()
  return (uses) => {
    for (const payload of payloadsOf(uses)) {
      if (payload.kind === 'extrinsic') continue
      const signed = signedIn(signer, payload)
      const { calls, fields } = signed
      const isApproved = calls.length === intents.length && calls.every((call, at) => isIntent(call, intents[at]))
      if (calls.length > 0 && !isApproved) throw unapproved()
      // Without a nonce of the signer, it could be sent with any nonce.
      if (!isAsFixed(fixed, signed) || (isSpeedUp && fields === null)) throw unapproved()
    }
  }
}
