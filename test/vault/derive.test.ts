import { describe, expect, test } from 'bun:test'
import { pbkdf2Sync } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { keccak_256 } from '@noble/hashes/sha3.js'
import { HARDENED_OFFSET, HDKey } from '@scure/bip32'
import { entropyToMnemonic, mnemonicToEntropy } from '@scure/bip39'
import { wordlist } from '@scure/bip39/wordlists/english.js'
import fc from 'fast-check'
import { mnemonicToAccount } from 'viem/accounts'
import type { ChainFamily } from '../../db/words.ts'
import { createQueue } from '../../src/platform/queue.ts'
import { deriveKeyPair, deriveSeed, ENTROPY_BYTES, privateKeyAt } from '../../src/vault/rooms/keys/derive.ts'
import { isLong, someOf } from '../support/long.ts'
import { bytesOf, hexOf } from './support.ts'
import { ANVIL, BIP_32, BIP_32_INVALID, BIP_39, SR25519 } from './vectors.ts'

const ctx = { argon2: createQueue({ atOnce: 2 }), stretching: createQueue({ atOnce: 2 }) }

const indicesOf = (path: string): number[] =>
  path
    .split('/')
    .slice(1)
    .map((part) => Number.parseInt(part, 10) + (part.endsWith("'") ? HARDENED_OFFSET : 0))

const addressOf = (publicKey: Uint8Array): string => hexOf(keccak_256(publicKey.subarray(1)).subarray(12))

describe('BIP-39', () => {
  test.each(BIP_39)('makes the published phrase of $entropy, and reads it', ({ entropy, phrase }) => {
    expect(entropyToMnemonic(bytesOf(entropy), wordlist)).toBe(phrase)
    expect(hexOf(mnemonicToEntropy(phrase, wordlist))).toBe(entropy)
  })

  test.each(someOf(BIP_39, 4))('makes the published seed of $entropy', ({ phrase, seed }) => {
    const derived = pbkdf2Sync(phrase.normalize('NFKD'), 'mnemonicTREZOR', 2048, 64, 'sha512')
    expect(derived.toString('hex')).toBe(seed)
  })

  test.each(someOf(BIP_39, 4))(
    'makes the same seed from $entropy as from its phrase without a passphrase',
    async ({ entropy, phrase }) => {
      const seed = pbkdf2Sync(phrase, 'mnemonic', 2048, 64, 'sha512').toString('hex')
      expect(hexOf(await deriveSeed(ctx, bytesOf(entropy)))).toBe(seed)
    },
  )

  test('a new seed has twelve words', () => {
    expect(entropyToMnemonic(new Uint8Array(ENTROPY_BYTES), wordlist).split(' ').length).toBe(12)
  })
})

describe('BIP-32', () => {
  test.each(BIP_32)('derives the published key at $path of $seed', ({ seed, path, extended }) => {
    const published = HDKey.fromExtendedKey(extended).privateKey
    expect(published).not.toBeNull()
    expect(hexOf(privateKeyAt({ seed: bytesOf(seed), path: indicesOf(path) }))).toBe(
      hexOf(published ?? new Uint8Array()),
    )
  })

  test('derives the same keys as another implementation, hardened or not', () => {
    const index = fc.oneof(fc.integer({ min: 0, max: 2 ** 32 - 1 }), fc.constantFrom(0, 1, HARDENED_OFFSET))
    const inputs = fc.record({
      seed: fc.uint8Array({ minLength: 64, maxLength: 64 }),
      path: fc.array(index, { maxLength: 5 }),
    })
    const check = ({ seed, path }: { readonly seed: Uint8Array; readonly path: readonly number[] }) => {
      const expected = path.reduce((node, each) => node.deriveChild(each), HDKey.fromMasterSeed(seed)).privateKey
      expect(hexOf(privateKeyAt({ seed, path }))).toBe(hexOf(expected ?? new Uint8Array()))
    }
    fc.assert(fc.property(inputs, check), { numRuns: isLong ? 100 : 10 })
  })

  test.each(BIP_32_INVALID)('refuses an extended key with: $why', ({ extended }) => {
    expect(() => HDKey.fromExtendedKey(extended)).toThrow()
  })
})

const ofPhrase = (family: ChainFamily, phrase: string) =>
  deriveKeyPair(ctx, { family, kind: 'seed', secret: mnemonicToEntropy(phrase, wordlist) })

describe("a wallet's key pair", () => {
  test('of the phrase of anvil is its first account', async () => {
    const { privateKey, publicKey } = await ofPhrase('evm', ANVIL.phrase)
    expect(hexOf(privateKey)).toBe(ANVIL.privateKey)
    expect(addressOf(publicKey)).toBe(ANVIL.address)
  })

  test.each(someOf(BIP_39.slice(0, 8), 8))(
    'of $entropy is the one that another library derives',
    async ({ entropy, phrase }) => {
      const { publicKey } = await deriveKeyPair(ctx, { family: 'evm', kind: 'phrase', secret: bytesOf(entropy) })
      expect(`0x${addressOf(publicKey)}`).toBe(mnemonicToAccount(phrase).address.toLowerCase())
    },
  )

  test.each(SR25519)('on Substrate is the published one: $phrase', async ({ phrase, miniSecret, publicKey }) => {
    const pair = await ofPhrase('substrate', phrase)
    expect(hexOf(pair.privateKey)).toBe(miniSecret)
    expect(hexOf(pair.publicKey)).toBe(publicKey)
    const imported = await deriveKeyPair(ctx, { family: 'substrate', kind: 'key', secret: bytesOf(miniSecret) })
    expect(hexOf(imported.publicKey)).toBe(publicKey)
  })

  test('of an imported key is a copy of that key', async () => {
    const secret = bytesOf(ANVIL.privateKey)
    const { privateKey, publicKey } = await deriveKeyPair(ctx, { family: 'evm', kind: 'key', secret })
    expect(hexOf(privateKey)).toBe(ANVIL.privateKey)
    expect(addressOf(publicKey)).toBe(ANVIL.address)
    expect(privateKey.buffer).not.toBe(secret.buffer)
    secret.fill(0)
    expect(hexOf(privateKey)).toBe(ANVIL.privateKey)
  })

  test.each(['evm', 'substrate'] as const)(
    'on %s leaves the secret unchanged, for its owner to zero',
    async (family) => {
      for (const kind of ['seed', 'key'] as const) {
        const secret = new Uint8Array(32).fill(1)
        await deriveKeyPair(ctx, { family, kind, secret })
        expect(hexOf(secret)).toBe('01'.repeat(32))
      }
    },
  )

  test('is stretched beside the event loop, in the queue of argon2', async () => {
    const alone = { argon2: createQueue({ atOnce: 1 }), stretching: createQueue() }
    const turn = await alone.argon2.enter()
    const pairs = Array.from({ length: 20 }, (_, index) =>
      deriveKeyPair(alone, { family: 'evm', kind: 'seed', secret: new Uint8Array(16).fill(index) }),
    )
    await nextTurn()
    expect(alone.argon2.load()).toEqual({ running: 1, waiting: pairs.length })
    turn[Symbol.dispose]()
    let [turns, isOver] = [0, false]
    const made = Promise.all(pairs).then(() => {
      isOver = true
    })
    for (; !isOver; turns += 1) await nextTurn()
    await made
    expect(turns).toBeGreaterThan(pairs.length)
  })
})
