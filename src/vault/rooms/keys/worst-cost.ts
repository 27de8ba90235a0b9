// The most that signed payloads can take from their wallet, as far as the vault can read them: the cost of an EVM
// transaction, of the calls of a contract wallet that it causes, and what these, or a holder of signed typed data, take
// of the tokens that a policy limits. An extrinsic counts as nothing, because the vault lacks the runtime's metadata to
// read it.
//
// A key has two wallets on an EVM network: its own address, and the Safe that obeys it. A policy is for one of them, so
// a payload by which the other one would act is refused.

import type { PolicyTerms } from '../../../../db/queries/vault/policies.ts'
import type { ChainFamily } from '../../../../db/words.ts'
import { unreachable } from '../../../platform/errors.ts'
import type { Call } from '../../language/call-rules.ts'
import type { Payload, TypedData } from '../../language/payload.ts'
import { type Tokens, tokensTaken } from '../../language/token-calls.ts'
import { typedDataDigest } from '../../language/typed-data.ts'
import { areOnTypedData, neverSigned, tokensGranted, typedDataMismatch } from '../../language/typed-data-rules.ts'
import { bytesToSign } from './payloads.ts'
import {
  callsExecuted,
  callsSigned,
  hexOf,
  integerOf,
  MULTI_SEND_CALL_ONLY,
  ownerOf,
  PROXY_FACTORY,
  safeOf,
} from './safe.ts'
import { fieldsOfTransaction } from './transaction-fields.ts'

export type WalletChain = {
  readonly family: ChainFamily
  readonly chainId?: number
  /** For Substrate networks: the prefix of their addresses. */
  readonly ss58Prefix?: number
}

type PolicySigner = {
  readonly chain: WalletChain
  readonly publicKey: Uint8Array
  readonly isContractWallet: boolean
  /** Every call of these contracts must be countable. */
  readonly limitedTokens: readonly string[]
  /** The policy's. This file judges by those on typed data, its caller by those on calls (call-rules.ts). */
  readonly rules: PolicyTerms['argumentRules']
}

type CostContext = PolicySigner & {
  /** The address of the key's contract wallet. A payment needs none, and computing it takes as long as all else. */
  readonly safe: () => string
}

/** In base units of the coin, and of each token. */
type Cost = { readonly value: bigint; readonly fee: bigint; readonly tokens: Tokens }

type Read = Cost & {
  /** What the policy's wallet does by it. */
  readonly calls: readonly Call[]
  /** Payloads with one transactionKey are versions of one transaction: the chain takes one of them. */
  readonly transactionKey: string
  /** A cancel does nothing, and the deployment of a contract wallet is part of what follows it. */
  readonly isUse: boolean
}

const NOTHING: Cost = { value: 0n, fee: 0n, tokens: new Map() }

const sumOf = (calls: readonly Call[]): bigint => calls.reduce((sum, { value }) => sum + value, 0n)

const otherWallet = () => new Error('a policy signs for its own wallet, not for the other one of its key')

const takenBy = ({ limitedTokens }: CostContext, calls: readonly Call[]): Tokens => {
  const taken = tokensTaken(limitedTokens, calls)
  if (taken === null) throw new Error('the policy limits a token, and this call of it cannot be counted')
  return taken
}

/** A cancel does nothing, as does what goes before or around an execution. */
const callsOf = ({ isContractWallet, publicKey, safe }: CostContext, call: Call): readonly Call[] => {
  const { to, value, data } = call
  const isCall = data.length > 0
  if (value === 0n && !isCall && to === ownerOf(publicKey)) return []
  if (!isContractWallet) {
    if (isCall && to === safe()) throw otherWallet()
    return [call]
  }
  // Both contracts serve any caller, and own nothing.
  if (value === 0n && isCall && (to === PROXY_FACTORY || to === MULTI_SEND_CALL_ONLY)) return []
  if (value !== 0n || !isCall || to !== safe()) throw otherWallet()
  return callsExecuted(to, data)
}

const readTransaction = (context: CostContext, unsigned: Uint8Array): Read => {
  const fields = fieldsOfTransaction(unsigned)
  if (integerOf(fields.chainId) !== BigInt(context.chain.chainId ?? 0))
    throw new Error("a policy is for its wallet's network")
  const calls = callsOf(context, { to: hexOf(fields.to), value: integerOf(fields.value), data: fields.data })
  return {
    calls,
    value: sumOf(calls),
    tokens: takenBy(context, calls),
    fee: integerOf(fields.gas) * integerOf(fields.maxFeePerGas),
    transactionKey: `nonce ${integerOf(fields.nonce)}`,
    isUse: calls.length > 0,
  }
}

const readSafeTransaction = (context: CostContext, typedData: TypedData): Read => {
  const { chain, safe } = context
  const calls = callsSigned({ safe: safe(), chainId: chain.chainId ?? 0 }, typedData)
  const transactionKey = `inner nonce ${typedData.message.nonce}`
  return { calls, value: sumOf(calls), fee: 0n, tokens: takenBy(context, calls), transactionKey, isUse: true }
}

const readTypedData = ({ safe, limitedTokens, rules }: CostContext, typedData: TypedData): Read => {
  const never = neverSigned(typedData, `0x${safe()}`)
  if (never !== null) throw new Error(never)
  if (typedDataMismatch(rules, typedData) !== null)
    throw new Error('the rules of the policy do not allow this typed data')
  const tokens = tokensGranted(limitedTokens, typedData)
  if (tokens === null) throw new Error('the policy limits a token, and this typed data of it cannot be counted')
  return {
    ...NOTHING,
    calls: [],
    tokens,
    transactionKey: `typed data ${hexOf(typedDataDigest(typedData))}`,
    isUse: true,
  }
}

const refuseTransaction = ({ rules }: CostContext): void => {
  if (areOnTypedData(rules)) throw new Error('the rules of the policy are on typed data, not on transactions')
}

const read = (context: CostContext, payload: Payload): Read => {
  const { chain, limitedTokens, isContractWallet } = context
  switch (payload.kind) {
    case 'evm_transaction':
      refuseTransaction(context)
      return readTransaction(context, payload.unsigned)
    case 'typed_data':
      if (!isContractWallet) return readTypedData(context, payload.typedData)
      refuseTransaction(context)
      return readSafeTransaction(context, payload.typedData)
    case 'safe_typed_data':
      if (!isContractWallet) throw otherWallet()
      if (payload.safe.toLowerCase() !== `0x${context.safe()}` || payload.chainId !== chain.chainId) {
        throw new Error('a policy signs only for the contract wallet of its key, on its chain')
      }
      return readTypedData(context, payload.typedData)
    case 'extrinsic':
      refuseTransaction(context)
      if (limitedTokens.length > 0) throw new Error('the policy limits a token, and an extrinsic cannot be counted')
      return {
        ...NOTHING,
        calls: [],
        transactionKey: `extrinsic ${hexOf(bytesToSign(chain.family, payload))}`,
        isUse: true,
      }
    case 'evm_message':
    case 'safe_message':
    case 'substrate_message':
      throw new Error(`a policy signs no ${payload.kind}`)
    default:
      return unreachable(payload)
  }
}

export const max = (one: bigint, other: bigint): bigint => (one > other ? one : other)

const merged = (one: Tokens, other: Tokens, merge: (one: bigint, other: bigint) => bigint): Tokens =>
  new Map([...one, ...[...other].map(([token, amount]) => [token, merge(one.get(token) ?? 0n, amount)] as const)])

const merge = (one: Cost, other: Cost, by: (one: bigint, other: bigint) => bigint): Cost => ({
  value: by(one.value, other.value),
  fee: by(one.fee, other.fee),
  tokens: merged(one.tokens, other.tokens, by),
})

/** `uses`: the transaction keys of those that do something. Pure. @throws Error if no policy allows one. */
export const computeWorstCost = (
  signer: PolicySigner,
  payloads: readonly Payload[],
): Cost & Pick<Read, 'calls'> & { readonly uses: readonly string[] } => {
  let known: string | null = null
  const safe = () => {
    known ??= signer.chain.chainId === undefined ? '' : safeOf(signer.publicKey)
    return known
  }
  const byTransaction = new Map<string, Cost>()
  const uses: string[] = []
  const allCalls: Call[] = []
  for (const { transactionKey, isUse, calls, ...cost } of payloads.map((payload) =>
    read({ ...signer, safe }, payload),
  )) {
    byTransaction.set(transactionKey, merge(byTransaction.get(transactionKey) ?? NOTHING, cost, max))
    if (isUse) uses.push(transactionKey)
    allCalls.push(...calls)
  }
  const sum = (one: bigint, other: bigint): bigint => one + other
  return { ...[...byTransaction.values()].reduce((all, cost) => merge(all, cost, sum), NOTHING), calls: allCalls, uses }
}
