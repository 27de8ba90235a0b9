// In a database with some ten thousand rows of each kind: questions read what they answer, not the tables. `bun run bench size`
// measures the same questions in one with millions.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import postgres, { type Sql } from 'postgres'
import type { Db, Tx } from '../../db/client.ts'
import { holdingsOfAddress, holdingsOfContract } from '../../db/queries/movements.ts'
import { listActs } from '../../db/queries/overview.ts'
import { createWalletList } from '../../src/wallets/list.ts'
import { createOurWallets } from '../../src/wallets/ours.ts'
import { makeSizeRows, type SizeRows } from '../bench/size-rows.ts'
import { type Service, startService } from '../support/service.ts'
import { authenticateWallets } from '../support/wallet-macs.ts'

const SIZES = { wallets: 20_000, movements: 20_000, attempts: 70_000, auditRows: 10_000 }

let service: Service
let sql: Sql
let made: SizeRows

beforeAll(async () => {
  service = await startService({ rpcUrls: { Ethereum: 'http://127.0.0.1:1' } })
  const { url } = service.database
  made = await makeSizeRows({ url, sizes: SIZES })
  await authenticateWallets({ url, identity: service.ctx.identity })
  sql = postgres(service.database.url, { max: 1 })
}, 120_000)

afterAll(async () => {
  await sql.end()
  await service.close()
})

type Plan = { readonly 'Node Type': string; readonly 'Relation Name'?: string; readonly Plans?: readonly Plan[] }

const nodesOf = (plan: Plan): readonly Plan[] => [plan, ...(plan.Plans ?? []).flatMap(nodesOf)]

/** Which of our tables a query reads as a whole, and what it sorts. */
const wholeReadsOf = async (query: string): Promise<readonly string[]> => {
  const [row] = await sql.unsafe(`explain (format json) ${query}`)
  return nodesOf(row?.['QUERY PLAN'][0].Plan).flatMap((node) => {
    if (node['Node Type'] === 'Sort') return ['Sort']
    const isLarge = ['transactions', 'attempts', 'wallets', 'movements', 'audit'].includes(node['Relation Name'] ?? '')
    return isLarge && node['Node Type'] === 'Seq Scan' ? [`Seq Scan ${node['Relation Name']}`] : []
  })
}

describe('the view of transactions', () => {
  test.each([
    ['the newest', 'order by created_at desc limit 50'],
    ['the newest of a network', `where network = 'Ethereum' order by created_at desc limit 50`],
    ['one', `where id = '00000000-0000-0000-0000-000000000000'`],
  ])('computes %s alone', async (_, which) => {
    expect(await wholeReadsOf(`select * from strongroom_views.transactions ${which}`)).toEqual([])
  })

  test('shows the cause of each that waits, and none behind another of another signer', async () => {
    const rows = await sql`select cause, waits_for from strongroom_views.transactions where not final`
    expect(rows.filter(({ cause }) => cause !== null)).toHaveLength(20)
    expect(rows.filter(({ waits_for }) => waits_for !== null)).toEqual([])
  })
})

/** How many entries of a table and of its indexes are read by statements in one transaction. */
const entriesOf = async (table: string, ask: (tx: Tx) => Promise<unknown>): Promise<number> =>
  service.ctx.db.transaction(async (tx) => {
    const count = async () => {
      const { rows } = await tx.execute<{ entries: number }>(`
        select sum(pg_stat_get_xact_tuples_returned(oid))::int as entries from pg_class where oid = '${table}'::regclass
          or oid in (select indexrelid from pg_index where indrelid = '${table}'::regclass)`)
      return rows[0]?.entries ?? Number.NaN
    }
    // PostgreSQL reads entries of its own when it first meets a table.
    await ask(tx)
    const before = await count()
    await ask(tx)
    return (await count()) - before
  })

describe('the NFTs of a collection', () => {
  const pageOf = (contract: string) =>
    ({
      network: 'Ethereum',
      contract,
      projectId: made.projectId,
      ownedBy: null,
      after: null,
      limit: 100,
      offset: 0,
    }) as const

  test('that strangers hold are found among those of wallets alone', async () => {
    const { strangersCollection: contract } = made
    const [all] = await sql`
      select count(*)::int as tokens, (count(*) filter (where address = ${made.largeWallet}))::int as held
      from movements where contract = ${contract}`
    expect(all).toEqual({ tokens: SIZES.movements * 0.02, held: 20 })
    const entries = await entriesOf('holdings', async (tx) => {
      expect(await holdingsOfContract(tx, pageOf(contract))).toHaveLength(20)
    })
    expect(entries).toBe(20)
  })

  test('that was given away are found without those that went, and so are those of the wallet that gave', async () => {
    const { givenAwayCollection: contract, givingWallet: address } = made
    const [all] = await sql`
      select (count(*) filter (where direction = 'in'))::int as came, (count(*) filter (where direction = 'out'))::int as went
      from movements where contract = ${contract}`
    expect(all).toEqual({ came: SIZES.movements * 0.01 + 10, went: SIZES.movements * 0.01 - 10 })
    const ofCollection = await entriesOf('holdings', async (tx) => {
      expect(await holdingsOfContract(tx, pageOf(contract))).toHaveLength(20)
    })
    expect(ofCollection).toBe(20)
    const { network, after, limit, offset } = pageOf(contract)
    const ofWallet = await entriesOf('holdings', async (tx) => {
      expect(await holdingsOfAddress(tx, { network, address, after, limit, offset })).toHaveLength(20)
    })
    expect(ofWallet).toBe(20)
  })
})

describe('the acts on a transaction', () => {
  test('are found without reading the others of its project', async () => {
    const [row] = await sql`select id from transactions where kind = 'send' order by created_at limit 1`
    const entries = await entriesOf('audit', async (tx) => {
      const acts = await listActs(tx, row?.id)
      expect(acts).toMatchObject([{ action: 'transaction_submitted' }])
    })
    expect(entries).toBe(1)
  })
})

describe('a page of wallets', () => {
  const reach = () => ({ projectId: made.projectId, ownedBy: null, network: 'Ethereum' })
  const idsOf = (rows: readonly { readonly id: string }[]) => rows.map(({ id }) => id)

  test('is the same from a remembered place on as from the beginning', async () => {
    const all = idsOf(
      await sql<{ id: string }[]>`
      select id from wallets where project_id = ${made.projectId} and network = 'Ethereum' order by created_at, id`,
    )
    const list = createWalletList(service.ctx)
    for (const offset of [all.length - 100, 5_000, 999, 1_000, 1_001, 0, 18_950, all.length - 1, all.length, 90_000]) {
      expect(idsOf(await list({ ...reach(), limit: 100, offset }))).toEqual(all.slice(offset, offset + 100))
    }
    // What is added is listed at once, also behind the last place that is remembered.
    const { id } = await service.newWallet({ network: 'Ethereum' })
    expect(idsOf(await list({ ...reach(), limit: 100, offset: all.length }))).toEqual([id])
    expect(idsOf(await list({ ...reach(), limit: 2, offset: all.length - 1 }))).toEqual([all.at(-1) ?? '', id])
  })

  test('reads no more than the entries from the nearest such place', async () => {
    await service.ctx.db.transaction(async (tx) => {
      const entries = async () => {
        const { rows } = await tx.execute<{ entries: number }>(
          `select pg_stat_get_xact_tuples_returned('wallets_listed'::regclass)::int as entries`,
        )
        return rows[0]?.entries ?? Number.NaN
      }
      const here = { ...service.ctx, db: tx as unknown as Db }
      const list = createWalletList({ ...here, wallets: createOurWallets(here) })
      const page = { ...reach(), limit: 20, offset: Math.floor((made.listedWallets - 100) / 1000) * 1000 + 50 }
      expect(await list(page)).toHaveLength(20)
      const before = await entries()
      expect(await list(page)).toHaveLength(20)
      expect((await entries()) - before).toBe(70)
      expect(await list({ ...page, offset: 4_999 })).toHaveLength(20)
      expect((await entries()) - before).toBe(70 + 1_019)
    })
  })
})

describe('the rows of this test', () => {
  const refused = () => makeSizeRows({ url: service.database.url, sizes: SIZES }).then(() => 'filled')

  test('are not added to others, nor to a mainnet', async () => {
    await expect(refused()).rejects.toThrow('must be empty')
    await sql`update deployment set environment = 'mainnet'`
    await expect(refused()).rejects.toThrow('must be bound to testnet')
    await sql`update deployment set environment = 'testnet'`
  })
})
