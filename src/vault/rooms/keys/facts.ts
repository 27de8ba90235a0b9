// What the audit says about a signature: its hash, and facts. The vault computes them from the payloads, so that a
// caller cannot give other ones. For a contract wallet they say what the wallet does. The vault cannot read an
// extrinsic without the runtime's metadata, so it keeps the caller's words there, and marks them as such.

import { blake2b } from '@noble/hashes/blake2.js'
import { keccak_256 } from '@noble/hashes/sha3.js'
import { unreachable } from '../../../platform/errors.ts'
import type { Call } from '../../language/call-rules.ts'
import type { ExtrinsicPayload, Payload, TypedData } from '../../language/payload.ts'
import { integerIn, typedDataDigest } from '../../language/typed-data.ts'
import { appendIntegers, bytesOfInteger, encodeList, minimal } from './rlp.ts'
import { callsExecuted, callsSigned, hexOf, integerOf, isExecution, safeOf } from './safe.ts'
import { fieldsOfTransaction, isLegacy, type TransactionFields } from './transaction-fields.ts'
import type { WalletChain } from './worst-cost.ts'

/** Version 4; the highest bit means signed. */
const SIGNED_EXTRINSIC = 0x84

const prefixedHexOf = (bytes: Uint8Array): string => `0x${hexOf(bytes)}`
const blake2b256 = (bytes: Uint8Array): string => prefixedHexOf(blake2b(bytes, { dkLen: 32 }))

/** A compact integer (SCALE) below 2^30. */
const compact = (value: number): Buffer => {
  const [mode, length] = value < 1 << 6 ? [0, 1] : value < 1 << 14 ? [1, 2] : [2, 4]
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value * 4 + mode)
  return bytes.subarray(0, length)
}

/** v = 35 + 2 × chain id + y parity (EIP-155), instead of the chain id and the two zeros. */
const signedLegacy = (unsigned: Uint8Array, signature: Uint8Array): Uint8Array => {
  const { nonce, maxFeePerGas, gas, to, value, data, chainId } = fieldsOfTransaction(unsigned)
  const v = 2n * BigInt(prefixedHexOf(chainId)) + 35n + BigInt(signature[64] ?? 0)
  const [r, s] = [signature.subarray(0, 32), signature.subarray(32, 64)]
  const integers = [bytesOfInteger(v), r, s].map(minimal)
  return encodeList([nonce, maxFeePerGas, gas, to, value, data, ...integers])
}

const signedTransaction = (unsigned: Uint8Array, signature: Uint8Array): Uint8Array => {
  if (isLegacy(unsigned)) return signedLegacy(unsigned, signature)
  const [r, s, yParity] = [signature.subarray(0, 32), signature.subarray(32, 64), signature.subarray(64)]
  return Buffer.concat([unsigned.subarray(0, 1), appendIntegers(unsigned.subarray(1), [yParity, r, s])])
}

const signedExtrinsic = (payload: ExtrinsicPayload, signature: Uint8Array, publicKey: Uint8Array): Uint8Array => {
  const { addressPrefix, signaturePrefix, extra, call } = payload
  const version = Buffer.of(SIGNED_EXTRINSIC)
  const body = Buffer.concat([version, addressPrefix, publicKey, signaturePrefix, signature, extra, call])
  return Buffer.concat([compact(body.length), body])
}

/** `bytes`: what the key's algorithm took (`bytesToSign`). */
type Covered = { readonly payload: Payload; readonly bytes: Uint8Array }

/** `raw`: what can be sent, or null. `hash`: by which a chain knows it, or a message's digest. */
export const traceSignature = (
  input: Covered & { readonly signature: Uint8Array; readonly publicKey: Uint8Array },
): { readonly hash: string; readonly raw: string | null } => {
  const { payload, bytes, signature, publicKey } = input
  if (payload.kind === 'evm_transaction') {
    const raw = signedTransaction(payload.unsigned, signature)
    return { hash: prefixedHexOf(keccak_256(raw)), raw: prefixedHexOf(raw) }
  }
  if (payload.kind === 'extrinsic') {
    const raw = signedExtrinsic(payload, signature, publicKey)
    return { hash: blake2b256(raw), raw: prefixedHexOf(raw) }
  }
  return { hash: payload.kind === 'substrate_message' ? blake2b256(bytes) : prefixedHexOf(bytes), raw: null }
}

/** No signature covers how an extrinsic's bytes divide, so its hash alone could name one that cannot be sent. Pure. */
export const hashCoveredBytes = ({ payload, bytes }: Covered): string | null =>
  payload.kind === 'extrinsic' ? blake2b256(bytes) : null

/** As many as a batch may have. They fit into an audit row. */
const LISTED_MAX = 100
/** Characters of the facts of further transactions. */
const FURTHER_MAX = 8_192
/** Names of typed data can be as long as a request. */
const TEXT_MAX = 256

type Facts = Readonly<Record<string, string>>

type Signable = { readonly payload: Payload; readonly fields: TransactionFields | null }

const addressOf = (to: string): string => (to === '' ? 'new_contract' : `0x${to}`)

const factsOfCalls = (calls: readonly Pick<Call, 'to' | 'value'>[]): Facts => {
  const listed = calls.slice(0, LISTED_MAX)
  return {
    to: listed.map(({ to }) => addressOf(to)).join(' '),
    value: listed.map(({ value }) => String(value)).join(' '),
    ...(calls.length === 1 ? {} : { calls: String(calls.length) }),
  }
}

/** null if the vault cannot read what the contract wallet does. */
const readable = (read: () => readonly Call[]): readonly Call[] | null => {
  try {
    return read()
  } catch {
    return null
  }
}

type Signer = { readonly chain: WalletChain; readonly safe: () => string }

const ofTransaction = (fields: TransactionFields, { safe }: Signer): Facts => {
  const { type, data } = fields
  const [to, value] = [hexOf(fields.to), integerOf(fields.value)]
  const isExecuted = isExecution(data) && to === safe()
  const executed = isExecuted ? readable(() => callsExecuted(to, data)) : null
  const calls = factsOfCalls(executed ?? [{ to, value }])
  return {
    chain_id: String(integerOf(fields.chainId)),
    nonce: String(integerOf(fields.nonce)),
    ...(type === 2 ? {} : { transaction_type: String(type) }),
    ...calls,
    ...(executed === null ? {} : { contract_wallet: addressOf(to) }),
  }
}

const cut = (text: string): string => (text.length <= TEXT_MAX ? text : [...text].slice(0, TEXT_MAX).join(''))

/** The domain of typed data as JSON, and its primary type. The hash covers the rest. */
const ofTypedData = ({ domain, primaryType }: TypedData): Facts => ({
  primary_type: cut(primaryType),
  domain: JSON.stringify(Object.fromEntries(Object.entries(domain).map(([name, value]) => [name, cut(String(value))]))),
})

/** The facts of a contract wallet's transaction, which its owner's key signs as typed data. */
const ofSafeTransaction = (typedData: TypedData, { chain, safe }: Signer): Facts => {
  const { domain, message } = typedData
  const facts = { chain_id: String(domain.chainId ?? ''), contract_wallet: domain.verifyingContract ?? '' }
  const calls = readable(() => callsSigned({ safe: safe(), chainId: chain.chainId ?? 0 }, typedData))
  if (calls === null) return { ...ofTypedData(typedData), ...facts }
  const contract_wallet_nonce = String(integerIn(message.nonce, 'message.nonce'))
  return { ...facts, contract_wallet_nonce, ...factsOfCalls(calls) }
}

const read = ({ payload, fields }: Signable, signer: Signer): Facts => {
  switch (payload.kind) {
    case 'evm_transaction':
      return fields === null ? {} : ofTransaction(fields, signer)
    case 'typed_data':
      return payload.typedData.primaryType === 'SafeTx'
        ? ofSafeTransaction(payload.typedData, signer)
        : ofTypedData(payload.typedData)
    case 'safe_typed_data': {
      // The signature's hash is that of the contract wallet's SafeMessage.
      const { safe, typedData } = payload
      const typed_data_hash = prefixedHexOf(typedDataDigest(typedData))
      return { ...ofTypedData(typedData), contract_wallet: safe, typed_data_hash }
    }
    case 'evm_message':
    case 'safe_message':
    case 'extrinsic':
    case 'substrate_message':
      return {}
    default:
      return unreachable(payload)
  }
}

type Field = 'chainId' | 'nonce' | 'to' | 'value' | 'data'

const isSame = (one: TransactionFields, other: TransactionFields, names: readonly Field[]): boolean =>
  names.every((name) => Buffer.compare(one[name], other[name]) === 0)

const isCancel = ({ to, value, data }: TransactionFields): boolean =>
  value.length === 0 && data.length === 0 && to.length !== 0

/** Whether a transaction is the first one with another fee, or cancels it. */
const isOfFirst = (one: TransactionFields | null, other: TransactionFields | null): boolean =>
  one !== null &&
  other !== null &&
  isSame(one, other, ['nonce', 'chainId']) &&
  (isCancel(other) || isSame(one, other, ['to', 'value', 'data']))

/** `further`: of payloads that are neither the first with another fee nor its cancel. Pure. */
export const readSigningFacts = (
  { chain, publicKey }: { readonly chain: WalletChain; readonly publicKey: Uint8Array },
  signables: readonly Signable[],
): Facts => {
  const scope = { chain, safe: () => safeOf(publicKey) }
  const [first, ...others] = signables
  if (first === undefined) return {}
  const facts = read(first, scope)
  const further = others.filter(({ fields }) => !isOfFirst(first.fields, fields)).map((other) => read(other, scope))
  if (further.length === 0) return facts
  const listed = further.slice(0, LISTED_MAX).map((each) => JSON.stringify(each))
  while (listed.join().length > FURTHER_MAX) listed.pop()
  return { ...facts, further: `[${listed.join()}]` }
}

/** Names that only the vault may write. */
const OWN: ReadonlySet<string> = new Set(
  [
    'network chain_id nonce transaction_type to value calls contract_wallet contract_wallet_nonce further',
    'primary_type domain typed_data_hash hash further_hashes signed_bytes_hashes policy policy_uses approval',
  ].flatMap((names) => names.split(' ')),
)
/** The vault cannot read these from an extrinsic. The caller's words get names with `said_`. */
const SAID = ['to', 'value', 'nonce'] as const

/** The caller's words about a use, without the names that only the vault may write. Pure. */
export const selectCallerDetails = (signables: readonly Signable[], details: Facts): Facts => {
  const callerDetails = Object.fromEntries(Object.entries(details).filter(([name]) => !OWN.has(name)))
  if (!signables.some(({ payload }) => payload.kind === 'extrinsic')) return callerDetails
  const marked = SAID.flatMap((name) => (details[name] === undefined ? [] : [[`said_${name}`, details[name]] as const]))
  return { ...callerDetails, ...Object.fromEntries(marked) }
}
