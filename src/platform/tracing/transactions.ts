// The outcomes of a transaction, as spans of the trace in which it was recorded. Each lasts from the last change to
// this one.

import type { TransactionRow } from '../../../db/queries/transactions.ts'
import { readTraceparent } from './otlp.ts'
import type { Tracer } from './tracer.ts'

type Change = { readonly before: TransactionRow; readonly after: TransactionRow }

const attributesOf = ({ network, id }: TransactionRow) => ({
  'strongroom.network': network,
  'strongroom.transaction.id': id,
})

export const traceBroadcast = <Result>(
  tracer: Tracer,
  transaction: TransactionRow,
  send: () => Promise<Result>,
): Promise<Result> => {
  const attributes = { ...attributesOf(transaction), 'strongroom.transaction.attempt': transaction.chosen }
  return tracer.resume(transaction.traceparent, { name: 'broadcast', kind: 'consumer', attributes }, send)
}

/** The changes by their names, each with the time since when that was waited for. */
const namesOf = ({ before, after }: Change): readonly (readonly [name: string, since: Date])[] => {
  const sent = before.broadcastAt ?? before.createdAt
  const names: (readonly [string, Date])[] = []
  if (before.minedBlockHash !== after.minedBlockHash) {
    if (before.minedBlockHash !== null) names.push(['put back', before.updatedAt])
    if (after.minedBlockHash !== null) names.push(['mined', sent])
  }
  if (after.chosen > before.chosen) {
    names.push([after.chosen < after.rungs ? 'fee raised' : 'given up', before.chosenAt ?? sent])
  }
  if (before.settledAt === null && after.settledAt !== null) names.push(['confirmed', before.updatedAt])
  if (after.final && !before.final) names.push(['final', before.settledAt ?? before.updatedAt])
  return names
}

export const traceOutcome = (tracer: Tracer, change: Change): void => {
  const { after } = change
  const parent = tracer.isOn ? readTraceparent(after.traceparent) : null
  if (parent === null) return
  const endMs = Date.now()
  const attributes = {
    ...attributesOf(after),
    'strongroom.block.number': after.minedBlockNumber === null ? undefined : String(after.minedBlockNumber),
    'error.type': after.errorCode ?? undefined,
  }
  const isError = after.status === 'failed'
  for (const [name, since] of namesOf(change)) {
    tracer.add(parent, { name, kind: 'internal', startMs: since.getTime(), endMs, attributes, isError })
  }
}
