// Without its packages the service does not start, and Bun fetches none by itself: they would be neither locked nor
// checked. And what a developer runs needs no Bun: npm gets it.

import { expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { cp, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { scripts } from '../package.json'
import { ROOT } from './support/imports.ts'
import { isLong } from './support/long.ts'
import { afterTests, sharedFolder } from './support/shared.ts'

const asked: string[] = []

const folder = await sharedFolder('packages')
for (const name of ['src', 'db', 'jobs', 'package.json', 'bunfig.toml', 'tsconfig.json']) {
  await cp(join(ROOT, name), join(folder, name), { recursive: true })
}
await mkdir(join(folder, 'home'))
const registry = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  fetch: (request) => {
    asked.push(new URL(request.url).pathname)
    return new Response(null, { status: 404 })
  },
})
afterTests(() => registry.stop(true))

test.each(['src/main/cli.ts', 'src/main/api.ts', 'src/main/vault.ts', 'src/main/worker.ts'])(
  '%s fetches no package',
  async (script) => {
    const child = Bun.spawn(['bun', script], {
      cwd: folder,
      env: {
        PATH: process.env.PATH ?? '',
        HOME: join(folder, 'home'),
        NPM_CONFIG_REGISTRY: String(registry.url),
        BUN_INSTALL_CACHE_DIR: join(folder, 'home', 'cache'),
      },
      stdout: 'pipe',
      stderr: 'pipe',
    })
    const errors = await new Response(child.stderr).text()
    expect(await child.exited).toBe(1)
    expect(errors).toMatch(/^error: Cannot find (package|module) '[^']+' from '[^']+'\n/)
    expect(asked).toEqual([])
  },
)

/** Those that an installation runs name Bun, which it has, and start no shell between. */
const OF_AN_INSTALLATION = ['start', 'vault', 'console', 'worker', 'migrate']

test('no script of a developer takes Bun from the PATH', () => {
  const others = Object.entries(scripts).filter(([name]) => !OF_AN_INSTALLATION.includes(name))
  expect(others.length).toBeGreaterThan(12)
  expect(others.filter(([, command]) => /(?:^|&& |=\S+ )bunx? /.test(command))).toEqual([])
})

const npm = Bun.which('npm')
if (isLong && npm === null) console.log('npm is not installed: that its scripts need no Bun is not checked.')

const TIMEOUT_MS = 60_000

test.each([
  // It takes seven seconds, and Bun reads the same scripts.
  ...(isLong && npm !== null ? [['npm', npm] as const] : []),
  ['Bun', process.execPath] as const,
])(
  'a script runs by %s where no Bun is in the PATH',
  async (_, runner) => {
    const folders = (process.env.PATH ?? '').split(':').filter((each) => !existsSync(join(each, 'bun')))
    const child = Bun.spawn([runner, 'run', '--silent', 'cli', '--', 'console', '--help'], {
      cwd: ROOT,
      // A stack that runs here would be named.
      env: { PATH: folders.join(':'), HOME: process.env.HOME ?? '', DEV_DIR: join(folder, 'none') },
      stdout: 'pipe',
      stderr: 'pipe',
    })
    const [output, errors] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
    expect({ output, ended: await child.exited, errors }).toEqual({
      output: expect.stringContaining('Usage: strongroom console'),
      ended: 0,
      errors: '',
    })
  },
  TIMEOUT_MS,
)
