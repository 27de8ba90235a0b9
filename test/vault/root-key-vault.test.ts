// The vault end to end on every provider: a project, wallets, signatures, another process, a check of the database, a
// service that is away; and how often the service is asked.

import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import { secp256k1 } from '@noble/curves/secp256k1.js'
import postgres, { type Sql } from 'postgres'
import type { Vault } from '../../src/vault/contract/vault.ts'
import { bindDeployment } from '../../src/vault/rooms/root/bind-deployment.ts'
import type { RootKey } from '../../src/vault/rooms/root/root-key.ts'
import { withKey } from '../support/keys.ts'
import { isLong, longTest } from '../support/long.ts'
import { startAwsKms } from './root-key-services/aws-kms.ts'
import { startGcpKms } from './root-key-services/gcp-kms.ts'
import { BRISK, type TestService } from './root-key-services/service.ts'
import { startVault } from './root-key-services/vault.ts'
import {
  ACTOR,
  codeOf,
  EVM_DIGEST,
  openTestRootKey,
  openWorld,
  SECRET,
  signOne,
  type TestWallet,
  type VaultWorld,
} from './support.ts'

const PIN = '493817'

/** Without a start where this process holds the key itself. */
type Provider = { readonly start: (() => Promise<TestService>) | null; readonly id: RegExp }
const PROVIDERS: readonly (readonly [string, Provider])[] = [
  ['a file', { start: null, id: /^key:[0-9a-f]{16}$/ }],
  ['AWS KMS', { start: startAwsKms, id: /^aws-kms:1234abcd-/ }],
  ['Google Cloud KMS', { start: startGcpKms, id: /^gcp-kms:projects\/a-project\/.*\/cryptoKeys\/root$/ }],
  [
    'Vault',
    { start: () => startVault(), id: /^vault-transit:127\.0\.0\.1:[0-9]+\/team\/wallets\/keys\/transit\/strongroom$/ },
  ],
]

/** In the suite one service: the other tests of the vault have a file, and root-key-contract.test.ts has each. */
describe.each(isLong ? PROVIDERS : PROVIDERS.slice(1, 2))('a vault on a root key from %s', (_what, { start, id }) => {
  let service: TestService
  let world: VaultWorld
  let sql: Sql
  let wallets: readonly TestWallet[]

  const openKey = (): Promise<RootKey> => (start === null ? openTestRootKey() : service.open({ limits: BRISK }))
  const sign = (vault: Vault, wallet: TestWallet): Promise<Uint8Array> => {
    const credentials = wallet.controlMode === 'user' ? { userPin: PIN } : { developerSecret: SECRET }
    return withKey(vault, { wallet, credentials, actor: ACTOR }, async (key) => signOne(key))
  }
  const signedBy = async (vault: Vault, wallet: TestWallet): Promise<boolean> => {
    const signature = await sign(vault, wallet)
    return secp256k1.verify(signature.subarray(0, 64), EVM_DIGEST, wallet.publicKey, { prehash: false, lowS: true })
  }
  const signAll = async (vault: Vault): Promise<readonly boolean[]> =>
    Promise.all(wallets.map((wallet) => signedBy(vault, wallet)))
  const check = async (rootKey: RootKey): Promise<string> =>
    bindDeployment({
      db: world.db,
      environment: 'testnet',
      networks: [{ name: 'Ethereum', family: 'evm', chainId: 11155111 }],
      rootKey,
    }).then(
      () => 'fits',
      (error: unknown) => String(error),
    )

  beforeAll(async () => {
    if (start !== null) service = await start()
    world = await openWorld('testnet', openKey)
    sql = postgres(world.url, { max: 1, onnotice: () => {} })
    const projectId = await world.project()
    const of = { projectId, ownerId: randomUUID() }
    wallets = [
      await world.wallet({ ...of, controlMode: 'developer', credentials: { developerSecret: SECRET } }),
      await world.wallet({ projectId, ownerId: randomUUID(), controlMode: 'user', credentials: { userPin: PIN } }),
    ]
  })
  afterAll(async () => {
    await sql.end()
    await world.close()
    await service?.stop()
  })

  test('signs for its wallets, in any process', async () => {
    expect(await signAll(world.vault)).toEqual([true, true])
    expect(await signAll(await world.another())).toEqual([true, true])
  })

  test('stores in each row the id of the key that wrapped it', async () => {
    const rows = await sql`select root_key_id from project_keys`
    expect(rows.length).toBeGreaterThan(0)
    for (const row of rows) expect(row.root_key_id).toMatch(id)
  })

  test('does not open a project’s key from another project’s row', async () => {
    const [one, other] = [await world.project(), await world.project()]
    const credentials = { developerSecret: SECRET }
    const of = { ownerId: randomUUID(), controlMode: 'developer' as const, credentials }
    const wallet = await world.wallet({ ...of, projectId: one })
    await sql`update project_keys set wrapped = (select wrapped from project_keys where project_id = ${other}) where project_id = ${one}`
    await expect(sign(await world.another(), wallet)).rejects.toThrow('was changed, so it was not opened')
  })

  test('binds the database to it', async () => {
    expect(await check(await openKey())).toBe('fits')
    expect(await check(await openKey())).toBe('fits')
  })

  if (start === null) return
  afterEach(() => service.behave('well'))

  longTest('calls the service once for each project and process, not for every signature', async () => {
    const vault = await world.another()
    const before = { ...service.calls }
    for (let round = 0; round < (isLong ? 10 : 3); round += 1) await signAll(vault)
    expect(service.calls).toEqual({ ...before, decrypt: before.decrypt + 1 })
  })

  longTest('signs for wallets from before a rotation at the provider, and creates new ones after it', async () => {
    service.rotate()
    const vault = await world.another()
    expect(await signAll(vault)).toEqual([true, true])
    const projectId = await world.project()
    const credentials = { developerSecret: SECRET }
    const wallet = await world.wallet({ projectId, ownerId: randomUUID(), controlMode: 'developer', credentials })
    expect(await signedBy(await world.another(), wallet)).toBe(true)
  })

  test('answers 503 while the service is away and the project’s key is not remembered, and recovers by itself', async () => {
    expect(await signAll(world.vault)).toEqual([true, true])
    const [wallet] = wallets
    if (wallet === undefined) throw new Error('there is no wallet')
    const other = await world.another()
    service.behave('failing')
    expect(await signAll(world.vault)).toEqual([true, true])
    expect(await codeOf(sign(other, wallet))).toBe('unavailable')
    expect(await codeOf(world.project())).toBe('unavailable')
    service.behave('well')
    expect(await signedBy(other, wallet)).toBe(true)
  })

  test('does not charge a right PIN as a guess while the service is away', async () => {
    const other = await world.another()
    const wallet = wallets[1]
    if (wallet === undefined) throw new Error('there is no wallet')
    service.behave('failing')
    expect(await codeOf(sign(other, wallet))).toBe('unavailable')
    const [guesses] = await sql`select fails, total from pin_guesses where owner_id = ${wallet.ownerId}`
    expect({ ...guesses }).toEqual({ fails: 0, total: 0 })
  })

  test('does not let a process start with another key or without the service', async () => {
    expect(await check(await openKey())).toBe('fits')
    const other = await service.open({ key: 'second', limits: BRISK })
    expect(await check(other)).toContain('The root key does not fit this database: it is ')
    const disguised = { ...other, id: (await openKey()).id }
    expect(await check(disguised)).toContain(
      "The root key does not fit this database: it does not open the deployment's key.",
    )
    service.behave('failing')
    expect(await check(await openKey())).toContain(
      `${service.name}, which holds the root key, cannot be reached, or fails`,
    )
  })
})
