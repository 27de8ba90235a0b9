// Decides whether a policy allows a use of a wallet. A use is judged before the key is opened; previews are judged the
// same way.

import type { Chain, DeclaredCalls, Intent, ReadCall } from '../../chains/chain.ts'
import { sumOfValues } from '../../chains/intent.ts'
import type { UnrevokedPolicy } from '../../vault/contract/vault.ts'
import { type ArgumentRule, type CheckedTransaction, findFunctionRule, findMismatch } from './evaluate.ts'
import { limitShort } from './limits.ts'

export const REFUSALS = [
  'expired',
  'used_up',
  'value_exceeded',
  'value_unknown',
  'token_exceeded',
  'token_unknown',
  'rolling_exceeded',
  'function_not_named',
  'type_not_named',
  'rule_not_matched',
] as const

/** `rule`: the number of the first rule that does not match, from 0. */
export type PolicyRefusal = { readonly reason: (typeof REFUSALS)[number]; readonly rule: number | null }

const isCall = ({ to, input }: Intent): boolean => to === null || input !== '0x'

const isRuntimeCall = ({ to }: Intent): boolean => to === null

const withReader = (intent: Intent, call: ReadCall | null): Intent =>
  call?.readBy === undefined ? intent : { ...intent, madeBy: call.readBy }

const plannedAfter = (intents: readonly Intent[], earlier: readonly Intent[]) => {
  const all = [...earlier, ...intents]
  // What a runtime call moves is in its arguments, so its value is not known.
  return { intents: all, uses: earlier.length + 1, value: sumOfValues(all), isCounted: !all.some(isRuntimeCall) }
}

/** Why the policy has ended or has too little left; null if neither. */
const limitReached = (
  policy: UnrevokedPolicy,
  planned: ReturnType<typeof plannedAfter>,
): PolicyRefusal['reason'] | null => {
  const { isExpired, uses, maxUses, spentValue, maxTotalValue, rollingLimits } = policy
  const { value, isCounted } = planned
  if (isExpired) return 'expired'
  if (maxUses !== null && uses + planned.uses > maxUses) return 'used_up'
  const limitsValue = maxTotalValue !== null || rollingLimits.some((limit) => limit.maxTotalValue !== null)
  if (limitsValue && !isCounted) return 'value_unknown'
  // A negative limit is forged. The vault refuses it and records a security event.
  const isExceeded = maxTotalValue !== null && maxTotalValue >= 0n && spentValue + value > maxTotalValue
  return isExceeded ? 'value_exceeded' : limitShort(policy, planned)
}

export type JudgedChain = Pick<
  Chain,
  'network' | 'addressKind' | 'addressOf' | 'contractWallets' | 'withoutRecipient' | 'calls'
> & { readonly feeRules: Pick<Chain['feeRules'], 'isWithinFeeCap'> }

type Key = { readonly chain: JudgedChain; readonly publicKey: Uint8Array }

/**
 * The contract wallet of this key on this network. It obeys the key, so a call of it could change its owner or approve
 * what no policy has judged. This holds for an eoa wallet of the same key too.
 */
const deriveContractWallet = ({ chain, publicKey }: Key): string | null =>
  chain.contractWallets?.of(chain.addressOf(publicKey)).address ?? null

/** What no policy can allow, as a sentence; null if a policy may allow it. */
const neverAllowed = (key: Key, intents: readonly Intent[]): string | null => {
  const { chain } = key
  const calls = intents.some(({ input }) => input !== '0x')
  const contractWallet = calls ? deriveContractWallet(key) : null
  for (const intent of intents) {
    if (chain.withoutRecipient === 'creation' && intent.to === null) {
      return 'No policy lets the developer create a contract.'
    }
    if (contractWallet !== null && intent.to === contractWallet && intent.input !== '0x') {
      return 'No policy lets the developer call the contract wallet of this key.'
    }
    if (intent.era !== undefined) {
      return 'Under a policy, field "unsigned_transaction.era" must be absent: a longer one would outlive the policy.'
    }
    if (intent.feeAsset !== undefined) {
      return 'Under a policy, field "unsigned_transaction.asset_id" must be absent: fee budgets are in the native coin.'
    }
    if (!chain.feeRules.isWithinFeeCap(intent)) {
      return `No policy lets the developer offer fees above the cap of ${chain.network}.`
    }
  }
  return null
}

type Checked = readonly CheckedTransaction[]

const checked = (
  { addressKind: kind }: Pick<Chain, 'addressKind'>,
  intents: readonly Intent[],
  calls: readonly (ReadCall | null)[],
): Checked =>
  intents.map((intent, index) => {
    const { value } = intent
    const to = intent.to === null ? null : { kind, value: intent.to }
    return { to, value, isCall: isCall(intent), call: calls[index] ?? null, asked: new Map() }
  })

/** Decodes the calls of intents with the function that a policy's rules declare, once for each declaration. */
const createReading = (chain: Pick<Chain, 'addressKind'>, { readerOf }: DeclaredCalls, intents: readonly Intent[]) => {
  const unread = checked(chain, intents, [])
  const selectors = new Set(intents.map(({ input }) => input.slice(0, 10).toLowerCase()))
  /** Keyed by the declaration, then by the selector: no text is made for each policy. */
  const read = new Map<string, Map<string, Checked>>()
  return (named: ArgumentRule | undefined): Checked => {
    const { selector, declaration } = named ?? {}
    // Compare selectors first, so that nothing is decoded for rules on another function.
    if (selector === undefined || declaration === undefined || !selectors.has(selector)) return unread
    const bySelector = read.get(declaration) ?? new Map<string, Checked>()
    const known = bySelector.get(selector)
    if (known !== undefined) return known
    const reader = readerOf({ selector, declaration })
    const calls = intents.map(({ input }) => reader?.read(input) ?? null)
    const transactions = checked(chain, intents, calls)
    read.set(declaration, bySelector.set(selector, transactions))
    return transactions
  }
}

export type Judge = Awaited<ReturnType<typeof createJudge>>

/** On Substrate networks this reads the calls first; on EVM networks it asks neither a node nor the database. */
export const createJudge = async (key: Key, intents: readonly Intent[]) => {
  const { chain } = key
  const { calls } = chain
  const never = neverAllowed(key, intents)
  const isDescribed = calls.by === 'metadata' && never === null
  const described = isDescribed ? await Promise.all(intents.map((intent) => calls.read(intent))) : []
  const describedTransactions = checked(chain, intents, described)
  const readBy = calls.by === 'declaration' ? createReading(chain, calls, intents) : () => describedTransactions
  const mismatchBy = ({ argumentRules: rules }: UnrevokedPolicy) => {
    const named = findFunctionRule(rules)
    return findMismatch(rules, readBy(named), named)
  }
  /** Why a policy does not allow it. @param earlier what the policy would be charged for first, one use each */
  const refusalBy = (policy: UnrevokedPolicy, earlier: readonly Intent[] = []): PolicyRefusal | null => {
    const reached = limitReached(policy, plannedAfter(intents, earlier))
    if (reached !== null) return { reason: reached, rule: null }
    const mismatch = mismatchBy(policy)
    if (mismatch === null) return null
    return mismatch === 'function_not_named'
      ? { reason: mismatch, rule: null }
      : { reason: 'rule_not_matched', rule: mismatch }
  }
  return {
    never,
    refusalBy,
    choose: (policies: readonly UnrevokedPolicy[]): UnrevokedPolicy | null => {
      const planned = plannedAfter(intents, [])
      // Rules first: of many policies, most are about something else.
      const allows = (policy: UnrevokedPolicy) => mismatchBy(policy) === null && limitReached(policy, planned) === null
      return policies.find(allows) ?? null
    },
    /** Substrate calls bound to the metadata with which they were judged. */
    intents: (): readonly Intent[] => intents.map((intent, index) => withReader(intent, described[index] ?? null)),
  }
}
