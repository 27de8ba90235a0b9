// Token limits and rolling limits of a policy: how requests and answers write them, and whether enough is left for a use. The
// amounts of a use are read with the code that the vault uses before it signs.

import type { Intent, NodelessChain } from '../../chains/chain.ts'
import { AppError } from '../../platform/errors.ts'
import type { PolicyTerms, UnrevokedPolicy } from '../../vault/contract/vault.ts'
import { contractOf, countedNow, countUse } from '../../vault/language/policy-limits.ts'
import { tokensTaken } from '../../vault/language/token-calls.ts'
import { parseQuantity } from '../transactions/intent.ts'

const UINT256_END = 1n << 256n

export type Limits = Pick<PolicyTerms, 'tokenLimits' | 'rollingLimits'>

/** The lists of a request. */
export type LimitTexts = {
  readonly token_limits?: readonly {
    readonly contract_address: string
    readonly max_total: string
    readonly per_seconds?: number
  }[]
  readonly rolling_limits?: readonly {
    readonly per_seconds: number
    readonly max_total_value?: string
    readonly max_uses?: number
  }[]
}

const invalid = (field: string, sentence: string): AppError =>
  new AppError('invalid_input', `Field "${field}" ${sentence}`)

const amountIn = (text: string, field: string): string => parseQuantity(text, field, UINT256_END).toString()

/** Refuses an item that has the same key as an earlier one. */
const refuseRepeated = (field: string, keys: readonly string[]): void => {
  const place = keys.findIndex((key, index) => keys.indexOf(key) < index)
  if (place >= 0) throw invalid(`${field}.${place}`, 'repeats an earlier item; write one limit instead of the two.')
}

const tokenLimitsIn = (chain: NodelessChain, texts: NonNullable<LimitTexts['token_limits']>): Limits['tokenLimits'] => {
  if (texts.length > 0 && chain.withoutRecipient === 'runtime_call') {
    throw invalid('token_limits', `must be absent on ${chain.network}: the vault cannot read calls of its runtime.`)
  }
  const limits = texts.map(({ contract_address, max_total, per_seconds }, index) => ({
    contractAddress: chain.parseAddress(contract_address, `token_limits.${index}.contract_address`),
    maxTotal: amountIn(max_total, `token_limits.${index}.max_total`),
    perSeconds: per_seconds ?? null,
  }))
  refuseRepeated(
    'token_limits',
    limits.map(({ contractAddress, perSeconds }) => `${contractAddress} ${perSeconds}`),
  )
  return limits
}

const rollingLimitsIn = (texts: NonNullable<LimitTexts['rolling_limits']>): Limits['rollingLimits'] => {
  const limits = texts.map(({ per_seconds, max_total_value, max_uses }, index) => {
    const field = `rolling_limits.${index}`
    if (max_total_value === undefined && max_uses === undefined) {
      throw invalid(field, 'must have "max_total_value", "max_uses" or both.')
    }
    return {
      perSeconds: per_seconds,
      maxTotalValue: max_total_value === undefined ? null : amountIn(max_total_value, `${field}.max_total_value`),
      maxUses: max_uses ?? null,
    }
  })
  refuseRepeated(
    'rolling_limits',
    limits.map(({ perSeconds }) => String(perSeconds)),
  )
  return limits
}

/** Parses the lists of limits; absent ones are empty. */
export const limitsIn = (chain: NodelessChain, { token_limits = [], rolling_limits = [] }: LimitTexts): Limits => ({
  tokenLimits: tokenLimitsIn(chain, token_limits),
  rollingLimits: rollingLimitsIn(rolling_limits),
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

/** The lists with the amounts that count at the given time. */
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

/** Which list has too little left, or cannot count a call; null if the use is within the limits. */
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
