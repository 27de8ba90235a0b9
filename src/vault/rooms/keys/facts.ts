// The facts about a signature in the audit, besides the hashes. They are read from the payloads, not taken from the caller. For a
// contract wallet they say what the wallet does. An extrinsic cannot be read without the runtime's metadata, so there the caller's
// words are kept, and marked as such.

import { unreachable } from '../../../platform/errors.ts'
import type { Call } from '../../language/call-rules.ts'
import type { Payload, TypedData } from '../../language/payload.ts'
import { integerIn, typedDataDigest } from '../../language/typed-data.ts'
import { callsExecuted, callsSigned, isExecution, safeOf } from './safe.ts'
import type { TransactionFields } from './transaction-fields.ts'
import type { WalletChain } from './worst-cost.ts'

/** As many as a batch may have. They fit into an audit row. */
const LISTED_MAX = 100

/** Characters of what is told of further transactions. */
const FURTHER_MAX = 8_192

/** Names of typed data can be as long as a request. */
const TEXT_MAX = 256

type Facts = Readonly<Record<string, string>>

/** A payload, and the fields of a transaction. */
type Signable = { readonly payload: Payload; readonly fields: TransactionFields | null }

type SigningKey = { readonly chain: WalletChain; readonly publicKey: Uint8Array }

const hexOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')
const integerOf = (bytes: Uint8Array): bigint => BigInt(`0x${hexOf(bytes) || '0'}`)

const addressOf = (to: string): string => (to === '' ? 'new_contract' : `0x${to}`)

const factsOfCalls = (calls: readonly Pick<Call, 'to' | 'value'>[]): Facts => {
  const listed = calls.slice(0, LISTED_MAX)
  return {
    to: listed.map(({ to }) => addressOf(to)).join(' '),
    value: listed.map(({ value }) => String(value)).join(' '),
    ...(calls.length === 1 ? {} : { calls: String(calls.length) }),
  }
}

/** null if custody cannot read what the contract wallet does. */
const readable = (read: () => readonly Call[]): readonly Call[] | null => {
  try {
    return read()
  } catch {
    return null
  }
}

type Of = { readonly chain: WalletChain /** The key's contract wallet. */; readonly safe: () => string }

const ofTransaction = (fields: TransactionFields, { safe }: Of): Facts => {
  const { type, data } = fields
  const [to, value] = [hexOf(fields.to), integerOf(fields.value)]
  const isExecuted = isExecution(data) && to === safe()
  const executed = isExecuted ? readable(() => callsExecuted(to, data)) : null
  const calls = executed === null ? factsOfCalls([{ to, value }]) : factsOfCalls(executed)
  return {
    chain_id: String(integerOf(fields.chainId)),
    nonce: String(integerOf(fields.nonce)),
    ...(type === 2 ? {} : { transaction_type: String(type) }),
    ...calls,
    ...(executed === null ? {} : { contract_wallet: addressOf(to) }),
  }
}

/** A text as the audit keeps it. */
const cut = (text: string): string => (text.length <= TEXT_MAX ? text : [...text].slice(0, TEXT_MAX).join(''))

/** The domain of typed data as JSON, and its primary type. The hash covers the rest. */
const ofTypedData = ({ domain, primaryType }: TypedData): Facts => ({
  primary_type: cut(primaryType),
  domain: JSON.stringify(Object.fromEntries(Object.entries(domain).map(([name, value]) => [name, cut(String(value))]))),
})

/** For typed data that a contract wallet accepts, the hash is that of its SafeMessage. */
const ofSafeTypedData = ({ safe, typedData }: Extract<Payload, { readonly kind: 'safe_typed_data' }>): Facts => ({
  ...ofTypedData(typedData),
  contract_wallet: safe,
  typed_data_hash: `0x${hexOf(typedDataDigest(typedData))}`,
})

/** The facts of a contract wallet's transaction, which its owner's key signs as typed data. */
const ofSafeTransaction = ({ domain, ...typed }: TypedData, { chain, safe }: Of): Facts => {
  const facts = { chain_id: String(domain.chainId ?? ''), contract_wallet: domain.verifyingContract ?? '' }
  const of = { safe: safe(), chainId: chain.chainId ?? 0 }
  const calls = readable(() => callsSigned(of, { domain, ...typed }))
  if (calls === null) return { ...ofTypedData({ domain, ...typed }), ...facts }
  return {
    ...facts,
    contract_wallet_nonce: String(integerIn(typed.message.nonce, 'message.nonce')),
    ...factsOfCalls(calls),
  }
}

const read = ({ payload, fields }: Signable, of: Of): Facts => {
  switch (payload.kind) {
    case 'evm_transaction':
      return fields === null ? {} : ofTransaction(fields, of)
    case 'typed_data':
      return payload.typedData.primaryType === 'SafeTx'
        ? ofSafeTransaction(payload.typedData, of)
        : ofTypedData(payload.typedData)
    case 'safe_typed_data':
      return ofSafeTypedData(payload)
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

/** Whether a transaction only uses its nonce. */
const isCancel = ({ to, value, data }: TransactionFields): boolean =>
  value.length === 0 && data.length === 0 && to.length !== 0

/** Whether a transaction is the first one with another fee, or cancels it. */
const isOfFirst = (one: TransactionFields | null, other: TransactionFields | null): boolean =>
  one !== null &&
  other !== null &&
  isSame(one, other, ['nonce', 'chainId']) &&
  (isCancel(other) || isSame(one, other, ['to', 'value', 'data']))

/** The facts of the first payload; in `further` those of payloads that are neither the first with another fee nor its cancel. Pure. */
export const factsOf = ({ chain, publicKey }: SigningKey, signables: readonly Signable[]): Facts => {
  const of = { chain, safe: () => safeOf(publicKey) }
  const [first, ...others] = signables
  if (first === undefined) return {}
  const facts = read(first, of)
  const further = others.filter(({ fields }) => !isOfFirst(first.fields, fields)).map((other) => read(other, of))
  if (further.length === 0) return facts
  const listed = further.slice(0, LISTED_MAX).map((each) => JSON.stringify(each))
  while (listed.join().length > FURTHER_MAX) listed.pop()
  return { ...facts, further: `[${listed.join()}]` }
}

/** Names that only custody may write. */
const OWN: ReadonlySet<string> = new Set(
  [
    'network chain_id nonce transaction_type to value calls contract_wallet contract_wallet_nonce further',
    'primary_type domain typed_data_hash hash further_hashes signed_bytes_hashes policy policy_uses approval',
  ].flatMap((names) => names.split(' ')),
)
/** Custody cannot read these from an extrinsic. The caller's words get names with `said_`. */
const SAID = ['to', 'value', 'nonce'] as const

/** The caller's words about a use, without the names that only custody may write. Pure. */
export const saidOf = (signables: readonly Signable[], details: Facts): Facts => {
  const theirs = Object.fromEntries(Object.entries(details).filter(([name]) => !OWN.has(name)))
  if (!signables.some(({ payload }) => payload.kind === 'extrinsic')) return theirs
  const marked = SAID.flatMap((name) => (details[name] === undefined ? [] : [[`said_${name}`, details[name]] as const]))
  return { ...theirs, ...Object.fromEntries(marked) }
}
