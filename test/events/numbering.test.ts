import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import postgres from 'postgres'
import { type Db, openDb } from '../../db/client.ts'
import { EVENTS_CHANNEL } from '../../db/events.ts'
import { dropOldEvents, numberEvents, readEvents } from '../../db/queries/events.ts'
import { EVENT_TYPES } from '../../db/words.ts'
import { isLong, longTest } from '../support/long.ts'
import { byTcp, createDatabase, type TestDatabase } from '../support/postgres.ts'
import { CAUSES, startCauses } from './causes.ts'

let database: TestDatabase
let owner: postgres.Sql
let db: Db

beforeAll(async () => {
  database = await createDatabase({ withNetworks: true })
  owner = postgres(database.url, { max: 4, onnotice: () => {} })
  db = openDb({ url: database.apiUrl, applicationName: 'test', maxConnections: 8 })
})

afterAll(async () => {
  await db.close({ timeoutSeconds: 5 })
  await owner.end()
  await database.close()
})

const newProject = async (): Promise<string> => {
  const projectId = randomUUID()
  await owner`insert into projects (id, name) values (${projectId}, 'Test')`
  return projectId
}

type Sql = postgres.Sql | postgres.TransactionSql

/** An event whose cause is the row of a user. */
const makeUser = async (sql: Sql, projectId: string): Promise<string> => {
  const id = randomUUID()
  await sql`insert into users (id, project_id, mac) values (${id}, ${projectId}, '')`
  return id
}

const readAll = async (projectId: string) => {
  await numberEvents(db, { projectId, atMost: 1_000 })
  const { rows } = await readEvents(db, { projectId, after: 0n, types: null, limit: 1_000_000 })
  return rows
}

/** Small numbers from a seed, the same in each run. */
const randomOf = (seed: number) => () => {
  seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648
  return seed / 2_147_483_648
}

/** Of each writer. */
const TURNS = isLong ? 25 : 6

describe('the numbers of events', () => {
  test('a transaction that commits late comes after those that a reader has seen', async () => {
    const projectId = await newProject()
    const { promise: release, resolve: commit } = Promise.withResolvers<void>()
    const { promise: written, resolve: wrote } = Promise.withResolvers<void>()
    const late = owner.begin(async (sql) => {
      await makeUser(sql, projectId)
      wrote()
      await release
    })
    await written
    await makeUser(owner, projectId)
    expect((await readAll(projectId)).map(({ number }) => number)).toEqual([1n])
    commit()
    await late
    const page = { projectId, after: 1n, types: null, limit: 10 }
    expect((await readEvents(db, page)).rows).toEqual([])
    await numberEvents(db, { projectId, atMost: 10 })
    expect((await readEvents(db, page)).rows.map(({ number }) => number)).toEqual([2n])
  })

  test('are without gaps: readers beside eight writers that delay and roll back miss no row and see none twice', async () => {
    const projectId = await newProject()
    const committed = new Set<string>()
    let isOver = false
    const writer = async (seed: number) => {
      const random = randomOf(seed)
      const sql = postgres(byTcp(database.apiUrl).href, { max: 1, onnotice: () => {} })
      for (let turn = 0; turn < TURNS; turn += 1) {
        const made: string[] = []
        const rollback = new Error('rolled back')
        try {
          await sql.begin(async (tx) => {
            const rows = 1 + Math.floor(random() * 3)
            for (let row = 0; row < rows; row += 1) made.push(await makeUser(tx, projectId))
            await sleep(random() * 8)
            if (random() < 0.3) throw rollback
          })
          for (const id of made) committed.add(id)
        } catch (error) {
          if (error !== rollback) throw error
        }
      }
      await sql.end()
    }
    const reader = async (limit: number) => {
      const seen: { number: bigint; id: unknown }[] = []
      let after = 0n
      for (let isLast = false; !isLast; ) {
        isLast = isOver
        for (;;) {
          const given = await numberEvents(db, { projectId, atMost: limit })
          const { rows } = await readEvents(db, { projectId, after, types: null, limit })
          seen.push(...rows.map(({ number, data }) => ({ number, id: data.user_id })))
          after = rows.at(-1)?.number ?? after
          if (rows.length === 0 && given === 0) break
        }
      }
      return seen
    }
    const writers = Promise.all([1, 2, 3, 4, 5, 6, 7, 8].map(writer)).finally(() => {
      isOver = true
    })
    const [, ...readings] = await Promise.all([writers, reader(3), reader(7), reader(100)])
    for (const seen of readings) {
      expect(seen.map(({ number }) => number)).toEqual(seen.map((_, place) => BigInt(place + 1)))
      expect(new Set(seen.map(({ id }) => id))).toEqual(new Set(committed))
      expect(seen).toHaveLength(committed.size)
    }
  })

  test('count for each project alone', async () => {
    const [one, other] = [await newProject(), await newProject()]
    for (const projectId of [one, other, one]) await makeUser(owner, projectId)
    expect((await readAll(one)).map(({ number }) => number)).toEqual([1n, 2n])
    expect((await readAll(other)).map(({ number }) => number)).toEqual([1n])
  })

  test('writers of one project do not wait for each other, nor for a reader', async () => {
    const projectId = await newProject()
    await makeUser(owner, projectId)
    await readAll(projectId)
    await owner.begin(async (one) => {
      await makeUser(one, projectId)
      await one`select from event_counters where project_id = ${projectId} for update`
      await owner.begin(async (other) => {
        await other`set local lock_timeout = '1ms'`
        await makeUser(other, projectId)
      })
    })
    expect(await readAll(projectId)).toHaveLength(3)
  })
})

describe.each(EVENT_TYPES)('%s', (type) => {
  test('is written exactly with its cause: a rolled back one leaves no event and no gap', async () => {
    const of = await startCauses(owner)
    const earlier = await readAll(of.projectId)
    const rolledBack = new Error('rolled back')
    const trying = owner.begin(async (sql) => {
      await CAUSES[type](sql, of)
      const written = await sql`select type from events where project_id = ${of.projectId} and number is null`
      expect([...written]).toEqual([{ type }])
      throw rolledBack
    })
    await expect(trying).rejects.toBe(rolledBack)
    expect(await readAll(of.projectId)).toEqual([...earlier])
    await CAUSES[type](owner, of)
    const later = await readAll(of.projectId)
    expect(later.slice(0, -1)).toEqual([...earlier])
    expect(later.at(-1)).toMatchObject({ number: BigInt(earlier.length + 1), type })
  })
})

/** Resolves when it was told so often. */
const listenTo = (notices: Db['eventNotices']) => {
  let told = 0
  let wake = () => {}
  const end = notices.subscribe(async () => {
    told += 1
    wake()
  })
  const until = async (count: number): Promise<void> => {
    while (told < count)
      await new Promise<void>((resolve) => {
        wake = resolve
      })
  }
  return { end, until, told: () => told }
}

describe('the notices of events', () => {
  longTest('come from one of those that commit at the same time, and again after it', async () => {
    const listener = listenTo(db.eventNotices)
    // After the beginning, as after each notification, it is told four times.
    await listener.until(4)
    const projectId = await newProject()
    await owner.begin(async (sql) => {
      await makeUser(sql, projectId)
      await sql`set constraints all immediate`
      // It holds the lock of those that notify, so this one passes.
      await makeUser(owner, projectId)
    })
    await listener.until(8)
    expect(listener.told()).toBe(8)
    expect(await readAll(projectId)).toHaveLength(2)
    listener.end()
  })

  test('come from a transaction of movements too', async () => {
    const of = await startCauses(owner)
    const { promise: heard, resolve } = Promise.withResolvers<string>()
    const { unlisten } = await owner.listen(EVENTS_CHANNEL, resolve)
    await CAUSES['activity.created'](owner, of)
    expect(await heard).toBe('')
    await unlisten()
  })
})

describe('old events', () => {
  test('are deleted from the oldest on, and the counter says up to which', async () => {
    const worker = openDb({ url: database.workerUrl, applicationName: 'test', maxConnections: 2 })
    const projectId = await newProject()
    for (let made = 0; made < 5; made += 1) await makeUser(owner, projectId)
    await readAll(projectId)
    const age = (number: number, days: number) =>
      owner`update events set created_at = now() - make_interval(days => ${days}) where project_id = ${projectId} and number = ${number}`
    await age(1, 40)
    await age(2, 40)
    // A younger one stands before it.
    await age(4, 40)
    await dropOldEvents(worker, { keptDays: 30 })
    const read = () => readEvents(db, { projectId, after: 0n, types: null, limit: 10 })
    expect((await read()).rows.map(({ number }) => number)).toEqual([3n, 4n, 5n])
    expect(await read()).toMatchObject({ droppedNumber: 2n, lastNumber: 5n })
    await dropOldEvents(worker, { keptDays: 30 })
    expect(await read()).toMatchObject({ droppedNumber: 2n, lastNumber: 5n })
    for (const number of [3, 5]) await age(number, 40)
    await dropOldEvents(worker, { keptDays: 30 })
    expect(await read()).toEqual({ rows: [], readTo: 5n, droppedNumber: 5n, lastNumber: 5n })
    await makeUser(owner, projectId)
    expect((await readAll(projectId)).map(({ number }) => number)).toEqual([6n])
    await worker.close({ timeoutSeconds: 5 })
  })

  test('that nobody has read get their numbers before they are deleted', async () => {
    const worker = openDb({ url: database.workerUrl, applicationName: 'test', maxConnections: 2 })
    const projectId = await newProject()
    await makeUser(owner, projectId)
    await owner`update events set created_at = now() - interval '31 days' where project_id = ${projectId}`
    await makeUser(owner, projectId)
    await dropOldEvents(worker, { keptDays: 30 })
    expect((await readAll(projectId)).map(({ number }) => number)).toEqual([2n])
    await worker.close({ timeoutSeconds: 5 })
  })
})
