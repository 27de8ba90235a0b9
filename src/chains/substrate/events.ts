// Reads the events of a block, and how each extrinsic ended.

import type { Hex } from '../chain.ts'
import type { Question } from '../node/rpc.ts'
import { MalformedAnswer } from '../node/wire.ts'
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

/** `Balances.Transfer`. Pure. */
export const nameOf = ({ pallet, name }: ChainEvent): string => `${pallet}.${name}`

/** The part of a codec value that we use. */
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

/** The part of a codec event that we use. */
export type CodecEvent = {
  /** The pallet, in camel case. `method` is spelled as in the metadata. */
  readonly section: string
  readonly method: string
  readonly data: readonly CodecValue[] & { readonly names: readonly string[] | null }
}

const readEvents = ({ registry }: Runtime, stored: Hex | null): readonly ChainEvent[] => {
  if (stored === null) return []
  try {
    const records = registry.createType('Vec<EventRecord>', stored) as unknown as readonly EventRecord[]
    return records.map(({ phase, event }) => ({
      ...chainEventOf(event),
      extrinsic: phase.isApplyExtrinsic ? phase.asApplyExtrinsic.toNumber() : null,
    }))
  } catch {
    // The codec decodes lazily: an unknown event throws only when it is read.
    throw new MalformedAnswer('the events of a block')
  }
}

/** Converts a codec event; `extrinsic` is null. Pure. */
export const chainEventOf = ({ section, method, data }: CodecEvent): ChainEvent => ({
  extrinsic: null,
  pallet: palletName(section),
  name: method,
  fields: new Map([...data].map((value, index) => [data.names?.[index] ?? String(index), value])),
})

/** The registry gives pallet names in camel case; the metadata begins them with a capital. */
const palletName = (section: string): string => `${section.slice(0, 1).toUpperCase()}${section.slice(1)}`

/** Asks for the events of a block, in order. */
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
      return `${palletName(section)}.${name}`
    } catch {
      return 'Module'
    }
  }
  const inner = codec.inner?.type
  return [codec.type ?? 'Unknown', ...(inner === undefined ? [] : [inner])].join('.')
}

/** How an extrinsic ended; null if no event says so. */
export const endOf = (
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
