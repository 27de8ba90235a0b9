// Token limits and rolling limits of a policy: how requests and answers write them, and whether enough is left for a
// use. The amounts of a use are read with the code that the vault uses before it signs.

import type { Intent, NodelessChain } from '../../chains/chain.ts'
import type { PolicyTerms, UnrevokedPolicy } from '../../vault/contract/vault.ts'
import { contractOf, countedNow, countUse } from '../../vault/language/policy-limits.ts'
import { tokensTaken } from '../../vault/language/token-calls.ts'
import { invalidField, parseQuantity, UINT256_END } from '../schema.ts'
import type { ProposedPolicyBody } from './schema.ts'

export type Limits = Pick<PolicyTerms, 'tokenLimits' | 'rollingLimits'>

export type LimitTexts = Pick<ProposedPolicyBody, 'token_limits' | 'rolling_limits'>

const parseLimit = (text: string, field: string): string => parseQuantity(text, field, UINT256_END).toString()

/** Refuses an item that has the same key as an earlier one. */
const refuseRepeated = (field: string, keys: readonly string[]): void => {
  const place = keys.findIndex((key, index) => keys.indexOf(key) < index)
  if (place >= 0)
    throw invalidField(`${field}.${place}`, 'repeats an earlier item; write one limit instead of the two.')
}

const parseTokenLimits = (
  chain: NodelessChain,
  texts: NonNullable<LimitTexts['token_limits']>,
): Limits['tokenLimits'] => {
  if (texts.length > 0 && chain.withoutRecipient === 'runtime_call') {
    throw invalidField(
      'token_limits',
      `must be absent on ${chain.network}: the vault cannot read calls of its runtime.`,
    )
  }
  const limits = texts.map(({ contract_address, max_total, per_seconds }, index) => ({
    contractAddress: chain.parseAddress(contract_address, `token_limits.${index}.contract_address`),
    maxTotal: parseLimit(max_total, `token_limits.${index}.max_total`),
    perSeconds: per_seconds ?? null,
  }))
  refuseRepeated(
    'token_limits',
    limits.map(({ contractAddress, perSeconds }) => `${contractAddress} ${perSeconds}`),
  )
  return limits
}

const parseRollingLimits = (texts: NonNullable<LimitTexts['rolling_limits']>): Limits['rollingLimits'] => {
  const limits = texts.map(({ per_seconds, max_total_value, max_uses }, index) => {
    const field = `rolling_limits.${index}`
    if (max_total_value === undefined && max_uses === undefined) {
      throw invalidField(field, 'must have "max_total_value", "max_uses" or both.')
    }
    return {
      perSeconds: per_seconds,
      maxTotalValue: max_total_value === undefined ? null : parseLimit(max_total_value, `${field}.max_total_value`),
      maxUses: max_uses ?? null,
    }
  })
  refuseRepeated(
    'rolling_limits',
    limits.map(({ perSeconds }) => String(perSeconds)),
  )
  return limits
}

export const parseLimits = (chain: NodelessChain, { token_limits = [], rolling_limits = [] }: LimitTexts): Limits => ({
  tokenLimits: parseTokenLimits(chain, token_limits),
  rollingLimits: parseRollingLimits(rolling_limits),
})

/** The lists in the form of a request. Empty lists are absent. */
export const writtenLimits = ({ tokenLimits, rollingLimits }: Limits) => ({
  ...(tokenLimits.length === 0
    ? {}
    : {
        token_limits: tokenLimits.map(({ contractAddress, maxTotal, perSeconds }) => ({
          contract_address: contractAddress,
          max_total: maxTotal,
          ...(perSeconds === null ? {} : { per_seconds: perSeconds }),
        })),
      }),
  ...(rollingLimits.length === 0
    ? {}
    : {
        rolling_limits: rollingLimits.map(({ perSeconds, maxTotalValue, maxUses }) => ({
          per_seconds: perSeconds,
          ...(maxTotalValue === null ? {} : { max_total_value: maxTotalValue }),
          ...(maxUses === null ? {} : { max_uses: maxUses }),
        })),
      }),
})

export const shownLimits = (policy: Limits & Pick<UnrevokedPolicy, 'limitCounts'>, at: Date) => {
  const { tokens, rolling } = countedNow(policy, { counts: policy.limitCounts, at })
  return {
    token_limits: policy.tokenLimits.map(({ contractAddress, maxTotal, perSeconds }, index) => ({
      contract_address: contractAddress,
      max_total: maxTotal,
      per_seconds: perSeconds,
      spent: String(tokens[index]),
    })),
    rolling_limits: policy.rollingLimits.map(({ perSeconds, maxTotalValue, maxUses }, index) => {
      const { value, uses } = rolling[index] ?? { value: null, uses: null }
      return {
        per_seconds: perSeconds,
        max_total_value: maxTotalValue,
        max_uses: maxUses,
        spent_value: value === null ? null : String(value),
        uses: uses === null ? null : Number(uses),
      }
    }),
  }
}

type ValuedUse = { readonly intents: readonly Intent[]; readonly value: bigint; readonly uses: number }

export const limitShort = (
  policy: UnrevokedPolicy,
  { intents, value, uses }: ValuedUse,
): 'token_exceeded' | 'token_unknown' | 'rolling_exceeded' | null => {
  const { tokenLimits, rollingLimits, limitCounts: counts, readAt: at } = policy
  if (tokenLimits.length === 0 && rollingLimits.length === 0) return null
  const contracts = tokenLimits.map(contractOf)
  const calls = intents.flatMap(({ to: account, input }) => {
    const to = account?.slice(2).toLowerCase() ?? ''
    return contracts.includes(to) ? [{ to, data: Buffer.from(input.slice(2), 'hex') }] : []
  })
  const tokens = tokensTaken(contracts, calls)
  if (tokens === null) return 'token_unknown'
  const counted = countUse(policy, { counts, at, use: { value, uses, tokens } })
  if (typeof counted !== 'string') return null
  return counted === 'token' ? 'token_exceeded' : 'rolling_exceeded'
}
