import { describe, expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { secp256k1 } from '@noble/curves/secp256k1.js'
import { verify as verifySr25519 } from '@scure/sr25519'
import type { WalletRow } from '../../db/queries/vault/keyrings.ts'
import type { Network } from '../../db/words.ts'
import { AppError } from '../../src/platform/errors.ts'
import type { Credentials } from '../../src/vault/contract/required-credentials.ts'
import type { OperatorVault } from '../../src/vault/contract/vault.ts'
import { addressOf } from '../../src/vault/rooms/keys/key-types.ts'
import { bytesToSign } from '../../src/vault/rooms/keys/payloads.ts'
import { KeyClosed } from '../../src/vault/rooms/vault.ts'
import { messageSigner, signerOnce, withKey } from '../support/keys.ts'
import { isLong, longTest, someOf } from '../support/long.ts'
import { shared } from '../support/shared.ts'
import {
  ACTOR,
  chainOf,
  codeOf,
  EVM_DIGEST,
  EVM_MESSAGE,
  hexOf,
  openWorld,
  payloadFor,
  SECRET,
  SUBSTRATE_BYTES,
  SUBSTRATE_MESSAGE,
  SUBSTRATE_PAYLOAD,
  signOne,
  type TestWallet,
  tally,
} from './support.ts'

const PIN = '493817'
const secret = { developerSecret: SECRET }
const pin = { userPin: PIN }
const both = { ...secret, ...pin }

const world = await shared(openWorld())
const { sql } = world
const projectId = await world.project()

const developerWallet = (of = projectId) =>
  world.wallet({ projectId: of, ownerId: randomUUID(), controlMode: 'developer', credentials: secret })
const userWallet = (userPin = PIN, of = projectId) =>
  world.wallet({ projectId: of, ownerId: randomUUID(), controlMode: 'user', credentials: { userPin } })

const sign = (wallet: WalletRow, credentials: Credentials, vault: OperatorVault = world.vault) =>
  withKey(vault, { wallet, credentials, actor: ACTOR }, async (key) => signOne(key, payloadFor(wallet)))

/** The address that a public key has on a network. */
const addressOn = (network: Network, publicKey: Uint8Array) =>
  addressOf({ chain: chainOf(network), type: 'eoa', publicKey })

const guesses = async (wallet: WalletRow) => {
  const [row] = await sql`select fails, total from pin_guesses where owner_id = ${wallet.ownerId}`
  return { ...row }
}

describe('a key', () => {
  /** One of each mode, for what opens nothing. */
  const closed: Partial<Record<'developer' | 'user', Promise<TestWallet>>> = {}

  longTest('signs for the wallet’s public key, with either credential in its mode, in any process', async () => {
    const another = await world.another()
    for (const [wallet, credentials] of [
      [await developerWallet(), secret] as const,
      [await userWallet(), pin] as const,
    ]) {
      for (const vault of [world.vault, another]) {
        const signature = await sign(wallet, credentials, vault)
        const options = { prehash: false, lowS: true }
        expect(secp256k1.verify(signature.subarray(0, 64), EVM_DIGEST, wallet.publicKey, options)).toBe(true)
      }
    }
  })

  test.each([
    ['developer', {}, 'credential_required'],
    ['developer', pin, 'credential_required'],
    ['developer', { ...secret, ...pin }, 'credential_ambiguous'],
    ['developer', { developerSecret: '' }, 'INVALID_SECRET'],
    ['developer', { developerSecret: `${SECRET} ` }, 'INVALID_SECRET'],
    ['developer', { developerSecret: SECRET.toUpperCase() }, 'INVALID_SECRET'],
    ['user', {}, 'credential_required'],
    ['user', secret, 'credential_required'],
    ['user', { ...secret, ...pin }, 'credential_ambiguous'],
    ['user', { userPin: '493818' }, 'INVALID_SECRET'],
  ] as const)('of a %s wallet does not open with %p: %s', async (mode, credentials, code) => {
    closed[mode] ??= mode === 'developer' ? developerWallet() : userWallet()
    const wallet = await closed[mode]
    const before = await guesses(wallet)
    expect(await codeOf(sign(wallet, credentials))).toBe(code)
    if (mode !== 'user') return
    const charged = code === 'INVALID_SECRET' ? 1 : 0
    expect(await guesses(wallet)).toEqual({ fails: before.fails + charged, total: before.total + charged })
  })

  test('cannot be used after its end, nor more than twice, nor after its time', async () => {
    const wallet = await developerWallet()
    const request = { wallet, credentials: secret, actor: ACTOR }
    const kept = await withKey(world.vault, request, async (key) => key)
    await expect(signOne(kept)).rejects.toThrow(KeyClosed)
    await withKey(world.vault, request, async (key) => {
      await signOne(key)
      await signOne(key)
      await expect(signOne(key)).rejects.toThrow(KeyClosed)
    })
    const hasty = await world.another({ keyLifetimeMs: 0 })
    await withKey(hasty, request, async (key) => {
      await sleep(1)
      await expect(signOne(key)).rejects.toMatchObject({ code: 'busy' })
    })
  })

  test('signs nothing of the other family', async () => {
    const wallet = await developerWallet()
    const use = withKey(world.vault, { wallet, credentials: secret, actor: ACTOR }, async (key) =>
      signOne(key, SUBSTRATE_PAYLOAD),
    )
    await expect(use).rejects.toThrow('signs no extrinsic')
  })

  test('of a wallet without a stored key is an internal error', async () => {
    const wallet = await developerWallet()
    await expect(sign({ ...wallet, id: randomUUID() }, secret)).rejects.toThrow('A row of this wallet was changed')
  })

  test('does not open for another project', async () => {
    const [wallet, other] = [await developerWallet(), await developerWallet(await world.project())]
    await expect(sign({ ...wallet, projectId: other.projectId }, secret)).rejects.toMatchObject({
      code: 'internal',
      event: { kind: 'wallet_forged', projectId: other.projectId, subject: wallet.id },
    })
  })

  const columns = [
    ['keyring_id', 'keyringId'],
    ['owner_id', 'ownerId'],
    ['public_key', 'publicKey'],
    ['network', 'network'],
    ['control_mode', 'controlMode'],
  ] as const

  test.each(someOf(columns, 4))(
    'does not open if the rows of its key have another %s than its own row',
    async (column, field) => {
      const wallet = await developerWallet()
      const other = await world.wallet({
        ...{ projectId, ownerId: randomUUID(), network: 'Polygon', controlMode: 'user', credentials: pin },
      })
      const table = column === 'owner_id' ? 'keyrings' : 'wallet_keys'
      const key = column === 'owner_id' ? { id: wallet.keyringId } : { wallet_id: wallet.id }
      const [[name, id]] = Object.entries(key) as [[string, string]]
      const value = column === 'owner_id' ? randomUUID() : other[field]
      await sql`update ${sql(table)} set ${sql({ [column]: value })} where ${sql(name)} = ${id}`
      expect(await codeOf(sign(wallet, secret))).toBe('internal')
      // The same in its own row: what seals the key has the true one.
      await sql`update wallets set ${sql({ [column]: value })} where id = ${wallet.id}`
      expect(await codeOf(sign(wallet, secret))).toBe('internal')
    },
  )
})

describe('what a key was opened for', () => {
  const typedData = { domain: { name: 'A' }, types: { Mail: [] }, primaryType: 'Mail', message: {} }
  const messages = [
    ['Ethereum', EVM_MESSAGE],
    ['Ethereum', { kind: 'safe_message', chainId: 1, safe: `0x${'33'.repeat(20)}`, message: new Uint8Array(1) }],
    ['Ethereum', { kind: 'typed_data', typedData }],
    ['Polkadot', SUBSTRATE_MESSAGE],
  ] as const

  test.each(someOf(messages, 4))('on %s a transaction: it signs no message %j', async (network, payload) => {
    const wallet = await world.wallet({
      ...{ projectId, ownerId: randomUUID(), network, controlMode: 'developer', credentials: secret },
    })
    const request = { wallet, credentials: secret, actor: ACTOR }
    const { vault } = world
    const signing = withKey(vault, request, (key) => signOne(key, payload))
    await expect(signing).rejects.toThrow('was opened for transactions')
    await expect(signOne(signerOnce(vault, request), payload)).rejects.toThrow('was opened for transactions')
    await signOne(messageSigner(vault, request), payload)
    const moving = signOne(messageSigner(vault, request), payloadFor(wallet))
    await expect(moving).rejects.toThrow('was opened for messages')
  })
})

test('messages that are signed at the same moment are each signed with their own key, and one refusal stops no other', async () => {
  const count = isLong ? 12 : 4
  const wallets = await Promise.all(Array.from({ length: count }, () => developerWallet()))
  const isSignedBy = async (wallet: WalletRow, credentials: Credentials = secret) => {
    const signer = messageSigner(world.vault, { wallet, credentials, actor: ACTOR })
    const signature = await signOne(signer, EVM_MESSAGE)
    const digest = bytesToSign('evm', EVM_MESSAGE)
    return secp256k1.verify(signature.subarray(0, 64), digest, wallet.publicKey, { prehash: false, lowS: true })
  }
  const [first, second] = wallets
  if (first === undefined || second === undefined) throw new Error('no wallets')
  const mixed = { ...first, projectId: randomUUID() }
  const refused = Promise.all([codeOf(isSignedBy(mixed)), codeOf(isSignedBy(second, { developerSecret: 'wrong' }))])
  const signed = await Promise.all([...wallets, first].map((wallet) => isSignedBy(wallet)))
  expect(signed).toEqual(Array.from({ length: count + 1 }, () => true))
  expect(await refused).toEqual(['internal', 'INVALID_SECRET'])
})

describe("the type of a wallet's key", () => {
  const walletOn = (network: Network, ownerId: string = randomUUID()) =>
    world.wallet({ projectId, ownerId, network, controlMode: 'developer', credentials: secret })

  const isEcdsa = (signature: Uint8Array, publicKey: Uint8Array) =>
    secp256k1.verify(signature.subarray(0, 64), EVM_DIGEST, publicKey, { prehash: false, lowS: true })

  test.each(['Polkadot', 'Vara'] as const)('on %s is sr25519, which signs messages of any length', async (network) => {
    const wallet = await walletOn(network)
    for (const message of [new Uint8Array(), new Uint8Array(32), new Uint8Array(300).fill(1)]) {
      const payload = { kind: 'substrate_message', message } as const
      const request = { wallet, credentials: secret, actor: ACTOR }
      const signature = await signOne(messageSigner(world.vault, request), payload)
      expect(signature.length).toBe(64)
      expect(verifySr25519(bytesToSign('substrate', payload), signature, wallet.publicKey)).toBe(true)
    }
  })

  test('is told in the audit with the hash of what an extrinsic covers, however that is divided', async () => {
    const wallet = await walletOn('Polkadot')
    const covered = new Uint8Array(32).fill(7)
    const prefix = Uint8Array.of(0)
    for (const end of [1, 20]) {
      const [call, extra, implicit] = [covered.subarray(0, end), covered.subarray(end, 25), covered.subarray(25)]
      const payload = {
        kind: 'extrinsic',
        call,
        extra,
        implicit,
        addressPrefix: prefix,
        signaturePrefix: prefix,
      } as const
      await withKey(world.vault, { wallet, credentials: secret, actor: ACTOR }, (key) => signOne(key, payload))
    }
    const rows = await sql`select details from audit where subject = ${wallet.id} and action = 'message_signed'`
    // BLAKE2b-256 by Python's hashlib.
    const hash = '0x17cdc7bca3f2a0bda60c6de5b96f82a36239b44bde397a3862d529ba8b3d7c62'
    expect(rows.map(({ details }) => details.signed_bytes_hashes)).toEqual([hash, hash])
    expect(new Set(rows.map(({ details }) => details.hash)).size).toBe(2)
  })

  const moved = [
    ['Polkadot', 'Ethereum', 'Polygon'],
    ['Vara', 'Base', 'Polygon'],
    ['Ethereum', 'Polkadot', 'Vara'],
    ['Avalanche', 'Vara', 'Polkadot'],
  ] as const

  test.each(someOf(moved, 2))(
    'of a wallet on %s that the database moves to %s does not sign',
    async (network, other, third) => {
      const wallet = await walletOn(network)
      const sibling = await walletOn(third, wallet.ownerId)
      // What was remembered of its key from an earlier signature is not used.
      await sign(wallet, secret)
      const moves = [
        { network: other },
        // The most that is possible without the key: the row gets the owner's own public key of that type.
        { network: other, public_key: sibling.publicKey, address: addressOn(other, sibling.publicKey) },
        { public_key: sibling.publicKey },
        { address: sibling.address },
      ]
      for (const move of moves) {
        await sql`update wallets set ${sql(move)} where id = ${wallet.id}`
        const [row] = await sql`select network, public_key as "publicKey", address from wallets where id = ${wallet.id}`
        const request = { wallet: { ...wallet, ...row }, credentials: secret, actor: ACTOR }
        const uses: string[] = []
        const message = wallet.publicKey.length === 65 ? EVM_MESSAGE : SUBSTRATE_MESSAGE
        for (const [signer, payload] of [
          [signerOnce, payloadFor(wallet)],
          [messageSigner, message],
        ] as const) {
          const signing = signOne(signer(world.vault, request), payload)
          expect(await codeOf(signing.then((signature) => uses.push(hexOf(signature))))).toBe('internal')
        }
        expect(uses).toEqual([])
        const was = { network, public_key: wallet.publicKey, address: wallet.address }
        await sql`update wallets set ${sql(was)} where id = ${wallet.id}`
      }
      const signature = await sign(wallet, secret)
      const isEvm = wallet.publicKey.length === 65
      expect(signature.length).toBe(isEvm ? 65 : 64)
      expect(
        isEvm ? isEcdsa(signature, wallet.publicKey) : verifySr25519(SUBSTRATE_BYTES, signature, wallet.publicKey),
      ).toBe(true)
    },
  )
})

describe('rows that were swapped in the database do not open', () => {
  type Swap = { readonly table: string; readonly columns: readonly string[]; readonly key: string }

  const swap = async ({ table, columns, key }: Swap, one: string, other: string) => {
    const set = columns.map((column) => `${column} = o.${column}`).join(', ')
    await sql.unsafe(
      `update ${table} t set ${set} from ${table} o
       where t.${key} in ('${one}', '${other}') and o.${key} in ('${one}', '${other}') and t.${key} <> o.${key}`,
    )
  }
  const lockOf = async (wallet: WalletRow) => {
    const [row] = await sql`select id from owner_locks where keyring_id = ${wallet.keyringId}`
    return String(row?.id)
  }

  test('the sealed keys of two wallets of one owner', async () => {
    const wallet = await developerWallet()
    const input = { projectId, ownerId: wallet.ownerId, controlMode: 'developer', credentials: secret } as const
    const other = await world.wallet({ ...input, network: 'Polygon' })
    await swap({ table: 'wallet_keys', columns: ['sealed'], key: 'wallet_id' }, wallet.id, other.id)
    expect(await codeOf(sign(wallet, secret))).toBe('internal')
    expect(await codeOf(sign(other, secret))).toBe('internal')
  })

  test('the locks of two owners', async () => {
    const [wallet, other] = [await developerWallet(), await developerWallet()]
    const locks = [await lockOf(wallet), await lockOf(other)] as const
    await swap({ table: 'owner_locks', columns: ['sealed'], key: 'id' }, ...locks)
    expect(await codeOf(sign(wallet, secret))).toBe('internal')
  })

  test('the user keys of two owners with the same PIN, with their salts', async () => {
    const [wallet, other] = [await userWallet(), await userWallet()]
    await swap({ table: 'user_keys', columns: ['sealed', 'salt'], key: 'owner_id' }, wallet.ownerId, other.ownerId)
    expect(await codeOf(sign(wallet, pin))).toBe('internal')
    expect(await guesses(wallet)).toEqual({ fails: 0, total: 0 })
  })

  test('the developer keys of two projects with the same secret', async () => {
    const [one, other] = [await world.project(), await world.project()]
    const wallet = await developerWallet(one)
    await swap({ table: 'developer_keys', columns: ['sealed'], key: 'project_id' }, one, other)
    expect(await codeOf(sign(wallet, secret))).toBe('internal')
  })

  longTest('the wrapped keys of two projects', async () => {
    const [one, other] = [await world.project(), await world.project()]
    const wallet = await developerWallet(one)
    await swap({ table: 'project_keys', columns: ['wrapped'], key: 'project_id' }, one, other)
    expect(await codeOf(sign(wallet, secret, await world.another()))).toBe('internal')
  })

  test('a wallet that was moved to the keyring of another owner', async () => {
    const [wallet, other] = [await developerWallet(), await developerWallet()]
    await sql`update wallets set keyring_id = ${other.keyringId} where id = ${wallet.id}`
    expect(await codeOf(sign({ ...wallet, keyringId: other.keyringId }, secret))).toBe('internal')
  })

  test('a user’s wallet that was declared the developer’s has no lock', async () => {
    const wallet = await userWallet()
    await sql`update wallets set control_mode = 'developer' where id = ${wallet.id}`
    await expect(sign({ ...wallet, controlMode: 'developer' }, secret)).rejects.toMatchObject({
      code: 'internal',
      event: { kind: 'wallet_forged', projectId, actor: ACTOR, subject: wallet.id },
    })
  })

  test('a wallet of an owner who shares control, in the other control mode or on another network', async () => {
    const ownerId = randomUUID()
    const of = { projectId, ownerId }
    const theirs = await world.wallet({ ...of, controlMode: 'user', credentials: pin })
    const ours = await world.wallet({ ...of, network: 'Polygon', controlMode: 'developer', credentials: both })
    expect(await sign(theirs, pin)).toEqual(await sign(theirs, pin))
    const changes = [
      [theirs, { controlMode: 'developer' }, secret],
      [ours, { controlMode: 'user' }, pin],
      [theirs, { network: 'Base' }, pin],
      [ours, { network: 'Avalanche' }, secret],
    ] as const
    for (const [wallet, change, credentials] of someOf(changes, 4)) {
      const edited = { ...wallet, ...change }
      const { network, controlMode } = edited
      await sql`update wallets set ${sql({ network, control_mode: controlMode })} where id = ${wallet.id}`
      const forged = { code: 'internal', event: { kind: 'wallet_forged', projectId, actor: ACTOR, subject: wallet.id } }
      await expect(sign(edited, credentials)).rejects.toMatchObject(forged)
      const message = { wallet: edited, credentials: both, actor: ACTOR }
      await expect(signOne(messageSigner(world.vault, message), EVM_MESSAGE)).rejects.toMatchObject(forged)
      const was = { network: wallet.network, control_mode: wallet.controlMode }
      await sql`update wallets set ${sql(was)} where id = ${wallet.id}`
      expect(await codeOf(sign(wallet, wallet === ours ? secret : pin))).toBe('resolved')
    }
  })
})

describe('a wallet whose row has another', () => {
  const forged = ({ id: subject }: WalletRow) => ({
    code: 'internal',
    event: { kind: 'wallet_forged', projectId, actor: ACTOR, subject },
  })

  test('type: a policy of the eoa wallet signs nothing for the contract wallet of its key, and the other way round', async () => {
    const types = [
      ['eoa', 'contract'],
      ['contract', 'eoa'],
    ] as const
    for (const [type, other] of someOf(types, 2)) {
      const of = { projectId, ownerId: randomUUID(), controlMode: 'user', credentials: pin } as const
      const wallet = await world.wallet({ ...of, type })
      const terms = await world.policy(wallet, pin)
      const address = addressOf({ chain: chainOf(wallet.network), type: other, publicKey: wallet.publicKey })
      const edited = { ...wallet, type: other, address }
      await sql`update wallets set ${sql({ type: other, address })} where id = ${wallet.id}`
      const byPolicy = { wallet: edited, credentials: secret, actor: ACTOR, terms }
      await expect(world.vault.openKeyByPolicy(byPolicy)).rejects.toMatchObject(forged(wallet))
      await expect(sign(edited, pin)).rejects.toMatchObject(forged(wallet))
    }
  })

  test('owner: a freeze of the right one cannot be evaded', async () => {
    const wallet = await developerWallet()
    const edited = { ...wallet, ownerId: randomUUID() }
    await sql`update wallets set owner_id = ${edited.ownerId} where id = ${wallet.id}`
    await expect(sign(edited, secret)).rejects.toMatchObject(forged(wallet))
  })
})

describe('the guess limit through the vault', () => {
  const WRONG = isLong ? 200 : 12
  test(`${WRONG} wrong PINs over two processes and two wallets: five are checked, then even the right one is refused`, async () => {
    const another = await world.another()
    const wallet = await userWallet()
    const input = { projectId, ownerId: wallet.ownerId, controlMode: 'user', credentials: pin } as const
    const second = await world.wallet({ ...input, network: 'Polygon' })
    const attempts = Array.from({ length: WRONG }, (_, index) =>
      sign(index % 3 ? wallet : second, { userPin: String(200_000 + index) }, index % 2 ? world.vault : another),
    )
    // A slow machine refuses at once those that would wait too long, unchecked.
    const { busy = 0, ...answers } = await tally(attempts)
    expect(answers).toEqual({ INVALID_SECRET: 5, TOO_MANY_FAILED_ATTEMPTS: WRONG - 5 - busy })
    expect(await guesses(wallet)).toEqual({ fails: 5, total: 5 })
    expect(await codeOf(sign(second, pin))).toBe('TOO_MANY_FAILED_ATTEMPTS')
    expect(await codeOf(world.wallet({ ...input, network: 'Base' }))).toBe('TOO_MANY_FAILED_ATTEMPTS')
  })

  longTest(
    'sixty-four right PINs over two processes all succeed',
    async () => {
      const another = await world.another()
      const wallet = await userWallet()
      // They are checked one after the other. On a slow machine the last ones wait for longer than a request may, and
      // come again.
      const signAtLast = async (vault: OperatorVault, tries = 10): Promise<unknown> => {
        const signing = sign(wallet, pin, vault)
        return (await codeOf(signing)) === 'busy' && tries > 1 ? signAtLast(vault, tries - 1) : signing
      }
      const attempts = Array.from({ length: 64 }, (_, index) => signAtLast(index % 2 ? world.vault : another))
      expect(await tally(attempts)).toEqual({ resolved: 64 })
      expect(await guesses(wallet)).toEqual({ fails: 0, total: 0 })
    },
    100_000,
  )

  longTest('a locked owner’s right PIN and a wrong one get the same answer, and none is checked', async () => {
    const wallet = await userWallet()
    for (let count = 0; count < 5; count += 1) await codeOf(sign(wallet, { userPin: '000000' }))
    const answer = async (userPin: string) => {
      const error: unknown = await sign(wallet, { userPin }).catch((reason: unknown) => reason)
      if (!(error instanceof AppError)) throw error
      return error
    }
    const [right, wrong] = [await answer(PIN), await answer('000000')]
    expect([right.code, right.message]).toEqual([wrong.code, wrong.message])
    expect(Math.abs(Number(right.retryAfterSeconds) - Number(wrong.retryAfterSeconds))).toBeLessThanOrEqual(1)
    expect(right.code).toBe('TOO_MANY_FAILED_ATTEMPTS')
    // A check would be charged, and a right PIN would clear the charges.
    expect(await guesses(wallet)).toEqual({ fails: 5, total: 5 })
  })

  longTest('an owner with the same id in another project is not affected', async () => {
    const wallet = await userWallet()
    const elsewhere = await world.project()
    const input = { projectId: elsewhere, ownerId: wallet.ownerId, controlMode: 'user' } as const
    const other = await world.wallet({ ...input, credentials: { userPin: '271828' } })
    expect(await codeOf(sign(wallet, { userPin: '271828' }))).toBe('INVALID_SECRET')
    expect(await codeOf(sign(other, { userPin: '271828' }))).toBe('resolved')
    expect(hexOf(other.publicKey)).not.toBe(hexOf(wallet.publicKey))
  })

  test('wrong secrets lock nobody', async () => {
    const wallet = await developerWallet()
    const attempts = Array.from({ length: WRONG }, () => sign(wallet, { developerSecret: 'wrong' }))
    expect(await tally(attempts)).toEqual({ INVALID_SECRET: WRONG })
    expect(await codeOf(sign(wallet, secret))).toBe('resolved')
  })
})
