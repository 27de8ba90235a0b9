import { describe, expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import { secp256k1 } from '@noble/curves/secp256k1.js'
import { validateMnemonic } from '@scure/bip39'
import { wordlist } from '@scure/bip39/wordlists/english.js'
import { verify as verifySr25519 } from '@scure/sr25519'
import { mnemonicToAccount } from 'viem/accounts'
import type { WalletRow } from '../../db/queries/vault/keyrings.ts'
import type { ControlMode } from '../../db/words.ts'
import type { Credentials } from '../../src/vault/contract/required-credentials.ts'
import { bytesToSign } from '../../src/vault/rooms/keys/payloads.ts'
import { messageSigner, withPolicyKey } from '../support/keys.ts'
import { longTest, someOf } from '../support/long.ts'
import { shared } from '../support/shared.ts'
import {
  ACTOR,
  codeOf,
  EVM_MESSAGE,
  freezing,
  hexOf,
  openWorld,
  SECRET,
  SUBSTRATE_MESSAGE,
  signOne,
  type TestWallet,
  textsOf,
  type WalletInput,
} from './support.ts'
import { ANVIL, BIP_39, SR25519 } from './vectors.ts'

const PIN = '493817'
const GIVEN = {
  nothing: {},
  secret: { developerSecret: SECRET },
  pin: { userPin: PIN },
  both: { developerSecret: SECRET, userPin: PIN },
  'a wrong secret': { developerSecret: 'not-the-secret' },
  'a wrong PIN': { userPin: '000000' },
  'a wrong secret and a wrong PIN': { developerSecret: 'not-the-secret', userPin: '000000' },
  'the secret and a wrong PIN': { developerSecret: SECRET, userPin: '000000' },
  'a wrong secret and the PIN': { developerSecret: 'not-the-secret', userPin: PIN },
} as const satisfies Record<string, Credentials>
type Given = keyof typeof GIVEN

const world = await shared(openWorld())
const { sql } = world
const projectId = await world.project()

const make = (input: Partial<WalletInput> & { readonly controlMode: ControlMode; readonly credentials: Credentials }) =>
  world.wallet({ projectId, ownerId: randomUUID(), ...input })

const OWNERS: Record<string, () => Promise<{ developer?: TestWallet; user?: TestWallet }>> = {
  'a developer lock': async () => ({ developer: await make({ controlMode: 'developer', credentials: GIVEN.secret }) }),
  'a user lock': async () => ({ user: await make({ controlMode: 'user', credentials: GIVEN.pin }) }),
  'both locks': async () => {
    const ownerId = randomUUID()
    const developer = await make({ ownerId, controlMode: 'developer', credentials: GIVEN.secret })
    const user = await make({ ownerId, controlMode: 'user', credentials: GIVEN.both, network: 'Base' })
    return { developer, user }
  },
}

const exported = async (wallet: WalletRow, given: Given) =>
  textsOf(await world.vault.exportKeyring({ wallet, credentials: GIVEN[given], actor: ACTOR }))

/** Signs a message, and returns whether the wallet's key signed it. */
const signed = async (wallet: TestWallet, given: Given) => {
  const request = { wallet, credentials: GIVEN[given], actor: ACTOR }
  const signature = await signOne(messageSigner(world.vault, request), EVM_MESSAGE)
  const digest = bytesToSign('evm', EVM_MESSAGE)
  return secp256k1.verify(signature.subarray(0, 64), digest, wallet.publicKey, { prehash: false, lowS: true })
}

const guesses = async ({ ownerId }: WalletRow) => {
  const [row] = await sql`select fails from pin_guesses where owner_id = ${ownerId}`
  return row === undefined ? null : (row.fails as number)
}

const audited = async ({ id }: WalletRow) => {
  const rows = await sql`select actor, details from audit where subject = ${id} and action = 'wallet_exported'`
  return rows.map((row) => ({ ...row }))
}

const requires = 'credential_required'
const ambiguous = 'credential_ambiguous'
const wrong = 'INVALID_SECRET'
const alone: Record<ControlMode, Record<Given, string>> = {
  developer: {
    nothing: requires,
    secret: 'given',
    pin: requires,
    both: ambiguous,
    'a wrong secret': wrong,
    'a wrong PIN': requires,
    'a wrong secret and a wrong PIN': ambiguous,
    'the secret and a wrong PIN': ambiguous,
    'a wrong secret and the PIN': ambiguous,
  },
  user: {
    nothing: requires,
    secret: requires,
    pin: 'given',
    both: ambiguous,
    'a wrong secret': requires,
    'a wrong PIN': wrong,
    'a wrong secret and a wrong PIN': ambiguous,
    'the secret and a wrong PIN': ambiguous,
    'a wrong secret and the PIN': ambiguous,
  },
}
const ofBoth: Record<Given, string> = {
  nothing: requires,
  secret: requires,
  pin: requires,
  both: 'given',
  'a wrong secret': requires,
  'a wrong PIN': requires,
  'a wrong secret and a wrong PIN': wrong,
  'the secret and a wrong PIN': wrong,
  'a wrong secret and the PIN': wrong,
}
const cases = [
  ...Object.entries(alone.developer).map(([given, expected]) => ['a developer lock', 'developer', given, expected]),
  ...Object.entries(alone.user).map(([given, expected]) => ['a user lock', 'user', given, expected]),
  ...Object.entries(ofBoth).map(([given, expected]) => ['both locks', 'developer', given, expected]),
  ...Object.entries(ofBoth).map(([given, expected]) => ['both locks', 'user', given, expected]),
] as [string, ControlMode, Given, string][]

describe('an export', () => {
  test.each(someOf(cases, 7))(
    'from a keyring with %s, by its %s wallet, with %s: %s',
    async (locks, mode, given, expected) => {
      const wallet = (await OWNERS[locks]?.())?.[mode]
      if (wallet === undefined) throw new Error('there is no such wallet')
      // Signing a message requires the same credentials and is charged the same.
      if (expected !== 'given') {
        const pinWasLookedAt = expected === wrong && 'userPin' in GIVEN[given] && !given.startsWith('a wrong secret')
        for (const [times, open] of [exported, signed].entries()) {
          expect(await codeOf(open(wallet, given))).toBe(expected)
          expect(await guesses(wallet)).toBe(locks === 'a developer lock' ? null : pinWasLookedAt ? times + 1 : 0)
        }
        expect(await audited(wallet)).toEqual([])
        return
      }
      expect(await signed(wallet, given)).toBe(true)
      expect(await audited(wallet)).toEqual([])
      const { mnemonicPhrase, privateKey } = await exported(wallet, given)
      expect(privateKey).toBeNull()
      expect(validateMnemonic(mnemonicPhrase ?? '', wordlist)).toBe(true)
      expect(mnemonicPhrase?.split(' ').length).toBe(12)
      const details = { keyring_id: wallet.keyringId, keyring_kind: 'seed' }
      expect(await audited(wallet)).toEqual([{ actor: ACTOR, details }])
    },
  )

  longTest('returns the phrase from which the wallets of every network are derived', async () => {
    const ownerId = randomUUID()
    const input = { ownerId, controlMode: 'user', credentials: GIVEN.pin } as const
    const evm = await make(input)
    const substrate = await make({ ...input, network: 'Vara' })
    const { mnemonicPhrase } = await exported(evm, 'pin')
    expect(mnemonicToAccount(mnemonicPhrase ?? '').publicKey).toBe(`0x${hexOf(evm.publicKey)}`)
    expect((await exported(substrate, 'pin')).mnemonicPhrase).toBe(mnemonicPhrase)
  })

  test.each([
    ['EVM key', 'Ethereum', { privateKey: `0x${ANVIL.privateKey.toUpperCase()}` }, null, `0x${ANVIL.privateKey}`],
    ['mini-secret', 'Polkadot', { privateKey: SR25519[0]?.miniSecret ?? '' }, null, `0x${SR25519[0]?.miniSecret}`],
    ['phrase', 'Vara', { mnemonicPhrase: ` ${SR25519[0]?.phrase.toUpperCase()} ` }, SR25519[0]?.phrase, null],
    ['phrase of 24 words', 'Base', { mnemonicPhrase: BIP_39.at(-1)?.phrase ?? '' }, BIP_39.at(-1)?.phrase, null],
  ] as const)('of an imported %s is what was imported', async (_what, network, imported, phrase, key) => {
    const wallet = await make({ controlMode: 'developer', credentials: GIVEN.secret, network, imported })
    expect(await exported(wallet, 'secret')).toEqual({ mnemonicPhrase: phrase ?? null, privateKey: key })
  })

  test('of one keyring reveals nothing of another keyring of its owner, and does not require its lock', async () => {
    const ownerId = randomUUID()
    const seed = await make({ ownerId, controlMode: 'user', credentials: GIVEN.pin })
    const imported = { privateKey: ANVIL.privateKey }
    const theirs = await make({
      ownerId,
      controlMode: 'developer',
      credentials: GIVEN.secret,
      imported,
      network: 'Base',
    })
    expect((await exported(theirs, 'secret')).privateKey).toBe(`0x${ANVIL.privateKey}`)
    expect((await exported(seed, 'pin')).privateKey).toBeNull()
    expect(await codeOf(exported(seed, 'secret'))).toBe(requires)
  })

  test.each(someOf(['project', 'owner', 'wallet', 'network'] as const, 4))(
    'of a frozen %s is refused, and nobody is charged',
    async (scope) => {
      const of = await world.project()
      const input = { projectId: of, ownerId: randomUUID(), network: 'Avalanche' } as const
      const wallet = await world.wallet({ ...input, controlMode: 'user', credentials: GIVEN.pin })
      const release = await freezing(world, wallet, scope)
      expect(await codeOf(exported(wallet, 'a wrong PIN'))).toBe('frozen')
      expect(await codeOf(signed(wallet, 'a wrong PIN'))).toBe('frozen')
      expect(await guesses(wallet)).toBe(0)
      await release()
      expect(await codeOf(exported(wallet, 'pin'))).toBe('resolved')
    },
  )

  test('returns nothing if its audit row cannot be written', async () => {
    const wallet = await make({ controlMode: 'developer', credentials: GIVEN.secret })
    await sql`alter table audit add constraint refuse check (action <> 'wallet_exported') not valid`
    const attempt = exported(wallet, 'secret').then(() => 'given')
    await expect(attempt).rejects.toThrow()
    await attempt.catch(() => {})
    await sql`alter table audit drop constraint refuse`
  })

  test.each(someOf(['project_id', 'owner_id', 'keyring_id'] as const, 3))(
    'does not open where the row of the wallet has another %s',
    async (column) => {
      const [wallet, another] = [
        await make({ controlMode: 'developer', credentials: GIVEN.secret }),
        await make({ projectId: await world.project(), controlMode: 'developer', credentials: GIVEN.secret }),
      ]
      await sql`update wallets set ${sql(column)} = (select ${sql(column)} from wallets where id = ${another.id})
        where id = ${wallet.id}`
      for (const projectId of someOf([another.projectId, wallet.projectId], 2)) {
        const moved = { ...wallet, projectId }
        await expect(exported(moved, 'secret')).rejects.toThrow('A row of this wallet was changed')
        await expect(signed(moved, 'secret')).rejects.toThrow('A row of this wallet was changed')
      }
    },
  )
})

describe('a database that gives the vault the rows of another wallet, all of which agree', () => {
  test('gets no export, no message, no recovery code and no PIN of the other owner', async () => {
    const wallet = await make({ controlMode: 'user', credentials: GIVEN.pin })
    const other = await make({ controlMode: 'user', credentials: GIVEN.pin })
    await sql`delete from wallets where id = ${other.id}`
    await sql`update wallet_keys set keyring_id = ${other.keyringId}, public_key = ${other.publicKey},
      sealed = (select sealed from wallet_keys where wallet_id = ${other.id}) where wallet_id = ${wallet.id}`
    await sql`update wallets set keyring_id = ${other.keyringId}, owner_id = ${other.ownerId},
      public_key = ${other.publicKey}, address = ${other.address} where id = ${wallet.id}`
    const request = { wallet, credentials: GIVEN.pin, actor: ACTOR }
    const forged = { code: 'internal', event: { kind: 'wallet_forged', subject: wallet.id } }
    await expect(exported(wallet, 'pin')).rejects.toMatchObject(forged)
    await expect(signed(wallet, 'pin')).rejects.toMatchObject(forged)
    await expect(world.vault.newRecoveryCode(request)).rejects.toMatchObject(forged)
    const change = { wallet, oldPin: GIVEN.pin.userPin, newPin: '927461', actor: ACTOR }
    await expect(world.vault.changeUserPin(change)).rejects.toMatchObject(forged)
    // A wrong PIN says no more, and counts for no owner.
    await expect(world.vault.changeUserPin({ ...change, oldPin: '716253' })).rejects.toMatchObject(forged)
    expect(await guesses(other)).toBe(0)
  })
})

describe('signing a message', () => {
  test('opens no wallet of another keyring, and uses the key type of the wallet’s network', async () => {
    const of = { controlMode: 'developer', credentials: GIVEN.secret } as const
    const ownerId = randomUUID()
    const wallet = await make({ ...of, ownerId })
    const substrate = await make({ ...of, ownerId, network: 'Vara' })
    const stranger = await make(of)
    const forged = { event: { kind: 'wallet_forged', subject: stranger.id } }
    await expect(signed({ ...wallet, id: stranger.id }, 'secret')).rejects.toMatchObject(forged)
    const request = { wallet: substrate, credentials: GIVEN.secret, actor: ACTOR }
    const signature = await signOne(messageSigner(world.vault, request), SUBSTRATE_MESSAGE)
    expect(verifySr25519(bytesToSign('substrate', SUBSTRATE_MESSAGE), signature, substrate.publicKey)).toBe(true)
  })

  test('cannot be allowed to a developer by a policy', async () => {
    const wallet = await make({ controlMode: 'user', credentials: GIVEN.pin })
    const terms = await world.policy(wallet, GIVEN.both)
    const request = { wallet, credentials: GIVEN.secret, actor: ACTOR, terms }
    expect(await codeOf(withPolicyKey(world.vault, request, async () => {}))).toBe('resolved')
    expect(await codeOf(signOne(messageSigner(world.vault, request), EVM_MESSAGE))).toBe(requires)
  })
})
