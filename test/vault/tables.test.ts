// A thief of the database finds nothing readable, and with the root key still nothing without a credential. With all
// three, following the hierarchy by hand leads to exactly the wallet's key.

import { describe, expect, test } from 'bun:test'
import { createDecipheriv, createHmac, hkdfSync } from 'node:crypto'
import { hashRaw } from '@node-rs/argon2'
import { entropyToMnemonic } from '@scure/bip39'
import { wordlist } from '@scure/bip39/wordlists/english.js'
import { mnemonicToAccount } from 'viem/accounts'
import type { WalletRow } from '../../db/queries/vault/keyrings.ts'
import { withKey, withPolicyKey } from '../support/keys.ts'
import { isLong } from '../support/long.ts'
import { shared } from '../support/shared.ts'
import { ACTOR, EVM_PAYLOAD, hexOf, openWorld } from './support.ts'

const SECRET = 'a marked secret 5d41402abc4b'
const PIN = '846201'
const OWNER = 'zoë'
const ROOT_KEY = new Uint8Array(32).fill(0x11)

const world = await shared(openWorld('mainnet'))
const { sql } = world
const projectId = await world.project(SECRET)
const input = { projectId, ownerId: OWNER } as const
const wallet = await world.wallet({ ...input, controlMode: 'user', credentials: { userPin: PIN } })
const both = { developerSecret: SECRET, userPin: PIN }
const sharedWallet = await world.wallet({ ...input, controlMode: 'developer', credentials: both, network: 'Base' })
await withKey(world.vault, { wallet, credentials: { userPin: PIN }, actor: ACTOR }, async (key) => {
  await key.sign({ action: 'transaction_signed', details: {}, payloads: [EVM_PAYLOAD] })
})
await withKey(world.vault, { wallet, credentials: { userPin: '000000' }, actor: ACTOR }, async () => {}).catch(() => {})

// The hierarchy by hand, written from its description, without code of src/vault.

const fields = (...parts: readonly (string | Uint8Array)[]) =>
  Buffer.concat(
    parts.map((part) => {
      const bytes = Buffer.from(part)
      const length = Buffer.alloc(4)
      length.writeUInt32BE(bytes.length)
      return Buffer.concat([length, bytes])
    }),
  )
const derive = (key: Uint8Array, ...labels: string[]) =>
  Buffer.from(hkdfSync('sha256', key, new Uint8Array(), fields(...labels), 32))

type Where = {
  readonly keyring?: string
  readonly wallet?: string
  readonly purpose: string
  readonly row: string
  readonly bound?: readonly string[]
}

const open = (
  key: Uint8Array,
  sealed: Uint8Array,
  { keyring = '', wallet: of = '', purpose, row, bound = [] }: Where,
) => {
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(6, 18))
  decipher.setAAD(fields(sealed.subarray(0, 6), wallet.projectId, keyring, of, purpose, row, ...bound))
  decipher.setAuthTag(sealed.subarray(-16))
  return Buffer.concat([decipher.update(sealed.subarray(18, -16)), decipher.final()])
}

const bytesFrom = async (query: Promise<readonly Record<string, unknown>[]>): Promise<Buffer> => {
  const [row] = await query
  const [value] = Object.values(row ?? {})
  if (!Buffer.isBuffer(value)) throw new Error('there is no such row')
  return value
}

type Mode = 'user' | 'developer'
const MODES = ['developer', 'user'] as const

const projectKeyByHand = async () => {
  const wrapped = await bytesFrom(sql`select wrapped from project_keys where project_id = ${wallet.projectId}`)
  return open(derive(ROOT_KEY, 'root key'), wrapped, { purpose: 'project key', row: '1' })
}

const findByHand = async (mode: Mode) => {
  const { keyringId } = wallet
  const projectKey = await projectKeyByHand()
  const credentialKey = mode === 'user' ? await userKey(projectKey) : await developerKey(projectKey)
  const [lock] = await sql`select id, sealed, family_keys from owner_locks where control_mode = ${mode}`
  const id = String(lock?.id)
  const where = { keyring: keyringId, row: id, bound: ['control_mode', mode] }
  const inner = open(projectKey, lock?.sealed, { ...where, purpose: 'owner lock' })
  const controlKey = open(derive(credentialKey, 'owner lock', id), inner, { ...where, purpose: 'owner lock' })
  const familyKeys = open(derive(controlKey, 'family keys', id), lock?.family_keys, {
    ...where,
    purpose: 'family keys',
  })
  const { id: walletId, network } = mode === 'user' ? wallet : sharedWallet
  const walletKey = derive(controlKey, 'wallet', walletId)
  const privateKey = open(walletKey, await sealedKeyOf(walletId), whereOf({ id: walletId, network, controlMode: mode }))
  return { projectKey, credentialKey, controlKey, familyKeys, walletKey, privateKey }
}

const foundByHand: Partial<Record<Mode, ReturnType<typeof findByHand>>> = {}
/** What one credential leads to. */
const byHand = (mode: Mode) => {
  const found = foundByHand[mode] ?? findByHand(mode)
  foundByHand[mode] = found
  return found
}

const sealedKeyOf = (walletId: string) => bytesFrom(sql`select sealed from wallet_keys where wallet_id = ${walletId}`)

const whereOf = ({ id, network, controlMode }: Pick<WalletRow, 'id' | 'network' | 'controlMode'>): Where => ({
  ...{ keyring: wallet.keyringId, wallet: id, purpose: 'wallet key', row: id },
  bound: ['network', network, 'control_mode', controlMode, 'type', 'eoa', 'owner_id', OWNER],
})

/** The seed, with keys of credentials by which these modes control it. */
const seedByHand = async (modes: readonly Mode[], ...credentialKeys: readonly Uint8Array[]) => {
  const { keyringId: keyring } = wallet
  const bound = ['kind', 'seed', 'control_modes', modes.join(' ')]
  const where = { keyring, purpose: 'seed lock', row: keyring, bound }
  const whereOuter = { ...where, bound: ['kind', 'seed', 'control_modes', 'developer user'] }
  const inner = open(await projectKeyByHand(), await bytesFrom(sql`select sealed from keyrings`), whereOuter)
  return open(derive(fields(...credentialKeys), 'seed lock', keyring, ...modes), inner, where)
}

const bothByHand = async () =>
  seedByHand(MODES, (await byHand('developer')).credentialKey, (await byHand('user')).credentialKey)

/** The number of the changes of a credential. */
const numberOf = async (table: 'user_keys' | 'developer_keys') => {
  const [row] = await sql`select version from ${sql(table)}`
  return ['version', String(row?.version)]
}

const userKey = async (projectKey: Uint8Array) => {
  const where = { purpose: 'user key', row: OWNER, bound: await numberOf('user_keys') }
  const inner = open(projectKey, await bytesFrom(sql`select sealed from user_keys`), where)
  const salt = await bytesFrom(sql`select salt from user_keys`)
  const stretched = await hashRaw(PIN, { memoryCost: 19_456, timeCost: 2, parallelism: 1, outputLen: 32, salt })
  return open(derive(stretched, 'user key', wallet.projectId, OWNER), inner, where)
}

const developerKey = async (projectKey: Uint8Array, secret = SECRET) => {
  const where = { purpose: 'developer key', row: wallet.projectId, bound: await numberOf('developer_keys') }
  const inner = open(projectKey, await bytesFrom(sql`select sealed from developer_keys`), where)
  const key = createHmac('sha256', secret).update(fields('developer key', wallet.projectId)).digest()
  return open(key, inner.subarray(32), where)
}

describe('the tables', () => {
  test('lead by hand, with the root key and a credential, to the keys of its mode, and with both to the seed', async () => {
    const [byPin, bySecret] = [await byHand('user'), await byHand('developer')]
    expect(hexOf(byPin.privateKey)).toBe(hexOf(bySecret.privateKey))
    expect(hexOf(byPin.familyKeys)).toBe(hexOf(bySecret.familyKeys))
    const entropy = await bothByHand()
    const account = mnemonicToAccount(entropyToMnemonic(entropy, wordlist))
    expect(account.publicKey).toBe(`0x${hexOf(wallet.publicKey)}`)
    expect(hexOf(account.getHdKey().privateKey ?? new Uint8Array())).toBe(hexOf(byPin.privateKey))
    expect(hexOf(byPin.familyKeys.subarray(0, 32))).toBe(hexOf(byPin.privateKey))
    expect(sharedWallet.keyringId).toBe(wallet.keyringId)
  })

  test('lead by no key of one credential to the seed, or to what seals a wallet of the other mode', async () => {
    for (const mode of MODES) {
      const { familyKeys, ...found } = await byHand(mode)
      const keys = [...Object.values(found), familyKeys.subarray(0, 32), familyKeys.subarray(32)]
      for (const key of keys) {
        for (const modes of [['developer'], ['user'], MODES, []] as const) {
          for (const given of [[key], [key, key], [new Uint8Array(), key], [key, new Uint8Array()]]) {
            await expect(seedByHand(modes, ...given)).rejects.toThrow()
          }
        }
        const other = mode === 'user' ? sharedWallet : wallet
        const sealed = await sealedKeyOf(other.id)
        for (const candidate of [key, derive(key, 'wallet', other.id), derive(key, 'wallet', wallet.id)]) {
          expect(() => open(candidate, sealed, whereOf(other))).toThrow()
        }
        const [lock] = await sql`select id, sealed, family_keys from owner_locks where control_mode <> ${mode}`
        const where = { keyring: wallet.keyringId, row: String(lock?.id), bound: ['control_mode', other.controlMode] }
        const inner = open(found.projectKey, lock?.sealed, { ...where, purpose: 'owner lock' })
        for (const label of ['owner lock', 'family keys']) {
          const candidate = derive(key, label, String(lock?.id))
          expect(() => open(candidate, inner, { ...where, purpose: 'owner lock' })).toThrow()
          expect(() => open(candidate, lock?.family_keys, { ...where, purpose: 'family keys' })).toThrow()
        }
      }
    }
  })

  test('contain no PIN, secret, phrase, seed or key in any column, as text or as bytes', async () => {
    const found = [await byHand('user'), await byHand('developer')]
    const entropy = await bothByHand()
    const secrets = [...found.flatMap((each) => Object.values(each)), entropy].map(hexOf)
    const texts = [PIN, SECRET, entropyToMnemonic(entropy, wordlist)]
    const needles = [
      ...secrets,
      ...secrets.map((hex) => Buffer.from(hex, 'hex').toString('base64')),
      ...texts,
      ...texts.map((text) => Buffer.from(text).toString('hex')),
      ...texts.map((text) => Buffer.from(text).toString('base64')),
      hexOf(ROOT_KEY),
    ]
    const tables = await sql`select schemaname || '.' || tablename as name from pg_tables
      where schemaname not in ('pg_catalog', 'information_schema')`
    let rows = 0
    for (const { name } of tables) {
      const content = await sql.unsafe(`select t::text as row from ${name} t`)
      rows += content.length
      for (const { row } of content) for (const needle of needles) expect(String(row)).not.toContain(needle)
    }
    expect(rows).toBeGreaterThan(10)
  })

  test('are opened with keys that are all zeroed after use', async () => {
    /** How often: a key that is moved in memory is zeroed where it was. */
    const zeroed = new Map<string, number>()
    const timesOf = (key: Uint8Array) => zeroed.get(hexOf(key)) ?? 0
    const fill = Buffer.prototype.fill
    const fillBytes = Uint8Array.prototype.fill
    const note = (bytes: Uint8Array) => {
      const hex = Buffer.from(bytes).toString('hex')
      zeroed.set(hex, (zeroed.get(hex) ?? 0) + 1)
    }
    const found = { user: await byHand('user'), developer: await byHand('developer') }
    const entropy = await bothByHand()
    Buffer.prototype.fill = function (this: Buffer, ...args: Parameters<typeof fillBytes>) {
      note(this)
      return fill.apply(this, args)
    } as typeof fill
    Uint8Array.prototype.fill = function (this: Uint8Array, ...args: Parameters<typeof fillBytes>) {
      note(this)
      return fillBytes.apply(this, args)
    }
    try {
      for (const mode of ['user', 'developer'] as const) {
        zeroed.clear()
        const credentials = mode === 'user' ? { userPin: PIN } : { developerSecret: SECRET }
        const of = mode === 'user' ? wallet : sharedWallet
        let whileOpen = 0
        await withKey(world.vault, { wallet: of, credentials, actor: ACTOR }, async () => {
          expect(zeroed.has(hexOf(found[mode].controlKey))).toBe(true)
          expect(zeroed.has(hexOf(found[mode].credentialKey))).toBe(true)
          whileOpen = timesOf(found[mode].privateKey)
        })
        expect(timesOf(found[mode].privateKey)).toBe(whileOpen + 1)
      }
      zeroed.clear()
      const input = { projectId: wallet.projectId, ownerId: OWNER, network: 'Polygon' } as const
      await world.wallet({ ...input, controlMode: 'user', credentials: { userPin: PIN } })
      const { controlKey, credentialKey, familyKeys, walletKey, privateKey } = found.user
      const used = [controlKey, credentialKey, familyKeys, privateKey]
      for (const key of used) expect(zeroed.has(hexOf(key))).toBe(true)
      // A further wallet of the mode needs no seed.
      expect(zeroed.has(hexOf(entropy))).toBe(false)
      zeroed.clear()
      const both = { developerSecret: SECRET, userPin: PIN }
      await world.vault.exportKeyring({ wallet, credentials: both, actor: ACTOR })
      const credentialKeys = [found.developer.credentialKey, credentialKey]
      for (const key of [...credentialKeys, fields(...credentialKeys), entropy]) {
        expect(zeroed.has(hexOf(key))).toBe(true)
      }
      zeroed.clear()
      const terms = await world.policy(wallet, both)
      for (const key of [...credentialKeys, controlKey, walletKey]) expect(zeroed.has(hexOf(key))).toBe(true)
      zeroed.clear()
      const delegated = { wallet, credentials: { developerSecret: SECRET }, actor: ACTOR, terms }
      let whileOpen = 0
      await withPolicyKey(world.vault, delegated, async () => {
        const { credentialKey: developer } = found.developer
        const opened = [walletKey, developer, derive(developer, 'policies', wallet.projectId)]
        expect(opened.map((key) => zeroed.has(hexOf(key)))).toEqual([true, true, true])
        whileOpen = timesOf(privateKey)
      })
      expect(timesOf(privateKey)).toBe(whileOpen + 1)
      // A policy does not open the key that opens the others.
      expect(zeroed.has(hexOf(controlKey))).toBe(false)
      const changes = [
        [PIN, '271828'],
        ['271828', PIN],
      ] as const
      for (const [oldPin, newPin] of isLong ? changes : []) {
        zeroed.clear()
        await world.vault.changeUserPin({ wallet, oldPin, newPin, actor: ACTOR })
        expect(zeroed.has(hexOf(credentialKey))).toBe(true)
      }
      zeroed.clear()
      const imported = { privateKey: hexOf(new Uint8Array(32).fill(0x5a)) }
      await world.wallet({ ...input, network: 'Vara', imported, controlMode: 'user', credentials: { userPin: PIN } })
      expect(zeroed.has(imported.privateKey)).toBe(true)
    } finally {
      Buffer.prototype.fill = fill
      Uint8Array.prototype.fill = fillBytes
    }
  })

  test('of the vault cannot be read by the worker’s role', async () => {
    for (const table of [
      'project_keys',
      'developer_keys',
      'user_keys',
      'pin_guesses',
      'keyrings',
      'owner_locks',
      'wallet_keys',
      'policy_locks',
    ]) {
      const [row] = await sql`select has_table_privilege('strongroom_worker', ${table}, 'select') as may`
      expect([table, row?.may]).toEqual([table, false])
    }
  })

  test('do not open with another PIN, even for a thief who has the root key', async () => {
    const { projectKey } = await byHand('user')
    const bound = await numberOf('user_keys')
    const inner = open(projectKey, await bytesFrom(sql`select sealed from user_keys`), {
      purpose: 'user key',
      row: OWNER,
      bound,
    })
    const salt = await bytesFrom(sql`select salt from user_keys`)
    for (const pin of ['846202', '000000', '']) {
      const stretched = await hashRaw(pin, { memoryCost: 19_456, timeCost: 2, parallelism: 1, outputLen: 32, salt })
      const key = derive(stretched, 'user key', wallet.projectId, OWNER)
      expect(() => open(key, inner, { purpose: 'user key', row: OWNER, bound })).toThrow()
    }
  })

  test('do not open with another developer secret, even for whoever controls a vault and its root key', async () => {
    const { projectKey } = await byHand('developer')
    for (const secret of [`${SECRET} `, SECRET.slice(1), '']) {
      await expect(developerKey(projectKey, secret)).rejects.toThrow()
    }
  })

  test('are needed: the root key opens only what they contain', async () => {
    const wrapped = await bytesFrom(sql`select wrapped from project_keys where project_id = ${wallet.projectId}`)
    const opened = (row: string) => open(derive(ROOT_KEY, 'root key'), wrapped, { purpose: 'project key', row })
    const projectKey = opened('1')
    // The project's key is random: neither it nor what its rows contain follows from the root key.
    for (const label of ['root key', 'project key', wallet.projectId]) {
      expect(derive(ROOT_KEY, label).equals(projectKey)).toBe(false)
    }
    // What is wrapped for one version opens as no other.
    expect(() => opened('2')).toThrow()
  })
})
