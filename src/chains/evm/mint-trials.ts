// Tries mint functions: each call is simulated alone. The first one that succeeds and emits the wanted mint (a transfer from the
// zero address to the recipient, by that contract) is used. If none does, the calls are simulated again with a large payment,
// so that the error can say whether a payment would help.

import { encodeFunctionData, parseAbi } from 'viem'
import type { Hex, Intent } from '../chain.ts'
import { type Answer, NodeUnavailable, question, type Rpc } from '../node/rpc.ts'
import { bytes } from '../node/wire.ts'
import { ZERO_ADDRESS } from './address.ts'
import { type Call, transactionObject } from './call.ts'
import { describeFailures, type Failed, failedBy, failedIn } from './failures.ts'
import type { NodeContext } from './limits.ts'
import { type Transfer, transfersOf } from './logs.ts'
import { mintRefusal } from './mint-refusal.ts'
import { isExecutionFailure, isMethodMissing } from './node-errors.ts'
import { type Overrides, overridesObject, type SimulatedCall, simulateQuestion } from './simulate.ts'

/** A million coins: more than any mint costs. */
const AMPLE_VALUE = 10n ** 24n

/** A function that nobody has. */
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

/** Whether the contract minted what is wanted to the recipient. */
const mints = (logs: SimulatedCall['logs'], { contract, recipient, standards }: WantedMint): boolean =>
  logs
    .filter(({ address }) => address === contract.toLowerCase())
    .flatMap(transfersOf)
    .some(
      ({ standard, from, to, amount }) =>
        standards.includes(standard) && from === ZERO_ADDRESS && to === recipient.toLowerCase() && amount > 0n,
    )

/** Gives the sender a balance for the payment. */
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

/** eth_call returns no logs, so a call that succeeds counts, unless the contract also accepts a function that nobody has. */
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

/** The first call that mints. */
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
