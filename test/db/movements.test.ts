import { beforeEach, describe, expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import postgres from 'postgres'
import { openDb, type Tx } from '../../db/client.ts'
import { sumHoldings } from '../../db/holdings.ts'
import { holdIndexer } from '../../db/queries/backfills.ts'
import { beginCursor } from '../../db/queries/cursors.ts'
import { doubtContracts, settleDoubtfulContract } from '../../db/queries/doubtful-contracts.ts'
import { claimMovements, deleteMovementsAbove, insertMovements, type MovementRow } from '../../db/queries/movements.ts'
import { holdings, movements } from '../../db/schema.ts'
import { longTest } from '../support/long.ts'
import { createDatabase } from '../support/postgres.ts'
import { afterTests, shared } from '../support/shared.ts'

/** More than two messages hold. */
const COUNT = 12_000
const LATE = 11_000

const database = await shared(createDatabase({ withNetworks: true }))
const db = openDb({ url: database.workerUrl, maxConnections: 2, applicationName: 'test' })
afterTests(() => db.close({ timeoutSeconds: 5 }))

beforeEach(async () => {
  await db.delete(movements)
})

const rows: readonly MovementRow[] = Array.from({ length: COUNT }, (_, index) => ({
  id: randomUUID(),
  network: 'Ethereum',
  address: `0x${String(index % 50).padStart(40, '0')}`,
  direction: 'in',
  counterparty: `0x${'1'.repeat(40)}`,
  standard: 'erc20',
  contract: `0x${'2'.repeat(40)}`,
  tokenId: null,
  amount: BigInt(index),
  blockNumber: BigInt(index),
  transactionHash: `0x${'3'.repeat(64)}`,
  logIndex: index,
  itemIndex: 0,
  at: new Date(1_700_000_000_000 + index),
  initiatedBy: index % 3 === 0 ? null : `0x${'4'.repeat(40)}`,
  ofWallet: index % 2 === 0,
}))

const stored = async () => (await db.select().from(movements)).toSorted((a, b) => a.logIndex - b.logIndex)

longTest('many movements are stored, although some exist', async () => {
  const some = rows.filter((_, index) => index % 4_000 === 0)
  await db.transaction((tx) => insertMovements(tx, some))
  await db.transaction((tx) => insertMovements(tx, rows))
  expect(await stored()).toEqual([...rows])
})

test('none is stored if one of the last is refused, and the error is its own', async () => {
  const wrong = rows.map((row, index) => (index === LATE ? { ...row, direction: 'across' as 'in' } : row))
  const storing = db.transaction((tx) => insertMovements(tx, wrong))
  await expect(storing).rejects.toMatchObject({ constraint: 'movements_direction' })
  expect(await stored()).toEqual([])
})

test('none is stored if the rows cannot be written, and the connection is used again', async () => {
  const [row] = rows
  if (row === undefined) throw new Error('there are no rows')
  const backends = () => db.execute('select pg_backend_pid() as pid')
  const before = await backends()
  const storing = db.transaction(async (tx) => {
    await insertMovements(tx, [row])
    const lines = {
      *[Symbol.iterator]() {
        yield ''
        throw new Error('no such row')
      },
    }
    await tx.copy({ text: 'copy movements from stdin', lines })
  })
  await expect(storing).rejects.toThrow('no such row')
  expect(await stored()).toEqual([])
  expect((await backends()).rows).toEqual(before.rows)
})

describe('what wallets hold of NFTs', () => {
  const [network, address, contract] = ['Ethereum', 'a wallet', 'a collection']
  type Moving = Partial<MovementRow> & Pick<MovementRow, 'direction' | 'tokenId'>
  let made = 0
  /** An NFT; each is in a block of its own. */
  const moving = (change: Moving): MovementRow => {
    made += 1
    const hash = `0x${String(made).padStart(64, '0')}`
    return {
      ...{ id: randomUUID(), network, address, counterparty: 'x', standard: 'erc721', contract, amount: 1n },
      ...{
        blockNumber: BigInt(made),
        transactionHash: hash,
        logIndex: 0,
        itemIndex: 0,
        at: new Date(),
        initiatedBy: null,
        ofWallet: true,
      },
      ...change,
    }
  }
  const comes = (tokenId: bigint, change: Partial<MovementRow> = {}) => moving({ direction: 'in', tokenId, ...change })
  const goes = (tokenId: bigint, change: Partial<MovementRow> = {}) => moving({ direction: 'out', tokenId, ...change })
  const write = (some: readonly MovementRow[]) => db.transaction((tx) => insertMovements(tx, some))
  const held = async () => {
    const all = await db.select().from(holdings).orderBy(holdings.address, holdings.tokenId)
    return all.map((row) => `${row.address} has ${row.amount} of ${row.tokenId}`)
  }

  test('is what came and did not go, in whatever order that is found', async () => {
    await write([comes(1n), comes(2n), comes(3n), goes(2n)])
    await write([goes(3n)])
    expect(await held()).toEqual(['a wallet has 1 of 1'])
    await write([goes(4n)])
    expect(await held()).toEqual(['a wallet has 1 of 1', 'a wallet has -1 of 4'])
    await write([comes(4n), comes(3n)])
    expect(await held()).toEqual(['a wallet has 1 of 1', 'a wallet has 1 of 3'])
  })

  test('counts a movement once, and adds up amounts of any size', async () => {
    const most = 2n ** 256n - 1n
    const many = Array.from({ length: 20 }, () => comes(1n, { standard: 'erc1155', amount: most }))
    await write(many.slice(0, 15))
    await write(many)
    expect(await held()).toEqual([`a wallet has ${20n * most} of 1`])
  })

  test('is nothing of coins, and nothing of strangers until their address becomes a wallet', async () => {
    await write([
      comes(1n, { tokenId: null, standard: 'erc20' }),
      comes(2n, { address: 'b stranger', ofWallet: false }),
    ])
    expect(await held()).toEqual([])
    await db.transaction((tx) => claimMovements(tx, { network, address: 'b stranger' }))
    expect(await held()).toEqual(['b stranger has 1 of 2'])
  })

  test('is as before once the blocks of a reorganisation are gone', async () => {
    const before = [comes(1n), comes(2n)]
    await write(before)
    await write([goes(1n), comes(3n)])
    const blockNumber = before[1]?.blockNumber ?? 0n
    await db.transaction((tx) => deleteMovementsAbove(tx, { network, blockNumber }))
    expect(await held()).toEqual(['a wallet has 1 of 1', 'a wallet has 1 of 2'])
  })

  test('follows the standard that a doubtful contract turns out to have', async () => {
    const settle = async (standard: 'erc20' | 'erc721') => {
      const doubt = (tx: Tx) =>
        doubtContracts(tx, { network, contracts: [contract], fromBlock: 0n, toBlock: 1_000_000n })
      await db.transaction(doubt)
      await settleDoubtfulContract(db, { network, contract, standard })
    }
    await beginCursor(db, { network, purpose: 'index' }, { number: 1n, hash: '0x1' })
    await write([comes(1n), goes(1n), comes(2n)])
    await settle('erc20')
    expect(await held()).toEqual([])
    await settle('erc721')
    expect(await held()).toEqual(['a wallet has 1 of 2'])
  })

  test('is right again after it was summed anew, whatever happened to it', async () => {
    const owner = postgres(database.url, { max: 1, onnotice: () => {} })
    await owner`alter table movements disable trigger keep_holdings_added`
    await write([comes(1n)])
    await owner`alter table movements enable trigger keep_holdings_added`
    await write([comes(2n), comes(3n), comes(4n), goes(4n), comes(5n, { network: 'Polygon' })])
    await owner`update holdings set amount = 2 * amount where token_id in (2, 5)`
    await owner`insert into holdings (network, address, contract, token_id, amount) values (${network}, 'nobody', ${contract}, 9, 1)`
    await owner.end()
    const mended = async () => (await sumHoldings(database.url)).filter((each) => each.mended > 0)
    expect(await mended()).toEqual([
      { network: 'Ethereum', mended: 3 },
      { network: 'Polygon', mended: 1 },
    ])
    expect(await held()).toEqual([
      'a wallet has 1 of 1',
      'a wallet has 1 of 2',
      'a wallet has 1 of 3',
      'a wallet has 1 of 5',
    ])
    expect(await mended()).toEqual([])
  })

  /** Runs `work` while a step of the indexer is open, which ends when `work` waits for it. */
  const besideStep = async <Result>(work: () => Promise<Result>): Promise<Result> => {
    const { promise: stepEnds, resolve: endStep } = Promise.withResolvers<void>()
    const { promise: stepBegins, resolve: beginStep } = Promise.withResolvers<void>()
    await beginCursor(db, { network, purpose: 'index' }, { number: 1n, hash: '0x1' })
    const step = db.transaction(async (tx) => {
      await holdIndexer(tx, network)
      beginStep()
      await stepEnds
      await insertMovements(tx, [comes(1n)])
    })
    await stepBegins
    const result = work()
    const owner = postgres(database.url, { max: 1 })
    const waiting = () =>
      owner`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%cursors%'`
    while ((await waiting()).length === 0) await sleep(5)
    await owner.end()
    endStep()
    await step
    return result
  }

  test('is summed anew only when the indexer has ended its step', async () => {
    const summed = await besideStep(() => sumHoldings(database.url))
    expect(summed.filter((each) => each.mended > 0)).toEqual([])
    expect(await held()).toEqual(['a wallet has 1 of 1'])
  })

  test('changes with the standard of a contract only when the indexer has ended its step', async () => {
    const doubt = { network, contracts: [contract], fromBlock: 0n, toBlock: 1_000_000n } as const
    await db.transaction((tx) => doubtContracts(tx, doubt))
    await besideStep(() => settleDoubtfulContract(db, { network, contract, standard: 'erc20' }))
    expect(await held()).toEqual([])
  })
})
