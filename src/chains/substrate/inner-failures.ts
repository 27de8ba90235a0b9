// Finds inner calls that failed in an extrinsic that succeeded. A call that dispatches another call (proxy, multisig, batch,
// sudo, collective) succeeds even if the inner call fails, and reports the result in an event: in a field of type
// Result<_, DispatchError>, in any pallet. Batches and XCM use fields of other types.
//
// The effects of the failed call are rolled back. The effects of other calls remain: those before it in a `utility.batch`,
// and all others in a `utility.force_batch`.

import { isRecord } from '../node/wire.ts'
import { type ChainEvent, type CodecValue, nameOfError } from './events.ts'
import type { Runtime } from './runtime.ts'

/** `isItem`: the call is an item of a `utility.force_batch`, which lets the other items run. */
type InnerFailure = { readonly reason: string; readonly isItem: boolean }

/** The codec's value of a Result. */
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
 * Why inner calls failed, from the events of one extrinsic or dry run: the event and the reason of the first failure
 * (`Proxy.ProxyExecuted: Token.FundsUnavailable`), and the number of further failures. null if none failed.
 * `isOnlyItems`: all failed calls are items of a `utility.force_batch`. Pure.
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
