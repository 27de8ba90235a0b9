// The most that signed payloads can take from their wallet, as far as custody can read them: all of an EVM transaction and of
// what it has the key's contract wallet do. Of an extrinsic nothing, as only the runtime's metadata tells what it means.

import type { ChainFamily } from '../../../db/words.ts'
import { unreachable } from '../../errors.ts'
import type { Payload } from '../payload.ts'
import { bytesToSign, fieldsOfTransaction } from './payloads.ts'
import { MULTI_SEND_CALL_ONLY, PROXY_FACTORY, safeOf, valueExecuted, valueSigned } from './safe.ts'

/** What decides for which chain a wallet's key signs. */
export type WalletChain = { readonly family: ChainFamily /** Of EVM networks. */; readonly chainId?: number }

type Signer = { readonly chain: WalletChain; readonly publicKey: Uint8Array }

/** In base units of the coin. */
type Cost = { readonly value: bigint; readonly fee: bigint }

type Read = Cost & {
  /** Payloads of one slot are versions of one transaction: the chain takes one of them. */
  readonly slot: string
  /** Whether it does something: a cancel does not, and the deployment of a contract wallet is part of what follows it. */
  readonly isUse: boolean
}

const EMPTY: Uint8Array = new Uint8Array()
const hexOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')
const integerOf = (bytes = EMPTY): bigint => BigInt(`0x${hexOf(bytes) || '0'}`)

const readTransaction = ({ chain, publicKey }: Signer, unsigned: Uint8Array): Read => {
  const fields = fieldsOfTransaction(unsigned)
  if (integerOf(fields.chainId) !== BigInt(chain.chainId ?? 0)) throw new Error("a policy is for its wallet's network")
  const { to: recipient = EMPTY, data = EMPTY } = fields
  const [to, value] = [hexOf(recipient), integerOf(fields.value)]
  const safe = data.length > 0 ? safeOf(publicKey) : null
  // Both contracts of Safe work for whoever calls them, and own nothing.
  const doesNothing = value === 0n && (safe === null || to === PROXY_FACTORY || to === MULTI_SEND_CALL_ONLY)
  return {
    value: value + (to === safe ? valueExecuted(safe, data) : 0n),
    fee: integerOf(fields.gas) * integerOf(fields.maxFeePerGas),
    slot: `nonce ${integerOf(fields.nonce)}`,
    isUse: !doesNothing,
  }
}

const read = (signer: Signer, payload: Payload): Read => {
  const { chain, publicKey } = signer
  switch (payload.kind) {
    case 'evm_transaction':
      return readTransaction(signer, payload.unsigned)
    case 'typed_data': {
      const { typedData } = payload
      const value = valueSigned({ safe: safeOf(publicKey), chainId: chain.chainId ?? 0 }, typedData)
      return { value, fee: 0n, slot: `inner nonce ${typedData.message.nonce}`, isUse: true }
    }
    case 'extrinsic':
      return { value: 0n, fee: 0n, slot: `extrinsic ${hexOf(bytesToSign(chain.family, payload))}`, isUse: true }
    case 'evm_message':
    case 'safe_message':
    case 'substrate_message':
      throw new Error(`a policy signs no ${payload.kind}`)
    default:
      return unreachable(payload)
  }
}

export const max = (one: bigint, other: bigint): bigint => (one > other ? one : other)

/**
 * The cost of payloads that may all be sent, and the slots of those that do something. Pure.
 * @throws Error for another chain than the wallet's, and for what no policy allows.
 */
export const worstCostOf = (
  signer: Signer,
  payloads: readonly Payload[],
): Cost & { readonly uses: readonly string[] } => {
  const bySlot = new Map<string, Cost>()
  const uses: string[] = []
  for (const { slot, isUse, value, fee } of payloads.map((payload) => read(signer, payload))) {
    const before = bySlot.get(slot) ?? { value: 0n, fee: 0n }
    bySlot.set(slot, { value: max(before.value, value), fee: max(before.fee, fee) })
    if (isUse) uses.push(slot)
  }
  const sum = (one: Cost, other: Cost) => ({ value: one.value + other.value, fee: one.fee + other.fee })
  return { ...[...bySlot.values()].reduce(sum, { value: 0n, fee: 0n }), uses }
}
