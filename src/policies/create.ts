import { randomUUID } from 'node:crypto'
import { countPolicies, insertPolicy, isToCome, type Policy } from '../../db/queries/policies.ts'
import { findWallet, type WalletRow } from '../../db/queries/wallets.ts'
import type { Network } from '../../db/words.ts'
import type { Signatory } from '../auth/caller.ts'
import type { Ctx } from '../context.ts'
import { ProjectKeyRotated } from '../custody/vault.ts'
import { AppError, notFound } from '../errors.ts'
import type { Remember } from '../idempotency/once.ts'
import { POLICIES_A_WALLET_MAX } from './delegated.ts'
import type { ArgumentRule } from './evaluate.ts'
import { checkRules } from './rules.ts'
import { usualFeeBudget } from './terms.ts'

export type CreatePolicyInput = Signatory & {
  readonly network: Network
  readonly name: string
  readonly walletAddress: string
  readonly argumentRules: readonly ArgumentRule[]
  /** null: for ever. */
  readonly expiresAt: Date | null
  /** Base units of the coin, for all uses together; null: any. */
  readonly maxTotalValue: bigint | null
  readonly maxUses: number | null
  /** Base units of the coin, for the fees of all uses together; null: a multiple of what is usual now. */
  readonly maxTotalFee: bigint | null
  readonly remember?: Remember<Policy> | undefined
}

/** A rotation of the project's key that comes between makes the lock anew. */
const MAX_TRIES = 4

/** The user-controlled wallet within reach. @throws not_found, invalid_input. */
const delegatingWallet = async (ctx: Ctx, input: CreatePolicyInput, address: string): Promise<WalletRow> => {
  const wallet = await findWallet(ctx.db, { ...input, by: { address } })
  if (wallet === null) throw notFound('wallet')
  if (wallet.controlMode !== 'user') {
    throw new AppError('invalid_input', 'This wallet is controlled by the developer: there is nothing to delegate.')
  }
  if ((await countPolicies(ctx.db, wallet.id)) >= POLICIES_A_WALLET_MAX) {
    throw new AppError('invalid_input', `This wallet has ${POLICIES_A_WALLET_MAX} policies: revoke one first.`)
  }
  return wallet
}

/**
 * Lets the developer use a user-controlled wallet within rules, with the lock that it takes.
 * @throws invalid_input, address_invalid, not_found, not_implemented, node_unavailable (where the fee budget is to be
 * chosen here), and what the vault throws for both credentials.
 */
export const createPolicy = async (ctx: Ctx, input: CreatePolicyInput): Promise<Policy> => {
  const { projectId, network, expiresAt, credentials, actor } = input
  const chain = ctx.chains.withNode(network)
  const address = chain.parseAddress(input.walletAddress, 'wallet_address')
  checkRules(chain, input.argumentRules)
  if (expiresAt !== null && !(await isToCome(ctx.db, expiresAt))) {
    throw new AppError('invalid_input', 'Field "expires_at" must be a time to come.')
  }
  const wallet = await delegatingWallet(ctx, input, address)
  let { maxTotalFee } = input
  for (let tries = 1; ; tries += 1) {
    const policyId = randomUUID()
    const lock = await ctx.vault.newPolicyLock({ wallet, credentials, actor, policyId })
    const feeBudget = maxTotalFee ?? (await usualFeeBudget(chain))
    maxTotalFee = feeBudget
    try {
      return await ctx.db.transaction(async (tx) => {
        const { name, argumentRules, maxTotalValue, maxUses } = input
        const agreed = { name, argumentRules, expiresAt, maxTotalValue, maxUses, maxTotalFee: feeBudget }
        const row = await insertPolicy(tx, { id: policyId, projectId, network, walletId: wallet.id, ...agreed })
        await lock.write(tx)
        const policy = { ...row, walletAddress: wallet.address }
        await input.remember?.(tx, policy)
        return policy
      })
    } catch (error) {
      if (!(error instanceof ProjectKeyRotated) || tries >= MAX_TRIES) throw error
    }
  }
}
