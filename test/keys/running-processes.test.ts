// Both keys are changed beneath a worker and a console that were not restarted before. They do no harm, say what is to
// be done, and go on after a restart with the next keys.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import postgres, { type Sql } from 'postgres'
import { startApiProcess } from '../support/api.ts'
import { runCli } from '../support/cli.ts'
import { isLeftOut } from '../support/long.ts'
import { programPath } from '../support/programs.ts'
import { type Service, startService } from '../support/service.ts'
import { until } from '../support/until.ts'
import { keyFile } from '../vault/support.ts'
import { at } from './keys-world.ts'

const EMAIL = 'somebody@example.com'

type Variables = Readonly<Record<string, string>>

const children: Bun.Subprocess[] = []

/** A process, and what it has said. */
const start = (program: Parameters<typeof programPath>[0], variables: Variables) => {
  const child = Bun.spawn(['bun', '--no-env-file', programPath(program)], {
    env: { PATH: process.env.PATH ?? '', ...variables, LOG_LEVEL: 'info' },
    stdout: 'pipe',
    stderr: 'inherit',
  })
  children.push(child)
  let said = ''
  void (async () => {
    for await (const chunk of child.stdout) said += Buffer.from(chunk).toString()
  })()
  return { child, said: () => said }
}

describe.skipIf(isLeftOut('keys that are changed beneath running processes'))('a key is changed beneath', () => {
  let service: Service
  let sql: Sql
  let api: Awaited<ReturnType<typeof startApiProcess>> | null = null
  let next: Variables
  const keys = [keyFile(randomBytes(32)), keyFile(randomBytes(32))] as const
  const ofWorker = (variables: Variables) => ({
    ...variables,
    ...{ IDENTITY_KEY: '', VAULT_SOCKET: '', DATABASE_URL: service.database.workerUrl },
  })
  const ofConsole = (variables: Variables) => ({
    ...variables,
    ...{ DATABASE_URL: service.database.consoleUrl, CONSOLE_PORT: '0' },
  })
  const originOf = async ({ said }: ReturnType<typeof start>): Promise<string> =>
    /"origin":"([^"]+)"/.exec(await until(said, (text) => text.includes('"listening"')))?.[1] ?? ''
  /** Logs in by a new link. */
  const logIn = async (origin: string, variables: Variables): Promise<Response> => {
    const { output } = await runCli(['console', 'link', '--name', 'ann', '--role', 'operator'], variables)
    const secret = new URL(output.trim()).searchParams.get('secret') ?? ''
    return fetch(`${origin}/link`, {
      method: 'POST',
      redirect: 'manual',
      headers: { origin, 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ secret }).toString(),
    })
  }
  const cookieOf = (answer: Response): string => answer.headers.get('set-cookie')?.split(';', 1)[0] ?? ''
  const overview = (origin: string, cookie: string) =>
    fetch(`${origin}/`, { redirect: 'manual', headers: { cookie } }).then(({ status }) => status)

  beforeAll(async () => {
    service = await startService()
    sql = postgres(service.database.url, { max: 1, onnotice: () => {} })
    next = { ...service.variables, IDENTITY_KEY: keys[0].spec, SERVICE_KEY: keys[1].spec }
  })
  afterAll(async () => {
    for (const child of children) {
      child.kill('SIGKILL')
      await child.exited
    }
    await api?.stop()
    await sql.end()
    await service.close()
    for (const key of keys) key.remove()
  })

  test('a worker and a console, which say so, do nothing with it, and go on after a restart', async () => {
    const present = service.variables
    const worker = start('src/main/worker', ofWorker(present))
    const operators = start('src/main/console', ofConsole(present))
    const origin = await originOf(operators)
    const cookie = cookieOf(await logIn(origin, present))
    expect(await overview(origin, cookie)).toBe(200)
    await until(worker.said, (text) => text.includes('"working"'))

    const owner = { DATABASE_URL: service.database.url }
    for (const [command, variables] of [
      ['rotate-identity', { ...present, IDENTITY_KEY: keys[0].spec, IDENTITY_KEY_OTHER: present.IDENTITY_KEY ?? '' }],
      ['rotate-service', { ...next, SERVICE_KEY_OTHER: present.SERVICE_KEY ?? '' }],
    ] as const) {
      const { exitCode, errors } = await runCli(['keys', command], { ...variables, ...owner })
      expect([command, exitCode, errors]).toEqual([command, 0, ''])
    }
    api = await startApiProcess(next)
    await at(service, api.url).post('/users/login-with-email', { email: EMAIL }, { authorization: undefined })

    // The mail waits. The session has ended, and nobody gets another one.
    const [job] = await until(
      () => sql`select last_error from graphile_worker._private_jobs where last_error is not null`,
      (rows) => rows.length > 0,
    )
    expect(job?.last_error).toStartWith('SERVICE_KEY was changed: this process must be restarted with the present one.')
    await until(worker.said, (text) => text.includes('SERVICE_KEY was changed: this process must be restarted'))
    await until(operators.said, (text) =>
      /(IDENTITY|SERVICE)_KEY was changed: this process must be restarted/.test(text),
    )
    expect(await overview(origin, cookie)).toBe(303)
    const refused = await logIn(origin, next)
    expect([refused.status, refused.headers.get('set-cookie')]).toEqual([503, null])
    expect(await refused.text()).toContain(
      'IDENTITY_KEY was changed: this process must be restarted with the present one.',
    )
    const mail = async () => (await sql`select failure, sent_at from mails where recipient = ${EMAIL}`)[0]
    expect(await mail()).toEqual({ failure: null, sent_at: null })
    expect(await sql`select from audit where action = 'row_forged'`).toHaveLength(0)
    for (const { child } of [worker, operators]) {
      child.kill('SIGTERM')
      expect(await child.exited).toBe(0)
    }

    const restarted = [start('src/main/worker', ofWorker(next)), start('src/main/console', ofConsole(next))] as const
    const there = await originOf(restarted[1])
    expect(await overview(there, cookieOf(await logIn(there, next)))).toBe(200)
    await until(mail, (row) => row?.sent_at !== null)
    for (const { child } of restarted) {
      child.kill('SIGTERM')
      expect(await child.exited).toBe(0)
    }
  }, 120_000)
})
