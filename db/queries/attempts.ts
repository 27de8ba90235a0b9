// Attempts: what is written of them, their refusals, the ladder of a transaction that is sped up, and what stays of
// them when the transaction is final.

import { and, eq, gte, type SQL, sql } from 'drizzle-orm'
import type { Queryable, Tx } from '../client.ts'
import { type Given, prepare } from '../prepare.ts'
import { encodeRows, type Ids, isOneOf, readValue } from '../rows.ts'
import { attempts, transactions } from '../schema.ts'
import { type Network, REFUSALS, type Refusal } from '../words.ts'
import type { AttemptRow, TransactionRow } from './transactions.ts'

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

/** Inserts a transaction's attempts, by a statement with the same text for any number of them. */
export const insertAttempts = async (
  tx: Tx,
  input: { readonly network: Network; readonly transactionId: string },
  signed: readonly Pick<AttemptRow, 'hash' | 'kind' | 'rung' | 'raw' | 'maxFeePerGas'>[],
) => {
  await tx.execute(sql`
    insert into public.attempts (network, hash, transaction_id, kind, rung, raw, max_fee_per_gas)
    select ${input.network}, attempt.hash, ${input.transactionId}::uuid, attempt.kind, attempt.rung, attempt.raw,
      attempt."maxFeePerGas"
    from json_to_recordset(${encodeRows(signed)}::text::json) as attempt(
      hash text, kind text, rung smallint, raw text, "maxFeePerGas" numeric)`)
}

type Hashes = { readonly networks: readonly Network[]; readonly hashes: readonly string[] }

const markAccepted = prepare((db, { networks, hashes }: Given<Hashes>) =>
  db
    .update(attempts)
    .set({ broadcastAt: sql`coalesce(${attempts.broadcastAt}, now())`, lastError: null })
    .where(sql`${attempts.network} = any(${networks}::text[]) and ${attempts.hash} = any(${hashes}::text[])`),
)

export const markAttemptsAccepted = async (
  tx: Tx,
  accepted: readonly { readonly network: Network; readonly hash: string }[],
) => {
  if (accepted.length === 0) return
  // No hash is on two networks, as the chain's id is in it.
  const networks = [...new Set(accepted.map(({ network }) => network))]
  await markAccepted(tx, { networks, hashes: accepted.map(({ hash }) => hash) })
}

export const recordAttemptError = async (
  db: Queryable,
  input: { readonly network: Network; readonly hash: string; readonly error: string },
) => {
  await db
    .update(attempts)
    .set({ lastError: input.error })
    .where(and(eq(attempts.network, input.network), eq(attempts.hash, input.hash)))
}

const eraseBytes = prepare((db, { ids }: Given<Ids>) =>
  db.update(attempts).set({ raw: null }).where(isOneOf(attempts.transactionId, ids)),
)

/** Erases signed bytes, because any reader of them could send them. The hashes stay. */
export const eraseRaw = async (tx: Tx, transactionIds: readonly string[]) => {
  if (transactionIds.length > 0) await eraseBytes(tx, { ids: transactionIds })
}

/** Deletes what was never sent. A sent cancel becomes a former cancel: the tracker must recognise it in a block. */
export const eraseUnsent = async (
  tx: Tx,
  input: { readonly transactionId: string; readonly fromRung: number; readonly isCancelUnsent: boolean },
) => {
  const { transactionId, fromRung, isCancelUnsent } = input
  const ofIt = eq(attempts.transactionId, transactionId)
  await tx.delete(attempts).where(and(ofIt, eq(attempts.kind, 'rung'), gte(attempts.rung, fromRung)))
  const isCancel = and(ofIt, eq(attempts.kind, 'cancel'))
  if (isCancelUnsent) return void (await tx.delete(attempts).where(isCancel))
  await tx
    .update(attempts)
    .set({
      kind: 'former_cancel',
      rung: sql`(
        select count(*) from public.attempts former
        where former.transaction_id = ${transactionId} and former.kind = 'former_cancel')`,
    })
    .where(isCancel)
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

// Attempts of final transactions, folded to their hashes: seven rows of some 300 bytes each, with their indexes, become
// an array in the transaction's row. The place in the array is the attempt's number, from which its kind and rung
// follow.

/** Until then operators see the fees and refusals of each attempt. */
export const FOLDED_AFTER_DAYS = 7

/** Folds the attempts of old final transactions. Waits for no lock. @returns how many transactions it has folded. */
export const foldAttempts = async (db: Queryable, input: { readonly limit: number; readonly afterDays: number }) =>
  (await readValue<number>(db)`
    with due as (
      select id from public.transactions
      where final and attempt_hashes is null and updated_at < now() - make_interval(days => ${input.afterDays})
      order by updated_at limit ${input.limit} for update skip locked
    ), ladders as (
      select due.id, coalesce(array_agg(decode(substr(attempt.hash, 3), 'hex')
          order by case attempt.kind when 'rung' then 0 when 'cancel' then 1 else 2 end, attempt.rung)
          filter (where attempt.hash is not null), '{}') as hashes,
        coalesce(array_agg(('x' || substr(attempt.hash, 3, 16))::bit(64)::bigint)
          filter (where attempt.hash is not null), '{}') as keys
      from due left join public.attempts attempt on attempt.transaction_id = due.id
      group by due.id
    ), folded as (
      update public.transactions set attempt_hashes = ladders.hashes, attempt_hash_keys = ladders.keys from ladders where transactions.id = ladders.id
      returning transactions.id
    ), deleted as (
      delete from public.attempts where transaction_id in (select id from folded)
    )
    select count(*)::int as folded from folded`) ?? 0

/** Makes a transaction's attempts rows again. Their fees, refusals and times of acceptance stay lost. */
export const unfoldAttempts = async (tx: Tx, transactionId: string) => {
  // Locked first, so that the job folds nothing between the two other statements.
  await tx.execute(sql`select from public.transactions where id = ${transactionId} for update`)
  await tx.execute(sql`
    insert into public.attempts (network, hash, transaction_id, kind, rung)
    select network, '0x' || encode(hash, 'hex'), id, attempt_kind,
      place - case attempt_kind when 'rung' then 1 when 'cancel' then place else rungs + 2 end
    from public.transactions, unnest(attempt_hashes) with ordinality as attempt(hash, place),
      lateral (select case sign(place - rungs - 1) when -1 then 'rung' when 0 then 'cancel' else 'former_cancel' end) as its(attempt_kind)
    where id = ${transactionId}`)
  await tx.execute(
    sql`update public.transactions set attempt_hashes = null, attempt_hash_keys = null where id = ${transactionId}`,
  )
}

/** The hashes of a transaction's attempts, by their numbers if they are folded. */
export const readAttemptHashes = async (db: Queryable, transactionId: string): Promise<readonly string[]> => {
  const rows = await db
    .select({ hash: attempts.hash, folded: transactions.attemptHashes })
    .from(transactions)
    .leftJoin(attempts, eq(attempts.transactionId, transactions.id))
    .where(eq(transactions.id, transactionId))
  return rows.flatMap(({ hash, folded }) => folded ?? (hash === null ? [] : [hash]))
}

const keyOf = (hash: string): string => String(BigInt.asIntN(64, BigInt(hash.slice(0, 18))))

/**
 * A condition: the transaction has an attempt with this hash, folded or not.
 * @param input.network null: of any network. The key of the table of attempts begins with it.
 */
export const hasHash = (input: { readonly network: string | null; readonly hash: string }): SQL => {
  const isOfNetwork =
    input.network === null
      ? sql`attempt.network in (select name from public.networks)`
      : sql`attempt.network = ${input.network}`
  return sql`${transactions.id} in (
    select attempt.transaction_id from public.attempts attempt where ${isOfNetwork} and attempt.hash = ${input.hash}
    union all
    select folded.id from public.transactions folded
    where folded.attempt_hash_keys @> array[${keyOf(input.hash)}::bigint]
      and decode(${input.hash.slice(2)}, 'hex') = any(folded.attempt_hashes))`
}
