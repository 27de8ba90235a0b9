// What is approved: everything that decides what a request does. Two requests are the same if this text is the same.
//
// The text contains:
// - the wallet, and the action (sign, send, mint, …);
// - each call in its order: recipient, value and data, with gas, fees, nonce, era and fee asset if fixed;
// - for a speed-up, which transaction is signed again, with its nonce. Otherwise the same calls could be signed for
//   another nonce, and be made twice;
// - for a call of a Substrate runtime, the metadata with which it was read. After an upgrade the same bytes may mean
//   another call;
// - typed data, in full as the caller sent it.
//
// It does not contain what the caller left open. The service chooses that at the use, within the policy's limits.

import type { WalletRow } from '../../../db/queries/wallets.ts'
import type { TransactionKind } from '../../../db/words.ts'
import type { AccessList, Intent } from '../../chains/chain.ts'
import { canonicalJson } from '../../platform/canonical-json.ts'
import { invalidInput } from '../schema.ts'
import type { TypedDataField } from '../typed-data/schema.ts'

/** `sign` and `sign-typed-data` only sign, `speed-up` signs again; the other actions send. */
export type ApprovedAction = TransactionKind | 'sign' | 'sign-typed-data' | 'speed-up'
export type TransactionAction = Exclude<ApprovedAction, 'sign-typed-data'>

/** An intent as `unsigned_transaction` has it. */
type UnsignedText = {
  readonly to?: string
  readonly value: string
  readonly input: string
  readonly gasLimit?: string
  readonly maxFeePerGas?: string
  readonly maxPriorityFeePerGas?: string
  readonly gasPrice?: string
  readonly accessList?: { address: string; storageKeys: string[] }[]
  readonly nonce?: string
  readonly era?: string
  readonly asset_id?: string
}

const present = <Value>(name: string, value: Value | null | undefined): Record<string, string> =>
  value === null || value === undefined ? {} : { [name]: String(value) }

const copyEntry = ({ address, storageKeys }: AccessList[number]) => ({ address, storageKeys: [...storageKeys] })

const unsignedText = ({ to, value, input, feeAsset, ...chosen }: Intent): UnsignedText => ({
  ...present('to', to),
  value: value.toString(),
  input,
  ...present('gasLimit', chosen.gasLimit),
  ...present('maxFeePerGas', chosen.maxFeePerGas),
  ...present('maxPriorityFeePerGas', chosen.maxPriorityFeePerGas),
  ...present('gasPrice', chosen.gasPrice),
  ...(chosen.accessList === undefined ? {} : { accessList: chosen.accessList.map(copyEntry) }),
  ...present('nonce', chosen.nonce),
  ...present('era', chosen.era),
  ...present('asset_id', feeAsset),
})

/** Approvers read it, and lists contain a hundred of them. */
const TYPED_DATA_CHARACTERS_MAX = 65_536

export type SpedUp = { readonly id: string; readonly nonce: number }

type Requesting = Pick<WalletRow, 'network' | 'address' | 'type'>

type Requested = {
  readonly action: TransactionAction
  readonly wallet: Requesting
  readonly intents: readonly Intent[]
  readonly spedUp?: SpedUp | undefined
}

/** The metadata by which each call of a runtime was read. */
const listMadeBy = (intents: readonly Intent[]) =>
  intents.some(({ madeBy }) => madeBy !== undefined) ? { made_by: intents.map(({ madeBy = null }) => madeBy) } : {}

/** Canonical JSON (RFC 8785). */
export const writeRequest = ({ action, wallet, intents, spedUp }: Requested): string =>
  canonicalJson({
    action,
    ...present('transaction_id', spedUp?.id),
    ...present('signer_nonce', spedUp?.nonce),
    network: wallet.network,
    wallet_address: wallet.address,
    wallet_type: wallet.type,
    intents: intents.map(unsignedText),
    ...listMadeBy(intents),
  })

/** @throws invalid_input if it is too long for people to read. */
export const writeTypedDataRequest = (wallet: Requesting, typedData: TypedDataField): string => {
  const request = canonicalJson({
    action: 'sign-typed-data',
    network: wallet.network,
    wallet_address: wallet.address,
    wallet_type: wallet.type,
    intents: [],
    typed_data: typedData,
  })
  if (request.length <= TYPED_DATA_CHARACTERS_MAX) return request
  const sentence = `Field "typed_data" must have at most ${TYPED_DATA_CHARACTERS_MAX} characters, because people must approve it.`
  throw invalidInput(sentence)
}

export type ReadRequest = {
  readonly action: ApprovedAction
  /** For a speed-up: the transaction that is signed again, and its nonce. */
  readonly transaction_id?: string
  readonly signer_nonce?: string
  readonly network: string
  readonly wallet_address: string
  /** Empty for typed data. */
  readonly intents: readonly UnsignedText[]
  readonly typed_data?: TypedDataField
}

/** Parses a text that this file made. */
export const readRequest = (request: string): ReadRequest => JSON.parse(request) as ReadRequest
