// Policies in words, for the page on which the owner of a wallet agrees to one. The service makes the words, not the browser, from
// the same values that are then granted.

import type { HasDb } from '../../../db/client.ts'
import type { Reach, WalletRow } from '../../../db/queries/wallets.ts'
import type { Network } from '../../../db/words.ts'
import type { Chain, NodelessChain } from '../../chains/chain.ts'
import type { HasChains } from '../../chains/chains.ts'
import type { HasSecurityEvents } from '../../identity/security-events.ts'
import type { HasClock } from '../../platform/clock.ts'
import { AppError, notFound } from '../../platform/errors.ts'
import type { HasIdentity } from '../../platform/sealing/sealer.ts'
import type { HasVault } from '../../vault/contract/vault.ts'
import { approverIdsOf, requiredApproval } from '../approvals/approvers.ts'
import { tokenDisplays } from '../token.ts'
import { BATCH_MAX } from '../transactions/schema.ts'
import type { HasWallets } from '../wallets/ours.ts'
import type { ArgumentRule } from './evaluate.ts'
import { usualFeeBudget } from './intent-bounds.ts'
import {
  type AgreedPolicy,
  checkProposed,
  type Policy,
  type ProposedPolicy,
  requireFuture,
  withWallets,
} from './policies.ts'
import type { KnownAddress, Proposal } from './reading.ts'
import { compileRules } from './rules.ts'
import { type PolicyWords, policyWords } from './words.ts'

type Describing = HasDb & HasChains & HasVault & HasWallets & HasClock & HasIdentity & HasSecurityEvents

const canonical = (chain: NodelessChain, text: string): string | null => {
  if (chain.accountOf(text) === null) return null
  try {
    return chain.parseAddress(text, 'value')
  } catch (error) {
    if (error instanceof AppError) return null
    throw error
  }
}

/** Canonical addresses by the values of rules that name them. */
const addressesIn = (chain: NodelessChain, rules: readonly ArgumentRule[]): ReadonlyMap<string, string> =>
  new Map(
    rules
      .filter(({ argument, operator }) => argument !== 'value' && (operator === 'eq' || operator === 'ne'))
      .flatMap(({ value }) => {
        const address = canonical(chain, value)
        return address === null ? [] : [[value, address] as const]
      }),
  )

/** Without a node the words contain no names, but the policy can still be read and revoked. */
const factsOf = async (chain: Chain | undefined, addresses: readonly string[]) => {
  try {
    return (await chain?.sureFacts(addresses)) ?? new Map()
  } catch (error) {
    if (error instanceof AppError && error.status === 503) return new Map()
    throw error
  }
}

type Naming = {
  readonly network: Network
  readonly rules: readonly ArgumentRule[]
  readonly tokenLimits: Terms['tokenLimits']
}

const knownIn = async (
  { db, chains, identity }: HasDb & HasChains & HasIdentity,
  { network, rules, tokenLimits }: Naming,
): Promise<ReadonlyMap<string, KnownAddress>> => {
  const chain = chains.of(network)
  const limited = tokenLimits.map(({ contractAddress }) => [contractAddress, contractAddress] as const)
  const named = new Map([...addressesIn(chain, rules), ...limited])
  const addresses = [...new Set(named.values())]
  const [facts, displays] = await Promise.all([
    factsOf(
      chains.all.find((each) => each.network === network),
      addresses,
    ),
    tokenDisplays({ db, identity }, { chain, addresses }),
  ])
  return new Map(
    [...named].map(([value, address]) => [
      value,
      { address, facts: facts.get(address) ?? null, isListed: displays.has(address) },
    ]),
  )
}

type Terms = Omit<AgreedPolicy, 'walletAddress' | 'requireApproval'> & Pick<Proposal, 'approvers' | 'isFunctionUnknown'>

const proposalOf = (
  { chains }: HasChains,
  input: {
    readonly terms: Terms
    readonly wallet: Pick<WalletRow, 'address' | 'type'>
    readonly known: ReadonlyMap<string, KnownAddress>
  },
): Proposal => {
  const { terms, wallet, known } = input
  const { coin, withoutRecipient } = chains.of(terms.network)
  return {
    ...terms,
    coin,
    withoutRecipient,
    known,
    walletAddress: wallet.address,
    batchMax: wallet.type === 'contract' ? BATCH_MAX : 1,
  }
}

/** All values of a proposed policy. A policy that is created with them does what the words say. */
type DescribedProposal = {
  readonly policy: AgreedPolicy
  /** The approvers with their present passkeys; null if uses need no approval. */
  readonly approvers: NonNullable<Policy['requireApproval']>['approvers'] | null
  readonly words: PolicyWords
}

/** Finds a user-controlled wallet that the caller can see. */
const delegatingWallet = async (
  ctx: HasWallets,
  input: Reach & { readonly network: Network; readonly address: string },
): Promise<WalletRow> => {
  const { projectId, ownedBy, network, address } = input
  const wallet = await ctx.wallets.find({ projectId, ownedBy, network, by: { address } })
  if (wallet === null) throw notFound('wallet')
  if (wallet.controlMode !== 'user') {
    throw new AppError(
      'invalid_input',
      'This wallet is controlled by the developer: a policy of it is not put in words for a user.',
    )
  }
  return wallet
}

/** Describes a policy before it is created. A fee budget that the request leaves open is fixed here. */
export const describePolicy = async (ctx: Describing, input: Reach & ProposedPolicy): Promise<DescribedProposal> => {
  const { network, expiresAt } = input
  const { chain, address, limits } = checkProposed(ctx, input)
  const wallet = await delegatingWallet(ctx, { ...input, address })
  await requireFuture(ctx, expiresAt)
  const { rules, isFunctionUnknown } = await compileRules(chain, input.argumentRules)
  const [known, maxTotalFee] = await Promise.all([
    knownIn(ctx, { network, rules, tokenLimits: limits.tokenLimits }),
    input.maxTotalFee ?? usualFeeBudget(chain),
  ])
  const { name, maxTotalValue, maxUses, requireApproval: proposed } = input
  // Their passkeys are read again when the policy is made.
  const required = proposed === null ? null : await requiredApproval(ctx, { ...input, proposed })
  const approvers = required === null ? null : { of: required.of, people: approverIdsOf(required).length }
  const agreed = { network, name, argumentRules: rules, expiresAt, maxTotalValue, maxUses, maxTotalFee, ...limits }
  const terms = { ...agreed, approvers, isFunctionUnknown }
  return {
    policy: { ...agreed, requireApproval: proposed, walletAddress: wallet.address },
    approvers: required?.approvers ?? null,
    words: policyWords(proposalOf(ctx, { terms, wallet, known }), { now: ctx.now(), spent: null }),
  }
}

type DescribedPolicy = { readonly policy: Policy; readonly words: PolicyWords }

/**
 * Describes the unrevoked policies of user-controlled wallets within reach, on all networks, oldest first; or one of them.
 * Policies of developer-controlled wallets are left out: they grant nothing to anybody.
 */
export const describedPolicies = async (
  ctx: Describing,
  input: Reach & { readonly id: string | null; readonly limit: number; readonly offset: number },
): Promise<readonly DescribedPolicy[]> => {
  const { id, projectId, ownedBy, limit, offset } = input
  const filter = { id, network: null, walletId: null, controlMode: 'user' } as const
  const policies = await withWallets(
    ctx,
    await ctx.vault.listPolicies({ projectId, ownedBy, ...filter, limit, offset }),
  )
  if (id !== null && policies.length === 0) throw notFound('policy')
  const networks = [...new Set(policies.map(({ network }) => network))]
  const known = new Map(
    await Promise.all(
      networks.map(async (network) => {
        const own = policies.filter((each) => each.network === network)
        const rules = own.flatMap((each) => each.argumentRules)
        const tokenLimits = own.flatMap((each) => each.tokenLimits)
        return [network, await knownIn(ctx, { network, rules, tokenLimits })] as const
      }),
    ),
  )
  return policies.map((policy) => {
    const wallet = { address: policy.walletAddress, type: policy.walletType }
    const { requireApproval: required } = policy
    const approvers = required === null ? null : { of: required.of, people: approverIdsOf(required).length }
    const terms = { ...policy, approvers, isFunctionUnknown: false }
    const proposal = proposalOf(ctx, { terms, wallet, known: known.get(policy.network) ?? new Map() })
    return { policy, words: policyWords(proposal, { now: ctx.now(), spent: policy }) }
  })
}
