// A database as years of use leave it: wallets of one project with their sealed keys, movements (activity-rows.ts),
// transactions with their signed attempts, audit rows. PostgreSQL makes the rows itself. What is sealed or
// authenticated is random bytes: no key opens, and `audit verify` refuses the audit rows.

import postgres, { type Sql } from 'postgres'
import { type ActivityRows, addressSql, makeActivityRows } from './activity-rows.ts'

export type Sizes = {
  readonly wallets: number
  readonly movements: number
  readonly attempts: number
  readonly auditRows: number
}

export const BIG: Sizes = { wallets: 1_100_000, movements: 5_000_000, attempts: 2_100_000, auditRows: 2_000_000 }

export type SizeRows = ActivityRows & {
  readonly projectId: string
  readonly largeWallet: string
  /** Wallets of the project on Ethereum. */
  readonly listedWallets: number
}

/** Six rungs and a cancel. */
const ATTEMPTS_A_TRANSACTION = 7
const TRANSACTIONS_A_SIGNER = 50
/** In no block yet. */
const WAITING = 20

type Start = { readonly projectId: string; readonly largeWallet: string }

/**
 * The project of a new database, and its wallet on Ethereum.
 * @throws Error unless the database is of a testnet, and has one project and its wallets and no rows besides
 */
const requireEmptyTestnet = async (sql: Sql): Promise<Start> => {
  const [bound] = await sql`select environment from deployment`
  if (bound?.environment !== 'testnet') {
    throw new Error('The database must be bound to testnet: start an API on it once, with ENVIRONMENT=testnet.')
  }
  const [project, another] = await sql`
    select projects.id, address from projects
    left join wallets on project_id = projects.id and owner_id = projects.id::text and network = 'Ethereum'`
  if (!project?.address || another !== undefined) {
    throw new Error('The database must have exactly one project, with its wallet on Ethereum.')
  }
  const others = ['movements', 'transactions', 'users', 'policies'].map((table) => `select '${table}' from ${table}`)
  const [full] = await sql.unsafe(
    `select 'wallets' as table from wallets where owner_id <> project_id::text union all ${others.join(' union all ')} limit 1`,
  )
  if (full !== undefined) throw new Error(`The database must be empty, and the table "${full.table}" has rows.`)
  return { projectId: String(project.id), largeWallet: String(project.address) }
}

/**
 * Fills a database that a process of a testnet has been started on. @param input.url as superuser.
 * @throws Error if it is of a mainnet or not empty; nothing is changed then
 */
export const makeSizeRows = async (input: { readonly url: string; readonly sizes: Sizes }): Promise<SizeRows> => {
  const { url, sizes } = input
  const begun = performance.now()
  const sql = postgres(url, { max: 1, onnotice: () => {} })
  try {
    const { projectId, largeWallet } = await requireEmptyTestnet(sql)
    // The rows refer to each other by construction: checking each reference would take longer than writing it.
    await sql.unsafe(`set session_replication_role = replica; set work_mem = '256MB'`)
    const made = await makeActivityRows({ url, rows: sizes.movements, projectId, largeWallet })
    const [have] = await sql<{ wallets: number }[]>`select count(*)::int as wallets from wallets`
    const missing = sizes.wallets - (have?.wallets ?? 0)
    if (missing > 0) await sql.unsafe(walletsSql({ projectId, count: missing }))
    await sql.unsafe('analyze wallets')
    await makeTransactions(sql, { projectId, transactions: Math.ceil(sizes.attempts / ATTEMPTS_A_TRANSACTION) })
    await sql.unsafe(auditSql({ projectId, rows: sizes.auditRows }))
    await sql.unsafe('vacuum analyze')
    const [listed] = await sql<{ wallets: number }[]>`
      select count(*)::int as wallets from wallets where project_id = ${projectId} and network = 'Ethereum'`
    const seconds = (performance.now() - begun) / 1000
    return { ...made, seconds, projectId, largeWallet, listedWallets: listed?.wallets ?? 0 }
  } finally {
    await sql.end()
  }
}

const idSql = (kind: string, of: string): string => `md5('${kind}' || ${of})::uuid`
/** Random, and as long as an envelope. */
const SEALED = `uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())
  || uuid_send(gen_random_uuid())`

type Wallets = { readonly projectId: string; readonly count: number }

/** Developer-controlled ones on Ethereum, one a second, each of an owner of its own. */
const walletsSql = ({ projectId, count }: Wallets): string => `
  insert into keyrings (id, project_id, owner_id, kind, sealed)
  select ${idSql('keyring', 'n')}, '${projectId}', 'owner ' || n, 'seed', ${SEALED} from generate_series(1, ${count}) n;
  insert into owner_locks (id, keyring_id, control_mode, sealed, family_keys)
  select gen_random_uuid(), ${idSql('keyring', 'n')}, 'developer', ${SEALED}, ${SEALED} from generate_series(1, ${count}) n;
  insert into wallets (id, project_id, network, owner_id, name, address, control_mode, type, keyring_id, public_key, mac, created_at)
  select ${idSql('wallet', 'n')}, '${projectId}', 'Ethereum', 'owner ' || n, 'Wallet ' || n, ${addressSql('quiet wallet', 'n')}, 'developer', 'eoa',
    ${idSql('keyring', 'n')}, '\\x00', '\\x00', now() - interval '1 hour' - make_interval(secs => ${count} - n)
  from generate_series(1, ${count}) n;
  insert into wallet_keys (wallet_id, keyring_id, network, control_mode, public_key, sealed)
  select ${idSql('wallet', 'n')}, ${idSql('keyring', 'n')}, 'Ethereum', 'developer', '\\x00', ${SEALED} from generate_series(1, ${count}) n`

type Transactions = { readonly projectId: string; readonly transactions: number }

const makeTransactions = async (sql: Sql, { projectId, transactions }: Transactions): Promise<void> => {
  const signers = Math.ceil(transactions / TRANSACTIONS_A_SIGNER)
  await sql.unsafe(`
    create temporary table bench_signers as
      select row_number() over (order by created_at, id) - 1 as index, id, address from (
        select id, address, created_at from wallets where project_id = '${projectId}' and network = 'Ethereum'
        order by created_at desc, id desc limit ${signers}
      ) newest;
    analyze bench_signers;
    insert into signers (network, address) select 'Ethereum', address from bench_signers on conflict do nothing;
    insert into transactions (id, project_id, wallet_id, network, signer_address, kind, nonce, "to", value, input, gas_limit,
      worst_cost, status, final, rungs, chosen_at, clock_started_at, shown_hash, mined_block_number, mined_block_hash,
      created_at, broadcast_at, settled_at, updated_at)
    select ${idSql('transaction', 'n')}, '${projectId}', signer.id, 'Ethereum', signer.address, 'send', 1000000 + n / signers.count,
      signer.address, 1 + n, '0x', 21000, 1000000000000000, case when waits then 'pending' else 'success' end, not waits, 6,
      at, at, ${hashSql('0')}, case when not waits then n / 20 end, case when not waits then '0x' || lpad(to_hex(n / 20), 64, '0') end,
      at, at, case when not waits then at + interval '15 s' end, at
    from (select count(*)::int as count from bench_signers) signers,
      (select n, n >= ${transactions - WAITING} as waits, now() - make_interval(secs => ${transactions} - n) as at
        from generate_series(0, ${transactions - 1}) n) planned
    join bench_signers signer on signer.index = n % (select count(*) from bench_signers);
    insert into ladders (transaction_id, network, hashes, hash_keys, raws, max_fees_per_gas, accepted_at, last_errors)
    select ${idSql('transaction', 'n')}, 'Ethereum', hashes,
      array(select ('x' || encode(substr(hash, 1, 8), 'hex'))::bit(64)::bigint from unnest(hashes) hash),
      case when n >= ${transactions - WAITING} then array_fill('\\x02'::bytea, array[7]) end,
      array(select 1000000000::bigint * rung from generate_series(1, 7) rung),
      array[now() - make_interval(secs => ${transactions} - n)] || array_fill(null::timestamptz, array[6]),
      array_fill(null::text, array[7])
    from generate_series(0, ${transactions - 1}) n, lateral (
      select array_agg(decode(substr(${hashSql('rung')}, 3), 'hex') order by rung) as hashes from generate_series(0, 6) rung) made;
    drop table bench_signers;
    analyze transactions, ladders`)
}

const hashSql = (rung: string): string => `'0x' || md5('hash' || n || ' ' || ${rung}) || md5(n || ' hash ' || ${rung})`

/** One for each transaction and, if there are to be more, for signatures that were not sent. */
const auditSql = ({ projectId, rows }: { readonly projectId: string; readonly rows: number }): string => `
  insert into audit (project_id, at, actor, action, subject, details, mac)
  select '${projectId}', at, 'api_key:bench', action, subject, details, uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())
  from (
    (select created_at as at, 'transaction_submitted' as action, wallet_id::text as subject,
      jsonb_build_object('transaction', id, 'network', network, 'hash', shown_hash) as details
      from transactions limit ${rows})
    union all
    (select now() - make_interval(secs => n), 'transaction_signed', wallet.id::text,
      jsonb_build_object('network', 'Ethereum', 'hash', md5('signed' || n))
      from (select id, row_number() over () as index from wallets limit ${TRANSACTIONS_A_SIGNER}) wallet
      join generate_series(1, greatest(0, ${rows} - (select count(*)::int from transactions))) n on wallet.index = 1 + n % ${TRANSACTIONS_A_SIGNER})
  ) acts
  order by at`
