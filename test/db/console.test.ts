// The lists of the console, page by page: each row once, in its order, also where many rows have the same time.

import { afterAll, beforeAll, expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import postgres, { type Sql } from 'postgres'
import { type Db, openDb } from '../../db/client.ts'
import {
  findUsers,
  findWallets,
  pageOfApprovals,
  pageOfAudit,
  pageOfUsers,
  pageOfWallets,
  readIntervals,
} from '../../db/queries/console.ts'
import { listJobs } from '../../db/queries/overview.ts'
import { createDatabase, type TestDatabase } from '../support/postgres.ts'

const ROWS = 23
const LIMIT = 5
const projectId = randomUUID()
const otherProjectId = randomUUID()

let database: TestDatabase
let owner: Sql
let db: Db

/** Three times for all rows. */
const timeOf = (index: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, index % 3))
const many = <Row>(row: (index: number) => Row) => Array.from({ length: ROWS }, (_, index) => row(index))

beforeAll(async () => {
  database = await createDatabase({ withNetworks: true })
  owner = postgres(database.url, { max: 1, onnotice: () => {} })
  db = openDb({ url: database.consoleUrl, maxConnections: 2, applicationName: 'test' })
  await owner`insert into projects ${owner([
    { id: projectId, name: 'P' },
    { id: otherProjectId, name: 'Q' },
  ])}`
  const keyring = { id: randomUUID(), project_id: projectId, owner_id: 'o', kind: 'seed', sealed: Buffer.of(0) }
  await owner`insert into keyrings ${owner(keyring)}`
  const walletId = randomUUID()
  const wallet = (index: number, of: string = projectId): Record<string, unknown> => ({
    id: index === 0 && of === projectId ? walletId : randomUUID(),
    project_id: of,
    network: ['Ethereum', 'Base', 'Polkadot'][index % 3] ?? '',
    owner_id: `owner ${Math.floor(index / 3)}`,
    name: 'W',
    address: `address ${Math.floor(index / 3)}`,
    control_mode: 'user',
    type: 'eoa',
    keyring_id: keyring.id,
    public_key: Buffer.of(0),
    mac: Buffer.of(0),
    created_at: timeOf(index),
  })
  for (const row of [...many((index) => wallet(index)), wallet(0, otherProjectId)]) {
    await owner`insert into wallets ${owner(row)}`
  }
  await owner`insert into users ${owner(many((index) => ({ id: randomUUID(), project_id: projectId, email: `${index}@example.com`, mac: Buffer.of(0) })))}`
  const approval = (index: number): Record<string, unknown> => ({
    id: randomUUID(),
    project_id: projectId,
    wallet_id: walletId,
    policy_id: randomUUID(),
    asked_by: 'api_key:x',
    request: '{}',
    required: 1,
    approver_ids: [randomUUID()],
    expires_at: timeOf(index),
    created_at: timeOf(index),
  })
  for (const row of many(approval)) await owner`insert into approvals ${owner(row)}`
  for (let index = 0; index < ROWS; index += 1) {
    const action = index % 2 === 0 ? 'wrong_pin' : 'frozen'
    const of = index % 3 === 0 ? null : projectId
    await owner`insert into audit (project_id, at, actor, action, subject, details, mac)
      values (${of}, ${timeOf(index)}, 'a', ${action}, 's', '{}', '')`
    await owner`select graphile_worker.add_job('reconcile', '{"again":false}', run_at := ${timeOf(index)})`
  }
})

afterAll(async () => {
  await db.close({ timeoutSeconds: 2 })
  await owner.end()
  await database.close()
})

/** All rows, page by page. */
const walked = async <Row extends { readonly id: string | bigint }>(
  read: (after: string | null) => Promise<readonly Row[]>,
): Promise<readonly Row[]> => {
  const rows: Row[] = []
  for (let after: string | null = null; ; ) {
    const page = await read(after)
    rows.push(...page)
    if (page.length < LIMIT) return rows
    after = String(page.at(-1)?.id)
  }
}

const idsIn = async (query: string): Promise<string[]> =>
  (await owner.unsafe(query)).map((row) => String(Object.values(row)[0]))
const idsOf = (rows: readonly { readonly id: string | bigint }[]) => rows.map(({ id }) => String(id))

test('wallets of all networks together, newest first', async () => {
  const rows = await walked((after) => pageOfWallets(db, { projectId, after, limit: LIMIT }))
  expect(idsOf(rows)).toEqual(
    await idsIn(`select id from wallets where project_id = '${projectId}' order by created_at desc, id desc`),
  )
  expect(rows[0]?.createdAt).toEqual(timeOf(2))
})

test('wallets by address in all projects, by owner in one, and by id', async () => {
  const find = (text: string, id: string | null = null) => findWallets(db, { projectId, text, id, limit: LIMIT })
  expect(await find('address 0')).toHaveLength(4)
  expect(await find('owner 0')).toHaveLength(3)
  const [first] = await find('owner 1')
  expect(idsOf(await find(first?.id ?? '', first?.id ?? null))).toEqual([first?.id ?? 'none'])
  expect(await find('nobody')).toEqual([])
})

test('users in the order of their ids, and one by their address or id', async () => {
  const rows = await walked((after) => pageOfUsers(db, { projectId, after, limit: LIMIT }))
  expect(idsOf(rows)).toEqual(await idsIn('select id from users order by id'))
  const [found, ...others] = await findUsers(db, { projectId, text: '7@Example.com', id: null })
  expect([found?.email, others.length]).toEqual(['7@example.com', 0])
  const id = found?.id ?? ''
  expect(idsOf(await findUsers(db, { projectId, text: id, id }))).toEqual([id])
  expect(await findUsers(db, { projectId: otherProjectId, text: '7@example.com', id })).toEqual([])
})

test('approvals, newest first', async () => {
  const rows = await walked((after) => pageOfApprovals(db, { projectId, after, limit: LIMIT }))
  expect(idsOf(rows)).toEqual(await idsIn('select id from approvals order by created_at desc, id desc'))
  expect(rows[0]).toMatchObject({ isExpired: true, approved: 0 })
})

test('audit rows of all, of a project, of the deployment, and security events', async () => {
  for (const [chain, isSecurityOnly, where] of [
    [null, false, 'true'],
    [projectId, false, `project_id = '${projectId}'`],
    ['deployment', false, 'project_id is null'],
    [null, true, "action = 'wrong_pin'"],
  ] as const) {
    const rows = await walked((after) =>
      pageOfAudit(db, { chain, isSecurityOnly, after: after === null ? null : BigInt(after), limit: LIMIT }),
    )
    expect(idsOf(rows)).toEqual(await idsIn(`select id from audit where ${where} order by id desc`))
  }
})

test('jobs, in the order in which they run', async () => {
  const rows = await walked((after) =>
    listJobs(db, { limit: LIMIT, ...(after === null ? {} : { after: BigInt(after) }) }),
  )
  expect(idsOf(rows)).toEqual(await idsIn('select id from graphile_worker._private_jobs order by run_at, id'))
})

test('what was recorded in intervals, how much of it failed, and how long it took', async () => {
  const [wallet] = await owner`select id from wallets where project_id = ${projectId} limit 1`
  await owner`insert into signers (network, address) values ('Ethereum', 'signer'), ('Base', 'signer')`
  const record = async (nonce: number, network: string, minutesAgo: number, took: number | null, failed = false) => {
    await owner`insert into transactions (id, project_id, wallet_id, network, signer_address, kind, nonce, value, input, gas_limit,
        worst_cost, rungs, status, error_code, created_at, settled_at)
      select gen_random_uuid(), ${projectId}, ${wallet?.id}, ${network}, 'signer', 'send', ${nonce}, 0, '0x', 0, 0, 1,
        ${failed ? 'failed' : 'success'}, ${failed ? 'expired' : null}, at, at + make_interval(secs => ${took})
      from (select now() - make_interval(mins => ${minutesAgo}) as at) recorded`
  }
  for (let nonce = 0; nonce < 5; nonce += 1) await record(nonce, 'Ethereum', 15, nonce + 1, nonce === 4)
  await record(0, 'Base', 15, null)
  await record(5, 'Ethereum', 35, 100)
  await record(6, 'Ethereum', 65, 100)
  const read = (network: string | null) => readIntervals(db, { intervals: 6, seconds: 600, network })
  expect(await read(null)).toEqual([
    { index: 2, recorded: 1, failed: 0, medianSeconds: 100, slowSeconds: 100 },
    { index: 4, recorded: 6, failed: 1, medianSeconds: 3, slowSeconds: expect.closeTo(4.8, 5) },
  ])
  expect(await read('Base')).toEqual([{ index: 4, recorded: 1, failed: 0, medianSeconds: null, slowSeconds: null }])
})
