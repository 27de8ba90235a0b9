// The events of a block, and what became of each extrinsic.

import type { Hex } from '../chain.ts'
import type { Question } from '../node/rpc.ts'
import { MalformedAnswer } from '../node/wire.ts'
import type { Runtime } from './runtime.ts'
import { storageKey, storageQuestion } from './storage.ts'

/** An event, its pallet and name in the metadata's spelling (`Balances`, `Transfer`). */
export type ChainEvent = {
  /** The extrinsic whose it is, by its place in the block; null for what the runtime does by itself. */
  readonly extrinsic: number | null
  readonly pallet: string
  readonly name: string
  /** Its fields by the metadata's names, or by `0`, `1`, … where they have none. Codec values. */
  readonly fields: ReadonlyMap<string, CodecValue>
}

/** What we use of a value of the codec. */
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

/** What we use of an event of the codec. */
export type CodecEvent = {
  /** In camel case, and in the metadata's spelling. */
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
    // An event that the runtime does not have is found out only when it is looked at.
    throw new MalformedAnswer('the events of a block')
  }
}

/** Of no extrinsic. Pure. */
export const chainEventOf = ({ section, method, data }: CodecEvent): ChainEvent => ({
  extrinsic: null,
  pallet: palletName(section),
  name: method,
  fields: new Map([...data].map((value, index) => [data.names?.[index] ?? String(index), value])),
})

/** The registry names pallets in camel case. */
const palletName = (section: string): string => `${section.slice(0, 1).toUpperCase()}${section.slice(1)}`

/** As of the end of a block, in order. */
export const eventsQuestion = (runtime: Runtime, blockHash: Hex): Question<readonly ChainEvent[]> => {
  const stored = storageQuestion(storageKey(runtime, 'system', 'events'), blockHash)
  return { ...stored, parse: (value) => readEvents(runtime, stored.parse(value)) }
}

/** A DispatchError as people know it: `Balances.InsufficientBalance`, `Token.FundsUnavailable`, `BadOrigin`. */
export const nameOfError = ({ registry }: Runtime, error: CodecValue): string => {
  const told = error as unknown as {
    readonly isModule?: boolean
    readonly asModule?: Parameters<typeof registry.findMetaError>[0]
    readonly type?: string
    readonly inner?: { toString(): string; readonly type?: string }
  }
  if (told.isModule === true && told.asModule !== undefined) {
    try {
      const { section, name } = registry.findMetaError(told.asModule)
      return `${palletName(section)}.${name}`
    } catch {
      return 'Module'
    }
  }
  const inner = told.inner?.type
  return [told.type ?? 'Unknown', ...(inner === undefined ? [] : [inner])].join('.')
}

/** How an extrinsic ended; null for one that no event is of. */
export const endOf = (
  runtime: Runtime,
  events: readonly ChainEvent[],
  extrinsic: number,
): { readonly success: true } | { readonly success: false; readonly reason: string } | null => {
  const own = events.filter((event) => event.extrinsic === extrinsic && event.pallet === 'System')
  if (own.some(({ name }) => name === 'ExtrinsicSuccess')) return { success: true }
  const failed = own.find(({ name }) => name === 'ExtrinsicFailed')
  if (failed === undefined) return null
  const error =
    failed.fields.get('dispatchError') ?? failed.fields.get('dispatch_error') ?? [...failed.fields.values()][0]
  return { success: false, reason: error === undefined ? 'Unknown' : nameOfError(runtime, error) }
}
