// The console as a process of its own.

import { beforeAll, expect, test } from 'bun:test'
import { commonService } from '../support/common-service.ts'
import { longTest } from '../support/long.ts'
import { programPath } from '../support/programs.ts'
import type { Service } from '../support/service.ts'

let service: Service

beforeAll(async () => {
  service = await commonService()
})
const start = (changes: Readonly<Record<string, string>> = {}) =>
  Bun.spawn(['bun', '--no-env-file', programPath('src/main/console')], {
    env: {
      PATH: process.env.PATH ?? '',
      ...service.variables,
      DATABASE_URL: service.database.consoleUrl,
      CONSOLE_PORT: '0',
      LOG_LEVEL: 'info',
      ...changes,
    },
    stdout: 'pipe',
    stderr: 'pipe',
  })

/** Reads the lines of a process until one contains the text. */
const untilSaid = async (child: ReturnType<typeof start>, text: string): Promise<string> => {
  let said = ''
  for await (const chunk of child.stdout) {
    said += Buffer.from(chunk).toString()
    const line = said.split('\n').find((each) => each.includes(text))
    if (line !== undefined) return line
  }
  throw new Error(`the process ended before it said ${text}: ${said}`)
}

test('listens at this machine, shows nobody anything but the login, and ends with 0', async () => {
  const child = start()
  const { url, origin } = JSON.parse(await untilSaid(child, '"listening"'))
  expect(url).toMatch(/^http:\/\/127\.0\.0\.1:[0-9]+$/)
  expect(origin).toBe(url.replace('127.0.0.1', 'localhost'))
  expect(await (await fetch(`${url}/healthz`)).json()).toEqual({ status: 'ok' })
  for (const path of ['/', '/transactions', '/wallets', '/audit', '/do/freeze', '/account']) {
    const answer = await fetch(`${url}${path}`, { redirect: 'manual' })
    expect([path, answer.status, answer.headers.get('location')]).toEqual([path, 303, '/login'])
  }
  for (const path of ['/logout', '/do/freeze', '/account/passkey']) {
    const answer = await fetch(`${url}${path}`, { method: 'POST', redirect: 'manual' })
    expect([path, answer.status, answer.headers.get('location')]).toEqual([path, 303, '/login'])
  }
  child.kill('SIGTERM')
  expect(await child.exited).toBe(0)
})

/** What `test/config.test.ts` has of other processes. */
const OTHER_MISTAKES = [
  [{ CONSOLE_BASE_URL: 'http://console.example.com' }, 'CONSOLE_BASE_URL must be an https:// URL'],
  [{ CONSOLE_BASE_URL: 'https://example.com/console' }, 'CONSOLE_BASE_URL must be an https:// URL without a path'],
  [{ CONSOLE_PORT: '70000' }, 'CONSOLE_PORT must be a whole number'],
] as const

longTest('does not start with the root key, with another login, or at an address without TLS', async () => {
  const mistakes = [
    [{ ROOT_KEY: 'file:/nowhere' }, 'ROOT_KEY must not be set in this process'],
    [{ DATABASE_URL: service.database.workerUrl, IDENTITY_KEY: '' }, 'IDENTITY_KEY must say where the identity key is'],
    [{ CONSOLE_HOST: '0.0.0.0' }, 'CONSOLE_BASE_URL must be an https:// URL if CONSOLE_HOST is not this machine'],
    ...OTHER_MISTAKES,
  ] as const
  for (const [changes, said] of mistakes) {
    const child = start(changes)
    const errors = await new Response(child.stderr).text()
    expect(errors).toStartWith('The console cannot start: ')
    expect(errors).toContain(said)
    expect(await child.exited).toBe(1)
  }
})
