// Where the developer's secret comes for a user-controlled wallet: what the owner's policies allow, with the lock of the one
// that does. It is judged twice. Before the key is opened, by the rules and by what is left; and in the database transaction
// that records the effect, where the policy's row is locked and charged: revoked, expired or used up meanwhile, nothing is
// recorded, and another policy is looked for.

import type { Tx } from '../../db/client.ts'
import { chargePolicy, countPolicies, type StandingPolicy, standingPolicies } from '../../db/queries/policies.ts'
import type { WalletRow } from '../../db/queries/wallets.ts'
import type { Chain, Intent } from '../chains/chain.ts'
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
  /** Built once, before a delegated key is opened and after another one is. */
  readonly intent: () => Promise<Intent>
}

/** What a delegated use owes: called in the database transaction that records it. @throws PolicyClosed. */
export type Charge = (tx: Tx) => Promise<void>

/** What is to be done with a wallet's key; `charge` is null where its own credential opened it. */
type Act<Result> = (key: KeyHandle, use: { readonly intent: Intent; readonly charge: Charge | null }) => Promise<Result>

const denied = (sentence: string): AppError => new AppError('policy_denied', sentence)

const isDelegated = ({ wallet, credentials }: Use): boolean =>
  wallet.controlMode === 'user' && credentials.developerSecret !== undefined && credentials.userPin === undefined

const readsCalls = ({ argumentRules }: StandingPolicy): boolean =>
  argumentRules.some(({ argument }) => argument.startsWith(DECODED))

/** The oldest policy that allows the intent. @throws policy_denied. */
const choosePolicy = async (ctx: Ctx, use: Use & { readonly intended: Intent }): Promise<string> => {
  const { chain, wallet, intended } = use
  const { to, value } = intended
  const standing = await standingPolicies(ctx.db, { walletId: wallet.id, value, limit: POLICIES_A_WALLET_MAX })
  let judged: Judged = { to, value, call: null }
  let isRead = false
  for (const each of standing.filter(({ isOpen }) => isOpen)) {
    if (!isRead && readsCalls(each)) {
      judged = { to, value, call: await chain.readCall(intended) }
      isRead = true
    }
    if (matches(each.argumentRules, [judged])) return each.id
  }
  throw denied('No policy of this wallet lets the developer do this: it takes the "user_pin".')
}

/** What no rule can allow. @throws policy_denied. */
const refuseAlways = (chain: Chain, intent: Intent): void => {
  if (intent.to === null) throw denied('No policy lets the developer create a contract: it takes the "user_pin".')
  if (!chain.isWithinFeeCap(intent)) {
    throw denied(`No policy lets the developer offer fees above the cap of ${chain.network}.`)
  }
}

/**
 * Opens a wallet's key for one intent: with the credential of its control mode, or with the developer's secret by the
 * oldest policy that allows it.
 * @throws policy_denied, what the vault throws, and whatever `act` and the making of the intent throw.
 */
export const withKeyFor = async <Result>(ctx: Ctx, use: Use, act: Act<Result>): Promise<Result> => {
  const { chain, wallet, credentials, actor } = use
  if (!isDelegated(use) || (await countPolicies(ctx.db, wallet.id)) === 0) {
    return ctx.vault.withKey({ wallet, credentials, actor }, async (key) =>
      act(key, { intent: await use.intent(), charge: null }),
    )
  }
  const intent = await use.intent()
  refuseAlways(chain, intent)
  for (let tries = 1; ; tries += 1) {
    const policyId = await choosePolicy(ctx, { ...use, intended: intent })
    const charge: Charge = async (tx) => {
      if (!(await chargePolicy(tx, { id: policyId, value: intent.value }))) throw new PolicyClosed()
    }
    try {
      return await ctx.vault.withKey({ wallet, credentials, actor, policyId }, (key) => act(key, { intent, charge }))
    } catch (error) {
      if (!(error instanceof PolicyClosed) || tries >= TRIES_MAX) throw error
    }
  }
}
