import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { getTableColumns, getTableName, is } from 'drizzle-orm'
import { PgTable } from 'drizzle-orm/pg-core'
import type { Sql } from 'postgres'
import * as delegates from '../../db/schema/delegates.ts'
import * as keysAndPolicies from '../../db/schema/vault.ts'
import * as schema from '../../db/schema.ts'
import { connectAsEach, createDatabase, type TestDatabase } from '../support/postgres.ts'

const custody = { ...keysAndPolicies, ...delegates }

const tablesOf = (exported: object): readonly PgTable[] =>
  Object.values(exported).filter((each): each is PgTable => is(each, PgTable))

/** What the vault reads and writes of other folders' tables. Whoever adds one to it gives the vault more than keys. */
const SHARED = [
  'audit',
  'audit_chain',
  'audit_checkpoints',
  'deployment',
  'freeze_lists',
  'networks',
  'projects',
  'throttles',
  'transactions',
  'vault_processes',
  'wallets',
]
const OF_CUSTODY = tablesOf(custody).filter((table) => table !== custody.wallets)
const NOT_OF_VAULT = tablesOf(schema).filter(
  (table) => !OF_CUSTODY.includes(table) && !SHARED.includes(getTableName(table)),
)

let database: TestDatabase
let owner: Sql
let api: Sql
let vault: Sql
let worker: Sql
let operators: Sql
let end: () => Promise<unknown>

beforeAll(async () => {
  database = await createDatabase()
  ;({ owner, api, vault, worker, operators, end } = connectAsEach(database))
})
afterAll(async () => {
  await end()
  await database.close()
})

const codeOf = (query: Promise<unknown>): Promise<string> =>
  query.then(
    () => 'allowed',
    (error) => error.code,
  )

/** What comes of each kind of statement on a table. */
const tried = async (sql: Sql, table: PgTable): Promise<readonly string[]> => {
  const name = getTableName(table)
  const columns = Object.values(getTableColumns(table)).map((column) => `"${column.name}"`)
  const answers: string[] = []
  for (const column of columns) {
    answers.push(await codeOf(sql.unsafe(`select ${column} from ${name} limit 0`)))
    answers.push(await codeOf(sql.unsafe(`insert into ${name} (${column}) values (default)`)))
    answers.push(await codeOf(sql.unsafe(`update ${name} set ${column} = default where false`)))
  }
  answers.push(await codeOf(sql.unsafe(`delete from ${name} where false`)))
  return [...new Set(answers)]
}

const DENIED = ['42501']

describe('no role but the vault’s', () => {
  for (const table of OF_CUSTODY) {
    test(`can read or write ${getTableName(table)}`, async () => {
      expect(await tried(api, table)).toEqual(DENIED)
      expect(await tried(worker, table)).toEqual(DENIED)
      expect(await tried(operators, table)).toEqual(DENIED)
    })
  }

  test('has a right to one of them or to a column', async () => {
    const rows = await owner`
      select distinct coalesce(role.rolname, 'everybody') as role from (
        select oid, relowner, relacl as acl from pg_class
        union all select attrelid, null, attacl from pg_attribute
      ) named cross join aclexplode(acl) granted left join pg_roles role on role.oid = grantee
      where named.oid::regclass::text = any(${OF_CUSTODY.map(getTableName)}) and grantee is distinct from relowner`
    expect(rows.map(({ role }) => role)).toEqual(['strongroom_vault'])
  })
})

describe('the vault’s role', () => {
  for (const table of NOT_OF_VAULT) {
    test(`can neither read nor write ${getTableName(table)}`, async () => {
      expect(await tried(vault, table)).toEqual(DENIED)
    })
  }

  test('of projects sees only which there are', async () => {
    expect(await codeOf(vault`select id from projects`)).toBe('allowed')
    expect(await codeOf(vault`select name from projects`)).toBe('42501')
  })

  test('of transactions sees only which there are, and which are final', async () => {
    expect(await codeOf(vault`select id, final from transactions`)).toBe('allowed')
    for (const statement of ['select "to" from transactions', 'update transactions set final = true']) {
      expect(await codeOf(vault.unsafe(statement))).toBe('42501')
    }
  })

  test('cannot change a wallet, what its owner agreed to, or a sealed key', async () => {
    for (const change of [
      'insert into wallets default values',
      'update wallets set address = address',
      'update policies set max_total_value = null',
      'update policies set argument_rules = argument_rules',
      'update keyrings set kind = kind',
      'update owner_locks set family_keys = family_keys',
      'update wallet_keys set sealed = sealed',
    ]) {
      expect([change, await codeOf(vault.unsafe(change))]).toEqual([change, '42501'])
    }
  })

  test('can delete nothing but the lock of a policy, and that a vault runs', async () => {
    const deletable: string[] = []
    for (const table of tablesOf(schema).map(getTableName)) {
      if ((await codeOf(vault.unsafe(`delete from ${table} where false`))) === 'allowed') deletable.push(table)
    }
    expect(deletable).toEqual(['policy_locks', 'vault_processes'])
  })
})

describe('the console’s role', () => {
  /** The tables on which a kind of statement is allowed, for at least one column. */
  const allowed = async (statement: (table: string, column: string) => string): Promise<readonly string[]> => {
    const names: string[] = []
    for (const table of tablesOf(schema)) {
      for (const { name } of Object.values(getTableColumns(table))) {
        if ((await codeOf(operators.unsafe(statement(getTableName(table), `"${name}"`)))) === '42501') continue
        names.push(getTableName(table))
        break
      }
    }
    return names.sort()
  }

  test('writes only what an operator does, and what lets operators in', async () => {
    expect(await allowed((table, column) => `insert into ${table} (${column}) values (default)`)).toEqual([
      'audit',
      'operator_passkeys',
      'operator_tokens',
      'throttles',
    ])
    expect(await allowed((table, column) => `update ${table} set ${column} = default where false`)).toEqual([
      'operator_passkeys',
      'throttles',
      'transactions',
      'webhook_deliveries',
      'webhook_endpoints',
    ])
    expect(await allowed((table) => `delete from ${table} where false`)).toEqual(['operator_tokens'])
  })

  test('cannot change what a transaction does, who an operator is, or read what logs users in', async () => {
    for (const statement of [
      'update transactions set "to" = null',
      'update transactions set value = 0',
      'update operators set role = role',
      'select hash from api_keys',
      'select id from sessions',
      'select code_mac from email_codes',
      'select sealed from token_keys',
      // Whoever has these bytes can send the transaction.
      'select raws from ladders',
      'select * from ladders',
      'select public_key from passkeys',
      'select mac from users',
      'select from graphile_worker._private_jobs',
      'update audit set actor = actor',
    ]) {
      expect([statement, await codeOf(operators.unsafe(statement))]).toEqual([statement, '42501'])
    }
  })
})
