// Reads the events of a block, how each extrinsic ended, and which of its inner calls failed.

import type { Hex } from '../chain.ts'
import type { Question } from '../node/rpc.ts'
import { decoded, isRecord } from '../node/wire.ts'
import type { Runtime } from './runtime.ts'
import { converted, storageQuestion } from './storage.ts'

/** An event. Its pallet and name are spelled as in the metadata (`Balances`, `Transfer`). */
export type ChainEvent = {
  /** The index of its extrinsic in the block; null if the runtime emitted it outside of any extrinsic. */
  readonly extrinsic: number | null
  readonly pallet: string
  readonly name: string
  /** The fields by their names in the metadata, or by `0`, `1`, … if they have no names. */
  readonly fields: ReadonlyMap<string, CodecValue>
}

/** The fields in the order of the metadata. Pure. */
export const valuesOf = ({ fields }: ChainEvent): readonly CodecValue[] => [...fields.values()]

export const nameOf = ({ pallet, name }: ChainEvent): string => `${pallet}.${name}`

export type CodecValue = {
  toString(): string
  toHuman(): unknown
  toJSON(): unknown
  toHex(): Hex
  toU8a(): Uint8Array
}

type EventRecord = {
  readonly phase: { readonly isApplyExtrinsic: boolean; readonly asApplyExtrinsic: { toNumber(): number } }
  readonly event: CodecEvent
}

export type CodecEvent = {
  /** The pallet, in camel case. `method` is spelled as in the metadata. */
  readonly section: string
  readonly method: string
  readonly data: readonly CodecValue[] & { readonly names: readonly string[] | null }
}

const readEvents = ({ registry }: Runtime, stored: Hex | null): readonly ChainEvent[] => {
  if (stored === null) return []
  // The codec takes missing bytes for an empty event, which throws only when it is read.
  return decoded('the events of a block', () => {
    const records = registry.createType('Vec<EventRecord>', stored) as unknown as readonly EventRecord[]
    return records.map(({ phase, event }) => ({
      ...convertEvent(event),
      extrinsic: phase.isApplyExtrinsic ? phase.asApplyExtrinsic.toNumber() : null,
    }))
  })
}

export const convertEvent = ({ section, method, data }: CodecEvent): ChainEvent => ({
  extrinsic: null,
  pallet: capitalized(section),
  name: method,
  fields: new Map([...data].map((value, index) => [data.names?.[index] ?? String(index), value])),
})

/** The codec begins names of pallets and variants in lower case; the metadata begins them with a capital. Pure. */
export const capitalized = (word: string): string => `${word.slice(0, 1).toUpperCase()}${word.slice(1)}`

export const eventsQuestion = (runtime: Runtime, blockHash: Hex): Question<readonly ChainEvent[]> => {
  const stored = storageQuestion(runtime, { pallet: 'system', entry: 'events' }, blockHash)
  return converted(stored, (value) => readEvents(runtime, value))
}

/** The readable name of a DispatchError: `Balances.InsufficientBalance`, `Token.FundsUnavailable`, `BadOrigin`. */
export const nameOfError = ({ registry }: Runtime, error: CodecValue): string => {
  // The codec's asModule throws for other errors.
  const codec = error as unknown as {
    readonly isModule?: boolean
    readonly asModule?: Parameters<typeof registry.findMetaError>[0]
    readonly type?: string
    readonly inner?: { readonly type?: string }
  }
  if (codec.isModule === true && codec.asModule !== undefined) {
    try {
      const { section, name } = registry.findMetaError(codec.asModule)
      return `${capitalized(section)}.${name}`
    } catch {
      return 'Module'
    }
  }
  const inner = codec.inner?.type
  return [codec.type ?? 'Unknown', ...(inner === undefined ? [] : [inner])].join('.')
}

export const readEnd = (
  runtime: Runtime,
  events: readonly ChainEvent[],
  extrinsic: number,
): { readonly success: true } | { readonly success: false; readonly reason: string } | null => {
  const own = events.filter((event) => event.extrinsic === extrinsic && event.pallet === 'System')
  if (own.some(({ name }) => name === 'ExtrinsicSuccess')) return { success: true }
  const failed = own.find(({ name }) => name === 'ExtrinsicFailed')
  if (failed === undefined) return null
  const error = failed.fields.get('dispatchError') ?? failed.fields.get('dispatch_error') ?? valuesOf(failed)[0]
  return { success: false, reason: error === undefined ? 'Unknown' : nameOfError(runtime, error) }
}

// Finds inner calls that failed in an extrinsic that succeeded. A call that dispatches another call (proxy, multisig,
// batch, sudo, collective) succeeds even if the inner call fails, and reports the result in an event: in a field of
// type Result<_, DispatchError>, in any pallet. Batches and XCM use fields of other types.
//
// The effects of the failed call are rolled back. The effects of other calls remain: those before it in a
// `utility.batch`, and all other calls in a `utility.force_batch`.

/** `isItem`: the call is an item of a `utility.force_batch`, which lets the other items run. */
type InnerFailure = { readonly reason: string; readonly isItem: boolean }

type Result = { readonly isErr?: boolean; readonly asErr?: CodecValue & { readonly error?: CodecValue } }

/** The index of the error among the fields of a batch's event, and what happened to the other calls. */
const BATCHES: Readonly<Record<string, { readonly index: number; readonly others: string }>> = {
  BatchInterrupted: { index: 1, others: 'the calls before it were done' },
  ItemFailed: { index: 0, others: 'the calls beside it were done' },
}

const isDispatchError = (value: CodecValue | undefined): value is CodecValue =>
  (value as { readonly isModule?: boolean } | undefined)?.isModule !== undefined

/** The DispatchError of a failed Result, also inside a DispatchErrorWithPostInfo. */
const errorIn = (value: CodecValue): CodecValue | null => {
  const result = value as Result
  // The codec's asErr throws if the Result is Ok.
  const error = result.isErr === true ? result.asErr : undefined
  return [error, error?.error].find(isDispatchError) ?? null
}

/** `{ Incomplete: { used, error: { index, error: 'Barrier' } } }` as `Barrier`. */
const wordsOf = (error: unknown): string => {
  if (!isRecord(error)) return String(error)
  if ('error' in error) return wordsOf(error.error)
  return Object.keys(error)[0] ?? 'Unknown'
}

/** The error of an XCM program that did not run to its end. */
const xcmErrorIn = (outcome: unknown): string | null => {
  if (!isRecord(outcome) || 'Complete' in outcome) return null
  return wordsOf(Object.values(outcome)[0])
}

const failureIn = (runtime: Runtime, { pallet, name, fields }: ChainEvent): InnerFailure | null => {
  const values = [...fields.values()]
  const failure = (reason: string, isItem = false): InnerFailure => ({ reason: `${pallet}.${name}: ${reason}`, isItem })
  const batch = pallet === 'Utility' ? BATCHES[name] : undefined
  if (batch !== undefined) {
    const error = values[batch.index]
    const reason = error === undefined ? 'Unknown' : nameOfError(runtime, error)
    return failure(`${reason} (${batch.others})`, name === 'ItemFailed')
  }
  if (pallet === 'PolkadotXcm' && name === 'Attempted') {
    const error = xcmErrorIn(values[0]?.toHuman())
    return error === null ? null : failure(error)
  }
  const error = values.map(errorIn).find((each) => each !== null)
  return error == null ? null : failure(nameOfError(runtime, error))
}

/**
 * From the events of one extrinsic or dry run: the event and the reason of the first failure (`Proxy.ProxyExecuted:
 * Token.FundsUnavailable`), and the number of further failures; null if none failed. `isOnlyItems`: all failed calls
 * are items of a `utility.force_batch`. Pure.
 */
export const innerFailure = (
  runtime: Runtime,
  own: readonly ChainEvent[],
): { readonly reason: string; readonly isOnlyItems: boolean } | null => {
  const failures = own.flatMap((event) => failureIn(runtime, event) ?? [])
  const [first, ...others] = failures
  if (first === undefined) return null
  const more = others.length === 0 ? '' : `, and ${others.length} more`
  return { reason: `${first.reason}${more}`, isOnlyItems: failures.every(({ isItem }) => isItem) }
}
