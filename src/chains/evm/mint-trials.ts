// Tries mint functions: each call is simulated alone. The first one that succeeds and emits the wanted mint (a transfer
// from the zero address to the recipient, by that contract) is used. If none does, the calls are simulated again with a
// large payment, so that the error can say whether a payment would help.

import { encodeFunctionData, parseAbi } from 'viem/utils'
import { AppError, type ErrorCode } from '../../platform/errors.ts'
import type { Hex, Intent } from '../chain.ts'
import { type Answer, NodeUnavailable, question, type Rpc } from '../node/rpc.ts'
import { bytes } from '../node/wire.ts'
import { ZERO_ADDRESS } from './address.ts'
import { type Call, transactionObject } from './call.ts'
import { describeFailures, type Failed, failedBy, failedIn } from './failures.ts'
import messages from './known-messages.json' with { type: 'json' }
import type { NodeContext } from './limits.ts'
import { parseTransfers, type Transfer } from './logs.ts'
import { isExecutionFailure, isKnown, isMethodMissing, patternsIn } from './node-errors.ts'
import { informativeness } from './reverts.ts'
import { type Overrides, overridesObject, type SimulatedCall, simulateQuestion } from './simulate.ts'

/** A million coins: more than any mint costs. */
const AMPLE_VALUE = 10n ** 24n

/** A function that no contract has. */
const PROBE = encodeFunctionData({ abi: parseAbi(['function strongroomProbe()']) })

type WantedMint = {
  readonly contract: string
  readonly from: string
  readonly recipient: string
  /** What may be minted; a transfer of anything else does not count. */
  readonly standards: readonly Transfer['standard'][]
  /** Mint functions with their names, the preferred ones first. */
  readonly candidates: readonly { readonly name: string; readonly input: Hex }[]
}

/** The result of one simulation. `minted`: the function can be used. */
type Trial = { readonly failed: Failed | null; readonly minted: boolean }

const mints = (logs: SimulatedCall['logs'], { contract, recipient, standards }: WantedMint): boolean =>
  logs
    .filter(({ address }) => address === contract.toLowerCase())
    .flatMap(parseTransfers)
    .some(
      ({ standard, from, to, amount }) =>
        standards.includes(standard) && from === ZERO_ADDRESS && to === recipient.toLowerCase() && amount > 0n,
    )

const balanceFor = (from: string, { value }: Call): Overrides =>
  value === 0n ? {} : { [from]: { balance: 2n * value } }

/** Simulates the calls independently, in one batch; null if the node cannot simulate. */
const simulateTrials = async (rpc: Rpc, mint: WantedMint, calls: readonly Call[]): Promise<readonly Trial[] | null> => {
  const answers: readonly Answer<readonly SimulatedCall[]>[] = await rpc.tryAll(
    calls.map((call) => simulateQuestion(mint.from, [{ overrides: balanceFor(mint.from, call), calls: [call] }])),
  )
  if (answers.some((answer) => !answer.ok && isMethodMissing(answer.error))) return null
  return answers.map((answer) => {
    if (!answer.ok && !isExecutionFailure(answer.error)) throw rpc.refusal(answer.error)
    if (!answer.ok) return { failed: failedBy(answer.error), minted: false }
    const [call] = answer.value
    if (call === undefined) return { failed: null, minted: false }
    return { failed: failedIn(call), minted: call.failure === null && mints(call.logs, mint) }
  })
}

/** eth_call returns no logs, so a call that succeeds counts, unless the contract accepts even the probe. */
const callTrials = async (rpc: Rpc, mint: WantedMint, calls: readonly Call[]): Promise<readonly Trial[]> => {
  const { from, contract } = mint
  const all: readonly Call[] = [...calls, { to: contract, value: calls[0]?.value ?? 0n, input: PROBE }]
  const answers = await rpc.tryAll(
    all.map((call) => {
      const overrides = call.value === 0n ? [] : [overridesObject(balanceFor(from, call))]
      return question('eth_call', [transactionObject(from, call), 'latest', ...overrides], bytes)
    }),
  )
  const acceptsAnything = answers.at(-1)?.ok === true
  return answers.slice(0, calls.length).map((answer) => {
    if (!answer.ok && !isExecutionFailure(answer.error)) throw rpc.refusal(answer.error)
    return answer.ok ? { failed: null, minted: !acceptsAnything } : { failed: failedBy(answer.error), minted: false }
  })
}

const tryAll = async (
  { rpc, limits }: NodeContext,
  mint: WantedMint,
  calls: readonly Call[],
): Promise<readonly Trial[]> => {
  const simulated = limits.lacks('simulation') ? null : await simulateTrials(rpc, mint, calls)
  if (simulated === null) limits.learn('simulation')
  return simulated ?? (await callTrials(rpc, mint, calls))
}

/** Tries the calls with a payment. Empty if the node cannot simulate with another balance. */
const tryPaid = async (context: NodeContext, mint: WantedMint, calls: readonly Call[]): Promise<readonly Trial[]> => {
  try {
    return await tryAll(
      context,
      mint,
      calls.map((call) => ({ ...call, value: AMPLE_VALUE })),
    )
  } catch (error) {
    if (error instanceof NodeUnavailable && error.trouble === 'refused') return []
    throw error
  }
}

export const usableMint = async (context: NodeContext, mint: WantedMint): Promise<Intent> => {
  const { contract, candidates } = mint
  const calls = candidates.map(({ input }) => ({ to: contract, value: 0n, input }))
  const free = await tryAll(context, mint, calls)
  const taken = calls[free.findIndex(({ minted }) => minted)]
  if (taken !== undefined) return taken
  const paidIndex = (await tryPaid(context, mint, calls)).findIndex(({ minted }) => minted)
  const failures = await describeFailures(
    context,
    free.map(({ failed }) => ({ to: contract, failed })),
  )
  const signature = candidates[paidIndex]?.name
  throw mintRefusal(
    failures.filter((failure) => failure !== null),
    signature === undefined ? null : { signature, failure: failures[paidIndex] ?? null },
  )
}

// Why a collection does not mint for a wallet. The error code says what would help: a permission or a payment.

const UNAUTHORIZED = patternsIn(messages.mint.unauthorized)

const COIN = '(?:eth|ether|matic|pol|avax|payment|price|funds|msg\\.value|value sent|ether value|mint fee)'
const LACKS = '(?:insufficient|not enough|too little|incorrect|wrong|invalid|need|must (?:pay|send)|send more)'

const REQUIRES_VALUE = [
  ...patternsIn(messages.mint.requires_value),
  new RegExp(`\\b${LACKS}\\b.*\\b${COIN}\\b`, 'i'),
  // "Ether value sent is not correct".
  new RegExp(`\\b${COIN}\\b.*(?:\\b${LACKS}\\b|not correct|too low|below)`, 'i'),
]

const REVERTED = 'execution reverted: '

const findMatching = (failures: readonly string[], patterns: readonly RegExp[]): string | undefined =>
  failures.find((failure) => failure.startsWith(REVERTED) && isKnown(patterns, failure.slice(REVERTED.length)))

const refusal = (code: ErrorCode, sentence: string, reason: string | undefined): AppError =>
  new AppError(code, `${sentence}${reason === undefined ? '' : `: ${reason.replace(/\.+$/, '')}`}.`)

const NEEDS_VALUE = 'Minting from contract_address needs a payment, which only a transaction of your own can carry'

/**
 * The error for a wallet for which every known mint function failed. Pure.
 * @param failures the error texts of these functions.
 * @param paid a function that succeeds with a payment, and its error text without one.
 */
export const mintRefusal = (
  failures: readonly string[],
  paid: { readonly signature: string; readonly failure: string | null } | null,
): AppError => {
  if (paid !== null) {
    return refusal('mint_requires_value', `${NEEDS_VALUE}, by ${paid.signature}`, paid.failure ?? undefined)
  }
  const unauthorized = findMatching(failures, UNAUTHORIZED)
  if (unauthorized !== undefined) {
    return refusal('mint_unauthorized', 'This wallet may not mint from contract_address', unauthorized)
  }
  const unpaid = findMatching(failures, REQUIRES_VALUE)
  if (unpaid !== undefined) return refusal('mint_requires_value', NEEDS_VALUE, unpaid)
  const best = failures.toSorted((one, other) => informativeness(other) - informativeness(one))[0]
  const reason = best !== undefined && informativeness(best) >= 2 ? best : undefined
  return refusal('mint_unsupported', 'This wallet cannot mint from contract_address', reason)
}
