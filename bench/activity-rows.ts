// A `movements` table as years of use leave it, made by PostgreSQL itself: blocks in their order, the wallets of all
// networks mixed in them, one wallet with a tenth of all rows, some with a thousandth, most with few; of tokens
// likewise. What goes with it: the wallets of a project, facts of all contracts, a token list, collections.

import postgres, { type Sql } from 'postgres'

const LARGE_WALLET_SHARE = 0.1
/** Rows of one collection whose tokens strangers got from the start, but for a page of them, far from each other. */
const STRANGERS_SHARE = 0.02
/**
 * And those of one whose tokens all came to a wallet, which gave them to strangers, but for a page of them likewise.
 */
const GIVEN_AWAY_SHARE = 0.02
const KEPT_TOKENS = 20
const ROWS_A_WALLET = 50
const ROWS_A_BLOCK = 20
const SECONDS_A_BLOCK = 12
const TOKENS = 2_000
const COLLECTIONS = 500
const ROWS_A_CREATED_COLLECTION = 200
const LISTED_TOKENS = 200
const NETWORKS = `array['Ethereum', 'Ethereum', 'Ethereum', 'Ethereum', 'Ethereum', 'Polygon', 'Polygon', 'Polygon', 'Base',
  'Avalanche']`
const STRANGER = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'

/** Digits only, so that each is its own checksum (EIP-55). */
export const addressSql = (kind: string, index: string): string =>
  `'0x' || translate(md5('${kind}' || (${index})) || left(md5((${index}) || '${kind}'), 8), 'abcdef', '012345')`

/** From 0 to 1, the same for the same number. */
const shareSql = (of: string, salt: number): string => `((hashint8(${of} + ${salt}) & 2147483647) / 2147483648.0)`

type Input = {
  /** The database, as superuser. */
  readonly url: string
  readonly rows: number
  readonly projectId: string
  /** A wallet of the project on Ethereum, which gets a tenth of all rows. */
  readonly largeWallet: string
}

export type ActivityRows = {
  readonly seconds: number
  /** Wallets of the project on Ethereum: with about a thousandth of all rows, and with few. */
  readonly someWallet: string
  readonly smallWallet: string
  /** One that got a collection and gave nearly all of it away. */
  readonly givingWallet: string
  /** Collections: one whose tokens are the project's wallets', one whose never were, and one whose were once. */
  readonly keptCollection: string
  readonly strangersCollection: string
  readonly givenAwayCollection: string
}

/** Fills the empty tables of a fresh database. */
export const makeActivityRows = async (input: Input): Promise<ActivityRows> => {
  const { url } = input
  const begun = performance.now()
  const sql = postgres(url, { max: 2, onnotice: () => {} })
  await makeCompany(sql, input)
  const buildIndexes = await dropIndexes(sql)
  // Holdings are summed once, below.
  await sql.unsafe('alter table movements disable trigger user')
  const main = Math.ceil((input.rows * (1 - STRANGERS_SHARE - GIVEN_AWAY_SHARE)) / 8) * 4
  const givenAway = 2 * main + Math.floor((input.rows - 2 * main) / 4) * 2
  await Promise.all([
    sql.unsafe(movementsSql({ ...input, from: 0, to: main })),
    sql.unsafe(movementsSql({ ...input, from: main, to: 2 * main })),
  ])
  await sql.unsafe(strangersSql({ ...input, from: 2 * main, to: givenAway }))
  await sql.unsafe(givenAwaySql({ from: givenAway, to: input.rows }))
  await sql.unsafe(HOLDINGS_SQL)
  await buildIndexes()
  await makeCreatedCollections(sql, input)
  const addressOf = async (expression: string): Promise<string> =>
    String((await sql.unsafe(`select ${expression} as address`))[0]?.address)
  const made = {
    someWallet: await addressOf(addressSql('wallet', '1')),
    smallWallet: await addressOf(
      `(select address from bench_wallets where network = 'Ethereum' order by index desc limit 1)`,
    ),
    givingWallet: await addressOf(addressSql('giving wallet', '0')),
    keptCollection: await addressOf(addressSql('collection', '0')),
    strangersCollection: await addressOf(addressSql('strangers', '0')),
    givenAwayCollection: await addressOf(addressSql('given away', '0')),
  }
  await makeTokenUris(sql, { holders: [input.largeWallet, made.givingWallet], collection: made.keptCollection })
  await sql.unsafe('drop table bench_wallets, bench_contracts')
  await sql.unsafe('vacuum analyze')
  await sql.end()
  return { seconds: (performance.now() - begun) / 1000, ...made }
}

const makeCompany = async (sql: Sql, { rows, projectId, largeWallet }: Input): Promise<void> => {
  await sql.unsafe(`
    create table bench_wallets as
      select index, ${addressSql('wallet', 'index')} as address, (${NETWORKS})[1 + index % 10] as network
      from generate_series(0, ${Math.ceil(rows / ROWS_A_WALLET) - 1}) index
      union all select -1, '${largeWallet}', 'Ethereum'
      union all select -2, ${addressSql('giving wallet', '0')}, 'Ethereum';
    create table bench_contracts as
      select n as index, 'erc20' as standard, 18 as decimals, ${addressSql('token', 'n')} as address
      from generate_series(0, ${TOKENS - 1}) n
      union all select ${TOKENS} + n, 'erc721', 0, ${addressSql('collection', 'n')} from generate_series(0, ${COLLECTIONS - 1}) n
      union all select -1, 'erc721', 0, ${addressSql('strangers', '0')}
      union all select -2, 'erc721', 0, ${addressSql('given away', '0')};
    with keyring as (
      insert into keyrings (id, project_id, owner_id, kind, sealed)
      values (gen_random_uuid(), '${projectId}', 'bench', 'key', '\\x00') returning id
    )
    insert into wallets (id, project_id, network, owner_id, name, address, control_mode, type, keyring_id, public_key, mac, created_at)
    select gen_random_uuid(), '${projectId}', w.network, 'bench ' || index, 'Bench', w.address, 'developer', 'eoa',
      keyring.id, '\\x00', '\\x00', timestamptz '2020-01-01' + make_interval(secs => index)
    from keyring, bench_wallets w where index <> -1;
    insert into contract_facts (network, address, standard, name, symbol, decimals)
    select network, address, standard, 'Name ' || index, 'S' || index, decimals
    from bench_contracts, (select distinct unnest(${NETWORKS}) as network) networks;
    insert into listed_tokens (network, address, list_name, name, symbol, logo_url, display_decimals, mac)
    select 'Ethereum', address, 'Bench', 'Name', 'S', 'https://example.com/' || index, 6, ''
    from bench_contracts where index < ${LISTED_TOKENS};
    analyze bench_wallets, bench_contracts`)
}

/** @returns builds them again, from their own definitions. */
const dropIndexes = async (sql: Sql): Promise<() => Promise<unknown>> => {
  const indexes = await sql<{ name: string; definition: string; isConstraint: boolean }[]>`
    select i.indexname as name, i.indexdef as definition, c.oid is not null as "isConstraint"
    from pg_indexes i left join pg_constraint c on c.conname = i.indexname and c.conrelid = 'movements'::regclass
    where i.tablename = 'movements'`
  for (const { name, isConstraint } of indexes) {
    await sql.unsafe(isConstraint ? `alter table movements drop constraint ${name}` : `drop index ${name}`)
  }
  // What is only read here need not outlive a crash.
  await sql.unsafe('alter table movements set unlogged')
  const definitions = indexes.map(({ definition }) => definition)
  const settings = `set maintenance_work_mem = '1GB'; set max_parallel_maintenance_workers = 0`
  return () => Promise.all(definitions.map((definition) => sql.unsafe(`${settings}; ${definition}`)))
}

const COLUMNS = `id, network, address, direction, counterparty, standard, contract, token_id, amount, block_number,
  transaction_hash, log_index, item_index, at, of_wallet`
const HASH = `'0x' || lpad(to_hex(n / 4), 64, '0')`
const AT = `timestamptz '2020-01-01' + make_interval(secs => n / ${ROWS_A_BLOCK} * ${SECONDS_A_BLOCK})`

/** In fours, each a transaction of one wallet: three come in, and one goes out (of NFTs the first of the three). */
const movementsSql = (input: Input & { readonly from: number; readonly to: number }): string => `
  insert into movements (${COLUMNS})
  select gen_random_uuid(), w.network, w.address, case when n % 4 = 3 then 'out' else 'in' end, '${STRANGER}',
    coalesce(c.standard, 'native'), c.address,
    case when c.standard = 'erc721' then case when n % 4 = 3 then n - 3 else n end end,
    case when c.standard = 'erc721' then 1 else (1 + n) * 100000000000 end,
    1 + n / ${ROWS_A_BLOCK}, ${HASH}, n % 4, 0, ${AT}, true
  from (
    select n,
      case when u < ${LARGE_WALLET_SHARE} then -1 else
        floor(${Math.ceil(input.rows / ROWS_A_WALLET)} * power((u - ${LARGE_WALLET_SHARE}) / ${1 - LARGE_WALLET_SHARE}, 2))
      end::int as wallet,
      case when kind >= 0.7 then ${TOKENS} + floor(${COLLECTIONS} * v * v) when kind >= 0.3 then floor(${TOKENS} * v * v)
      end::int as contract
    from (
      select n, ${shareSql('n / 4', 0)} as u, ${shareSql('n / 4', 1_000_000_007)} as v,
        ${shareSql('n / 4', 2_000_000_011)} as kind
      from generate_series(${input.from}::bigint, ${input.to - 1}::bigint) n
    ) shares
  ) rows
  join bench_wallets w on w.index = wallet
  left join bench_contracts c on c.index = contract`

const HOLDINGS_SQL = `
  insert into holdings (network, address, contract, token_id, amount)
  select network, address, contract, token_id, sum(case direction when 'in' then amount else -amount end)
  from movements where token_id is not null and of_wallet
  group by network, address, contract, token_id
  having sum(case direction when 'in' then amount else -amount end) <> 0
  order by address, contract, token_id;
  alter table movements enable trigger user`

type Rows = { readonly from: number; readonly to: number }

/** Every so many of these is kept. */
const keptEvery = ({ from, to }: Rows, kept: number): number => Math.max(1, Math.floor((to - from) / kept))

const strangersSql = (input: Input & Rows): string => `
  insert into movements (${COLUMNS})
  select gen_random_uuid(), 'Ethereum', case when is_kept then '${input.largeWallet}' else ${addressSql('stranger', 'n')} end,
    'in', '${STRANGER}', 'erc721', (select address from bench_contracts where index = -1), n, 1, 1 + n / ${ROWS_A_BLOCK}, ${HASH},
    n % 4, 0, ${AT}, is_kept
  from (
    select n, n % ${keptEvery(input, KEPT_TOKENS)} = 0 as is_kept
    from generate_series(${input.from}::bigint, ${input.to - 1}::bigint) n
  ) tokens`

/** In pairs: a token comes in and goes out, or two come in and stay. */
const givenAwaySql = (rows: Rows): string => `
  insert into movements (${COLUMNS})
  select gen_random_uuid(), 'Ethereum', (select address from bench_wallets where index = -2),
    case when is_given then 'out' else 'in' end, '${STRANGER}', 'erc721', (select address from bench_contracts where index = -2),
    case when is_given then n - 1 else n end, 1, 1 + n / ${ROWS_A_BLOCK}, ${HASH}, n % 4, 0, ${AT}, true
  from (
    select n, n % 2 = 1 and n / 2 % ${keptEvery(rows, KEPT_TOKENS)} <> 0 as is_given
    from generate_series(${rows.from}::bigint, ${rows.to - 1}::bigint) n
  ) tokens`

/** A hundred of the large wallet, and many more of another one. */
const makeCreatedCollections = async (sql: Sql, { rows, projectId, largeWallet }: Input): Promise<void> => {
  await sql.unsafe(`
    insert into signers (network, address) values ('Ethereum', '${largeWallet}');
    with created as (
      insert into transactions (id, project_id, wallet_id, network, signer_address, kind, nonce, value, input, gas_limit,
        worst_cost, status, final, rungs, contract_address, created_at)
      select gen_random_uuid(), '${projectId}', wallets.id, 'Ethereum', '${largeWallet}', 'collection', n, 0, '0x', 1, 1,
        'success', true, 1, ${addressSql('created', 'n')}, timestamptz '2021-01-01' + make_interval(secs => n)
      from wallets, generate_series(1, ${Math.ceil(rows / ROWS_A_CREATED_COLLECTION)}) n
      where project_id = '${projectId}' and network = 'Ethereum' and address = '${largeWallet}'
      returning id, nonce
    )
    insert into collections (transaction_id, project_id, network, owner_address, name, symbol, image_url, created_at)
    select id, '${projectId}', 'Ethereum', case when nonce <= 100 then '${largeWallet}' else '${STRANGER}' end, 'Doors', 'DOOR',
      '', timestamptz '2021-01-01' - make_interval(secs => nonce)
    from created`)
}

/** For tokens that are shown: what is not remembered would be asked of a node. */
const makeTokenUris = async (
  sql: Sql,
  { holders, collection }: { readonly holders: readonly string[]; readonly collection: string },
): Promise<void> => {
  await sql`
    insert into token_uris (network, contract, token_id, uri)
    select network, contract, token_id, 'data:application/json,{"name":"Door","description":"A door.","image":""}'
    from movements
    where network = 'Ethereum' and token_id is not null and direction = 'in'
      and (address in ${sql([...holders])} or contract = ${collection})`
}
