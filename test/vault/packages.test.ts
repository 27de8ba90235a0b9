// What the vault loads, with all that its packages load in turn: each of them runs beside the keys. Found by bundling.

import { afterEach, expect, test } from 'bun:test'
import { join } from 'node:path'
import { build, type Metafile } from 'esbuild'
import { startApiProcess } from '../support/api.ts'
import { ROOT } from '../support/imports.ts'
import { longTest } from '../support/long.ts'
import { startService } from '../support/service.ts'
import { startVaultProcess } from '../support/vault.ts'

/** Loaded only where `ROOT_KEY` names such a service. */
const KEY_SERVICES = ['@aws-sdk/client-kms', '@google-cloud/kms']
/** Native code. secp256k1 is loaded by `require`, which the bundler does not see: secp256k1.test.ts does. */
const NATIVE = ['@node-rs/argon2']

const EXPECTED = ['@noble/curves', '@noble/hashes', '@polkadot/wasm-crypto-wasm', '@scure/bip39', 'drizzle-orm']

/** What else the vault's process loads: the driver of the database, and what reads the configuration. */
const OF_DATABASE = [
  'pg',
  'pg-connection-string',
  'pg-int8',
  'pg-pool',
  'pg-protocol',
  'pg-types',
  'postgres-array',
  'postgres-bytea',
  'postgres-date',
  'postgres-interval',
  'xtend',
]
/** Named by the driver, for other runtimes and for logins without a password: a vault does not load them. */
const NEVER_LOADED = ['pg-cloudflare', 'pgpass', 'split2']
/** jsonc-parser is loaded by `require`, where there is a `NETWORKS_FILE`. */
const OF_CONFIGURATION = ['@sinclair/typebox']
const ALL = [...EXPECTED, ...OF_DATABASE, ...OF_CONFIGURATION]

const endings: (() => unknown)[] = []
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end()
})

type Inputs = Metafile['inputs']

const VAULT = 'src/vault/rooms/vault.ts'
const SERVER = 'src/vault/rooms/serve-vault.ts'
const CLIENT = 'src/vault/client/remote-vault.ts'
const PROGRAM = 'src/main/vault.ts'

const bundle = async (): Promise<Inputs> => {
  const { metafile } = await build({
    absWorkingDir: ROOT,
    entryPoints: [VAULT, SERVER, CLIENT, PROGRAM],
    ...{ bundle: true, write: false, outdir: 'unwritten', metafile: true },
    ...{ platform: 'node', format: 'esm', logLevel: 'silent' },
    // The last two are loaded where they exist.
    external: [...KEY_SERVICES, ...NATIVE, 'bun:ffi', 'pg-native'],
  })
  return metafile.inputs
}

let bundled: Promise<Inputs> | null = null

/** The files that one entry leads to: all entries are bundled together, once. */
const graphOf = async (entry: string): Promise<Inputs> => {
  bundled ??= bundle()
  const inputs = await bundled
  const reached = new Set([entry])
  for (const path of reached) {
    for (const { path: next, external } of inputs[path]?.imports ?? []) if (external !== true) reached.add(next)
  }
  return Object.fromEntries([...reached].flatMap((path) => (inputs[path] === undefined ? [] : [[path, inputs[path]]])))
}

/** The package of a file, which may lie within another one's folder. */
const packageOf = (path: string): string | undefined =>
  [...path.matchAll(/node_modules\/((?:@[^/]+\/)?[^/]+)/g)].at(-1)?.[1]

const textOf = (names: Iterable<string | undefined>) => [...new Set(names)].filter((name) => name !== undefined).sort()

test('the vault loads few packages, and no others than these', async () => {
  const inputs = await graphOf(VAULT)
  const loaded = textOf(Object.keys(inputs).map(packageOf))
  console.log(`the vault loads ${loaded.length} packages of JavaScript: ${loaded.join(', ')}`)
  expect(loaded).toEqual(EXPECTED)
})

test('a client of the vault loads one package, and serving the vault adds only that one', async () => {
  const loaded = async (entry: string) => textOf(Object.keys(await graphOf(entry)).map(packageOf))
  expect(await loaded(CLIENT)).toEqual(['@sinclair/typebox'])
  expect(await loaded(SERVER)).toEqual([...EXPECTED, '@sinclair/typebox'].sort())
})

test('the vault’s process loads no other packages than these: no HTTP server, no chain and no client of a node', async () => {
  const loaded = textOf(Object.keys(await graphOf(PROGRAM)).map(packageOf))
  console.log(`the vault's process loads ${loaded.length} packages of JavaScript: ${loaded.join(', ')}`)
  expect(loaded).toEqual([...ALL, ...NEVER_LOADED].sort())
})

longTest('a vault that has signed has loaded exactly these packages', async () => {
  const service = await startService({ rpcUrls: { Ethereum: 'http://127.0.0.1:1' } })
  endings.push(service.close)
  const VAULT_SOCKET = `${service.variables.VAULT_SOCKET}.own`
  const command = [
    'bun',
    '--no-env-file',
    '--preload',
    join(ROOT, 'test/support/loaded.ts'),
    join(ROOT, 'src/main/vault.ts'),
  ]
  const vault = await startVaultProcess({ ...service.vaultVariables, VAULT_SOCKET }, command)
  endings.push(vault.stop)
  const api = await startApiProcess({ ...service.variables, VAULT_SOCKET })
  endings.push(api.stop)
  const client = service.as(service.project, api.url)
  const { address } = await client.newWallet({ network: 'Ethereum', pin: '493817' })
  const of = { network: 'Ethereum', signer_wallet_address: address, user_pin: '493817' }
  expect((await client.post('/transactions/sign-message', { ...of, message: 'It works.' })).status).toBe(200)
  process.kill(vault.pid, 'SIGUSR2')
  const told = () => /^loaded (.*)$/m.exec(vault.output())?.[1]
  while (told() === undefined) await Bun.sleep(10)
  const loaded = textOf((JSON.parse(told() ?? '[]') as readonly string[]).map(packageOf))
  console.log(
    `a vault that has signed has loaded ${loaded.length} packages, native ones among them: ${loaded.join(', ')}`,
  )
  const isNative = (name: string) =>
    name.startsWith('@node-rs/argon2') || ['secp256k1', 'node-gyp-build'].includes(name)
  expect(loaded.filter((name) => !isNative(name))).toEqual(ALL.toSorted())
})

test('the vault loads native code and clients of key services only by the names above', async () => {
  const inputs = await graphOf(VAULT)
  const imports = Object.values(inputs).flatMap((input) => input.imports)
  const outside = imports.filter(({ external, path }) => external === true && !path.startsWith('node:'))
  expect(textOf(outside.map(({ path }) => path))).toEqual([...KEY_SERVICES, ...NATIVE].sort())
  // Their clients are hundreds of files: only whoever names such a service loads one.
  const isLate = ({ path, kind }: (typeof imports)[number]) => kind === 'dynamic-import' || !KEY_SERVICES.includes(path)
  expect(outside.filter((each) => !isLate(each))).toEqual([])
})
