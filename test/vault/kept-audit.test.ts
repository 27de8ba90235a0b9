// The audit rows that a vault has written, on the server where it wrote them and on one that took its place without the
// last of them.

import { afterEach, beforeEach, expect, spyOn, test } from 'bun:test'
import * as timers from 'node:timers'
import { type Db, openDb } from '../../db/client.ts'
import { createVaultAudit } from '../../src/platform/audit/audit.ts'
import { createKeptAudit, type KeptAudit } from '../../src/vault/rooms/kept-audit.ts'
import { startArchivedPostgres } from '../restore/archived-postgres.ts'
import { isLong, longTest } from '../support/long.ts'
import { createDatabase, createDatabaseOn, onServer } from '../support/postgres.ts'
import { afterTests, shared } from '../support/shared.ts'
import { until } from '../support/until.ts'
import { TEST_DEPLOYMENT_KEY } from './support.ts'

/** The vault looks every two and a half seconds. */
const EVERY_MS = 50
/** Longer than a row is kept before it is looked for. */
const DUE_MS = 6_000
const GONE = 'audit rows of this vault are gone: no key is opened'
const LOST = 'another server of the database lacks audit rows of this vault'

/** Only a failover needs a server of its own. */
const server = isLong ? await shared(startArchivedPostgres()) : null
const database = await shared(server === null ? createDatabase() : createDatabaseOn(server.url))
const db = openDb({ url: database.vaultUrl, maxConnections: 2, applicationName: 'kept-audit' })
afterTests(() => db.close({ timeoutSeconds: 5 }))

/** The clock of the vault, which goes on only where a test says so. */
let clockMs: number
let logged: string[]
let answers: number
let kept: KeptAudit

/** The database; it is noted that it has answered a look. */
const watched = (): Db =>
  Object.assign(Object.create(db), {
    execute: async (...query: Parameters<Db['execute']>) => {
      const answer = await db.execute(...query)
      answers += 1
      return answer
    },
  })

beforeEach(async () => {
  logged = []
  answers = 0
  const log = { error: (facts: object, sentence: string) => void logged.push(`${Object.values(facts)[0]} ${sentence}`) }
  const { setInterval } = timers
  const soon = spyOn(timers, 'setInterval').mockImplementation(((look: () => void) =>
    setInterval(look, EVERY_MS)) as typeof setInterval)
  kept = createKeptAudit({ db: watched(), deploymentKey: TEST_DEPLOYMENT_KEY, log })
  soon.mockRestore()
  // It knows its server before it has written anything.
  await until(() => answers === 1)
  clockMs = performance.now()
  spyOn(performance, 'now').mockImplementation(() => clockMs)
})
afterEach(() => {
  kept.close()
  spyOn(performance, 'now').mockRestore()
})

const write = async (subject: string): Promise<void> => {
  const audit = createVaultAudit({
    db,
    now: () => new Date(),
    deploymentKey: TEST_DEPLOYMENT_KEY,
    onCommitted: kept.add,
  })
  const act = { action: 'root_key_rotated', projectId: null, actor: 'operator', subject, details: {} } as const
  await audit.commit(act)
}

const remove = (...subjects: readonly string[]) =>
  onServer(database.url, async (sql) => {
    await sql`set session_replication_role = replica`
    const { count } = await sql`delete from audit where subject in ${sql(subjects)}`
    expect(count).toBe(subjects.length)
  })

/** Another server, which is the same one but for when it was started, and for the rows that it has lost. */
const failOver = async (...lost: readonly string[]): Promise<void> => {
  await server?.restart()
  await remove(...lost)
}

const opensKeys = (): boolean => {
  try {
    kept.require()
    return true
  } catch (error) {
    expect(error).toMatchObject({ code: 'unavailable', message: expect.stringContaining('lacks 1 audit rows') })
    return false
  }
}

/** Waits for so many lines of the log, or until no key is opened. */
const untilLogged = (lines: number) => until(() => logged.length === lines || !opensKeys())

longTest(
  'rows that were written within the seconds before a failover are named and forgotten, also by a look that comes later',
  async () => {
    await write('earlier')
    clockMs += DUE_MS
    await write('later')
    await failOver('earlier', 'later')
    await untilLogged(1)
    clockMs += DUE_MS
    await untilLogged(2)
    expect({ logged, opensKeys: opensKeys() }).toEqual({ logged: [`1 ${LOST}`, `1 ${LOST}`], opensKeys: true })
  },
  60_000,
)

longTest(
  'the first row of a vault, which is gone by a failover, is forgotten',
  async () => {
    await write('first')
    await failOver('first')
    clockMs += DUE_MS
    await untilLogged(1)
    expect({ logged, opensKeys: opensKeys() }).toEqual({ logged: [`1 ${LOST}`], opensKeys: true })
  },
  60_000,
)

test('a row that is deleted on the same server stops the vault', async () => {
  await write('deleted')
  await remove('deleted')
  clockMs += DUE_MS
  await untilLogged(1)
  expect({ logged, opensKeys: opensKeys() }).toEqual({ logged: [`1 ${GONE}`], opensKeys: false })
}, 60_000)

longTest(
  'a row that was written after a failover, and is deleted, stops the vault',
  async () => {
    await write('lost')
    clockMs += DUE_MS
    await failOver('lost')
    await untilLogged(1)
    clockMs += 1
    await write('deleted afterwards')
    await remove('deleted afterwards')
    clockMs += DUE_MS
    await untilLogged(2)
    expect({ logged, opensKeys: opensKeys() }).toEqual({ logged: [`1 ${LOST}`, `1 ${GONE}`], opensKeys: false })
  },
  60_000,
)
