// Without its packages the service does not start, and Bun fetches none by itself: they would be neither locked nor checked.

import { expect, test } from 'bun:test'
import { cp, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { ROOT } from './support/imports.ts'
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

test.each(['src/cli/main.ts', 'src/server.ts', 'src/vault.ts', 'jobs/worker.ts'])(
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
