// Where the developer's secret comes for a user-controlled wallet: what the owner's policies allow, with the lock of the one
// that does. It is judged twice. Before the key is opened, by the rules and by what is left; and in the database transaction
// that records the effect, where the policy's row is locked and charged: revoked, expired or used up meanwhile, nothing is
// recorded, and another policy is looked for.
// Of a contract wallet it judges what the wallet is to do, not what its owner's key signs to have it done.

import type { Tx } from '../../db/client.ts'
import { chargePolicy, countPolicies, type StandingPolicy, standingPolicies } from '../../db/queries/policies.ts'
import type { WalletRow } from '../../db/queries/wallets.ts'
import type { Chain, Intent, ReadCall } from '../chains/chain.ts'
import { sumOfValues } from '../chains/intent.ts'
import type { Ctx } from '../context.ts'
import { type Credentials, type KeyHandle, PolicyClosed } from '../custody/vault.ts'
import { AppError } from '../errors.ts'
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

/** What a delegated use owes: called in the database transaction that records it. @throws PolicyClosed. */
export type Charge = (tx: Tx) => Promise<void>

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

/** What moves is then known to the call alone. */
const isRuntimeCall = ({ to }: Intent): boolean => to === null

/** A policy, and what it allows: calls of a Substrate runtime are bound to the metadata by which they were judged. */
type Chosen = { readonly policyId: string; readonly intents: readonly Intent[] }

const judgedBy = (intent: Intent, call: ReadCall | null): Intent =>
  call?.readBy === undefined ? intent : { ...intent, madeBy: call.readBy }

/** The oldest policy that allows all of the intents. @throws policy_denied. */
const choosePolicy = async (ctx: Ctx, use: Use & { readonly intended: readonly Intent[] }): Promise<Chosen> => {
  const { chain, wallet, intended } = use
  const value = sumOfValues(intended)
  const standing = await standingPolicies(ctx.db, { walletId: wallet.id, value, limit: POLICIES_A_WALLET_MAX })
  let judged: readonly Judged[] = intended.map((intent) => ({ to: intent.to, value: intent.value, call: null }))
  let isRead = false
  const isCounted = !intended.some(isRuntimeCall)
  for (const each of standing.filter(({ isOpen, maxTotalValue }) => isOpen && (isCounted || maxTotalValue === null))) {
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
  throw denied('No policy of this wallet lets the developer do this: it takes the "user_pin".')
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
    if (chain.family === 'evm' && intent.to === null) {
      throw denied('No policy lets the developer create a contract: it takes the "user_pin".')
    }
    if (contractWallet !== null && intent.to === contractWallet && intent.input !== '0x') {
      throw denied('No policy lets the developer call the contract wallet of this key: it takes the "user_pin".')
    }
    if (!chain.isWithinFeeCap(intent)) {
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
  for (let tries = 1; ; tries += 1) {
    const { policyId, intents } = await choosePolicy(ctx, { ...use, intended })
    const charge: Charge = async (tx) => {
      if (!(await chargePolicy(tx, { id: policyId, value: sumOfValues(intents) }))) throw new PolicyClosed()
    }
    try {
      return await ctx.vault.withKey({ wallet, credentials, actor, policyId }, (key) => act(key, { intents, charge }))
    } catch (error) {
      if (!(error instanceof PolicyClosed) || tries >= TRIES_MAX) throw error
    }
  }
}
