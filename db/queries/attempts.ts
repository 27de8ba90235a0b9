// Attempts: the lists of a ladder as attempts, what is written of them, their refusals, and how they are found.

import { and, type Column, eq, isNotNull, type SQL, sql } from 'drizzle-orm'
import type { Queryable, Tx } from '../client.ts'
import { type Given, prepare } from '../prepare.ts'
import { type Ids, isOneOf, pickColumns } from '../rows.ts'
import { ladders, transactions } from '../schema.ts'
import { type AttemptKind, type Network, REFUSALS, type Refusal } from '../words.ts'
import type { TransactionRow } from './transactions.ts'

/** One signed encoding of a transaction. */
export type AttemptRow = {
  readonly transactionId: string
  readonly network: Network
  readonly hash: string
  readonly kind: AttemptKind
  /** Its number among those of its kind. */
  readonly rung: number
  /** null once erased. */
  readonly raw: string | null
  /** In wei; null if the runtime sets the fee. */
  readonly maxFeePerGas: bigint | null
  readonly broadcastAt: Date | null
  readonly lastError: string | null
}

export const LADDER = pickColumns(
  ladders,
  'transactionId',
  'network',
  'hashes',
  'raws',
  'maxFeesPerGas',
  'acceptedAt',
  'lastErrors',
)

type LadderRow = Omit<typeof ladders.$inferSelect, 'hashKeys'>

const placeOf = (number: number, rungs: number): Pick<AttemptRow, 'kind' | 'rung'> => {
  if (number < rungs) return { kind: 'rung', rung: number }
  return number === rungs ? { kind: 'cancel', rung: 0 } : { kind: 'former_cancel', rung: number - rungs - 1 }
}

/** A ladder's attempts by their numbers. @param input.rungs of its transaction, as of the same time. */
export const attemptsOf = (ladder: LadderRow, { rungs }: Pick<TransactionRow, 'rungs'>): readonly AttemptRow[] => {
  const { transactionId, network, hashes, raws, maxFeesPerGas, acceptedAt, lastErrors } = ladder
  return hashes.map((hash, number) => ({
    ...placeOf(number, rungs),
    transactionId,
    network,
    hash,
    raw: raws?.[number] ?? null,
    maxFeePerGas: maxFeesPerGas?.[number] ?? null,
    broadcastAt: acceptedAt[number] ?? null,
    lastError: lastErrors[number] ?? null,
  }))
}

/** What the chosen attempt of a transaction has in one of its ladder's lists. */
export const chosenOf = <Value>(list: Column) => sql<Value>`${list}[${transactions.chosen} + 1]`

/** The hash in an expression of bytes, as `0x` hex. */
export const hexOf = (bytes: SQL) => sql<string>`'0x' || encode(${bytes}, 'hex')`

/** The words for a signer that cannot pay begin with this. */
const UNPAYABLE = 'insufficient_funds: '

/**
 * The `last_error` of an attempt that nodes refuse: a word for programs, then the node's words for operators. The
 * operators' views show what follows the colon. Callers never see a node's words.
 */
export const writeRefusal = ({ refusal, reason }: { readonly refusal: Refusal; readonly reason: string }): string =>
  `rejected_${refusal}: ${reason}`

/** null without an error, and for an error after which the node may still accept it. */
export const readRefusal = (lastError: string | null): Refusal | null =>
  REFUSALS.find((refusal) => lastError?.startsWith(writeRefusal({ refusal, reason: '' })) === true) ?? null

export const isUnpayable = (lastError: string | null): boolean => lastError?.startsWith(UNPAYABLE) === true

type Signed = Pick<AttemptRow, 'hash' | 'raw' | 'maxFeePerGas'> & Partial<Pick<AttemptRow, 'broadcastAt' | 'lastError'>>

const keyOf = (hash: string): bigint => BigInt.asIntN(64, BigInt(hash.slice(0, 18)))

/** The lists of these attempts. Of raw bytes and of fees each attempt has some, or none has. */
const listsOf = (signed: readonly Signed[]) => ({
  hashes: signed.map(({ hash }) => hash),
  hashKeys: signed.map(({ hash }) => keyOf(hash)),
  raws: signed.some(({ raw }) => raw === null) ? null : signed.flatMap(({ raw }) => raw ?? []),
  maxFeesPerGas: signed.some(({ maxFeePerGas: fee }) => fee === null)
    ? null
    : signed.flatMap(({ maxFeePerGas: fee }) => fee ?? []),
  acceptedAt: signed.map(({ broadcastAt = null }) => broadcastAt),
  lastErrors: signed.map(({ lastError = null }) => lastError),
})

type Lists = ReturnType<typeof listsOf>
type Its = { readonly transactionId: string }

const insertLists = prepare((db, given: Given<Its & Lists & { readonly network: Network }>) =>
  db.insert(ladders).values({
    transactionId: given.transactionId,
    network: given.network,
    hashes: given.hashes,
    hashKeys: given.hashKeys,
    raws: given.raws,
    maxFeesPerGas: given.maxFeesPerGas,
    acceptedAt: given.acceptedAt,
    lastErrors: given.lastErrors,
  }),
)

/** @param signed its rungs from the lowest on, then the cancel, if it has one. */
export const insertLadder = async (
  tx: Tx,
  { network, transactionId }: Its & { readonly network: Network },
  signed: readonly Signed[],
) => {
  await insertLists(tx, { network, transactionId, ...listsOf(signed) })
}

/**
 * Puts new attempts in the place of what was never sent. A sent cancel becomes a former cancel: the tracker must
 * recognise it in a block. `extendLadder` follows, and the caller has locked the transaction.
 * @param signed the new rungs from `fromRung` on, then the new cancel.
 */
export const replaceUnsent = async (
  tx: Tx,
  input: Its & { readonly fromRung: number; readonly isCancelUnsent: boolean },
  signed: readonly Signed[],
) => {
  const { transactionId, fromRung, isCancelUnsent } = input
  const [found] = await readLadder(tx, { transactionId })
  if (found === undefined) throw new Error('a transaction without attempts')
  const its = attemptsOf(found.ladder, found)
  const isCancelKept = ({ kind }: AttemptRow) => kind === 'cancel' && !isCancelUnsent
  const lists = listsOf([
    ...its.filter(({ kind, rung }) => kind === 'rung' && rung < fromRung),
    ...signed,
    ...its.filter(({ kind }) => kind === 'former_cancel'),
    ...its.filter(isCancelKept),
  ])
  await tx.update(ladders).set(lists).where(eq(ladders.transactionId, transactionId))
}

const readLadder = prepare((db, { transactionId }: Given<Its>) =>
  db
    .select({ ladder: LADDER, rungs: transactions.rungs })
    .from(ladders)
    .innerJoin(transactions, eq(transactions.id, ladders.transactionId))
    .where(eq(ladders.transactionId, transactionId))
    .for('update', { of: ladders }),
)

const MARK_ACCEPTED = `
update public.ladders ladder set
  accepted_at[array_position(hashes, its.hash)] = coalesce(accepted_at[array_position(hashes, its.hash)], now()),
  last_errors[array_position(hashes, its.hash)] = null
from unnest((select $1::uuid[]), (select $2::bytea[])) its(id, hash)
where ladder.transaction_id = its.id and its.hash = any(hashes) and (
  accepted_at[array_position(hashes, its.hash)] is null or last_errors[array_position(hashes, its.hash)] is not null)`

export const markAttemptsAccepted = async (tx: Tx, accepted: readonly (Its & { readonly hash: string })[]) => {
  // A statement changes a row only once, so it gets one attempt of a transaction.
  const times = new Map<string, number>()
  const turns = Map.groupBy(accepted, ({ transactionId: id }) => {
    const time = (times.get(id) ?? 0) + 1
    times.set(id, time)
    return time
  })
  await Promise.all(
    [...turns.values()].map((its) => {
      const hashes = ladders.hashes.mapToDriverValue(its.map(({ hash }) => hash))
      return tx.send({ text: MARK_ACCEPTED, values: [its.map(({ transactionId }) => transactionId), hashes] })
    }),
  )
}

const RECORD_ERROR = `
update public.ladders set last_errors[array_position(hashes, $2::bytea)] = $3
where transaction_id = $1 and $2::bytea = any(hashes)`

export const recordAttemptError = async (
  db: Queryable,
  { transactionId, hash, error }: Pick<AttemptRow, 'transactionId' | 'hash'> & { readonly error: string },
) => {
  await db.send({ text: RECORD_ERROR, values: [transactionId, `\\x${hash.slice(2)}`, error] })
}

const eraseBytes = prepare((db, { ids }: Given<Ids>) =>
  db
    .update(ladders)
    .set({ raws: null })
    .where(and(isOneOf(ladders.transactionId, ids), isNotNull(ladders.raws))),
)

/** Erases signed bytes, because any reader of them could send them. The hashes stay. */
export const eraseRaw = async (tx: Tx, transactionIds: readonly string[]) => {
  if (transactionIds.length > 0) await eraseBytes(tx, { ids: transactionIds })
}

/** Stores the new ladder's size and clears the give-up; `recordObservation` then chooses the rung. */
export const extendLadder = async (
  tx: Tx,
  ladder: Pick<TransactionRow, 'id' | 'rungs' | 'hasFixedFees' | 'isCutByFunds' | 'worstCost'>,
) => {
  const { id, ...columns } = ladder
  await tx
    .update(transactions)
    .set({ ...columns, givenUp: null })
    .where(eq(transactions.id, id))
}

/** The hashes of a transaction's attempts, by their numbers. */
export const readAttemptHashes = async (db: Queryable, transactionId: string): Promise<readonly string[]> =>
  (await hashesOf(db, { transactionId }))[0]?.hashes ?? []

const hashesOf = prepare((db, { transactionId }: Given<Its>) =>
  db.select({ hashes: ladders.hashes }).from(ladders).where(eq(ladders.transactionId, transactionId)),
)

/** A condition: the transaction has an attempt with this hash. @param input.network null: of any network. */
export const hasHash = (input: { readonly network: string | null; readonly hash: string }): SQL => sql`
  ${transactions.id} in (
    select ladder.transaction_id from public.ladders ladder
    where ladder.hash_keys @> array[${String(keyOf(input.hash))}::bigint]
      and decode(${input.hash.slice(2)}, 'hex') = any(ladder.hashes)
      and ${input.network === null ? sql`true` : sql`ladder.network = ${input.network}`})`

/**
 * The attempts with some hashes, for a FROM: `hash` in bytes, `transaction_id`, `hashes` of the ladder. Each is looked
 * up: for a list of keys the planner would scan the table.
 */
export const attemptsWith = ({
  network,
  hashes,
}: {
  readonly network: Network
  readonly hashes: readonly string[]
}) => {
  const keys = `{${hashes.map(keyOf).join()}}`
  return sql`unnest(${keys}::bigint[], ${ladders.hashes.mapToDriverValue(hashes)}::bytea[]) asked(key, hash),
    lateral (
      select ladder.transaction_id, ladder.hashes from public.ladders ladder
      where ladder.hash_keys @> array[asked.key] and asked.hash = any(ladder.hashes) and ladder.network = ${network}
      offset 0
    ) found`
}
