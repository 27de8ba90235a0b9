// Simulates calls with the runtime's DryRunApi (Asset Hubs have it) and returns their events and results. A dry run
// takes no fee and does not check the signer's nonce. Where the fee matters, a call that burns as much comes before
// each call.
//
// Several calls run as one `utility.force_batch`, so that each sees the effects of those before it and a failure stays
// with its call. A mark after each call separates their events: a remark of random bytes, whose hash the runtime emits.

import { randomBytes } from 'node:crypto'
import { AppError } from '../../platform/errors.ts'
import type { Hex } from '../chain.ts'
import { type Question, question } from '../node/rpc.ts'
import { bytes, decoded, MalformedAnswer } from '../node/wire.ts'
import {
  type ChainEvent,
  type CodecEvent,
  type CodecValue,
  convertEvent,
  innerFailure,
  nameOf,
  nameOfError,
  valuesOf,
} from './events.ts'
import type { SubstrateNode } from './node.ts'
import { apiMethodOf, type Runtime } from './runtime.ts'
import { blake2Hash, toHex } from './scale.ts'
import { converted } from './storage.ts'

const MARK_BYTES = 16

/** The result of a dry run. `failed` is the name of the dispatch error; null if the call itself succeeds. */
export type Trial = { readonly failed: string | null; readonly events: readonly ChainEvent[] }

/** Why a call, or a call inside it, would fail; null if none would. Pure. */
export const failureOf = (runtime: Runtime, { failed, events }: Trial): string | null =>
  failed ?? innerFailure(runtime, events)?.reason ?? null

type Trying = { readonly from: string; readonly blockHash: Hex }

type Effects = {
  readonly isOk: boolean
  readonly asOk: {
    readonly executionResult: { readonly isOk: boolean; readonly asErr: { readonly error: CodecValue } }
    readonly emittedEvents: readonly CodecEvent[]
  }
}

type Method = NonNullable<ReturnType<typeof apiMethodOf>>

/** The newest XCM version of the runtime (xcm, VersionedXcm). */
const xcmVersionOf = ({ registry }: Runtime): number => {
  const versioned = registry.lookup.types.find(({ type: { path } }) => path.join('::') === 'xcm::VersionedXcm')
  const names = versioned?.type.def.asVariant.variants.map(({ name }) => Number(name.toString().slice(1))) ?? []
  return Math.max(...names, 0)
}

/** The answer is null if the runtime refuses the dry run. */
const trialQuestion = (
  runtime: Runtime,
  { method, from, call, blockHash }: Trying & { readonly method: Method; readonly call: Hex },
): Question<Trial | null> => {
  const { registry } = runtime
  const [origin, , version] = method.inputs
  if (origin === undefined) throw new Error('expected an API that takes an origin')
  const signed = registry.createType(registry.createLookupType(origin.type), { system: { Signed: from } }).toHex()
  // Since version 2 of the API the last argument is the XCM version for the result.
  const last = version === undefined ? '' : registry.createType('u32', xcmVersionOf(runtime)).toHex(true).slice(2)
  const input = `${signed}${call.slice(2)}${last}`
  return question('state_call', ['DryRunApi_dry_run_call', input, blockHash], (answer) => {
    const data = bytes(answer)
    return decoded('the result of a dry run', () => {
      const effects = registry.createType(registry.createLookupType(method.output), data) as unknown as Effects
      if (!effects.isOk) return null
      const { executionResult, emittedEvents } = effects.asOk
      return {
        failed: executionResult.isOk ? null : nameOfError(runtime, executionResult.asErr.error),
        events: emittedEvents.map(convertEvent),
      }
    })
  })
}

type Mark = { readonly call: Hex; readonly hash: Hex }

const newMark = ({ calls }: Runtime): Mark | null => {
  const remark = calls.system?.remarkWithEvent
  if (remark === undefined) return null
  const data = randomBytes(MARK_BYTES)
  return { call: remark(toHex(data)).toHex(), hash: toHex(blake2Hash(data)) }
}

/** The last event of each call in a batch is the batch's own: it says how the call ended. */
const trialBefore = (runtime: Runtime, events: readonly ChainEvent[]): Trial => {
  const end = events.at(-1)
  if (end === undefined || !['Utility.ItemCompleted', 'Utility.ItemFailed'].includes(nameOf(end))) {
    throw new MalformedAnswer('how a call of a batch ended')
  }
  const [error] = end.name === 'ItemFailed' ? valuesOf(end) : []
  return { failed: error === undefined ? null : nameOfError(runtime, error), events: events.slice(0, -1) }
}

const split = (runtime: Runtime, marks: readonly Mark[], events: readonly ChainEvent[]): readonly Trial[] => {
  let from = 0
  return marks.map(({ hash }) => {
    const at = events.findIndex((each) => nameOf(each) === 'System.Remarked' && valuesOf(each)[1]?.toHex() === hash)
    if (at < from) throw new MalformedAnswer('the marks of a batch')
    const own = trialBefore(runtime, events.slice(from, at))
    // Skip the mark and the batch's event for it.
    from = at + 2
    return own
  })
}

/** Simulates calls of one signer in order on the state of a block; null if the runtime cannot simulate them. */
const tryCalls = async (
  { rpc }: Pick<SubstrateNode, 'rpc'>,
  { runtime, calls, ...trying }: Trying & { readonly runtime: Runtime; readonly calls: readonly Hex[] },
): Promise<readonly Trial[] | null> => {
  const [only] = calls
  const method = apiMethodOf(runtime, 'DryRunApi', 'dry_run_call')
  if (method === undefined || only === undefined) return null
  if (calls.length === 1) {
    const trial = await rpc.ask(trialQuestion(runtime, { ...trying, method, call: only }))
    return trial === null ? null : [trial]
  }
  const batch = runtime.calls.utility?.forceBatch
  const marks = calls.map(() => newMark(runtime)).filter((mark) => mark !== null)
  if (batch === undefined || marks.length < calls.length) return null
  const marked = calls.flatMap((call, index) => [call, marks[index]?.call ?? '0x'])
  const asked = trialQuestion(runtime, { ...trying, method, call: batch(marked).toHex() })
  // Within the question: another node is asked if this one's events are malformed.
  return rpc.ask(
    converted(asked, (trial) => (trial === null || trial.failed !== null ? null : split(runtime, marks, trial.events))),
  )
}

/**
 * The same, where each call finds what its fee has left, as on the chain: the fee is taken before the call, and must
 * leave the account alive (pallet_transaction_payment, FungibleAdapter). On a runtime that cannot burn coins no fee is
 * taken.
 * @param input.fees in planck, in the order of the calls; 0 where the signer pays none in coins.
 */
export const tryWithFees = async (
  node: Pick<SubstrateNode, 'rpc'>,
  input: Trying & { readonly runtime: Runtime; readonly calls: readonly Hex[]; readonly fees: readonly bigint[] },
): Promise<readonly (Trial & { readonly isFeePaid: boolean })[] | null> => {
  const { calls, fees, ...trying } = input
  const burn = trying.runtime.calls.balances?.burn
  const steps = calls.map((call, index) => {
    const fee = fees[index] ?? 0n
    return burn === undefined || fee === 0n ? [call] : [burn(fee, true).toHex(), call]
  })
  const trials = await tryCalls(node, { ...trying, calls: steps.flat() })
  if (trials === null) {
    const unpaid = await tryCalls(node, { ...trying, calls })
    return unpaid?.map((trial) => ({ ...trial, isFeePaid: true })) ?? null
  }
  let at = 0
  return steps.map(({ length }) => {
    const [first, last = first] = trials.slice(at, at + length)
    if (first === undefined || last === undefined) throw new Error('expected a trial of each call')
    at += length
    return { ...last, isFeePaid: length === 1 || first.failed === null }
  })
}

/** A failed item of `utility.force_batch` does not cause a refusal: that call lets the other items run. */
const isRefused = (runtime: Runtime, trial: Trial): boolean =>
  trial.failed !== null || innerFailure(runtime, trial.events)?.isOnlyItems === false

/**
 * Refuses a call that would fail, or in which an inner call would fail. If it fails alone, it is tried again after the
 * signer's pending calls. Does nothing on a runtime without DryRunApi.
 */
export const refuseFailing = async (
  node: Pick<SubstrateNode, 'rpc'>,
  input: Trying & { readonly runtime: Runtime; readonly call: Hex; readonly pending: () => Promise<readonly Hex[]> },
): Promise<void> => {
  const { call, pending, ...trying } = input
  const { runtime } = input
  const alone = (await tryCalls(node, { ...trying, calls: [call] }))?.[0]
  if (alone === undefined || !isRefused(runtime, alone)) return
  const before = await pending()
  const trials = before.length === 0 ? null : await tryCalls(node, { ...trying, calls: [...before, call] })
  const last = trials?.at(-1) ?? alone
  if (!isRefused(runtime, last)) return
  throw new AppError('execution_reverted', `execution reverted: ${failureOf(runtime, last)}`)
}
