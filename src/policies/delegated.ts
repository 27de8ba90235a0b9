// Where the developer's secret comes for a user-controlled wallet: what the owner's policies allow, with the lock of the one
// that does. It is judged twice. Before the key is opened, by the rules and by what is left; and in the database transaction
// that records the effect, where the policy's row is locked and charged: revoked, expired or used up meanwhile, nothing is
// recorded, and another policy is looked for. What it may pay as fees is known only then, and is charged there as well.
// Of a contract wallet it judges what the wallet is to do, not what its owner's key signs to have it done.

import type { Tx } from '../../db/client.ts'
import { chargePolicy, countPolicies, type StandingPolicy, standingPolicies } from '../../db/queries/policies.ts'
import type { WalletRow } from '../../db/queries/wallets.ts'
import type { Chain, Intent, ReadCall } from '../chains/chain.ts'
import { sumOfValues } from '../chains/intent.ts'
import type { Ctx } from '../context.ts'
import { type Credentials, type KeyHandle, PolicyClosed } from '../custody/vault.ts'
import { AppError } from '../errors.ts'
import { displayAmount, nativeToken } from '../tokens/token.ts'
import { DECODED, type Judged, matches } from './evaluate.ts'

/** More than these a wallet cannot have: each is judged at each use. */
export const POLICIES_A_WALLET_MAX = 1_000
/** Policies that may close one after the other under a request. */
const TRIES_MAX = 20

type Use = {
  readonly chain: Chain
  readonly wallet: WalletRow
  readonly credentials: Credentials
  readonly actor: string
  /** What the wallet is to do, all of it or nothing: built once, before a delegated key is opened and after another one is. */
  readonly intents: () => Promise<readonly Intent[]>
}

/**
 * What a delegated use owes: called in the database transaction that records it.
 * @param fee the most that it may come to pay beside its value, in base units. @throws PolicyClosed.
 */
export type Charge = (tx: Tx, fee: bigint) => Promise<void>

/** What is to be done with a wallet's key; `charge` is null where its own credential opened it. */
type Act<Result> = (
  key: KeyHandle,
  use: { readonly intents: readonly Intent[]; readonly charge: Charge | null },
) => Promise<Result>

const denied = (sentence: string): AppError => new AppError('policy_denied', sentence)

const isDelegated = ({ wallet, credentials }: Use): boolean =>
  wallet.controlMode === 'user' && credentials.developerSecret !== undefined && credentials.userPin === undefined

const readsCalls = ({ argumentRules }: StandingPolicy): boolean =>
  argumentRules.some(({ argument }) => argument.startsWith(DECODED))

const isCall = ({ to, input }: Intent): boolean => to === null || input !== '0x'

/** What moves is then known to the call alone. */
const isRuntimeCall = ({ to }: Intent): boolean => to === null

/** A policy, and what it allows: calls of a Substrate runtime are bound to the metadata by which they were judged. */
type Chosen = { readonly policyId: string; readonly intents: readonly Intent[] }

const judgedBy = (intent: Intent, call: ReadCall | null): Intent =>
  call?.readBy === undefined ? intent : { ...intent, madeBy: call.readBy }

type Choice = {
  readonly intended: readonly Intent[]
  /** Policies that allowed it, and turned out to have too little left, or to be gone. */
  readonly closed: ReadonlySet<string>
}

/** The oldest policy that allows all of the intents; null where none does. */
const choosePolicy = async (ctx: Ctx, use: Use & Choice): Promise<Chosen | null> => {
  const { chain, wallet, intended, closed } = use
  const value = sumOfValues(intended)
  const standing = await standingPolicies(ctx.db, { walletId: wallet.id, value, limit: POLICIES_A_WALLET_MAX })
  let judged: readonly Judged[] = intended.map((intent) => ({
    to: intent.to,
    value: intent.value,
    isCall: isCall(intent),
    call: null,
  }))
  let isRead = false
  const isCounted = !intended.some(isRuntimeCall)
  const candidates = standing.filter(
    ({ id, isOpen, maxTotalValue }) => isOpen && !closed.has(id) && (isCounted || maxTotalValue === null),
  )
  for (const each of candidates) {
    if (!isRead && readsCalls(each)) {
      const calls = await Promise.all(intended.map((intent) => chain.readCall(intent)))
      judged = judged.map((one, index) => ({ ...one, call: calls[index] ?? null }))
      isRead = true
    }
    if (!matches(each.argumentRules, judged)) continue
    return {
      policyId: each.id,
      intents: intended.map((intent, index) => judgedBy(intent, judged[index]?.call ?? null)),
    }
  }
  return null
}

/** Where nothing allows it; or where what allows it has too little left for this fee. */
const deniedFor = ({ chain }: Use, owed: bigint | null): AppError => {
  if (owed === null) return denied('No policy of this wallet lets the developer do this: it takes the "user_pin".')
  const { decimals, symbol } = nativeToken(chain)
  return denied(
    `No policy that allows this has enough left: one use, and ${displayAmount(owed, decimals)} ${symbol} of its fee budget, which is the most that the fees of this may come to.`,
  )
}

/**
 * The contract wallet of this key, on this network: as it obeys the key, a call of it could change its owner, or approve what
 * nobody judges. Of an eoa wallet too, whose calls it would take for its owner's.
 */
const contractWalletOf = ({ chain, wallet }: Use): string | null =>
  chain.contractWallets?.of(chain.addressOf(wallet.publicKey)).address ?? null

/** What no rule can allow. @throws policy_denied. */
const refuseAlways = (use: Use, intents: readonly Intent[]): void => {
  const { chain } = use
  const contractWallet = contractWalletOf(use)
  for (const intent of intents) {
    if (chain.withoutRecipient === 'creation' && intent.to === null) {
      throw denied('No policy lets the developer create a contract: it takes the "user_pin".')
    }
    if (contractWallet !== null && intent.to === contractWallet && intent.input !== '0x') {
      throw denied('No policy lets the developer call the contract wallet of this key: it takes the "user_pin".')
    }
    if (intent.era !== undefined) {
      throw denied(
        'By a policy, field "unsigned_transaction.era" must be absent: a longer one would outlive the policy.',
      )
    }
    if (intent.feeAsset !== undefined) {
      throw denied(
        'By a policy, field "unsigned_transaction.asset_id" must be absent: the fee budget of a policy is in the coin.',
      )
    }
    if (!chain.terms.isWithinFeeCap(intent)) {
      throw denied(`No policy lets the developer offer fees above the cap of ${chain.network}.`)
    }
  }
}

/**
 * Opens a wallet's key for one intent, or for several that are one: with the credential of its control mode, or with the
 * developer's secret by the oldest policy that allows all of them.
 * @throws policy_denied, what the vault throws, and whatever `act` and the making of the intents throw.
 */
export const withKeyFor = async <Result>(ctx: Ctx, use: Use, act: Act<Result>): Promise<Result> => {
  const { wallet, credentials, actor } = use
  if (!isDelegated(use) || (await countPolicies(ctx.db, wallet.id)) === 0) {
    return ctx.vault.withKey({ wallet, credentials, actor }, async (key) =>
      act(key, { intents: await use.intents(), charge: null }),
    )
  }
  const intended = await use.intents()
  refuseAlways(use, intended)
  const closed = new Set<string>()
  let owed: bigint | null = null
  for (let tries = 1; ; tries += 1) {
    const chosen = await choosePolicy(ctx, { ...use, intended, closed })
    if (chosen === null) throw deniedFor(use, owed)
    const { policyId, intents } = chosen
    const charge: Charge = async (tx, fee) => {
      owed = fee
      if (!(await chargePolicy(tx, { id: policyId, value: sumOfValues(intents), fee }))) throw new PolicyClosed()
    }
    try {
      return await ctx.vault.withKey({ wallet, credentials, actor, policyId }, (key) => act(key, { intents, charge }))
    } catch (error) {
      if (!(error instanceof PolicyClosed) || tries >= TRIES_MAX) throw error
      closed.add(policyId)
    }
  }
}
