// What custody loads, with all that its packages load in turn: each of them runs beside the keys. Found by bundling.

import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { build, type Metafile } from 'esbuild'
import { ROOT } from '../support/imports.ts'

/** Loaded only where `ROOT_KEY` names such a service. */
const KEY_SERVICES = ['@aws-sdk/client-kms', '@google-cloud/kms']
/** Native code. secp256k1 is loaded by `require`, which the bundler does not see: secp256k1.test.ts does. */
const NATIVE = ['@node-rs/argon2']

const EXPECTED = [
  '@noble/curves',
  '@noble/hashes',
  '@scure/bip39',
  '@scure/sr25519',
  'canonicalize',
  'drizzle-orm',
  'lru-cache',
]

/** What else the vault's process loads: the driver of the database, the log, and what reads the configuration. */
const OF_DATABASE = [
  'pg',
  'pg-cloudflare',
  'pg-connection-string',
  'pg-int8',
  'pg-pool',
  'pg-protocol',
  'pg-types',
  'pgpass',
  'postgres-array',
  'postgres-bytea',
  'postgres-date',
  'postgres-interval',
  'split2',
  'xtend',
]
const OF_LOG = [
  '@pinojs/redact',
  'atomic-sleep',
  'on-exit-leak-free',
  'pino',
  'pino-std-serializers',
  'quick-format-unescaped',
  'safe-stable-stringify',
  'sonic-boom',
  'thread-stream',
]
const OF_CONFIGURATION = ['@sinclair/typebox', 'jsonc-parser']

const graphOf = async (entry: string): Promise<Metafile> => {
  const { metafile } = await build({
    entryPoints: [join(ROOT, entry)],
    ...{ bundle: true, write: false, metafile: true, platform: 'node', format: 'esm', logLevel: 'silent' },
    // The last two are loaded where they exist.
    external: [...KEY_SERVICES, ...NATIVE, 'bun:ffi', 'pg-native'],
  })
  return metafile
}

/** The package of a file, which may lie within another one's folder. */
const packageOf = (path: string): string | undefined =>
  [...path.matchAll(/node_modules\/((?:@[^/]+\/)?[^/]+)/g)].at(-1)?.[1]

const textOf = (names: Iterable<string | undefined>) => [...new Set(names)].filter((name) => name !== undefined).sort()

test('custody loads few packages, and no others than these', async () => {
  const { inputs } = await graphOf('src/custody/vault.ts')
  const loaded = textOf(Object.keys(inputs).map(packageOf))
  console.log(`custody loads ${loaded.length} packages of JavaScript: ${loaded.join(', ')}`)
  expect(loaded).toEqual(EXPECTED)
})

test('a client of the vault loads one package, and serving the vault adds only that one', async () => {
  const loaded = async (entry: string) => textOf(Object.keys((await graphOf(entry)).inputs).map(packageOf))
  expect(await loaded('src/custody/remote-vault.ts')).toEqual(['@sinclair/typebox'])
  expect(await loaded('src/custody/serve-vault.ts')).toEqual([...EXPECTED, '@sinclair/typebox'].sort())
})

test('the vault’s process loads no other packages than these: no HTTP server, no chain and no client of a node', async () => {
  const loaded = textOf(Object.keys((await graphOf('src/vault.ts')).inputs).map(packageOf))
  console.log(`the vault's process loads ${loaded.length} packages of JavaScript: ${loaded.join(', ')}`)
  expect(loaded).toEqual([...EXPECTED, ...OF_DATABASE, ...OF_LOG, ...OF_CONFIGURATION].sort())
})

test('custody loads native code and clients of key services only by the names above', async () => {
  const { inputs } = await graphOf('src/custody/vault.ts')
  const imports = Object.values(inputs).flatMap((input) => input.imports)
  const outside = imports.filter(({ external, path }) => external === true && !path.startsWith('node:'))
  expect(textOf(outside.map(({ path }) => path))).toEqual([...KEY_SERVICES, ...NATIVE].sort())
  // Their clients are hundreds of files: only whoever names such a service loads one.
  const isLate = ({ path, kind }: (typeof imports)[number]) => kind === 'dynamic-import' || !KEY_SERVICES.includes(path)
  expect(outside.filter((each) => !isLate(each))).toEqual([])
})
