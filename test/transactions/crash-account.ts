// The check after a crash: compares the chain with our tables and reports every difference.

import type { Sql } from 'postgres'
import { verifyServiceRows } from '../../src/operators/audit/verify-service-rows.ts'
import { eventTroubles, noteStatuses } from '../events/troubles.ts'
import type { Ground, Intent, Mined, Signer } from './crash-ground.ts'

/**
 * The only possible failure here. It needs a machine that stood still, or an era that ended while a process was away:
 * nobody else has the keys, and nothing reverts.
 */
const FAILURE_CODES = ['expired']

type Row = {
  readonly id: string
  readonly signer: string
  readonly kind: string
  readonly nonce: number
  readonly holdsNonce: boolean
  readonly status: string
  readonly code: string | null
  readonly final: boolean
  readonly to: string
  readonly input: string
  readonly shown: string | null
  readonly block: string | null
  readonly rungs: number
  readonly hashes: readonly string[]
  readonly raws: number
  readonly audited: number
  /** Attempts of which the audit does not tell. */
  readonly unaudited: number
}

const readRows = (sql: Sql): Promise<readonly Row[]> => sql<Row[]>`
  with audited as (
    select details->>'transaction' as id, count(*)::int as rows from audit where action = 'transaction_submitted' group by 1)
  select t.id, t.signer_address as signer, t.kind, t.nonce::int as nonce, t.holds_nonce as "holdsNonce", t.status, t.error_code as code, t.final, t."to", t.input,
    t.shown_hash as shown, t.mined_block_hash as block, t.rungs, coalesce(audited.rows, 0) as audited,
    (select json_agg(hash) from tests.attempts where transaction_id = t.id) as hashes,
    (select count(raw)::int from tests.attempts where transaction_id = t.id) as raws,
    (select count(*)::int from tests.attempts a where a.transaction_id = t.id and not exists (
      select from audit where details->>'transaction' = t.id::text
        and a.hash = any(string_to_array(concat_ws(' ', details->>'hash', details->>'further_hashes'), ' ')))) as unaudited
  from transactions t left join audited on audited.id = t.id::text order by t.signer_address, t.nonce`

/**
 * Reports each transaction that is not final yet in a sentence. An extrinsic without a nonce, which a restore recorded
 * late, is not sent: its era ends.
 */
export const unfinished = async (sql: Sql): Promise<readonly string[]> => {
  const rows =
    await sql`select signer_address, nonce, holds_nonce, status, shown_hash from transactions where not final`
  return rows.map(
    ({ signer_address: signer, nonce, holds_nonce: holds, status, shown_hash: hash }) =>
      `${signer} nonce ${nonce} ${holds ? `is ${status}` : 'waits for the end of its era'} ${hash ?? ''}`,
  )
}

/**
 * Reports recorded transactions without a job that sends them, and the other way round. Neither may ever happen. What
 * lapsed unsent needs no job, nor does what a restore recorded late without a nonce.
 */
export const halvesOf = async (sql: Sql): Promise<readonly string[]> => {
  const rows = await sql<{ id: string; isRecorded: boolean }[]>`
    with jobs as (
      select job.payload->>'transactionId' as id from graphile_worker._private_jobs job
      join graphile_worker._private_tasks task on task.id = job.task_id where task.identifier = 'broadcast_transaction')
    select coalesce(t.id::text, jobs.id) as id, t.id is not null as "isRecorded"
    from jobs full join transactions t on t.id::text = jobs.id
    where t.id is null or (jobs.id is null and t.broadcast_at is null and not t.final and t.holds_nonce)`
  return rows.map(
    ({ id, isRecorded }) => `${id} is ${isRecorded ? 'recorded without a job' : 'a job without a record'}`,
  )
}

/** Reports jobs that will never run, and due jobs that nobody has taken. */
export const jobTroubles = async (sql: Sql): Promise<readonly string[]> => {
  const jobs = await sql<{ task: string; key: string | null; spent: boolean; lost: boolean; error: string | null }[]>`
    select task.identifier as task, job.key, job.last_error as error,
      job.locked_by is null and not job.is_available as spent,
      job.locked_by is not null and not exists (
        select from workers worker join pg_stat_activity session on session.application_name = worker.application_name
        where worker.id = job.locked_by) as lost
    from graphile_worker._private_jobs job join graphile_worker._private_tasks task on task.id = job.task_id`
  const troubles = jobs.flatMap(({ task, key, spent, lost, error }) => {
    const name = `${task} ${key ?? 'without a key'}`
    return [
      ...(task === 'broadcast_transaction' ? [`${name} is still there`] : []),
      ...(spent ? [`${name} will not be tried again: ${error ?? 'no error'}`] : []),
      ...(lost ? [`${name} is locked by a dead worker`] : []),
    ]
  })
  for (const task of ['track_blocks', 'index_blocks']) {
    if (!jobs.some((job) => job.task === task && !job.spent)) troubles.push(`there is no ${task}`)
  }
  return troubles
}

const troublesOfRow = (
  { hasCancel }: Ground,
  { row, mined }: { readonly row: Row; readonly mined: ReadonlyMap<string, Mined> },
): readonly string[] => {
  const own = row.hashes.flatMap((hash) => mined.get(hash) ?? [])
  const says = (is: boolean, text: string) => (is ? [`${row.signer} nonce ${row.nonce} ${text}`] : [])
  return [
    ...says(!row.final || !['success', 'failed'].includes(row.status), `is ${row.status}, final ${row.final}`),
    ...says(row.status === 'failed' && !FAILURE_CODES.includes(row.code ?? ''), `failed as ${row.code}`),
    ...says(row.status === 'success' && !row.holdsNonce, 'is a success, and holds no nonce'),
    ...says(own.length !== (row.holdsNonce ? 1 : 0), `is ${row.status} and was mined ${own.length} times`),
    ...own.flatMap(({ hash, from, nonce, blockHash }) => [
      ...says(row.shown !== hash || row.block !== blockHash, 'shows another hash or block than the mined one'),
      ...says(row.signer !== from || row.nonce !== nonce, `was mined as nonce ${nonce} of ${from}`),
    ]),
    ...says(row.raws > 0, `has ${row.raws} raw attempts left`),
    ...says(
      row.hashes.length !== row.rungs + (hasCancel ? 1 : 0),
      `has ${row.hashes.length} attempts and ${row.rungs} rungs`,
    ),
    ...says(row.audited !== 1, `has ${row.audited} audit rows`),
    ...says(row.unaudited > 0, `has ${row.unaudited} attempts of which the audit does not tell`),
  ]
}

/** Checks that no nonce is skipped, and that the chain has as many transactions as our tables. */
const troublesOfSigner = async (
  ground: Ground,
  input: { readonly signer: Signer; readonly rows: readonly Row[]; readonly mined: readonly Mined[] },
): Promise<readonly string[]> => {
  const { owner } = input.signer
  const counts = await ground.countsOf(owner)
  const holding = input.rows.filter(({ signer, holdsNonce }) => signer === owner && holdsNonce)
  const nonces = holding.map(({ nonce }) => nonce)
  const mined = input.mined.filter(({ from }) => from === owner).length
  const isWhole = nonces.every((nonce, index) => nonce === index)
  if (isWhole && [...counts, mined].every((count) => count === nonces.length)) return []
  return [`${owner} has the nonces ${nonces.join(' ')}, ${mined} mined, and the chain counts ${counts.join(' and ')}`]
}

const recordsOf = ({ wordOf }: Ground, { recipient }: Intent, rows: readonly Row[]): readonly Row[] => {
  const word = wordOf(recipient)
  return rows.filter(({ to, input }) => to === recipient || input.includes(word))
}

/** An intent's answer to its client, its rows, and its transactions on the chain. */
const troublesOfIntent = async (
  ground: Ground,
  { intent, records }: { readonly intent: Intent; readonly records: readonly Row[] },
): Promise<readonly string[]> => {
  const { service, sql } = ground
  const { kind, recipient, idempotencyKey, answer } = intent
  const [record] = records
  const says = (is: boolean, text: string) => (is ? [`${kind} to ${recipient} ${text}`] : [])
  const effect = await ground.effectOf(intent)
  const unit = kind.startsWith('pay') ? intent.value : 1n
  const told = record && (await service.get('/transactions/status-by-id', { id: record.id })).json
  const kept = await sql`select from idempotency_keys where key = ${idempotencyKey}`
  const hosted = await sql`select from metadata_documents where body like ${`%${recipient}%`}`
  return [
    ...says(records.length > 1, `is recorded ${records.length} times`),
    ...says(answer !== null && record?.id !== answer, 'was answered, and is not recorded'),
    ...says(idempotencyKey !== null && answer === null, 'has a key, and was never answered'),
    ...says(effect !== (record?.status === 'success' ? unit : 0n), `is ${record?.status}, and its effect is ${effect}`),
    ...says(told?.transaction_hash !== record?.shown || told?.status !== record?.status, `is told as ${told?.status}`),
    ...says(kept.length !== (idempotencyKey === null ? 0 : 1), `has ${kept.length} kept answers`),
    ...says(hosted.length !== (kind === 'mint with metadata' ? records.length : 0), `has ${hosted.length} documents`),
  ]
}

/** @returns a function that reports everything that is wrong; `fresh` are the intents since its last call. */
export const createAccount = async (ground: Ground) => {
  const { service, sql, signers } = ground
  /** The transactions of the set-up. */
  const known = new Set((await readRows(sql)).map(({ id }) => id))
  const statusTroubles = await noteStatuses(sql)
  /** Those that no caller got an answer to. After PostgreSQL was away, what was signed for one is recorded later. */
  let unrecorded: readonly Intent[] = []

  return async (fresh: readonly Intent[]): Promise<readonly string[]> => {
    const mined = await ground.scan()
    const rows = await readRows(sql)
    const byHash = new Map(mined.map((each) => [each.hash, each]))
    const troubles = rows.flatMap((row) => troublesOfRow(ground, { row, mined: byHash }))
    for (const signer of signers) troubles.push(...(await troublesOfSigner(ground, { signer, rows, mined })))
    const looked = [...unrecorded, ...fresh].map((intent) => ({ intent, records: recordsOf(ground, intent, rows) }))
    for (const { intent, records } of looked) {
      for (const { id } of records) known.add(id)
      troubles.push(...(await troublesOfIntent(ground, { intent, records })))
    }
    unrecorded = looked.filter(({ records }) => records.length === 0).map(({ intent }) => intent)
    const hashes = new Set(rows.flatMap((row) => row.hashes))
    const chains = await service.ctx.vault.verifyAudit({ chain: null, heads: [] })
    const others = await verifyServiceRows(service.ctx, { chain: null, onProgress: () => {} })
    return [
      ...troubles,
      ...(await ground.troublesOfBalances()),
      ...(await eventTroubles({ db: service.ctx.db, sql })),
      ...(await statusTroubles()),
      ...rows
        .filter(({ id, kind }) => kind !== 'deployment' && !known.has(id))
        .map(({ id }) => `${id} is nobody's intent`),
      ...mined.filter(({ hash }) => !hashes.has(hash)).map(({ hash }) => `${hash} is mined, and not recorded`),
      ...[...chains.broken, ...others.broken].map(({ chain, trouble }) => `audit chain ${chain}: ${trouble}`),
    ]
  }
}
