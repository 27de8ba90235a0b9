import { afterEach, describe, expect, test } from 'bun:test'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readConfig, Secret } from '../../src/platform/config.ts'
import type { RowIdentity } from '../../src/platform/sealing/envelope.ts'
import { openRootKey } from '../../src/vault/rooms/root/root-key.ts'
import { openVaultTransitKey, type VaultAccess } from '../../src/vault/rooms/root/vault-transit.ts'
import { afterTests, shared } from '../support/shared.ts'
import { BRISK } from './root-key-services/service.ts'
import { NAMESPACE, startVault, VAULT_TOKEN } from './root-key-services/vault.ts'
import { hexOf } from './support.ts'

const identity: RowIdentity = { purpose: 'project key', projectId: 'p', keyringId: '', walletId: '', rowId: '1' }
const KEY = new Uint8Array(32).fill(7)
const access: VaultAccess = { token: new Secret(VAULT_TOKEN), namespace: NAMESPACE }

const service = await shared(startVault())
const folder = mkdtempSync(join(tmpdir(), 'strongroom-vault-'))
afterTests(async () => {
  rmSync(folder, { recursive: true })
})
afterEach(() => {
  service.accept(VAULT_TOKEN)
  service.require(1)
})

const tokenFile = (content: string, mode = 0o640): string => {
  const path = join(folder, 'token')
  rmSync(path, { force: true })
  writeFileSync(path, content)
  chmodSync(path, mode)
  return path
}

describe('a key of Vault', () => {
  test('is opened by the variables of the environment, and its id is its address', async () => {
    const { rootKey: setting } = readConfig({
      ENVIRONMENT: 'testnet',
      DATABASE_URL: 'postgres://localhost/none',
      SERVICE_KEY: 'file:/nonexistent',
      ROOT_KEY: `vault-transit:${service.place}`,
      VAULT_TOKEN_FILE: tokenFile(`${VAULT_TOKEN}\n`),
      VAULT_NAMESPACE: `${NAMESPACE}/`,
    })
    if (setting === null) throw new Error('there is no setting')
    const rootKey = await openRootKey(setting)
    expect(rootKey.id).toBe(`vault-transit:${new URL(service.place).host}/${NAMESPACE}/keys/transit/strongroom`)
    const wrapped = await rootKey.wrap({ key: KEY, identity })
    expect(hexOf(await rootKey.unwrap({ wrapped, identity }))).toBe(hexOf(KEY))
  })

  test.each([
    'http://vault.example.com:8200/transit/root',
    'ftp://localhost/transit/root',
    'https://user:secret@vault.example.com/transit/root',
    'https://vault.example.com/transit/root?token=secret',
    'https://vault.example.com/transit/root#secret',
    'https://vault.example.com/root',
    'https://vault.example.com/transit/root/',
    'https://vault.example.com/transit/a%2fb',
    'vault.example.com/transit/root',
    '',
  ])('is refused at "%s", which is not repeated', async (place) => {
    const failure = await openVaultTransitKey({ place, access }).catch(String)
    expect(failure).toBe(
      'Error: ROOT_KEY must be vault-transit:https://host:port/mount/key, without user, query or fragment; plain http only to this machine.',
    )
  })

  test.each([
    'https://vault.example.com/transit/root',
    'http://localhost:8200/a/b/c',
    'http://[::1]:8200/transit/root',
  ])('may be at %s', async (place) => {
    const { id } = await openVaultTransitKey({ place, access: { ...access, namespace: null } })
    expect(id).toBe(`vault-transit:${place.replace(/^https?:\/\//, '')}`)
  })

  test.each([
    ['no setting', null, 'VAULT_TOKEN_FILE or VAULT_TOKEN must be set'],
    ['an empty token', { token: new Secret(''), namespace: null }, 'must hold a token of Vault and nothing else'],
    ['two lines', { token: new Secret('hvs.one\nhvs.two'), namespace: null }, 'must hold a token of Vault'],
    [
      'a namespace that is none',
      { token: new Secret('hvs.one'), namespace: 'a b' },
      'VAULT_NAMESPACE must be the path',
    ],
  ])('is refused with %s', async (_what, given, said) => {
    const failure = await openVaultTransitKey({ place: service.place, access: given }).catch(String)
    expect(failure).toContain(said)
    expect(failure).not.toContain('hvs.')
  })

  test('is refused if the token’s file is readable by others or missing', async () => {
    const open = (file: string) =>
      openVaultTransitKey({ place: service.place, access: { token: { file }, namespace: NAMESPACE } })
    await expect(open(tokenFile(VAULT_TOKEN, 0o644))).rejects.toThrow('is open to all users')
    await expect(open(join(folder, 'none'))).rejects.toThrow('The file of VAULT_TOKEN_FILE cannot be read.')
  })

  test('is used with the token that the file has now', async () => {
    const file = tokenFile(VAULT_TOKEN)
    const opened = { place: service.place, access: { token: { file }, namespace: NAMESPACE }, limits: BRISK }
    const rootKey = await openVaultTransitKey(opened)
    const wrapped = await rootKey.wrap({ key: KEY, identity })
    service.accept('hvs.renewed')
    await expect(rootKey.unwrap({ wrapped, identity })).rejects.toThrow(
      'does not do what it was asked (permission denied).',
    )
    tokenFile('hvs.renewed')
    expect(hexOf(await rootKey.unwrap({ wrapped, identity }))).toBe(hexOf(KEY))
    rmSync(file)
    const failure = await rootKey.unwrap({ wrapped, identity }).catch((error: unknown) => error)
    expect(failure).toMatchObject({ code: 'unavailable', retryable: true })
    expect(String(failure)).toContain('(there is no token to ask it with)')
  })

  test('reports a value whose key version is no longer allowed, and one of a later version', async () => {
    const rootKey = await openVaultTransitKey({ place: service.place, access })
    const wrapped = await rootKey.wrap({ key: KEY, identity })
    service.rotate()
    service.require(2)
    await expect(rootKey.unwrap({ wrapped, identity })).rejects.toThrow('(disallowed by policy (too old))')
    const later = Buffer.from(wrapped)
    later.writeUInt32BE(900, 2)
    await expect(rootKey.unwrap({ wrapped: later, identity })).rejects.toThrow('unknown key')
  })

  test('does not follow a redirect, which would reveal the token', async () => {
    let followed = 0
    const thief = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      fetch: () => {
        followed += 1
        return new Response()
      },
    })
    const redirecting = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      fetch: () => new Response(null, { status: 307, headers: { location: `http://127.0.0.1:${thief.port}/` } }),
    })
    try {
      const place = `http://127.0.0.1:${redirecting.port}/transit/root`
      const rootKey = await openVaultTransitKey({ place, access, limits: BRISK })
      await expect(rootKey.wrap({ key: KEY, identity })).rejects.toThrow('(HTTP 307)')
      expect(followed).toBe(0)
    } finally {
      await redirecting.stop(true)
      await thief.stop(true)
    }
  })
})

describe('the settings', () => {
  const base = { ENVIRONMENT: 'testnet', DATABASE_URL: 'postgres://localhost/none', SERVICE_KEY: 'file:/nonexistent' }
  const vault = { ...base, ROOT_KEY: 'vault-transit:https://vault.example.com/transit/root' }

  test('require a token only if Vault holds the key, and never print it', () => {
    const other = readConfig({ ...base, ROOT_KEY: 'file:/root.key', VAULT_TOKEN: 'hvs.of-the-shell' })
    expect(other.rootKey).toEqual({ spec: 'file:/root.key', vault: null })
    expect(readConfig(base).rootKey).toBeNull()
    const { rootKey } = readConfig({ ...vault, VAULT_TOKEN: 'hvs.hidden' })
    expect(rootKey?.vault).toMatchObject({ namespace: null })
    expect(Bun.inspect(rootKey, { depth: 9 }) + JSON.stringify(rootKey)).not.toContain('hvs.')
  })

  test.each([
    ['no token', {}, 'VAULT_TOKEN must be a token of Vault, or VAULT_TOKEN_FILE a file with one.'],
    [
      'two tokens',
      { VAULT_TOKEN: 'hvs.a', VAULT_TOKEN_FILE: '/a' },
      'Of VAULT_TOKEN and VAULT_TOKEN_FILE only one must be set.',
    ],
  ])('are refused with %s', (_what, variables, sentence) => {
    expect(() => readConfig({ ...vault, ...variables })).toThrow(new Error(sentence))
  })

  test.each(['', 'root.key', 'azure:x', 'FILE:/x', 'aws-kms', 'env:ROOT'])(
    'refuse the unknown provider "%s" without repeating it',
    async (spec) => {
      await expect(openRootKey(spec)).rejects.toThrow(
        new Error('ROOT_KEY must begin with file:, fd:, aws-kms:, gcp-kms: or vault-transit:.'),
      )
    },
  )
})
