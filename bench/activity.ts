// What lists of an address's history cost, over HTTP: in a table of some thousand movements, and in one of millions
// with wallets of the same shapes. Requests go to the two in turn, one at a time.

import postgres from 'postgres'
import { listedAddresses } from '../db/queries/listed-tokens.ts'
import { contractsReceived, listMovements } from '../db/queries/movements.ts'
import type { Service } from '../test/support/service.ts'
import { authenticateWallets } from '../test/support/wallet-macs.ts'
import { type ActivityRows, makeActivityRows } from './activity-rows.ts'
import { percentile } from './load.ts'

const NETWORK = 'Ethereum'
const FEW_ROWS = 10_000
const MANY_ROWS = 10_000_000
const WARM_UP_ROUNDS = 10
const ROUNDS_MIN = 10
const ROUNDS_MAX = 400
const SECONDS_A_CASE = 5
/** As many as /tokens/balances asks for. */
const TOKENS_MAX = 250

export type Figures = { readonly p50Ms: number; readonly p99Ms: number }
export type ActivityCosts = { readonly what: string; readonly few: Figures; readonly many: Figures }
export type ActivityBench = {
  readonly rows: { readonly few: number; readonly many: number }
  readonly buildSeconds: number
  readonly costs: readonly ActivityCosts[]
  /** Times that the large table was read as a whole while it was asked. */
  readonly fullReads: number
}

type Table = {
  readonly service: Service
  readonly rows: number
  readonly made: ActivityRows
  readonly largeWallet: string
}
type Case = { readonly what: string; readonly ask: (table: Table) => Promise<unknown> }

const fill = async (service: Service, rows: number): Promise<Table> => {
  const { address: largeWallet } = await service.newWallet({ network: NETWORK })
  const { projectId } = service.project
  const { url } = service.database
  const made = await makeActivityRows({ url, rows, projectId, largeWallet })
  await authenticateWallets({ url, identity: service.ctx.identity })
  return { service, rows, made, largeWallet }
}

const get = async ({ service }: Table, path: string, query: Record<string, string>) => {
  const answer = await service.get(path, { network: NETWORK, ...query })
  if (answer.status !== 200) throw new Error(`${path} was answered ${answer.status}: ${answer.text}`)
  if (answer.json.length === 0) throw new Error(`${path} with ${JSON.stringify(query)} was answered without an item`)
  return answer.json
}

const PAGE_SIZE = 20
/** The last page with a number, or nine tenths down the large wallet's list, which has a tenth of all rows. */
const deepPage = ({ rows }: Table): string => String(Math.floor(Math.min(rows * 0.1 * 0.9, 10_000) / PAGE_SIZE))
/** A tenth of its rows are NFTs that are still there, in two of each four. */
const deepNftPage = ({ rows }: Table): string => String(Math.floor(Math.min(rows * 0.1 * 0.1, 2_000) / PAGE_SIZE))

const casesOf = (deepItems: ReadonlyMap<Table, string>): readonly Case[] => {
  const activity = (
    what: string,
    walletOf: (table: Table) => string,
    more: (table: Table) => Record<string, string>,
  ) => ({
    what: `activity, ${what}`,
    ask: (table: Table) => get(table, '/activity', { wallet_address: walletOf(table), ...more(table) }),
  })
  const nfts = (what: string, more: (table: Table) => Record<string, string>) => ({
    what: `NFTs, ${what}`,
    ask: (table: Table) => get(table, '/nfts', more(table)),
  })
  const large = ({ largeWallet }: Table) => largeWallet
  return [
    activity('large wallet, page 1', large, () => ({})),
    activity('large wallet, page 1 of 100', large, () => ({ page_size: '100' })),
    activity('large wallet, page 50', large, () => ({ page: '50' })),
    activity('large wallet, deep down', large, (table) => ({ page: deepPage(table) })),
    activity('nine tenths down, from an item on', large, (table) => ({ before: deepItems.get(table) ?? '' })),
    activity(
      'a wallet with a thousandth',
      ({ made }) => made.someWallet,
      () => ({}),
    ),
    activity(
      'a wallet with few',
      ({ made }) => made.smallWallet,
      () => ({}),
    ),
    nfts('large wallet, page 1', (table) => ({ wallet_address: table.largeWallet })),
    nfts('large wallet, page 5', (table) => ({ wallet_address: table.largeWallet, page: '5' })),
    nfts('large wallet, deep down', (table) => ({ wallet_address: table.largeWallet, page: deepNftPage(table) })),
    nfts('of a collection, page 1', ({ made }) => ({ contract_address: made.keptCollection })),
    nfts('of a collection that strangers hold', ({ made }) => ({ contract_address: made.strangersCollection })),
    nfts('of a collection that was given away', ({ made }) => ({ contract_address: made.givenAwayCollection })),
    {
      what: 'collections of a wallet, page 1',
      ask: (table) => get(table, '/nfts/collections', { wallet_address: table.largeWallet, page_size: '20' }),
    },
    {
      what: "balances' database part, large wallet",
      ask: ({ service: { ctx }, largeWallet: address }) =>
        Promise.all([
          contractsReceived(ctx.db, { network: NETWORK, address, limit: TOKENS_MAX }),
          listedAddresses(ctx.db, { network: NETWORK, limit: TOKENS_MAX }),
        ]),
    },
  ]
}

const figuresOf = (latencies: readonly number[]): Figures => {
  const sorted = [...latencies].sort((a, b) => a - b)
  return { p50Ms: percentile(sorted, 0.5), p99Ms: percentile(sorted, 0.99) }
}

/** Asks a small and a large table in turn. */
export const measure = async <Asked>(
  { what, ask }: { readonly what: string; readonly ask: (table: Asked) => Promise<unknown> },
  tables: { readonly few: Asked; readonly many: Asked },
): Promise<ActivityCosts> => {
  const timed = async (table: Asked): Promise<number> => {
    const begun = performance.now()
    await ask(table)
    return performance.now() - begun
  }
  const few: number[] = []
  const many: number[] = []
  const end = performance.now() + SECONDS_A_CASE * 1000
  for (let round = 0; few.length < ROUNDS_MIN || (few.length < ROUNDS_MAX && performance.now() < end); round += 1) {
    const [fewMs, manyMs] = [await timed(tables.few), await timed(tables.many)]
    if (round < WARM_UP_ROUNDS) continue
    few.push(fewMs)
    many.push(manyMs)
  }
  return { what, few: figuresOf(few), many: figuresOf(many) }
}

const fullReadsOf = async (url: string): Promise<number> => {
  const sql = postgres(url, { max: 1 })
  const [row] = await sql<
    { n: number }[]
  >`select seq_scan::int as n from pg_stat_user_tables where relname = 'movements'`
  await sql.end()
  return row?.n ?? Number.NaN
}

export const benchActivity = async (input: { readonly start: () => Promise<Service> }): Promise<ActivityBench> => {
  const services = { few: await input.start(), many: await input.start() }
  try {
    const few = await fill(services.few, FEW_ROWS)
    const many = await fill(services.many, MANY_ROWS)
    const deepItems = new Map<Table, string>()
    for (const table of [few, many]) {
      const { service, largeWallet: address, rows } = table
      const list = { network: NETWORK, address, before: null, limit: 1, offset: rows * 0.1 * 0.9 } as const
      const [item] = await listMovements(service.ctx.db, list)
      deepItems.set(table, item?.id ?? '')
    }
    const before = await fullReadsOf(services.many.database.url)
    const costs: ActivityCosts[] = []
    for (const each of casesOf(deepItems)) costs.push(await measure(each, { few, many }))
    return {
      rows: { few: FEW_ROWS, many: MANY_ROWS },
      buildSeconds: many.made.seconds,
      costs,
      fullReads: (await fullReadsOf(services.many.database.url)) - before,
    }
  } finally {
    await services.few.close()
    await services.many.close()
  }
}
