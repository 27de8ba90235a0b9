// Which folders each program loads. A room of the vault that another program loads would have its code beside whatever
// an attacker makes that program do; a folder that is loaded without need costs its start and its memory.

import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { loadedBy, ROOT } from './support/imports.ts'

const PROGRAMS = {
  vault: 'src/main/vault.ts',
  api: 'src/main/api.ts',
  worker: 'src/main/worker.ts',
  console: 'src/main/console.ts',
  cli: 'src/main/cli.ts',
} as const

const ALL = 'vault api worker console cli'

/** The programs that load a folder, or at least one file of it. */
const LOADED_BY: Readonly<Record<string, string>> = {
  'db/': ALL,
  'jobs/': 'worker',
  'src/api/': 'api',
  'src/api/approvals/': 'api',
  'src/api/consent/': 'api',
  'src/api/credentials/': 'api',
  'src/api/health/': 'api',
  'src/api/login/': 'api',
  'src/api/mail/': 'api',
  'src/api/metrics/': 'api worker',
  'src/api/openapi/': 'api',
  'src/assets/abis/': 'api worker console cli',
  'src/assets/activity/': 'api worker',
  'src/assets/addresses/': 'api',
  'src/assets/metadata/': 'api',
  'src/assets/nfts/': 'api',
  'src/assets/tokens/': 'api worker console cli',
  'src/blocks/': 'worker',
  'src/chains/': 'api worker console cli',
  'src/events/': 'api worker console cli',
  'src/identity/': 'api worker console cli',
  'src/identity/api-keys/': 'api cli',
  'src/identity/auth/': 'api worker console cli',
  'src/identity/idempotency/': 'api cli',
  'src/identity/issuers/': 'api cli',
  'src/identity/mail/': 'api worker console cli',
  'src/identity/projects/': 'cli',
  'src/identity/users/': 'api console cli',
  'src/main/': ALL,
  'src/operators/': 'api cli',
  'src/operators/audit/': 'console cli',
  'src/operators/background/': 'console cli',
  'src/operators/cli/': 'cli',
  'src/operators/console/': 'console cli',
  'src/operators/doctor/': 'console cli',
  'src/operators/freezes/': 'console cli',
  'src/operators/keys/': 'cli',
  'src/operators/restore/': 'api cli',
  'src/platform/': ALL,
  'src/signing/': 'api worker console cli',
  'src/signing/approvals/': 'api',
  'src/signing/policies/': 'api',
  'src/signing/transactions/': 'api worker console cli',
  'src/signing/typed-data/': 'api',
  'src/signing/wallets/': 'api worker cli',
  'src/vault/client/': 'vault api console cli',
  'src/vault/contract/': 'vault api console cli',
  'src/vault/language/': 'vault api console cli',
  'src/vault/rooms/': 'vault',
}

/** The contract, the language of policies and the client, with room for a few more. */
const VAULT_FILES_MAX = 40

const folderOf = (path: string): string =>
  /^(?:src\/(?:vault|identity|signing|assets|operators|api)\/[a-z-]+\/|src\/[a-z-]+\/|[a-z]+\/)/.exec(path)?.[0] ?? path

test('each program loads these folders, and no other', () => {
  const loaded: Record<string, string[]> = {}
  for (const [name, file] of Object.entries(PROGRAMS)) {
    for (const folder of new Set([...loadedBy(file)].map(folderOf))) {
      loaded[folder] ??= []
      loaded[folder].push(name)
    }
  }
  expect(Object.fromEntries(Object.entries(loaded).map(([folder, names]) => [folder, names.join(' ')]))).toEqual(
    LOADED_BY,
  )
})

test('the picture in docs/architecture.md marks which program loads which folder', () => {
  const page = readFileSync(join(ROOT, 'docs/architecture.md'), 'utf8')
  const rows = [...page.matchAll(/^\| `((?:src\/)?[a-z]+\/)` \|.*?((?: ●? *\|){5})$/gm)]
  const marked = Object.fromEntries(
    rows.map(([, folder = '', marks = '']) => [folder, marks.split('|').map((mark) => mark.trim() === '●')]),
  )
  const loads = Object.values(PROGRAMS).map((file) => [...loadedBy(file)])
  const folders = [...new Set(loads.flat().flatMap((path) => /^(?:src\/)?[a-z]+\//.exec(path)?.[0] ?? []))].sort()
  const found = folders.map((folder) => [folder, loads.map((paths) => paths.some((path) => path.startsWith(folder)))])
  expect(Object.fromEntries(Object.entries(marked).map(([folder, marks]) => [folder, marks.slice(0, 5)]))).toEqual(
    Object.fromEntries(found),
  )
})

test('a program without keys loads little of the vault, and none of its rooms', () => {
  for (const [name, file] of Object.entries(PROGRAMS)) {
    if (name === 'vault') continue
    const ofVault = [...loadedBy(file)].filter((path) => path.startsWith('src/vault/'))
    expect(ofVault.length).toBeLessThanOrEqual(VAULT_FILES_MAX)
    expect(ofVault.filter((path) => path.startsWith('src/vault/rooms/'))).toEqual([])
  }
})

test('imports of types load nothing, and all others do', () => {
  expect(loadedBy('src/signing/transactions/sign-message.ts')).toContain('src/vault/contract/contract.ts')
  expect(loadedBy('src/signing/transactions/sign-message.ts')).not.toContain('src/vault/rooms/vault.ts')
  expect(loadedBy('src/main/open-vault.ts')).toContain('src/vault/rooms/vault.ts')
})
