// Calls run in advance by the runtime itself (DryRunApi, which Asset Hubs have): what they would emit, and how they would end.
// No fee is taken, and the signer's nonce is not looked at.
//
// Several run as one `utility.force_batch`, so that each sees what those before it did, and a failed one fails alone. What
// each one did is told apart by marks that are put behind them: remarks of random bytes, whose hashes the runtime emits.

import { randomBytes } from 'node:crypto'
import { AppError } from '../../errors.ts'
import type { Hex } from '../chain.ts'
import { type Question, question } from '../node/rpc.ts'
import { bytes, MalformedAnswer } from '../node/wire.ts'
import { type ChainEvent, type CodecEvent, type CodecValue, chainEventOf, nameOfError } from './events.ts'
import { blake2Hash, toHex } from './extrinsic.ts'
import { innerFailure } from './inner-failures.ts'
import type { SubstrateNode } from './node.ts'
import type { Runtime } from './runtime.ts'

const MARK_BYTES = 16

/** What a call would do. `failed`: the dispatch error's name; null where the call itself succeeds. */
export type Trial = { readonly failed: string | null; readonly events: readonly ChainEvent[] }

/** Why a call would not do all that it says, itself or within. Pure. */
export const failureOf = (runtime: Runtime, { failed, events }: Trial): string | null =>
  failed ?? innerFailure(runtime, events)?.reason ?? null

type Trying = { readonly from: string; readonly blockHash: Hex }

/** What the codec hands out of CallDryRunEffects in a Result. */
type Effects = {
  readonly isOk: boolean
  readonly asOk: {
    readonly executionResult: { readonly isOk: boolean; readonly asErr: { readonly error: CodecValue } }
    readonly emittedEvents: readonly CodecEvent[]
  }
}

const methodOf = ({ metadata }: Runtime) =>
  metadata.asLatest.apis
    .find(({ name }) => name.toString() === 'DryRunApi')
    ?.methods.find(({ name }) => name.toString() === 'dry_run_call')

/** The newest form of messages to other chains that the runtime has (xcm, VersionedXcm). */
const xcmVersionOf = ({ registry }: Runtime): number => {
  const versioned = registry.lookup.types.find(({ type: { path } }) => path.join('::') === 'xcm::VersionedXcm')
  const names = versioned?.type.def.asVariant.variants.map(({ name }) => Number(name.toString().slice(1))) ?? []
  return Math.max(...names, 0)
}

/** Origin and call; and since its second version that of the messages that it tells. */
const inputOf = (runtime: Runtime, { from, call }: { readonly from: string; readonly call: Hex }): Hex => {
  const { registry } = runtime
  const [origin, , version] = methodOf(runtime)?.inputs ?? []
  if (origin === undefined) throw new Error('expected a runtime that runs calls in advance')
  const signed = registry.createType(registry.createLookupType(origin.type), { system: { Signed: from } }).toHex()
  const last = version === undefined ? '' : registry.createType('u32', xcmVersionOf(runtime)).toHex(true).slice(2)
  return `${signed}${call.slice(2)}${last}`
}

const readTrial = (runtime: Runtime, answer: Hex): Trial | null => {
  const { registry } = runtime
  const output = methodOf(runtime)?.output
  if (output === undefined) throw new Error('expected a runtime that runs calls in advance')
  let effects: Effects
  try {
    effects = registry.createType(registry.createLookupType(output), answer) as unknown as Effects
  } catch {
    throw new MalformedAnswer('what a call would do')
  }
  if (!effects.isOk) return null
  const { executionResult, emittedEvents } = effects.asOk
  return {
    failed: executionResult.isOk ? null : nameOfError(runtime, executionResult.asErr.error),
    events: emittedEvents.map(chainEventOf),
  }
}

/** null where the runtime would not do it. */
const trialQuestion = (
  runtime: Runtime,
  { from, call, blockHash }: Trying & { readonly call: Hex },
): Question<Trial | null> =>
  question('state_call', ['DryRunApi_dry_run_call', inputOf(runtime, { from, call }), blockHash], (answer) =>
    readTrial(runtime, bytes(answer)),
  )

type Mark = { readonly call: Hex; readonly hash: Hex }

const newMark = ({ calls }: Runtime): Mark | null => {
  const remark = calls.system?.remarkWithEvent
  if (remark === undefined) return null
  const data = randomBytes(MARK_BYTES)
  return { call: remark(toHex(data)).toHex(), hash: toHex(blake2Hash(data)) }
}

const isFrom = ({ pallet, name }: ChainEvent, from: string, ...names: readonly string[]): boolean =>
  pallet === from && names.includes(name)

/** A batch says of each of its calls how it ended, after what the call itself emitted. */
const trialBefore = (runtime: Runtime, events: readonly ChainEvent[]): Trial => {
  const end = events.at(-1)
  if (end === undefined || !isFrom(end, 'Utility', 'ItemCompleted', 'ItemFailed')) {
    throw new MalformedAnswer('how a call of a batch ended')
  }
  const [error] = end.name === 'ItemFailed' ? end.fields.values() : []
  return { failed: error === undefined ? null : nameOfError(runtime, error), events: events.slice(0, -1) }
}

const split = (runtime: Runtime, marks: readonly Mark[], events: readonly ChainEvent[]): readonly Trial[] => {
  let from = 0
  return marks.map(({ hash }) => {
    const at = events.findIndex(
      (each) => isFrom(each, 'System', 'Remarked') && [...each.fields.values()][1]?.toHex() === hash,
    )
    if (at < from) throw new MalformedAnswer('the marks of a batch')
    const own = trialBefore(runtime, events.slice(from, at))
    // The mark's own end is between.
    from = at + 2
    return own
  })
}

const isThere = <T>(value: T | null): value is T => value !== null

/** Whether the runtime runs calls in advance. Pure. */
const hasTrials = (runtime: Runtime): boolean => methodOf(runtime) !== undefined

/**
 * What calls of one signer would do, one after the other, as of a block.
 * @returns null where the runtime does not run them. @throws NodeUnavailable.
 */
export const tryCalls = async (
  { rpc }: Pick<SubstrateNode, 'rpc'>,
  { runtime, calls, ...trying }: Trying & { readonly runtime: Runtime; readonly calls: readonly Hex[] },
): Promise<readonly Trial[] | null> => {
  const [only] = calls
  if (!hasTrials(runtime) || only === undefined) return null
  if (calls.length === 1) {
    const trial = await rpc.ask(trialQuestion(runtime, { ...trying, call: only }))
    return trial === null ? null : [trial]
  }
  const batch = runtime.calls.utility?.forceBatch
  const marks = calls.map(() => newMark(runtime)).filter(isThere)
  if (batch === undefined || marks.length < calls.length) return null
  const marked = calls.flatMap((call, index) => [call, marks[index]?.call ?? '0x'])
  const asked = trialQuestion(runtime, { ...trying, call: batch(marked).toHex() })
  return rpc.ask({
    ...asked,
    parse: (answer) => {
      const trial = asked.parse(answer)
      return trial === null || trial.failed !== null ? null : split(runtime, marks, trial.events)
    },
  })
}

/** Whoever calls `utility.force_batch` asks for the other calls to be done all the same. */
const isRefused = (runtime: Runtime, trial: Trial): boolean =>
  trial.failed !== null || innerFailure(runtime, trial.events)?.isOnlyItems === false

/**
 * Refuses a call that would fail, or of which a call within would, behind what its signer has sent and no block has yet.
 * Nothing where the runtime does not run calls in advance.
 * @throws execution_reverted naming the dispatch error, node_unavailable.
 */
export const refuseFailing = async (
  node: Pick<SubstrateNode, 'rpc'>,
  input: Trying & { readonly runtime: Runtime; readonly call: Hex; readonly behind: () => Promise<readonly Hex[]> },
): Promise<void> => {
  const { call, behind, ...trying } = input
  const { runtime } = input
  const alone = (await tryCalls(node, { ...trying, calls: [call] }))?.[0]
  if (alone === undefined || !isRefused(runtime, alone)) return
  const before = await behind()
  const trials = before.length === 0 ? null : await tryCalls(node, { ...trying, calls: [...before, call] })
  const last = trials?.at(-1) ?? alone
  if (!isRefused(runtime, last)) return
  throw new AppError('execution_reverted', `execution reverted: ${failureOf(runtime, last)}`)
}
