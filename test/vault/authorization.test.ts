// What is signed of an authorisation (EIP-7702): vectors of other authors, and random ones compared with viem.

import { expect, test } from 'bun:test'
import fc from 'fast-check'
import type { Hex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { hashAuthorization, recoverAuthorizationAddress } from 'viem/utils'
import { type Authorization, authorizationDigest } from '../../src/vault/rooms/keys/payloads.ts'
import { nativeCurve, nobleCurve } from '../../src/vault/rooms/keys/secp256k1.ts'
import { isLong } from '../support/long.ts'
import { bytesOf, hexOf } from './support.ts'

const curves = [nativeCurve, nobleCurve].filter((curve) => curve !== null)
const digestOf = (authorization: Authorization): Hex => `0x${hexOf(authorizationDigest(authorization))}`

test('has the digest that Trust Wallet publishes', () => {
  // trustwallet/wallet-core, rust/tw_evm: test_get_authorization_hash.
  const delegate = '0xB91aaa96B138A1B1D94c9df4628187132c5F2bf1'
  const digest = '0x3ae543b2fa103a39a6985d964a67caed05f6b9bb2430ad6d498cda743fe911d9'
  expect(digestOf({ chainId: 1, delegate, nonce: 1 })).toBe(digest)
})

test('has the signature that go-ethereum publishes', () => {
  // ethereum/go-ethereum, cmd/evm/testdata/33/txs.json: the first authorisation, by the key of the transaction.
  const privateKey = bytesOf('b71c71a67e1177ad4e901695e1b4b9ee17ae16c6668d313eac2f96dbcda3f291')
  const digest = authorizationDigest({ chainId: 1, delegate: `0x${'0'.repeat(36)}aaaa`, nonce: 1 })
  for (const curve of curves) {
    expect(hexOf(curve.sign({ digest, privateKey }))).toBe(
      'f7e3e597fc097e71ed6c26b14b25e5395bc8510d58b9136af439e12715f2d7216cf7c3d7939bfdb784373effc0ebb0bd7549691a513f395e3cdabf860272498701',
    )
  }
})

test('has viem’s digest and signature for any chain, delegate and nonce', async () => {
  const privateKey: Hex = `0x${'46'.repeat(32)}`
  const account = privateKeyToAccount(privateKey)
  const integer = fc.oneof(fc.nat({ max: 300 }), fc.nat({ max: 2 ** 31 - 1 }), fc.maxSafeNat())
  const address = fc.uint8Array({ minLength: 20, maxLength: 20 }).map((bytes): Hex => `0x${hexOf(bytes)}`)
  await fc.assert(
    fc.asyncProperty(integer, address, integer, async (chainId, delegate, nonce) => {
      const authorization = { chainId, address: delegate, nonce }
      const digest = authorizationDigest({ chainId, delegate, nonce })
      expect(`0x${hexOf(digest)}`).toBe(hashAuthorization(authorization))
      for (const curve of curves) {
        const signature = curve.sign({ digest, privateKey: bytesOf(privateKey.slice(2)) })
        const [r, s]: Hex[] = [`0x${hexOf(signature.subarray(0, 32))}`, `0x${hexOf(signature.subarray(32, 64))}`]
        const signed = { ...authorization, r: r ?? '0x', s: s ?? '0x', yParity: signature[64] ?? 0 }
        expect(await account.signAuthorization(authorization)).toMatchObject(signed)
        expect(await recoverAuthorizationAddress({ authorization: signed })).toBe(account.address)
      }
    }),
    { numRuns: isLong ? 200 : 12, seed: 20_260_103 },
  )
})
