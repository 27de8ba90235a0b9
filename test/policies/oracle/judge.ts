// What the service decides of a use, before it asks the vault to open the key.

import { Value } from '@sinclair/typebox/value'
import type { Chain, Intent } from '../../../src/chains/chain.ts'
import type { StandingPolicy } from '../../../src/custody/vault.ts'
import { AppError } from '../../../src/errors.ts'
import { createJudge } from '../../../src/policies/judge.ts'
import { checkRules } from '../../../src/policies/rules.ts'
import { CreatePolicyBody } from '../../../src/policies/schema.ts'
import type { Policy } from './oracle.ts'

const RULES = CreatePolicyBody.properties.argument_rules

/** Whether `POST /policies` takes its rules. */
export const isAccepted = (chain: Chain, { rules }: Policy): boolean => {
  if (!Value.Check(RULES, rules)) return false
  try {
    checkRules(chain, rules)
    return true
  } catch (error) {
    if (error instanceof AppError) return false
    throw error
  }
}

/** The policies of a wallet as the vault tells them. */
export const standingOf = ({ network }: Chain, policies: readonly Policy[]): readonly StandingPolicy[] =>
  policies.map(({ rules, ...rest }, index) => ({
    ...{ id: String(index), network, expiresAt: null, maxTotalFee: 1n, argumentRules: [...rules], ...rest },
  }))

/** The place of the policy that allows a use; null if none does. */
export const allowingPolicy = async (
  use: { readonly chain: Chain; readonly publicKey: Uint8Array; readonly standing: readonly StandingPolicy[] },
  intents: readonly Intent[],
): Promise<number | null> => {
  const judge = createJudge(use, intents)
  const chosen = judge.never === null ? await judge.choose(use.standing) : null
  return chosen === null ? null : Number(chosen.id)
}
