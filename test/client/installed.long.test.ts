// The package in a folder of its own, outside of this repository, where it finds only what an app has installed.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { devDependencies, exports as entries } from '../../client/package.json'
import { typeErrorsOf } from '../support/document-tools.ts'
import { ROOT } from '../support/imports.ts'
import { isLeftOut } from '../support/long.ts'
import { packClient } from '../support/packed-client.ts'

/**
 * What an app has installed that uses every entry. npm puts @wagmi/core below wagmi, where the app itself does not find
 * it.
 */
const PEERS = ['@polkadot/api', '@polkadot/util-crypto', 'ethers', 'react', 'viem', 'wagmi'] as const
const NAMES = Object.keys(entries).map((name) => `strongroom-client${name.slice(1)}`)

const CLIENT = "createClient({ baseUrl: 'https://wallets.example.com', projectId: 'p', accessToken: 't' })"
/** Uses what the types promise: a connector of another type than wagmi's would not compile. */
const APP = `import { createClient } from 'strongroom-client'
import { strongroom } from 'strongroom-client/wagmi'
import { createConfig, http } from 'wagmi'
import { sepolia } from 'wagmi/chains'

const chains = { [sepolia.id]: { network: 'Ethereum', rpcUrl: 'https://node.example.com' } }
const wallet = { client: ${CLIENT}, address: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8' }
const connector = strongroom({ ...wallet, credential: { user_pin: '604913' }, chains })
// @ts-expect-error: it is not just anything.
connector.nothing
const transports = { [sepolia.id]: http() }
console.log(createConfig({ chains: [sepolia], connectors: [connector], transports }).connectors[0]?.name)
`

let client: Awaited<ReturnType<typeof packClient>>
const folders: string[] = []

beforeAll(async () => {
  client = await packClient()
})
afterAll(async () => {
  await client?.remove()
  for (const folder of folders) await rm(folder, { recursive: true, force: true })
})

const run = async (cwd: string, command: readonly string[]): Promise<string> => {
  const env = { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? cwd, CI: '1' }
  const child = Bun.spawn([...command], { cwd, env, stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' })
  const texts = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
  if ((await child.exited) !== 0) throw new Error(`${command.join(' ')} failed: ${texts.join('')}`)
  return texts[0].trim()
}

const newApp = async (): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'strongroom-app-'))
  folders.push(folder)
  await writeFile(join(folder, 'package.json'), JSON.stringify({ name: 'app', private: true, type: 'module' }))
  return folder
}

/** @returns the names of the entries that Node loads in a folder */
const loadedIn = async (folder: string): Promise<unknown> => {
  const modules = NAMES.filter((name) => !name.endsWith('.json'))
  const text = `for (const name of ${JSON.stringify(modules)}) if (Object.keys(await import(name)).length === 0) throw new Error(name)
console.log('all')`
  await writeFile(join(folder, 'load.mjs'), text)
  return run(folder, ['node', 'load.mjs'])
}

test.skipIf(Bun.which('npm') === null)('installed with npm, every entry is found beside what an app has', async () => {
  const folder = await newApp()
  await run(folder, ['npm', 'install', '--offline', '--no-audit', '--no-fund', client.tarball])
  for (const name of PEERS) {
    const place = join(folder, 'node_modules', name)
    await mkdir(dirname(place), { recursive: true })
    await symlink(join(ROOT, 'node_modules', name), place)
  }
  expect(await loadedIn(folder)).toBe('all')
  expect(await typeErrorsOf(folder, { 'app.ts': APP })).toBe('')
})

describe.skipIf(isLeftOut("installations of the client's package by npm 10 and 11, pnpm and bun"))('in an app', () => {
  const versions: Readonly<Record<string, string>> = devDependencies
  const wanted = [...PEERS, 'react-dom', '@tanstack/react-query'].map((name) => `${name}@${versions[name]}`)

  test.each([
    ['npm 10', ['npx', '-y', 'npm@10', 'install']],
    ['npm 11', ['npx', '-y', 'npm@11', 'install']],
    ['pnpm', ['npx', '-y', 'pnpm@10', 'add']],
    ['bun', [process.execPath, 'add']],
  ] as const)('of %s, every entry is imported, and Vite builds it', async (_, install) => {
    const folder = await newApp()
    await run(folder, [...install, client.tarball, ...wanted, 'vite@7.3.8'])
    expect(await loadedIn(folder)).toBe('all')
    expect(await typeErrorsOf(folder, { 'app.ts': APP })).toBe('')
    await writeFile(join(folder, 'index.html'), '<script type="module" src="/app.ts"></script>')
    await run(folder, ['node', 'node_modules/vite/bin/vite.js', 'build', '--logLevel', 'error'])
    const built = [...new Bun.Glob('dist/assets/*.js').scanSync(folder)]
    expect(built.length).toBeGreaterThan(0)
  })
})
