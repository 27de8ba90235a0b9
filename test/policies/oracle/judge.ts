// What the service decides: of a policy when it is made, and of a use before the vault is asked to open the key.

import { Value } from '@sinclair/typebox/value'
import type { Chain, Intent } from '../../../src/chains/chain.ts'
import type { StandingPolicy } from '../../../src/custody/vault.ts'
import { AppError } from '../../../src/errors.ts'
import { createJudge } from '../../../src/policies/judge.ts'
import { checkRules, compileRules } from '../../../src/policies/rules.ts'
import { CreatePolicyBody } from '../../../src/policies/schema.ts'
import type { Policy, Rule } from './oracle.ts'

const RULES = CreatePolicyBody.properties.argument_rules

/** Whether rules have a form that `POST /policies` takes, whatever they name. */
export const isWellFormed = (chain: Chain, rules: readonly Rule[]): boolean => {
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
  chain: Chain,
  rules: readonly Rule[],
): Promise<StandingPolicy['argumentRules'] | null> => {
  try {
    return await compileRules(chain, rules)
  } catch (error) {
    if (error instanceof AppError && error.code === 'invalid_input') return null
    throw error
  }
}

/** The policies of a wallet as the vault tells them. */
export const standingOf = async ({ chain, policies }: { chain: Chain; policies: readonly Policy[] }) => {
  const { network } = chain
  const standing: StandingPolicy[] = []
  for (const [index, { rules, ...rest }] of policies.entries()) {
    const argumentRules = await compiledRules(chain, rules)
    if (argumentRules === null) throw new Error(`expected rules that are taken: ${JSON.stringify(rules)}`)
    const limits = { requireApproval: null, tokenLimits: [], rollingLimits: [], limitCounts: [], readAt: new Date() }
    standing.push({ id: String(index), network, expiresAt: null, maxTotalFee: 1n, argumentRules, ...limits, ...rest })
  }
  return standing
}

/** The place of the policy that allows a use; null if none does. */
export const allowingPolicy = async (
  use: { readonly chain: Chain; readonly publicKey: Uint8Array; readonly standing: readonly StandingPolicy[] },
  intents: readonly Intent[],
): Promise<number | null> => {
  const judge = await createJudge(use, intents)
  const chosen = judge.never === null ? judge.choose(use.standing) : null
  return chosen === null ? null : Number(chosen.id)
}
