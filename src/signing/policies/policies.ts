import { isDeepStrictEqual } from 'node:util'
import type { HasDb } from '../../../db/client.ts'
import { isInFuture } from '../../../db/queries/server.ts'
import type { Reach, WalletRow } from '../../../db/queries/wallets.ts'
import type { Network } from '../../../db/words.ts'
import type { Chain } from '../../chains/chain.ts'
import type { HasChains } from '../../chains/chains.ts'
import type { Signatory } from '../../identity/auth/caller.ts'
import type { Remember } from '../../identity/idempotency/once.ts'
import { AppError, notFound } from '../../platform/errors.ts'
import { parseTime } from '../../platform/http/text.ts'
import { requireConsent } from '../../vault/contract/required-credentials.ts'
import type { PolicyRow } from '../../vault/contract/vault.ts'
import type { SigningCtx } from '../ctx.ts'
import { invalidInput, parseQuantity, UINT256_END } from '../schema.ts'
import { getWallet } from '../wallets/get.ts'
import { requiredApproval } from './approvers.ts'
import { POLICIES_A_WALLET_MAX } from './delegated.ts'
import type { ArgumentRule } from './evaluate.ts'
import { usualFeeBudget } from './intent-bounds.ts'
import { type Limits, type LimitTexts, parseLimits } from './limits.ts'
import { asAsked, checkRules, compileRules } from './rules.ts'
import type { ProposedPolicyBody } from './schema.ts'

/** Parses the fields of a request. `checkProposed` and `compileRules` check the other fields. */
export const parseProposal = (body: ProposedPolicyBody) => {
  const amount = (field: 'max_total_value' | 'max_total_fee') =>
    body[field] === undefined ? null : parseQuantity(body[field], field, UINT256_END)
  return {
    network: body.network,
    name: body.name ?? '',
    walletAddress: body.wallet_address,
    argumentRules: body.argument_rules as readonly ArgumentRule[],
    /** null: no end. */
    expiresAt: body.expires_at === undefined ? null : parseTime({ text: body.expires_at, field: 'expires_at' }),
    /** Base units of the coin, for all uses together; null: no limit. */
    maxTotalValue: amount('max_total_value'),
    maxUses: body.max_uses ?? null,
    /** Base units of the coin, for the fees of all uses together; null: a default from the current fees. */
    maxTotalFee: amount('max_total_fee'),
    limitTexts: body as LimitTexts,
    /** null: its uses need no approval. */
    requireApproval: body.require_approval ?? null,
  }
}

export type ProposedPolicy = Readonly<ReturnType<typeof parseProposal>>

export type Policy = PolicyRow & { readonly walletAddress: string; readonly walletType: WalletRow['type'] }

const withWallet = (row: PolicyRow, { address, type }: WalletRow): Policy => ({
  ...row,
  walletAddress: address,
  walletType: type,
})

/** A proposal after the checks. */
export type AgreedPolicy = Omit<ProposedPolicy, 'maxTotalFee' | 'limitTexts'> &
  Limits & { readonly maxTotalFee: bigint }

/** Checks what needs neither the wallet nor a node's answer. */
export const checkProposed = (
  ctx: HasChains,
  { network, walletAddress, argumentRules, limitTexts }: ProposedPolicy,
): { readonly chain: Chain; readonly address: string; readonly limits: Limits } => {
  const chain = ctx.chains.withNode(network)
  const address = chain.parseAddress(walletAddress, 'wallet_address')
  checkRules(chain, argumentRules)
  return { chain, address, limits: parseLimits(chain, limitTexts) }
}

type CreatePolicyInput = Signatory &
  ProposedPolicy & {
    readonly newId: string
    readonly remember: Remember<Policy>
  }

export const requireFuture = async (ctx: HasDb, expiresAt: Date | null): Promise<void> => {
  if (expiresAt === null || (await isInFuture(ctx.db, expiresAt))) return
  throw invalidInput('Field "expires_at" must be a time in the future.')
}

const requireRoom = async (ctx: SigningCtx, unrevoked: number, expiresAt: Date | null): Promise<void> => {
  await requireFuture(ctx, expiresAt)
  if (unrevoked >= POLICIES_A_WALLET_MAX) {
    throw invalidInput(`This wallet has ${POLICIES_A_WALLET_MAX} policies: revoke one first.`)
  }
}

/** Compiles the rules. Reuse the compiled rules of a repeated request: the known ABIs may have changed. */
const agreedRules = async (
  chain: Chain,
  { asked, made }: { readonly asked: readonly ArgumentRule[]; readonly made: Pick<Policy, 'argumentRules'> | null },
): Promise<readonly ArgumentRule[]> =>
  made !== null && isDeepStrictEqual(asAsked(made.argumentRules), asAsked(asked))
    ? made.argumentRules
    : (await compileRules(chain, asked)).rules

/** For a developer-controlled wallet the policy takes effect once the wallet is put under policies. */
export const createPolicy = async (ctx: SigningCtx, input: CreatePolicyInput): Promise<Policy> => {
  const { network, newId: id, expiresAt, credentials, actor } = input
  const { chain, address, limits } = checkProposed(ctx, input)
  const wallet = await getWallet(ctx, { ...input, by: { address } })
  // `made`: by an earlier copy of this request, whose answer was lost.
  const { made, unrevoked } = await ctx.vault.policyRoom({ id, walletId: wallet.id })
  if (made === null) await requireRoom(ctx, unrevoked, expiresAt)
  requireConsent({ mode: wallet.controlMode, credentials })
  const { name, maxTotalValue, maxUses } = input
  // Complete the terms before the credentials are checked: the credentials agree to all of them.
  const argumentRules = await agreedRules(chain, { asked: input.argumentRules, made })
  const maxTotalFee = input.maxTotalFee ?? made?.maxTotalFee ?? (await usualFeeBudget(chain))
  const requireApproval = made === null ? await requiredApproval(ctx, input) : made.requireApproval
  const agreed = { id, network, argumentRules, expiresAt, maxTotalValue, maxUses, maxTotalFee, requireApproval }
  try {
    const row = await ctx.vault.newPolicy({ wallet, credentials, actor, name, terms: { ...agreed, ...limits } })
    const policy = withWallet(row, wallet)
    await input.remember(ctx.db, policy)
    return policy
  } catch (error) {
    const isOther = error instanceof AppError && error.code === 'idempotency_mismatch'
    if (made !== null || !isOther) throw error
    // Another process handled the same request meanwhile, and its default fee budget came from other fees.
    return createPolicy(ctx, input)
  }
}

/** Adds their wallets to policies. A policy is left out if the row of its wallet was edited. */
export const withWallets = async (ctx: SigningCtx, policies: readonly PolicyRow[]): Promise<readonly Policy[]> => {
  const wallets = await ctx.wallets.byIds([...new Set(policies.map(({ walletId }) => walletId))])
  const byId = new Map(wallets.map((wallet) => [wallet.id, wallet]))
  return policies.flatMap((policy) => {
    const wallet = byId.get(policy.walletId)
    return wallet === undefined ? [] : [withWallet(policy, wallet)]
  })
}

/** Policies that are not revoked, within the caller's reach, on a network or of one wallet, oldest first. */
export const listPolicies = async (
  ctx: SigningCtx,
  input: Reach & {
    readonly network: Network
    readonly walletAddress: string | undefined
    readonly limit: number
    readonly offset: number
  },
): Promise<readonly Policy[]> => {
  const { network, walletAddress } = input
  const chain = ctx.chains.get(network)
  const address = walletAddress === undefined ? null : chain.parseAddress(walletAddress, 'wallet_address')
  const wallet = address === null ? null : await getWallet(ctx, { ...input, by: { address } })
  const { projectId, ownedBy, limit, offset } = input
  const filter = { id: null, network, walletId: wallet?.id ?? null, controlMode: null }
  return withWallets(ctx, await ctx.vault.listPolicies({ projectId, ownedBy, ...filter, limit, offset }))
}

/** It takes effect at the next request in every process. Transactions that were accepted before are still sent. */
export const revokePolicy = async (ctx: SigningCtx, input: Signatory & { readonly id: string }): Promise<void> => {
  const { id, projectId, ownedBy, actor, credentials } = input
  const walletId = await ctx.vault.findWalletOfPolicy({ id, projectId, ownedBy })
  const wallet = walletId === null ? null : await ctx.wallets.byId(walletId)
  if (wallet === null) throw notFound('policy')
  await ctx.vault.revokePolicy({ wallet, credentials, actor, policyId: id })
}
