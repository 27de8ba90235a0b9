// Which folders each program loads. A room of the vault that another program loads would have its code beside whatever an attacker
// makes that program do; a folder that is loaded without need costs its start and its memory.

import { expect, test } from 'bun:test'
import { loadedBy } from './support/imports.ts'

const PROGRAMS = {
  vault: 'src/main/vault.ts',
  api: 'src/main/api.ts',
  worker: 'src/main/worker.ts',
  console: 'src/main/console.ts',
  cli: 'src/main/cli.ts',
} as const

const ALL = 'vault api worker console cli'

/** The programs that load a folder, or at least one file of it. Files of custody beside its folders are its contract, language and client. */
const LOADED_BY: Readonly<Record<string, string>> = {
  'db/': ALL,
  'jobs/': 'worker',
  'src/': ALL,
  'src/abis/': 'api worker console cli',
  'src/activity/': 'api worker cli',
  'src/addresses/': 'api',
  'src/api-keys/': 'api cli',
  'src/approvals/': 'api',
  'src/audit/': 'console cli',
  'src/auth/': 'api worker console cli',
  'src/background/': 'console cli',
  'src/blocks/': 'worker',
  'src/chains/': ALL,
  'src/cli/': 'cli',
  'src/consent/': 'api',
  'src/console/': 'console cli',
  'src/credentials/': 'api',
  'src/custody/': ALL,
  'src/custody/chain/': 'vault',
  'src/custody/credentials/': 'vault',
  'src/custody/journal/': 'vault',
  'src/custody/keys/': 'vault',
  'src/custody/root/': 'vault',
  'src/custody/rotation/': 'vault',
  'src/custody/sealing/': 'vault',
  'src/custody/wallets/': 'vault',
  'src/custody/wire/': ALL,
  'src/doctor/': 'console cli',
  'src/environment/': ALL,
  'src/events/': 'api worker',
  'src/freezes/': 'console cli',
  'src/health/': ALL,
  'src/http/': 'api worker console cli',
  'src/idempotency/': 'api cli',
  'src/issuers/': 'api worker console cli',
  'src/keys/': 'api worker console cli',
  'src/login/': 'api',
  'src/mail/': 'api worker console cli',
  'src/main/': ALL,
  'src/metadata/': 'api',
  'src/metrics/': 'api worker console cli',
  'src/nfts/': 'api',
  'src/openapi/': 'api',
  'src/pages/': 'api console',
  'src/platform/': ALL,
  'src/policies/': 'api',
  'src/projects/': 'api cli',
  'src/restore/': 'api cli',
  'src/signing/': 'api',
  'src/security/': ALL,
  'src/tokens/': 'api worker console cli',
  'src/tracing/': ALL,
  'src/transactions/': 'api worker console cli',
  'src/typed-data/': 'api',
  'src/users/': 'api worker console cli',
  'src/wallets/': 'api worker console cli',
  'src/webhooks/': 'api worker console cli',
}

/** The contract, the language of policies and the client, with room for a few more. */
const CUSTODY_FILES_MAX = 40

const folderOf = (path: string): string => /^(?:src\/custody\/[a-z]+\/|src\/[a-z-]+\/|[a-z]+\/)/.exec(path)?.[0] ?? path

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

test('a program without keys loads little of custody, and none of its rooms', () => {
  for (const [name, file] of Object.entries(PROGRAMS)) {
    if (name === 'vault') continue
    const ofCustody = [...loadedBy(file)].filter((path) => path.startsWith('src/custody/'))
    expect(ofCustody.length).toBeLessThanOrEqual(CUSTODY_FILES_MAX)
    expect(ofCustody.filter((path) => /^src\/custody\/(?!wire\/)[a-z]+\//.test(path))).toEqual([])
  }
})

test('imports of types load nothing, and all others do', () => {
  expect(loadedBy('src/signing/transactions/sign-message.ts')).toContain('src/vault/contract/contract.ts')
  expect(loadedBy('src/signing/transactions/sign-message.ts')).not.toContain('src/vault/rooms/vault.ts')
  expect(loadedBy('src/main/open-vault.ts')).toContain('src/vault/rooms/vault.ts')
})
