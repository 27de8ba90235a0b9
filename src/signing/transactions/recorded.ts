// What is written when a transaction is submitted or sped up. It is known before the transaction is signed, but for the
// signed bytes; so the vault's journal keeps it as a text beside them, and it can be written again after the database
// was restored.

import type { Tx } from '../../../db/client.ts'
import { addJob } from '../../../db/jobs.ts'
import { type AttemptRow, extendLadder, insertLadder, replaceUnsent } from '../../../db/queries/attempts.ts'
import { insertCollection } from '../../../db/queries/collections.ts'
import { insertCreatedToken } from '../../../db/queries/listed-tokens.ts'
import { insertMetadataDocuments } from '../../../db/queries/metadata.ts'
import { insertTransaction } from '../../../db/queries/transactions.ts'
import type { RememberedAnswer } from '../../identity/idempotency/once.ts'
import type { HasMetrics } from '../../platform/metrics/metrics.ts'
import type { HasTracer } from '../../platform/tracing/tracer.ts'
import { recordObservation } from './record-observation.ts'

export type AttemptPlace = Pick<AttemptRow, 'kind' | 'rung' | 'maxFeePerGas'>

export type SignedAttempt = AttemptPlace & { readonly hash: string; readonly raw: string }

/** What a resource records with its transaction. */
export type Alongside = {
  readonly metadata?: Parameters<typeof insertMetadataDocuments>[1]
  readonly collection?: Omit<Parameters<typeof insertCollection>[1], 'transactionId'>
  readonly token?: Omit<Parameters<typeof insertCreatedToken>[1], 'transactionId'>
}

export type SubmittedRows = {
  readonly kind: 'submitted'
  readonly row: Parameters<typeof insertTransaction>[1]
  readonly alongside: Alongside
}

type SpedUpRows = {
  readonly kind: 'sped_up'
  readonly network: string
  readonly ladder: Parameters<typeof extendLadder>[1]
  readonly firstRung: number
  readonly isCancelUnsent: boolean
}

type Signed = { readonly rows: SubmittedRows; readonly attempts: readonly SignedAttempt[] }

/** Records signed transactions, and the jobs that send them; one without a nonce is not sent. */
export const recordSubmitted = async (tx: Tx, submitted: readonly Signed[]): Promise<void> => {
  // Sent in one message, the transactions first: their ladders refer to them.
  await Promise.all([
    ...submitted.map(({ rows }) => insertTransaction(tx, rows.row)),
    ...submitted.flatMap(({ rows: { row }, attempts }) => {
      const { id: transactionId, network } = row
      const key = { key: `broadcast:${transactionId}`, whenKeyed: 'new' } as const
      return [
        insertLadder(tx, { network, transactionId }, attempts),
        row.holdsNonce === false ? null : addJob(tx, 'broadcast_transaction', { transactionId, network }, key),
      ]
    }),
  ])
  for (const {
    rows: { row, alongside },
  } of submitted) {
    const { id: transactionId } = row
    await insertMetadataDocuments(tx, alongside.metadata ?? [])
    if (alongside.collection !== undefined) await insertCollection(tx, { ...alongside.collection, transactionId })
    if (alongside.token !== undefined) await insertCreatedToken(tx, { ...alongside.token, transactionId })
  }
}

export const recordSpedUp = async (
  ctx: HasMetrics & HasTracer,
  tx: Tx,
  { ladder, firstRung, isCancelUnsent }: SpedUpRows,
  attempts: readonly SignedAttempt[],
): Promise<void> => {
  const { id: transactionId } = ladder
  await replaceUnsent(tx, { transactionId, fromRung: firstRung, isCancelUnsent }, attempts)
  await extendLadder(tx, ladder)
  await recordObservation(ctx, tx, { transactionId, observation: { kind: 'sped_up', first: firstRung } })
}

export type About = {
  readonly rows: SubmittedRows | SpedUpRows
  readonly places: readonly AttemptPlace[]
  /** The answer to store for a request with an `Idempotency-Key`. */
  readonly answer: RememberedAnswer | null
}

const BIGINT = '$bigint'

export const textOfAbout = (about: About): string =>
  JSON.stringify(about, (_, value: unknown) => (typeof value === 'bigint' ? { [BIGINT]: value.toString() } : value))

const isBigint = (value: unknown): value is { readonly [BIGINT]: string } =>
  typeof value === 'object' && value !== null && BIGINT in value

/** The inverse. The vault authenticates its journal, so it is what `textOfAbout` made. */
export const readAbout = (text: string): About =>
  JSON.parse(text, (_, value: unknown) => (isBigint(value) ? BigInt(value[BIGINT]) : value)) as About
