// Policies in words, for the page on which the owner of a wallet agrees to one. The service makes the words, not the
// browser, from the same values that are then granted.

import type { Reach, WalletRow } from '../../../db/queries/wallets.ts'
import type { Network } from '../../../db/words.ts'
import type { Chain, NodelessChain } from '../../chains/chain.ts'
import { AppError, notFound } from '../../platform/errors.ts'
import type { SigningCtx } from '../ctx.ts'
import { invalidInput } from '../schema.ts'
import { tokenDisplays } from '../token.ts'
import { BATCH_MAX } from '../wallets/signer.ts'
import { approverIdsOf, requiredApproval } from './approvers.ts'
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
import { policyWords } from './words.ts'

const canonical = (chain: NodelessChain, text: string): string | null => {
  if (chain.accountOf(text) === null) return null
  try {
    return chain.parseAddress(text, 'value')
  } catch (error) {
    if (error instanceof AppError) return null
    throw error
  }
}

const findAddresses = (chain: NodelessChain, rules: readonly ArgumentRule[]): ReadonlyMap<string, string> =>
  new Map(
    rules
      .filter(({ argument, operator }) => argument !== 'value' && (operator === 'eq' || operator === 'ne'))
      .flatMap(({ value }) => {
        const address = canonical(chain, value)
        return address === null ? [] : [[value, address] as const]
      }),
  )

/** Without a node the words contain no names, but the policy can still be read and revoked. */
const readFacts = async (chain: Chain | undefined, addresses: readonly string[]) => {
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

const readKnown = async (
  { db, chains, identity }: SigningCtx,
  { network, rules, tokenLimits }: Naming,
): Promise<ReadonlyMap<string, KnownAddress>> => {
  const chain = chains.of(network)
  const limited = tokenLimits.map(({ contractAddress }) => [contractAddress, contractAddress] as const)
  const named = new Map([...findAddresses(chain, rules), ...limited])
  const addresses = [...new Set(named.values())]
  const [facts, displays] = await Promise.all([
    readFacts(
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

const countApprovers = (required: Policy['requireApproval']): Proposal['approvers'] =>
  required && { of: required.of, people: approverIdsOf(required).length }

type Terms = Omit<AgreedPolicy, 'walletAddress' | 'requireApproval'> & Pick<Proposal, 'approvers' | 'isFunctionUnknown'>

const makeProposal = (
  { chains }: SigningCtx,
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

const delegatingWallet = async (
  ctx: SigningCtx,
  input: Reach & { readonly network: Network; readonly address: string },
): Promise<WalletRow> => {
  const { projectId, ownedBy, network, address } = input
  const wallet = await ctx.wallets.find({ projectId, ownedBy, network, by: { address } })
  if (wallet === null) throw notFound('wallet')
  if (wallet.controlMode !== 'user') {
    throw invalidInput('This wallet is controlled by the developer: a policy of it is not put in words for a user.')
  }
  return wallet
}

/** Fixes a fee budget that the request leaves open. A policy with all values of `policy` does what the words say. */
export const describePolicy = async (ctx: SigningCtx, input: Reach & ProposedPolicy) => {
  const { network, expiresAt } = input
  const { chain, address, limits } = checkProposed(ctx, input)
  const wallet = await delegatingWallet(ctx, { ...input, address })
  await requireFuture(ctx, expiresAt)
  const { rules, isFunctionUnknown } = await compileRules(chain, input.argumentRules)
  const [known, maxTotalFee] = await Promise.all([
    readKnown(ctx, { network, rules, tokenLimits: limits.tokenLimits }),
    input.maxTotalFee ?? usualFeeBudget(chain),
  ])
  const { name, maxTotalValue, maxUses, requireApproval: proposed } = input
  // Their passkeys are read again when the policy is made.
  const required = await requiredApproval(ctx, input)
  const agreed = { network, name, argumentRules: rules, expiresAt, maxTotalValue, maxUses, maxTotalFee, ...limits }
  const terms = { ...agreed, approvers: countApprovers(required), isFunctionUnknown }
  return {
    policy: { ...agreed, requireApproval: proposed, walletAddress: wallet.address },
    approvers: required?.approvers ?? null,
    words: policyWords(makeProposal(ctx, { terms, wallet, known }), { now: ctx.now(), spent: null }),
  }
}

/** Leaves out policies of developer-controlled wallets: these policies grant nothing. Oldest first. */
export const describedPolicies = async (
  ctx: SigningCtx,
  input: Reach & { readonly id: string | null; readonly limit: number; readonly offset: number },
) => {
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
        return [network, await readKnown(ctx, { network, rules, tokenLimits })] as const
      }),
    ),
  )
  return policies.map((policy) => {
    const wallet = { address: policy.walletAddress, type: policy.walletType }
    const terms = { ...policy, approvers: countApprovers(policy.requireApproval), isFunctionUnknown: false }
    const proposal = makeProposal(ctx, { terms, wallet, known: known.get(policy.network) ?? new Map() })
    return { policy, words: policyWords(proposal, { now: ctx.now(), spent: policy }) }
  })
}
