// The package as others get it.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { generatedFiles } from '../../client/generate.ts'
import { exports as entries } from '../../client/package.json'
import { runTool } from '../support/document-tools.ts'
import { ROOT } from '../support/imports.ts'
import { packClient } from '../support/packed-client.ts'
import { startService } from '../support/service.ts'

const READ_MAX_BYTES = 10_000

let client: Awaited<ReturnType<typeof packClient>>

beforeAll(async () => {
  client = await packClient()
})
afterAll(() => client.remove())

test('the generated files are those of the present document', async () => {
  const service = await startService()
  try {
    const document = (await service.call('/openapi/json')).json
    // Too long for a difference: `bun test/client/generate.ts` writes them again.
    for (const [name, text] of Object.entries(await generatedFiles(document)))
      expect({ name, isCurrent: (await readFile(join(ROOT, 'client/src', name), 'utf8')) === text }).toEqual({
        name,
        isCurrent: true,
      })
  } finally {
    await service.close()
  }
})

test('no call takes just anything', async () => {
  // A union with a schema that has no type would be `unknown`.
  expect(await readFile(join(ROOT, 'client/src/document.generated.ts'), 'utf8')).not.toMatch(/[|&] \(?unknown/)
})

describe('what is published', () => {
  test('has no problem for publint', async () => {
    const args = [client.tarball, '--strict']
    const { exitCode, output } = await runTool({ script: 'publint/src/cli.js', args, cwd: client.folder })
    expect({ exitCode, output }).toEqual({ exitCode: 0, output: expect.stringContaining('All good!') })
  })

  test('has types that every resolution of an ES module finds', async () => {
    const args = [client.tarball, '--profile', 'esm-only', '--format', 'json']
    const { exitCode, output } = await runTool({
      script: '@arethetypeswrong/cli/dist/index.js',
      args,
      cwd: client.folder,
    })
    const { analysis } = JSON.parse(output)
    expect(exitCode).toBe(0)
    expect(Object.keys(analysis.entrypoints).sort()).toEqual(
      Object.keys(entries)
        .map((name) => name)
        .sort(),
    )
  })

  /** What each file imports, by its name. */
  const importsOf = async (): Promise<(readonly [string, readonly string[]])[]> => {
    const folder = join(client.folder, 'node_modules/strongroom-client/dist')
    const names = (await readdir(folder, { recursive: true })).filter((each) => each.endsWith('.js'))
    return Promise.all(
      names.map(async (name) => {
        const { imports } = new Bun.Transpiler({ loader: 'js' }).scan(await readFile(join(folder, name), 'utf8'))
        return [name, imports.map(({ path }) => path)] as const
      }),
    )
  }

  test('imports nothing that only a server has', async () => {
    for (const [name, paths] of await importsOf())
      expect({ name, foreign: paths.filter((path) => /^(?:node:|bun)/.test(path)) }).toEqual({ name, foreign: [] })
  })

  test('loads React only for the entry for React', async () => {
    const all = await importsOf()
    const loading = all
      .filter(([, paths]) => paths.some((path) => /^react\b|\/react\//.test(path)))
      .map(([name]) => name)
    expect(loading.filter((name) => !name.startsWith('react/'))).toEqual([])
    expect(loading).toContain('react/provider.js')
    const entry = join(client.folder, 'node_modules/strongroom-client/dist/react/index.js')
    expect(await readFile(entry, 'utf8')).toStartWith("'use client'")
  })
})

test('a page that reads loads less than 10 kB', async () => {
  const page = join(await mkdtemp(join(client.folder, 'page-')), 'page.ts')
  await writeFile(
    page,
    `import { createClient } from 'strongroom-client'
const client = createClient({ baseUrl: 'https://wallets.example.com', projectId: 'p', accessToken: 't' })
export const read = (address: string) => client.activity.list({ network: 'Ethereum', wallet_address: address })`,
  )
  const built = await Bun.build({ entrypoints: [page], target: 'browser', minify: true })
  const [script] = await Promise.all(built.outputs.map((output) => output.text()))
  const bytes = gzipSync(script ?? '').length
  console.log(`The page's script has ${bytes} bytes (gzip).`)
  expect(bytes).toBeGreaterThan(500)
  expect(bytes).toBeLessThan(READ_MAX_BYTES)
})
