// One PIN tried on many owners: the caller is stopped, over all processes, and nobody else is.

import { describe, expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import { openDb } from '../../db/client.ts'
import { AppError } from '../../src/platform/errors.ts'
import { createQueue } from '../../src/platform/queue.ts'
import { createGuard, createPinLimits, type Guard } from '../../src/vault/rooms/credentials/guard.ts'
import { PIN_TURNS_MAX } from '../../src/vault/rooms/sealing/stretch.ts'
import { isLong } from '../support/long.ts'
import { createDatabase } from '../support/postgres.ts'
import { afterTests, shared } from '../support/shared.ts'
import { codeOf, openTestGuesses, TEST_DEPLOYMENT_KEY } from './support.ts'

const MAX = 3
const AT_ONCE = isLong ? 40 : 15
const HERE = '192.0.2.1'
const ELSEWHERE = '192.0.2.2'

const database = await shared(createDatabase())
const { sql } = database
const db = openDb({ url: database.vaultUrl, maxConnections: 10, applicationName: 'pin limits' })
afterTests(() => db.close({ timeoutSeconds: 5 }))
const guesses = await openTestGuesses(db)

/** A guard like that of a process that has just started. */
const process = (): Guard =>
  createGuard({
    guesses,
    argon2: createQueue({ atOnce: PIN_TURNS_MAX }),
    pinLimits: createPinLimits({ db, deploymentKey: TEST_DEPLOYMENT_KEY, wrongPinsPerHour: MAX }),
  })

const settle = async (by: Guard, guess: Parameters<Guard['lease']>[0], isRight: boolean): Promise<void> => {
  await using lease = await by.lease(guess)
  await lease.settle(isRight ? new Uint8Array(32) : null)
}

const newProject = async (): Promise<string> => {
  const projectId = randomUUID()
  await sql`insert into projects (id, name) values (${projectId}, 'Test')`
  await guesses.makeProjectKey(projectId)
  return projectId
}
const newOwner = async (projectId: string): Promise<string> => {
  const ownerId = randomUUID()
  await sql`insert into user_keys (project_id, owner_id, salt, sealed) values (${projectId}, ${ownerId}, '\\x00', '\\x00')`
  await sql`insert into pin_guesses (project_id, owner_id, mac) values (${projectId}, ${ownerId}, '')`
  await guesses.authenticate(projectId, ownerId)
  return ownerId
}
const newKey = () => `api_key:${randomUUID()}`
const newUser = () => `user:${randomUUID()}`

type Try = { readonly projectId: string; readonly actor: string; readonly from?: string; readonly by?: Guard }

const attempt = async ({ projectId, actor, from, by = process() }: Try, isRight: boolean): Promise<string> => {
  const ownerId = await newOwner(projectId)
  const code = await codeOf(settle(by, { projectId, ownerId, actor, from, version: 1 }, isRight))
  const [row] = await sql`select total from pin_guesses where owner_id = ${ownerId}`
  expect(row?.total).toBe(code === 'INVALID_SECRET' ? 1 : 0)
  return code
}
/** Tries PINs, each on a new owner. */
const wrong = (asked: Try) => attempt(asked, false)
const right = (asked: Try) => attempt(asked, true)

const wrongs = async (asked: Try, count: number): Promise<readonly string[]> => {
  const codes: string[] = []
  for (let tries = 0; tries < count; tries += 1) codes.push(await wrong(asked))
  return codes
}
const allWrong = (count: number) => Array(count).fill('INVALID_SECRET')

describe('an API key with wrong PINs for many owners', () => {
  test('is refused after the limit, with right and wrong PINs, in every process', async () => {
    const asked = { projectId: await newProject(), actor: newKey() }
    expect(await wrongs(asked, MAX + 2)).toEqual([...allWrong(MAX), 'rate_limited', 'rate_limited'])
    expect(await right(asked)).toBe('rate_limited')
    const guess = { ...asked, ownerId: await newOwner(asked.projectId), version: 1 }
    const error = await settle(process(), guess, false).catch((refusal: unknown) => refusal)
    if (!(error instanceof AppError)) throw new Error('it was not refused')
    expect(error.status).toBe(429)
    expect(error.retryAfterSeconds).toBeGreaterThan(3_500)
    expect(error.retryAfterSeconds).toBeLessThanOrEqual(3_600)
  })

  test('can exceed the limit only by the number of simultaneous checks', async () => {
    const asked = { projectId: await newProject(), actor: newKey(), by: process() }
    const codes = await Promise.all(Array.from({ length: AT_ONCE }, () => wrong(asked)))
    const checked = codes.filter((code) => code === 'INVALID_SECRET').length
    expect(checked).toBeGreaterThanOrEqual(MAX)
    expect(checked).toBeLessThan(MAX + PIN_TURNS_MAX)
    expect(codes.filter((code) => code === 'rate_limited').length).toBe(AT_ONCE - checked)
  })

  test('does not affect other keys of its project', async () => {
    const projectId = await newProject()
    await wrongs({ projectId, actor: newKey() }, MAX)
    const other = { projectId, actor: newKey() }
    expect(await right(other)).toBe('resolved')
    expect(await wrongs(other, MAX + 1)).toEqual([...allWrong(MAX), 'rate_limited'])
  })

  test('may try again after its hour', async () => {
    const asked = { projectId: await newProject(), actor: newKey() }
    await wrongs(asked, MAX)
    expect(await right(asked)).toBe('rate_limited')
    await sql`update throttles set window_ends_at = now()`
    expect(await right(asked)).toBe('resolved')
    expect(await wrongs(asked, MAX + 1)).toEqual([...allWrong(MAX), 'rate_limited'])
  })

  test('is not charged for right PINs or for a locked owner', async () => {
    const asked = { projectId: await newProject(), actor: newKey() }
    const before = await sql`select count(*)::int from throttles`
    for (let count = 0; count < MAX + 2; count += 1) expect(await right(asked)).toBe('resolved')
    const ownerId = await newOwner(asked.projectId)
    await sql`update pin_guesses set fails = 5, locked_until = now() + interval '1 hour' where owner_id = ${ownerId}`
    await guesses.authenticate(asked.projectId, ownerId)
    const locked = { ...asked, ownerId, version: 1 }
    for (let count = 0; count < MAX + 2; count += 1) {
      expect(await codeOf(settle(process(), locked, false))).toBe('TOO_MANY_FAILED_ATTEMPTS')
    }
    expect([...(await sql`select count(*)::int from throttles`)]).toEqual([...before])
  })
})

test('all keys of a project together have five times the limit of one', async () => {
  const projectId = await newProject()
  for (let count = 0; count < 5; count += 1) {
    expect(await wrongs({ projectId, actor: newKey() }, MAX)).toEqual(allWrong(MAX))
  }
  expect(await right({ projectId, actor: newKey() })).toBe('rate_limited')
  expect(await right({ projectId: await newProject(), actor: newKey() })).toBe('resolved')
})

test('all keys of a project at one address together have twice the limit of one, only for that address', async () => {
  const projectId = await newProject()
  for (let count = 0; count < 2; count += 1) await wrongs({ projectId, actor: newKey(), from: HERE }, MAX)
  expect(await right({ projectId, actor: newKey(), from: HERE })).toBe('rate_limited')
  expect(await right({ projectId, actor: newKey(), from: ELSEWHERE })).toBe('resolved')
  // Another project may have servers at the same address.
  expect(await right({ projectId: await newProject(), actor: newKey(), from: HERE })).toBe('resolved')
})

describe('users, who can sign up freely', () => {
  test('do not affect the project’s keys with any number of wrong PINs', async () => {
    const projectId = await newProject()
    for (let count = 0; count < 6; count += 1) {
      await wrongs({ projectId, actor: newUser(), from: `198.51.100.${count}` }, MAX)
    }
    expect(await right({ projectId, actor: newKey(), from: '198.51.100.1' })).toBe('resolved')
    expect(await right({ projectId, actor: newUser(), from: '198.51.100.7' })).toBe('resolved')
  })

  test('at one address share a limit over all projects', async () => {
    const from = '203.0.113.9'
    for (let count = 0; count < MAX; count += 1) await wrong({ projectId: await newProject(), actor: newUser(), from })
    expect(await right({ projectId: await newProject(), actor: newUser(), from })).toBe('rate_limited')
    expect(await right({ projectId: await newProject(), actor: newUser(), from: '203.0.113.10' })).toBe('resolved')
  })

  test('have a limit each, over all addresses', async () => {
    const asked = { projectId: await newProject(), actor: newUser() }
    for (let count = 0; count < MAX; count += 1) await wrong({ ...asked, from: `203.0.113.${20 + count}` })
    expect(await right({ ...asked, from: '203.0.113.40' })).toBe('rate_limited')
  })
})

test('only a few rows per caller and hour are stored, without addresses', async () => {
  await sql`delete from throttles`
  const asked = { projectId: await newProject(), actor: newKey(), from: HERE }
  await wrongs(asked, MAX + 3)
  const rows = await sql<{ key: Uint8Array; tries: number }[]>`select key, tries from throttles`
  expect(rows.map(({ key, tries }) => [key.length, tries])).toEqual(Array(3).fill([32, MAX]))
})
