// Calls that fail within an extrinsic that succeeds. Whoever dispatches a call for somebody else (a proxy, a multisig, a
// batch, sudo, a collective) is done when it has tried, and says in an event how the call ended: by a field of the type
// Result<_, DispatchError>, whatever the pallet. Batches and XCM have fields of other types for it.
//
// What the failed call did itself is undone. What other calls of the extrinsic did stands: those before it in a
// `utility.batch`, and all others in a `utility.force_batch`.

import { isRecord } from '../node/wire.ts'
import { type ChainEvent, type CodecValue, nameOfError } from './events.ts'
import type { Runtime } from './runtime.ts'

/** `isItem`: it is one of a `utility.force_batch`, whose caller asks for the others to be done all the same. */
type InnerFailure = { readonly reason: string; readonly isItem: boolean }

/** What the codec hands out of a Result and of an enum. */
type Told = { readonly isErr?: boolean; readonly asErr?: CodecValue & { readonly error?: CodecValue } }

/** Where the error of a batch is among the fields of its event, and what became of its other calls. */
const BATCHES: Readonly<Record<string, { readonly place: number; readonly others: string }>> = {
  BatchInterrupted: { place: 1, others: 'the calls before it were done' },
  ItemFailed: { place: 0, others: 'the calls beside it were done' },
}

const isDispatchError = (value: CodecValue | undefined): value is CodecValue =>
  (value as { readonly isModule?: boolean } | undefined)?.isModule !== undefined

/** Of one that calls return with what they weighed, too. */
const errorIn = (value: CodecValue): CodecValue | null => {
  const result = value as Told
  // The codec throws for the other one of the two.
  const error = result.isErr === true ? result.asErr : undefined
  return [error, error?.error].find(isDispatchError) ?? null
}

/** `{ Incomplete: { used, error: { index, error: 'Barrier' } } }` as `Barrier`. */
const wordsOf = (error: unknown): string => {
  if (!isRecord(error)) return String(error)
  if ('error' in error) return wordsOf(error.error)
  return Object.keys(error)[0] ?? 'Unknown'
}

/** Of an XCM program that was not carried out to its end. */
const xcmErrorIn = (outcome: unknown): string | null => {
  if (!isRecord(outcome) || 'Complete' in outcome) return null
  return wordsOf(Object.values(outcome)[0])
}

const failureIn = (runtime: Runtime, { pallet, name, fields }: ChainEvent): InnerFailure | null => {
  const values = [...fields.values()]
  const told = (reason: string, isItem = false): InnerFailure => ({ reason: `${pallet}.${name}: ${reason}`, isItem })
  const batch = pallet === 'Utility' ? BATCHES[name] : undefined
  if (batch !== undefined) {
    const error = values[batch.place]
    const reason = error === undefined ? 'Unknown' : nameOfError(runtime, error)
    return told(`${reason} (${batch.others})`, name === 'ItemFailed')
  }
  if (pallet === 'PolkadotXcm' && name === 'Attempted') {
    const error = xcmErrorIn(values[0]?.toHuman())
    return error === null ? null : told(error)
  }
  const error = values.map(errorIn).find((each) => each !== null)
  return error == null ? null : told(nameOfError(runtime, error))
}

/**
 * Why calls within an extrinsic, or within a call that was run in advance, failed: the first one's reason with the event
 * that tells it (`Proxy.ProxyExecuted: Token.FundsUnavailable`), and how many more there are. null where none failed.
 * `isOnlyItems`: all of them are items of a `utility.force_batch`. Pure.
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
