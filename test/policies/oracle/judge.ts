// What the service decides of a use: the whole way from standing policies to the opening of a key. The vault is another
// process; in its place the test only notes which policy the vault was asked to open a key by.

import { Value } from '@sinclair/typebox/value'
import type { WalletRow } from '../../../db/queries/wallets.ts'
import type { Chain, Intent } from '../../../src/chains/chain.ts'
import type { Ctx } from '../../../src/context.ts'
import type { StandingPolicy } from '../../../src/custody/vault.ts'
import { AppError } from '../../../src/errors.ts'
import { withKeyFor } from '../../../src/policies/delegated.ts'
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

/** The place of the policy by which the key would be opened; null if the use is denied. */
export const openedPolicy = async (
  use: { readonly chain: Chain; readonly publicKey: Uint8Array; readonly standing: readonly StandingPolicy[] },
  intents: readonly Intent[],
): Promise<number | null> => {
  const { chain, publicKey, standing } = use
  // Without a policy the vault itself refuses the developer's secret.
  if (standing.length === 0) return null
  const opened: string[] = []
  const vault = {
    standingPolicies: async () => standing,
    openKeyByPolicy: async ({ terms }: { readonly terms: { readonly id: string } }) => {
      opened.push(terms.id)
      return { sign: async () => [], [Symbol.dispose]: () => {} }
    },
  }
  const wallet = { id: 'wallet', controlMode: 'user', publicKey }
  try {
    await withKeyFor(
      { vault } as unknown as Ctx,
      {
        ...{ chain, wallet: wallet as unknown as WalletRow, actor: 'test', intents: async () => intents },
        credentials: { developerSecret: 'testnet-secret' },
      },
      async () => {},
    )
  } catch (error) {
    if (error instanceof AppError && error.code === 'policy_denied') return null
    throw error
  }
  return Number(opened[0])
}
