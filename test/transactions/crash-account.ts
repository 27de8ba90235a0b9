// The account after a crash: what is wrong, by the chain and by our tables. Nothing is taken on trust from one of them alone.

import type { Sql } from 'postgres'
import { type Address, getAddress, type Hex, parseAbi } from 'viem'
import { verifyAudit } from '../../src/audit/verify.ts'
import type { TestChain } from '../support/chains.ts'
import type { Service } from '../support/service.ts'

/** The one reason there can be here, and only where this machine stands still: nobody else has the keys, and nothing reverts. */
const FAILURE_CODES = ['expired']

export type IntentKind = 'pay' | 'transfer' | 'mint' | 'mint with metadata'

/** One wish of a client. Nobody else has its recipient, so that what became of it can be seen on the chain. */
export type Intent = {
  readonly kind: IntentKind
  readonly signer: Address
  readonly recipient: Address
  readonly value: bigint
  /** null where the client sends none. */
  readonly idempotencyKey: string | null
  /** The transaction's id; null where the connection broke instead. */
  answer: string | null
}

/** A wallet, the address of its key, which is another one for a Safe, and the collection that it mints in, if any. */
export type Signer = { readonly address: Address; readonly owner: Address; readonly collection: Address | null }

export const TOKEN_ID = 1n

const ERC721 = parseAbi(['function balanceOf(address owner) view returns (uint256)'])
const ERC1155 = parseAbi(['function balanceOf(address account, uint256 id) view returns (uint256)'])

type Parts = {
  readonly chain: TestChain
  readonly service: Service
  readonly sql: Sql
  /** The ERC-1155 contract whose tokens are transferred. */
  readonly token: Address
  readonly signers: readonly Signer[]
}

type Row = {
  readonly id: string
  readonly signer: Address
  readonly kind: string
  readonly nonce: number
  readonly status: string
  readonly code: string | null
  readonly final: boolean
  readonly to: string
  readonly input: string
  readonly shown: Hex | null
  readonly block: Hex | null
  readonly rungs: number
  readonly hashes: readonly Hex[]
  readonly raws: number
  readonly audited: number
}

const readRows = (sql: Sql): Promise<readonly Row[]> => sql<Row[]>`
  with audited as (
    select details->>'transaction' as id, count(*)::int as rows from audit where action = 'transaction_submitted' group by 1)
  select t.id, t.signer_address as signer, t.kind, t.nonce::int as nonce, t.status, t.error_code as code, t.final, t."to", t.input,
    t.shown_hash as shown, t.mined_block_hash as block, t.rungs, coalesce(audited.rows, 0) as audited,
    (select array_agg(hash) from attempts where transaction_id = t.id) as hashes,
    (select count(raw)::int from attempts where transaction_id = t.id) as raws
  from transactions t left join audited on audited.id = t.id::text order by t.signer_address, t.nonce`

/** Transactions that are not final yet, each as a sentence. */
export const unfinished = async (sql: Sql): Promise<readonly string[]> => {
  const rows = await sql`select signer_address, nonce, status, shown_hash from transactions where not final`
  return rows.map((row) => `${row.signer_address} nonce ${row.nonce} is ${row.status} ${row.shown_hash ?? ''}`)
}

/** What was recorded without a job that sends it, or the other way round: at no moment, whatever was killed. */
export const halvesOf = async (sql: Sql): Promise<readonly string[]> => {
  const rows = await sql<{ id: string; isRecorded: boolean }[]>`
    with jobs as (
      select job.payload->>'transactionId' as id from graphile_worker._private_jobs job
      join graphile_worker._private_tasks task on task.id = job.task_id where task.identifier = 'broadcast_transaction')
    select coalesce(t.id::text, jobs.id) as id, t.id is not null as "isRecorded"
    from jobs full join transactions t on t.id::text = jobs.id
    where t.id is null or (jobs.id is null and t.broadcast_at is null)`
  return rows.map(
    ({ id, isRecorded }) => `${id} is ${isRecorded ? 'recorded without a job' : 'a job without a record'}`,
  )
}

/** Jobs that nobody will ever do, and those that somebody should do and nobody has; empty where all is well. */
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
  for (const task of ['track_blocks', 'index_blocks', 'chain_audit']) {
    if (!jobs.some((job) => job.task === task && !job.spent)) troubles.push(`there is no ${task}`)
  }
  return troubles
}

/** What the blocks have from our signers. */
type Mined = { readonly hash: Hex; readonly from: Address; readonly nonce: number; readonly blockHash: Hex }

/** @returns a function that reads the blocks that are new, and tells what is mined by now. */
const createScan = ({ chain: { publicClient }, signers }: Parts) => {
  const mined: Mined[] = []
  let scanned = 0n
  return async (): Promise<readonly Mined[]> => {
    const ours = new Set(signers.map(({ owner }) => owner))
    const latest = await publicClient.getBlockNumber({ cacheTime: 0 })
    for (; scanned < latest; scanned += 1n) {
      const block = await publicClient.getBlock({ blockNumber: scanned + 1n, includeTransactions: true })
      for (const { hash, from, nonce, blockHash } of block.transactions) {
        const address = getAddress(from)
        if (ours.has(address)) mined.push({ hash, from: address, nonce, blockHash })
      }
    }
    return mined
  }
}

const troublesOfRow = (row: Row, mined: ReadonlyMap<Hex, Mined>): readonly string[] => {
  const own = row.hashes.flatMap((hash) => mined.get(hash) ?? [])
  const says = (is: boolean, text: string) => (is ? [`${row.signer} nonce ${row.nonce} ${text}`] : [])
  return [
    ...says(!row.final || !['success', 'failed'].includes(row.status), `is ${row.status}, final ${row.final}`),
    ...says(row.status === 'failed' && !FAILURE_CODES.includes(row.code ?? ''), `failed as ${row.code}`),
    ...says(own.length !== 1, `is ${row.status} and was mined ${own.length} times`),
    ...own.flatMap(({ hash, from, nonce, blockHash }) => [
      ...says(row.shown !== hash || row.block !== blockHash, 'shows another hash or block than the mined one'),
      ...says(row.signer !== from || row.nonce !== nonce, `was mined as nonce ${nonce} of ${from}`),
    ]),
    ...says(row.raws > 0, `has ${row.raws} raw attempts left`),
    ...says(row.hashes.length !== row.rungs + 1, `has ${row.hashes.length} attempts and ${row.rungs} rungs`),
    ...says(row.audited !== 1, `has ${row.audited} audit rows`),
  ]
}

/** No nonce is skipped, and the chain counts as many as we do. */
const troublesOfSigner = async (
  { chain: { publicClient } }: Parts,
  input: { readonly signer: Signer; readonly rows: readonly Row[]; readonly mined: readonly Mined[] },
): Promise<readonly string[]> => {
  const { owner: address } = input.signer
  const latest = await publicClient.getTransactionCount({ address, blockTag: 'latest' })
  const pending = await publicClient.getTransactionCount({ address, blockTag: 'pending' })
  const nonces = input.rows.filter(({ signer }) => signer === address).map(({ nonce }) => nonce)
  const mined = input.mined.filter(({ from }) => from === address).length
  const isWhole = nonces.every((nonce, index) => nonce === index)
  if (isWhole && [latest, pending, mined].every((count) => count === nonces.length)) return []
  return [
    `${address} has the nonces ${nonces.join(' ')}, ${mined} mined, and the chain counts ${latest} and ${pending}`,
  ]
}

/** How much of it its recipient has: what nobody else could have given. */
const effectOf = async (parts: Parts, { kind, signer, recipient }: Intent): Promise<bigint> => {
  const { publicClient } = parts.chain
  if (kind === 'pay') return publicClient.getBalance({ address: recipient })
  const collection = parts.signers.find(({ address }) => address === signer)?.collection ?? parts.token
  const functionName = 'balanceOf'
  return kind === 'transfer'
    ? publicClient.readContract({ address: parts.token, abi: ERC1155, functionName, args: [recipient, TOKEN_ID] })
    : publicClient.readContract({ address: collection, abi: ERC721, functionName, args: [recipient] })
}

const recordsOf = ({ kind, recipient }: Intent, rows: readonly Row[]): readonly Row[] => {
  const word = recipient.slice(2).toLowerCase()
  return rows.filter(({ to, input }) => (kind === 'pay' && to === recipient) || input.includes(word))
}

/** What an intent's client was told, what was recorded of it and with it, and what the chain has of it. */
const troublesOfIntent = async (
  parts: Parts,
  { intent, records }: { readonly intent: Intent; readonly records: readonly Row[] },
): Promise<readonly string[]> => {
  const { service, sql } = parts
  const { kind, recipient, idempotencyKey, answer } = intent
  const [record] = records
  const says = (is: boolean, text: string) => (is ? [`${kind} to ${recipient} ${text}`] : [])
  const effect = await effectOf(parts, intent)
  const unit = kind === 'pay' ? intent.value : 1n
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

/** @returns a function that tells everything that is wrong; `fresh` are the intents since it was last called. */
export const createAccount = (parts: Parts) => {
  const { service, sql, signers } = parts
  const scan = createScan(parts)
  const known = new Set<string>()

  return async (fresh: readonly Intent[]): Promise<readonly string[]> => {
    const mined = await scan()
    const rows = await readRows(sql)
    const byHash = new Map(mined.map((each) => [each.hash, each]))
    const troubles = rows.flatMap((row) => troublesOfRow(row, byHash))
    for (const signer of signers) troubles.push(...(await troublesOfSigner(parts, { signer, rows, mined })))
    for (const intent of fresh) {
      const records = recordsOf(intent, rows)
      for (const { id } of records) known.add(id)
      troubles.push(...(await troublesOfIntent(parts, { intent, records })))
    }
    const hashes = new Set(rows.flatMap((row) => row.hashes))
    const [audit] = await sql<{ rows: number }[]>`
      select count(*)::int as rows from audit where action = 'transaction_submitted'`
    const { broken } = await verifyAudit(service.ctx, { chain: null, heads: [], onProgress: () => {} })
    return [
      ...troubles,
      ...rows
        .filter(({ id, kind }) => kind !== 'deployment' && !known.has(id))
        .map(({ id }) => `${id} is nobody's intent`),
      ...mined.filter(({ hash }) => !hashes.has(hash)).map(({ hash }) => `${hash} is mined, and not recorded`),
      ...(audit?.rows === rows.length ? [] : [`there are ${audit?.rows} audit rows for ${rows.length} transactions`]),
      ...broken.map(({ chain, trouble }) => `audit chain ${chain}: ${trouble}`),
    ]
  }
}
