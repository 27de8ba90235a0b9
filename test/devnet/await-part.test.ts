// How long a start waits for a part: as long as the part works.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { awaitPart, endOf } from '../../devnet/await-part.ts'
import { startTethered } from '../../devnet/tether.ts'
import { isLeftOut } from '../support/long.ts'

/** Longer than a part may do nothing. */
const LONG_MS = 75_000

let folder = ''

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'strongroom-parts-'))
})

afterAll(() => rm(folder, { recursive: true, force: true }))

const start = async (script: string) => {
  const logPath = join(folder, `${Bun.randomUUIDv7()}.log`)
  const env = { PATH: process.env.PATH }
  const child = await startTethered({ program: 'sh', args: ['-c', script], env, logPath, stopSignal: 'SIGTERM' })
  return { process: child, logPath }
}

const nothing = () => Promise.resolve(undefined)

describe('a part that starts', () => {
  test('is given up when it has ended, with its last words', async () => {
    const part = await start('echo first; echo "no such key"; exit 3')
    expect(await awaitPart(part, nothing)).toEqual({ failure: 'ended (exit code 3)' })
    expect(await endOf(part.logPath)).toBe(`${part.logPath} ends:\nfirst\nno such key`)
  })

  test('counts as ready by what it wrote before it ended', async () => {
    const part = await start('echo ready')
    await part.process.exited
    const look = async () => /ready/.exec(await endOf(part.logPath))?.[0]
    expect(await awaitPart(part, look)).toEqual({ found: 'ready' })
  })
})

describe.skipIf(isLeftOut('how long a part that starts is waited for, over minutes'))(
  'for minutes, a part that starts',
  () => {
    const after = (ms: number) => {
      const from = Date.now()
      return async () => (Date.now() - from > ms ? 'ready' : undefined)
    }

    test('has all the time it needs while it uses the CPU or writes, and not while it does nothing', async () => {
      const scripts = ['while :; do :; done', 'while sleep 1; do echo still here; done', 'sleep 1000']
      const parts = await Promise.all(scripts.map(start))
      const waited = await Promise.all(parts.map((part) => awaitPart(part, after(LONG_MS))))
      await Promise.all(parts.map((part) => part.process.stop()))
      expect(waited).toEqual([{ found: 'ready' }, { found: 'ready' }, { failure: 'has done nothing for 60 s' }])
    })
  },
)
