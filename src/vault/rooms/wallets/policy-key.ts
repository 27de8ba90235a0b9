// Opening the key of a user-controlled wallet with the developer secret and a policy's lock.

import { type LockedPolicy, type PolicyTerms, readPolicyLock } from '../../../../db/queries/vault/policies.ts'
import { openablePolicies } from '../../../../db/queries/vault/unrevoked-policies.ts'
import type { AuditAct } from '../../../platform/audit/audit.ts'
import { HeldKeys } from '../../../platform/sealing/bytes.ts'
import { EnvelopeError } from '../../../platform/sealing/envelope.ts'
import { requireCredentials } from '../../contract/required-credentials.ts'
import type { Approval, OpenPolicies, OpenPolicyKey } from '../../contract/vault.ts'
import { mayCall } from '../../language/call-rules.ts'
import { contractOf } from '../../language/policy-limits.ts'
import { checkSecret } from '../credentials/credential-keys.ts'
import type { RoomCtx } from '../ctx.ts'
import { computeWorstCost, max } from '../keys/worst-cost.ts'
import { identityOf, openPolicyLock, openWalletKeyBy } from '../sealing/hierarchy.ts'
import { openApproval } from './approved.ts'
import { openSpending } from './policy-spending.ts'
import { boundTerms, PolicyClosed, PolicyForged } from './policy-terms.ts'
import { type KeyRequest, type ReadRequest, type ReadWallet, readWallet, unlessForged } from './read-wallet.ts'
import { closeInTime, holdKey, KeyClosed } from './wallet-key.ts'

/** A use of a wallet's key by a policy. */
type PolicyKeyRequest = KeyRequest & {
  /** The terms by which the use was judged. */
  readonly terms: PolicyTerms
  /** The approval, if the policy has approvers. */
  readonly approval?: Approval | undefined
}

/** Opens the wallet key with the policy's lock. @throws PolicyForged if the owner did not agree to these terms. */
const openLock = async (ctx: RoomCtx, opening: Lockable) => {
  const { wallet, actor, terms, lock, developerKey } = opening
  const { id: walletId, projectId, keyringId } = wallet
  const scope = { projectId, keyringId, walletId, lockId: lock.id, terms: boundTerms(terms) }
  try {
    const inner = await ctx.projectKeys.openOuter({ identity: identityOf.policyLock(scope), sealed: lock.sealed })
    return openPolicyLock({ ...scope, developerKey, sealed: inner })
  } catch (error) {
    if (error instanceof EnvelopeError) throw new PolicyForged({ projectId, actor, policyId: terms.id })
    throw error
  }
}

const secretIn = ({ credentials }: Pick<KeyRequest, 'credentials'>) => {
  const { developerSecret: secret, from } = requireCredentials({ modes: ['developer'], credentials })
  if (secret === null) throw new Error('the developer secret was required')
  return { secret, from }
}

type Checked = ReadWallet & {
  /** The caller zeroes it. */
  readonly developerKey: Uint8Array
}

/** Checks the secret after the wallet was read. */
const checkDeveloper = async (ctx: RoomCtx, request: ReadRequest): Promise<Checked> => {
  const { actor, wallet, row } = request
  await ctx.freezes.refuse({ wallet, actor, freezeMacs: row.freezeMacs })
  const asked = { projectId: wallet.projectId, actor, row: row.developerKey, ...secretIn(request) }
  return { wallet, row, developerKey: await checkSecret(ctx, asked) }
}

type Lockable = Omit<PolicyKeyRequest, 'credentials' | 'wallet'> & Checked & LockedPolicy

/** @returns the wallet's private key, zeroed by the caller, and what charges the policy, disposed of by the caller. */
const openByPolicy = async (ctx: RoomCtx, request: Lockable) => {
  using keys = new HeldKeys()
  using held = new DisposableStack()
  const { wallet, actor, terms, row } = request
  const { id: walletId, projectId } = wallet
  // The lock does not say to which network the wallet belongs now.
  if (terms.network !== wallet.network) throw new PolicyForged({ projectId, actor, policyId: terms.id })
  const walletKey = keys.hold(await openLock(ctx, request))
  const spending = held.use(await openSpending(ctx, { projectId, actor, terms, row: request.spending }))
  const privateKey = await unlessForged(request, async () =>
    openWalletKeyBy({ ...wallet, walletId, walletKey, sealed: row.walletKey }),
  )
  held.move()
  return { privateKey, spending }
}

type Charged = { readonly uses: number; readonly approval: string | null }

/**
 * The row says how many uses of its policy were charged with it: only the vault knows, and `audit verify` counts them.
 */
const charged = (act: AuditAct, { uses, approval }: Charged): AuditAct => {
  const details = { ...act.details, policy_uses: String(uses) }
  return { ...act, details: approval === null ? details : { ...details, approval } }
}

const keyBy = async (ctx: RoomCtx, request: Lockable): Promise<OpenPolicyKey> => {
  const { wallet, actor, terms } = request
  const { privateKey, spending } = await openByPolicy(ctx, request)
  using held = new DisposableStack()
  const key = held.use(
    holdKey(ctx, { wallet, actor, purpose: 'policy', policyId: terms.id, privateKey, also: spending }),
  )
  // After the lock has proved the terms: before, anybody could name approvers, and have signatures checked for nothing.
  const approved = openApproval(ctx, request)
  const limitedTokens = terms.tokenLimits.map(contractOf)
  const { argumentRules: rules } = terms
  const { publicKey, type } = wallet
  const isContractWallet = type === 'contract'
  const signer = { chain: ctx.chainOf(wallet.network), publicKey, isContractWallet, limitedTokens, rules }
  const done = new Set<string>()
  let uses = 1
  held.move()
  return {
    sign: (said, ...signed) =>
      ctx.refusals.recording(async () => {
        approved?.requireApproved(signed)
        return await key.sign(async (acts) => {
          const cost = computeWorstCost(
            signer,
            signed.flatMap(({ payloads }) => payloads),
          )
          if (!cost.calls.every((call) => mayCall(rules, call)))
            throw new Error('the rules of the policy do not allow this call')
          for (const transactionKey of cost.uses) done.add(transactionKey)
          if (done.size > 1) throw new Error('one use of a policy signs one transaction')
          const { tokens } = cost
          const use = { value: max(said.value, cost.value), fee: max(said.fee, cost.fee), tokens, uses }
          const approval = approved?.id ?? null
          const rows = acts.map((act, at) => charged(act, { uses: at === 0 ? uses : 0, approval }))
          if (approved !== null || !(await spending.chargeAtOnce(use, rows))) {
            const consume = await ctx.db.transaction(async (tx) => {
              const charged = await spending.charge(tx, use)
              if (uses > 0) await approved?.use(tx)
              await ctx.audit.record(tx, ...rows)
              return charged
            })
            consume()
          }
          uses = 0
        }, signed)
      }),
    [Symbol.dispose]: key[Symbol.dispose],
  }
}

/** Opens the wallet's key with the developer secret and a policy's lock, as `Vault.openKeyByPolicy` says. */
export const openKeyByPolicy = async (ctx: RoomCtx, request: PolicyKeyRequest): Promise<OpenPolicyKey> => {
  using keys = new HeldKeys()
  const { wallet, terms } = request
  secretIn(request)
  const [policy, read] = await Promise.all([
    readPolicyLock(ctx.db, { policyId: terms.id, walletId: wallet.id }),
    readWallet(ctx, request),
  ])
  if (policy === null) throw new PolicyClosed()
  const checked = await checkDeveloper(ctx, { ...request, ...read })
  keys.hold(checked.developerKey)
  return await keyBy(ctx, { ...request, ...policy, ...checked })
}

/** Reads a wallet's policies and checks the developer secret, as `Vault.openPolicies` says. */
export const openPolicies = async (
  ctx: RoomCtx,
  { limit, ...request }: KeyRequest & { readonly limit: number },
): Promise<OpenPolicies> => {
  const { actor } = request
  secretIn(request)
  const [openable, read] = await Promise.all([
    openablePolicies(ctx.db, { walletId: request.wallet.id, limit }),
    readWallet(ctx, request),
  ])
  // Without a policy the secret opens nothing here.
  const checked = openable.length === 0 ? null : await checkDeveloper(ctx, { ...request, ...read })
  const key = new DisposableStack()
  key.defer(() => checked?.developerKey.fill(0))
  const requireOpen = closeInTime(ctx, key)
  return {
    policies: openable.map(({ policy }) => policy),
    sign: ({ policyId, approval, spends }, ...uses) =>
      ctx.refusals.recording(async () => {
        requireOpen()
        if (checked === null) throw new KeyClosed()
        using _once = key.move()
        const { policy: terms, lock, spending } = openable.find(({ policy }) => policy.id === policyId) ?? {}
        if (terms === undefined || !lock || spending === undefined) throw new PolicyClosed()
        using opened = await keyBy(ctx, { actor, ...checked, terms, approval, lock, spending })
        return await opened.sign(spends, ...uses)
      }),
    [Symbol.dispose]: () => key.dispose(),
  }
}
