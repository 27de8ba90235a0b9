// Writes causes of events, so many a second. A process of its own, so that it takes no time of those who measure.
// SIGUSR2 lets it begin, and SIGUSR1 pause. Its arguments: what it writes, the database's URL, how many a second, the
// projects. It writes either
// - `users`: users of the projects in turns, each in a transaction of its own, or
// - `transfers`: transfers to the projects' wallets as the indexer writes them, a block's in one transaction.

import { randomUUID } from 'node:crypto'
import postgres from 'postgres'
import { openDb } from '../db/client.ts'
import { insertMovements } from '../db/queries/movements.ts'
import { RECIPIENT } from './signers.ts'

const CONNECTIONS = 8
const TICK_MS = 10
const BLOCKS_PER_SECOND = 4
/** Beyond these the database does not keep up, and no more are begun. */
const UNDER_WAY_MAX = 64

const [kind, url = '', eventsPerSecond = '0', ...projects] = process.argv.slice(2)

type Writer = { readonly perSecond: number; readonly write: (index: number) => Promise<unknown> }

const writeUsers = (): Writer => {
  const sql = postgres(url, { max: CONNECTIONS, onnotice: () => {} })
  return {
    perSecond: Number(eventsPerSecond),
    write: (index) =>
      sql`insert into users (id, project_id, mac) values (${randomUUID()}, ${projects[index % projects.length] ?? ''}, '')`,
  }
}

const writeTransfers = async (): Promise<Writer> => {
  const db = openDb({ url, maxConnections: CONNECTIONS, applicationName: 'bench' })
  const { rows: wallets } = await db.execute<{ network: string; address: string }>(
    `select network, address from wallets where project_id in (${projects.map((id) => `'${id}'`).join()})`,
  )
  const ofBlock = Number(eventsPerSecond) / BLOCKS_PER_SECOND
  const transfers = (block: number) =>
    Array.from({ length: ofBlock }, (_, logIndex) => {
      const wallet = wallets[(block * ofBlock + logIndex) % wallets.length]
      if (wallet === undefined) throw new Error('the projects have no wallets')
      return {
        id: randomUUID(),
        ...wallet,
        direction: 'in' as const,
        counterparty: RECIPIENT,
        standard: 'erc20' as const,
        contract: RECIPIENT,
        tokenId: null,
        amount: 1_000_000n,
        blockNumber: BigInt(block),
        transactionHash: `0x${randomUUID().replaceAll('-', '').repeat(2)}`,
        logIndex,
        itemIndex: 0,
        at: new Date(),
        initiatedBy: RECIPIENT,
        ofWallet: true,
      }
    })
  return {
    perSecond: BLOCKS_PER_SECOND,
    write: (block) => db.transaction((tx) => insertMovements(tx, transfers(block))),
  }
}

const { perSecond, write } = kind === 'users' ? writeUsers() : await writeTransfers()
process.stdout.write('writing\n')

let isPaused = true
let last = performance.now()
let due = 0
let written = 0
let underWay = 0
setInterval(() => {
  const now = performance.now()
  if (!isPaused) due += ((now - last) / 1000) * perSecond
  last = now
  for (; due >= 1; due -= 1) {
    if (underWay >= UNDER_WAY_MAX) continue
    underWay += 1
    written += 1
    void write(written).finally(() => {
      underWay -= 1
    })
  }
}, TICK_MS)
process.on('SIGUSR1', () => {
  isPaused = true
})
process.on('SIGUSR2', () => {
  isPaused = false
})
process.on('SIGTERM', () => process.exit(0))
