// What a transaction adds to each table and to a vault's journal: payments between wallets are sent until they are
// final, over the API and by a worker, on a chain of their own. Bytes are of tables without free space, with their
// indexes and TOAST.

import { stat } from 'node:fs/promises'
import postgres, { type Sql } from 'postgres'
import { startJournaled } from '../test/restore/journaled.ts'
import { startChain } from '../test/support/chains.ts'
import { startWorkerHere } from '../test/support/worker-here.ts'

const network = 'Ethereum'
const TRANSACTIONS = 600
const WALLETS = 30
const BLOCKS_TO_FINAL = 20
const DEADLINE_MS = 300_000

type TableSize = { readonly table: string; readonly rows: number; readonly bytes: number }

type Growth = TableSize & { readonly rowsEach: number; readonly bytesEach: number; readonly bytesARow: number }

export type GrowthBench = {
  readonly transactions: number
  readonly recorded: readonly Growth[]
  readonly journalBytesEach: number
}

const sizesOf = async (sql: Sql): Promise<readonly TableSize[]> => {
  await sql.unsafe('vacuum full analyze')
  const tables = await sql`
    select relname::text as table, pg_total_relation_size(oid)::float8 as bytes from pg_class
    where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') order by relname`
  const sizes: TableSize[] = []
  for (const { table, bytes } of tables) {
    const [counted] = await sql.unsafe(`select count(*)::int as rows from public.${table}`)
    sizes.push({ table, bytes, rows: counted?.rows ?? 0 })
  }
  return sizes
}

const growthOf = (before: readonly TableSize[], after: readonly TableSize[]): readonly Growth[] =>
  after
    .map((each) => {
      const was = before.find(({ table }) => table === each.table) ?? { rows: 0, bytes: 0 }
      const [rows, bytes] = [each.rows - was.rows, each.bytes - was.bytes]
      return {
        ...{ ...each, rows, bytes, rowsEach: rows / TRANSACTIONS },
        ...{ bytesEach: bytes / TRANSACTIONS, bytesARow: rows > 0 ? bytes / rows : 0 },
      }
    })
    .filter(({ rows, bytes }) => rows >= TRANSACTIONS / 2 || bytes >= TRANSACTIONS)

const until = async (isSo: () => Promise<boolean>): Promise<void> => {
  const deadline = Date.now() + DEADLINE_MS
  while (!(await isSo())) {
    if (Date.now() > deadline) throw new Error('the transactions did not become final')
    await Bun.sleep(200)
  }
}

export const benchGrowth = async (): Promise<GrowthBench> => {
  const chain = await startChain(network, { flags: ['--slots-in-an-epoch', '1'] })
  const journaled = await startJournaled({ rpcUrls: { [network]: chain.rpcUrl } })
  const { api } = journaled
  const worker = await startWorkerHere(api)
  const sql = postgres(api.database.url, { max: 1, onnotice: () => {} })
  const journalBytes = async () => (await stat(journaled.journals[0] ?? '')).size
  try {
    const wallets = await Promise.all(Array.from({ length: WALLETS }, () => api.newWallet({ network })))
    for (const { address } of wallets) await chain.fund(address)
    const [before, journalBefore] = [await sizesOf(sql), await journalBytes()]
    const addressOf = (index: number) => wallets[index % WALLETS]?.address ?? ''
    for (let sent = 0; sent < TRANSACTIONS; sent += 1) {
      const unsigned_transaction = { to: addressOf(sent + 1), value: '1000000000000000' }
      const body = { network, signer_wallet_address: addressOf(sent), developer_secret: 'testnet-secret' }
      const key = { 'idempotency-key': crypto.randomUUID() }
      const answer = await api.post('/transactions/sign-and-send', { ...body, unsigned_transaction }, key)
      if (answer.status !== 200) throw new Error(`a transaction was not recorded: ${answer.text}`)
    }
    await until(async () => {
      await chain.mine()
      const [left] = await sql`select 1 from transactions where not final limit 1`
      return left === undefined
    })
    await chain.mine(BLOCKS_TO_FINAL)
    await until(async () => {
      const [left] = await sql`select 1 from audit where id not in (select audit_id from audit_chain) limit 1`
      return left === undefined
    })
    const recorded = await sizesOf(sql)
    return {
      transactions: TRANSACTIONS,
      recorded: growthOf(before, recorded),
      journalBytesEach: ((await journalBytes()) - journalBefore) / TRANSACTIONS,
    }
  } finally {
    await worker.stop()
    await sql.end()
    await journaled.close()
    await chain.stop()
  }
}

export const growthTable = ({ transactions, recorded, journalBytesEach }: GrowthBench): readonly string[] => {
  const figure = (value: number, digits = 0) => value.toFixed(digits).padStart(12)
  const lines = (growths: readonly Growth[]) => [
    ...growths.map(
      ({ table, rowsEach, bytesARow, bytesEach }) =>
        `  ${table.padEnd(28)}${figure(rowsEach, 2)}${figure(bytesARow)}${figure(bytesEach)}`,
    ),
    `  ${'together'.padEnd(52)}${figure(growths.reduce((sum, { bytesEach }) => sum + bytesEach, 0))}`,
  ]
  return [
    `\nWhat a payment adds (${transactions} of them)${'rows'.padStart(5)}${'bytes a row'.padStart(12)}${'bytes'.padStart(12)}`,
    ...lines(recorded),
    `  ${'a journal'.padEnd(52)}${figure(journalBytesEach)}`,
  ]
}
