// In a database with some ten thousand rows of each kind: questions read what they answer, not the tables. `bun run
// bench size` measures the same questions in one with millions.

import { beforeAll, describe, expect, test } from 'bun:test'
import { makeSizeRows } from '../../bench/size-rows.ts'
import type { Db, Tx } from '../../db/client.ts'
import { holdingsOfAddress, holdingsOfContract } from '../../db/queries/movements.ts'
import { listActs } from '../../db/queries/overview.ts'
import { listTransactionsOf } from '../../db/queries/transaction-lists.ts'
import { createWalletReader } from '../../src/signing/wallets/get.ts'
import { createWalletList } from '../../src/signing/wallets/list.ts'
import { startService } from '../support/service.ts'
import { shared } from '../support/shared.ts'
import { authenticateWallets } from '../support/wallet-macs.ts'

const SIZES = { wallets: 20_000, movements: 20_000, attempts: 70_000, auditRows: 10_000 }

const service = await shared(startService({ rpcUrls: { Ethereum: 'http://127.0.0.1:1' } }))
const { url } = service.database
const made = await makeSizeRows({ url, sizes: SIZES })
await authenticateWallets({ url, identity: service.ctx.identity })
const { sql } = service.database
// Rows were updated, and the indexes have entries of their earlier versions until the tables are vacuumed: these would
// be counted.
await sql`vacuum wallets, transactions`

type Plan = { readonly 'Node Type': string; readonly 'Relation Name'?: string; readonly Plans?: readonly Plan[] }

const nodesOf = (plan: Plan): readonly Plan[] => [plan, ...(plan.Plans ?? []).flatMap(nodesOf)]

/** Which of our tables a query reads as a whole, and what it sorts. */
const wholeReadsOf = async (query: string): Promise<readonly string[]> => {
  const [row] = await sql.unsafe(`explain (format json) ${query}`)
  return nodesOf(row?.['QUERY PLAN'][0].Plan).flatMap((node) => {
    if (node['Node Type'] === 'Sort') return ['Sort']
    const isLarge = ['transactions', 'ladders', 'wallets', 'movements', 'audit'].includes(node['Relation Name'] ?? '')
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

describe('a page of transactions', () => {
  const EARLIEST_FAILED = 5
  /** The items of a page are read once from an index for the list, and once by their ids. */
  const READ_AN_ITEM = 2
  /** The transaction before the page, and its time. */
  const READ_BEFORE = 1
  const limit = 20

  const page = (of: Partial<Parameters<typeof listTransactionsOf>[1]>) => ({
    ...{ projectId: made.projectId, ownedBy: null, network: null, walletId: null, statuses: [] },
    ...{ createdFrom: null, createdUntil: null, before: null, limit, ...of },
  })
  const expectRead = async (of: Parameters<typeof page>[0], { items, atMost }: { items: number; atMost: number }) => {
    const entries = await entriesOf('transactions', async (tx) => {
      const rows = await listTransactionsOf(tx, page(of))
      expect(rows).toHaveLength(items)
    })
    expect(entries).toBeLessThanOrEqual(atMost)
  }
  let middle: { readonly id: string; readonly walletId: string; readonly createdAt: Date }

  beforeAll(async () => {
    await sql`update transactions set status = 'failed', error_code = 'expired' where id in (
      select id from transactions where status = 'success' order by created_at limit ${EARLIEST_FAILED})`
    await sql`vacuum (index_cleanup on, analyze) transactions`
    const [row] = await sql<(typeof middle)[]>`
      select id, wallet_id as "walletId", created_at as "createdAt" from transactions where status = 'success' order by created_at offset 5000 limit 1`
    if (row === undefined) throw new Error('there are too few transactions')
    middle = row
  })

  test('of a project reads its items, from the newest on, from another on, or of a time', async () => {
    const atMost = limit * READ_AN_ITEM + READ_BEFORE
    await expectRead({}, { items: limit, atMost })
    await expectRead({ network: 'Ethereum', before: middle }, { items: limit, atMost })
    await expectRead({ createdUntil: middle.createdAt }, { items: limit, atMost })
    await expectRead({ createdUntil: middle.createdAt, before: middle }, { items: limit, atMost })
    const { createdAt } = middle
    await expectRead(
      { createdFrom: createdAt, createdUntil: new Date(createdAt.getTime() + 5_000) },
      { items: 5, atMost },
    )
    await expectRead({ statuses: ['success'], before: middle }, { items: limit, atMost })
  })

  test('of a wallet or of a user reads its items', async () => {
    const [owner] = await sql`select owner_id from wallets where id = ${middle.walletId}`
    const atMost = limit * READ_AN_ITEM + READ_BEFORE
    await expectRead({ walletId: middle.walletId }, { items: limit, atMost })
    await expectRead({ ownedBy: owner?.owner_id }, { items: limit, atMost })
    const [another] = await sql`select min(id::text) as id, owner_id from wallets w where project_id = ${made.projectId}
      group by owner_id having not bool_or(exists (select from transactions t where t.wallet_id = w.id)) limit 1`
    await expectRead({ walletId: another?.id }, { items: 0, atMost: 0 })
    await expectRead({ ownedBy: another?.owner_id }, { items: 0, atMost: 0 })
  })

  test('has what a plain query finds', async () => {
    const { projectId } = made
    const { walletId, createdAt } = middle
    const until = new Date(createdAt.getTime() + 100_000)
    const newest = new Date(until.getTime() + 100_000)
    const older = sql`and (created_at, id) < (select created_at, id from transactions where id = ${middle.id})`
    const cases = [
      [{}, sql``],
      [{ before: middle }, older],
      [{ before: middle, createdUntil: until, walletId }, sql`and wallet_id = ${walletId} ${older}`],
      [{ before: middle, createdUntil: createdAt }, sql`and created_at < ${createdAt}`],
      [{ createdFrom: until, createdUntil: newest }, sql`and created_at >= ${until} and created_at < ${newest}`],
      [
        { statuses: ['failed', 'success'], createdUntil: createdAt } as const,
        sql`and status in ('failed', 'success') and created_at < ${createdAt}`,
      ],
    ] as const
    for (const [of, condition] of cases) {
      const expected = await sql<
        { id: string }[]
      >`select id from transactions where project_id = ${projectId} ${condition}
        order by created_at desc, id desc limit ${limit}`
      expect(expected.length).toBeGreaterThan(0)
      expect((await listTransactionsOf(service.ctx.db, page(of))).map(({ id }) => id)).toEqual(
        expected.map(({ id }) => id),
      )
    }
  })

  test('of a network without any reads nothing', async () => {
    await expectRead({ network: 'Vara' }, { items: 0, atMost: 0 })
  })

  test('of the few that failed or wait reads none of the others', async () => {
    const failed = { items: EARLIEST_FAILED, atMost: EARLIEST_FAILED * READ_AN_ITEM }
    await expectRead({ statuses: ['failed'] }, failed)
    await expectRead({ statuses: ['pending'] }, { items: limit, atMost: limit * READ_AN_ITEM })
    // All that wait are read for each of their two statuses.
    const both = { items: limit, atMost: 2 * limit + EARLIEST_FAILED + limit }
    await expectRead({ statuses: ['submitted', 'pending', 'failed'] }, both)
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
      const list = createWalletList({ ...here, wallets: createWalletReader(here) })
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
