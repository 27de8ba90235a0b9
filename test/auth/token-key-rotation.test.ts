// API processes rotate the keys of access tokens themselves, several at a time and without the worker.

import { describe, expect, test } from 'bun:test'
import { openDb } from '../../db/client.ts'
import { startRotatingTokenKeys } from '../../src/identity/auth/access-token.ts'
import { createLog } from '../../src/platform/process/log.ts'
import { isLong } from '../support/long.ts'
import { programPath } from '../support/programs.ts'
import { startService } from '../support/service.ts'
import { shared } from '../support/shared.ts'

const NOBODY = { authorization: undefined }

const service = await shared(startService({ rpcUrls: { Ethereum: 'http://127.0.0.1:1' } }))
const { sql } = service.database

/** Starts an API process and, once it listens, tells it to stop. @returns its exit code. */
const runProcess = async (): Promise<number> => {
  const child = Bun.spawn(['bun', '--no-env-file', programPath('src/main/api')], {
    env: { PATH: process.env.PATH ?? '', ...service.variables, PORT: '0', LOG_LEVEL: 'info' },
    stdout: 'pipe',
    stderr: 'inherit',
  })
  let output = ''
  let isTold = false
  for await (const chunk of child.stdout) {
    output += Buffer.from(chunk).toString()
    if (isTold || !output.includes('"listening"')) continue
    isTold = true
    child.kill('SIGTERM')
  }
  return child.exited
}

/** In the suite what such a process does at its start. */
const runServer = isLong
  ? runProcess
  : async (): Promise<number> => {
      await startRotatingTokenKeys(service.ctx)()
      return 0
    }

const keys = () => sql<{ id: string; minutes: number; kept: boolean }[]>`
  select id, round(extract(epoch from signs_from - now()) / 60)::int as minutes, published_until is null as kept
  from token_keys order by signs_from`

describe('API processes', () => {
  test('create one next key together when the current one has signed for 30 days, and none before', async () => {
    await service.post('/users/login-anonymously', {}, NOBODY)
    const [first] = await keys()
    expect(await runServer()).toBe(0)
    expect(await keys()).toHaveLength(1)

    await sql`update token_keys set signs_from = now() - interval '30 days 1 minute'`
    const count = isLong ? 4 : 2
    expect(await Promise.all(Array.from({ length: count }, runServer))).toEqual(Array(count).fill(0))
    const [old, next, ...more] = await keys()
    expect([old?.id, old?.kept, more]).toEqual([first?.id, false, []])
    expect(next).toMatchObject({ minutes: 60, kept: true })
    // Logins use the old key until the new one signs, so nobody waits.
    const { access_token: token } = (await service.post('/users/login-anonymously', {}, NOBODY)).json
    const headers = { authorization: `Bearer ${token}` }
    expect((await service.call('/wallets?network=Ethereum', { headers })).status).toBe(200)
  }, 30_000)

  test('go on and log a warning if the rotation check fails', async () => {
    const lines: string[] = []
    const write = (line: string) => void lines.push(JSON.parse(line).msg)
    const log = createLog({ config: { logLevel: 'info' }, process: 'test', write })
    const db = openDb({ url: service.database.workerUrl, maxConnections: 1, applicationName: 'test' })
    const stop = startRotatingTokenKeys({ ...service.ctx, log, db })
    await stop()
    await db.close({ timeoutSeconds: 5 })
    expect(lines).toEqual(['could not check whether the keys of access tokens are due for rotation'])
  })
})
