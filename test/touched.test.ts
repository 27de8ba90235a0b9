import { expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from './support/imports.ts'
import { longFiles, touchedBy } from './touched.ts'

const long = [
  'test/vault/lease.test.ts',
  'test/devnet/dev.long.test.ts',
  'test/installation.test.ts',
  'test/wallets/crash.long.test.ts',
]

const touched = (...changed: readonly string[]) => touchedBy({ changed, long })

test('a changed folder of the source touches the test folder of the same name, also by a folder within it', () => {
  expect(touched('src/vault/rooms/vault.ts')).toEqual(['test/vault/lease.test.ts'])
  expect(touched('src/signing/wallets/create.ts')).toEqual(['test/wallets/crash.long.test.ts'])
  expect(touched('devnet/dev.ts')).toEqual(['test/devnet/dev.long.test.ts'])
})

test('a changed test touches its folder, and a file in no folder only itself', () => {
  expect(touched('test/wallets/import.test.ts')).toEqual(['test/wallets/crash.long.test.ts'])
  expect(touched('test/installation.test.ts')).toEqual(['test/installation.test.ts'])
  expect(touched('src/app.ts', 'test/run.ts', 'docs/testing.md', 'test/support/chains.ts')).toEqual([])
})

test('files that changed come first, then those of the folders with most changes', () => {
  expect(
    touched('src/vault/a.ts', 'src/wallets/a.ts', 'src/wallets/b.ts', 'test/devnet/dev.long.test.ts', 'src/x.ts'),
  ).toEqual(['test/devnet/dev.long.test.ts', 'test/wallets/crash.long.test.ts', 'test/vault/lease.test.ts'])
})

test('files with long cases are found by their name and by what they import', () => {
  const found = longFiles()
  expect(found).toContain('test/transactions/crash.long.test.ts')
  expect(found).toContain('test/vault/lease.test.ts')
  expect(found).not.toContain('test/run.test.ts')
  expect(found.filter((path) => !existsSync(join(ROOT, path)))).toEqual([])
})
