// What the service decides: of a policy when it is made, and of a use before the vault is asked to open the key.

import { Value } from '@sinclair/typebox/value'
import type { UnrevokedPolicy } from '../../../db/queries/vault/unrevoked-policies.ts'
import type { Intent } from '../../../src/chains/chain.ts'
import { AppError } from '../../../src/platform/errors.ts'
import { createJudge, type JudgedChain } from '../../../src/signing/policies/judge.ts'
import { checkRules, compileRules, type RuledChain } from '../../../src/signing/policies/rules.ts'
import { CreatePolicyBody } from '../../../src/signing/policies/schema.ts'
import { countUse } from '../../../src/vault/language/policy-limits.ts'
import type { Limits } from './limits.ts'
import type { Policy, Rule } from './oracle.ts'

/** What policies ask of a network. */
export type PolicyChain = JudgedChain & RuledChain

const RULES = CreatePolicyBody.properties.argument_rules

/** Whether rules have a form that `POST /policies` takes, whatever they name. */
export const isWellFormed = (chain: PolicyChain, rules: readonly Rule[]): boolean => {
  if (!Value.Check(RULES, rules)) return false
  try {
    checkRules(chain, rules)
    return true
  } catch (error) {
    if (error instanceof AppError) return false
    throw error
  }
}

/** The rules as a new policy has them; null if `POST /policies` refuses what they name. */
export const compiledRules = async (
  chain: PolicyChain,
  rules: readonly Rule[],
): Promise<UnrevokedPolicy['argumentRules'] | null> => {
  try {
    return (await compileRules(chain, rules)).rules
  } catch (error) {
    if (error instanceof AppError && error.code === 'invalid_input') return null
    throw error
  }
}

const READ_AT = new Date('2026-11-23T12:34:56.789Z')
const UINT256_MAX = (1n << 256n) - 1n

/** The limits as a policy has them, with what the past uses left counted. */
const limitsAsKept = ({ tokenLimits, rollingLimits, past }: Limits) => {
  const limits = {
    tokenLimits: tokenLimits.map(({ contract, max, perSeconds }) => ({
      ...{ contractAddress: contract, maxTotal: String(max), perSeconds },
    })),
    rollingLimits: rollingLimits.map(({ perSeconds, maxValue, maxUses }) => ({
      ...{ perSeconds, maxTotalValue: maxValue?.toString() ?? null, maxUses },
    })),
  }
  // They were within the limits of their time, whatever these are now.
  const high = {
    tokenLimits: limits.tokenLimits.map((limit) => ({ ...limit, maxTotal: String(UINT256_MAX) })),
    rollingLimits: limits.rollingLimits.map(({ maxTotalValue, maxUses, ...limit }) => ({
      ...limit,
      maxTotalValue: maxTotalValue === null ? null : String(UINT256_MAX),
      maxUses: maxUses === null ? null : 1_000,
    })),
  }
  let limitCounts: UnrevokedPolicy['limitCounts'] = []
  for (const { secondsAgo, value, tokens } of past) {
    const at = new Date(READ_AT.getTime() - secondsAgo * 1_000)
    const taken = new Map(Object.entries(tokens).map(([contract, amount]) => [contract.slice(2).toLowerCase(), amount]))
    const counted = countUse(high, { counts: limitCounts, at, use: { value, uses: 1, tokens: taken } })
    if (typeof counted === 'string') throw new Error('expected a past use within the limits')
    limitCounts = counted
  }
  return { ...limits, limitCounts, readAt: READ_AT }
}

/** The policies of a wallet as the vault tells them. */
export const unrevokedOf = async ({ chain, policies }: { chain: PolicyChain; policies: readonly Policy[] }) => {
  const { network } = chain
  const unrevoked: UnrevokedPolicy[] = []
  for (const [index, { rules, limits, ...rest }] of policies.entries()) {
    const argumentRules = await compiledRules(chain, rules)
    if (argumentRules === null) throw new Error(`expected rules that are taken: ${JSON.stringify(rules)}`)
    const of = { id: String(index), network, expiresAt: null, maxTotalFee: 1n, requireApproval: null, argumentRules }
    unrevoked.push({ ...of, ...limitsAsKept(limits), ...rest })
  }
  return unrevoked
}

/** The place of the policy that allows a use; null if none does. */
export const allowingPolicy = async (
  use: { readonly chain: PolicyChain; readonly publicKey: Uint8Array; readonly unrevoked: readonly UnrevokedPolicy[] },
  intents: readonly Intent[],
): Promise<number | null> => {
  const judge = await createJudge(use, intents)
  const chosen = judge.never === null ? judge.choose(use.unrevoked) : null
  return chosen === null ? null : Number(chosen.id)
}
