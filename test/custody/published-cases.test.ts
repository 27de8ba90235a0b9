import { typedDataDigest } from '../../src/custody/keys/typed-data.ts'
// Known answers by other authors: the cases of the npm package @ethersproject/testcases.

import { describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { getAddress, keccak256 } from 'viem'
import { createEvmChain } from '../../src/chains/evm/chain.ts'
import { assemble, payloadOf, serializeUnsigned } from '../../src/chains/evm/encode.ts'
import { evmNetworkRow } from '../../src/chains/networks.ts'
import { bytesToSign } from '../../src/custody/keys/payloads.ts'
import { nativeCurve, nobleCurve } from '../../src/custody/keys/secp256k1.ts'
import { traceOf } from '../../src/custody/keys/trace.ts'

const casesOf = <Case>(name: string): readonly Case[] => {
  const path = new URL(`../../node_modules/@ethersproject/testcases/testcases/${name}.json.gz`, import.meta.url)
  return JSON.parse(gunzipSync(readFileSync(path)).toString('utf8'))
}

const bytes = (hex: string): Uint8Array => Buffer.from(hex.slice(2), 'hex')
const hex = (value: Uint8Array): string => `0x${Buffer.from(value).toString('hex')}`

/** Both the native module and the fallback must give these bytes. */
const curves = [nativeCurve, nobleCurve].filter((curve) => curve !== null)

const chain = createEvmChain({
  row: evmNetworkRow({ network: 'Ethereum', environment: 'testnet', devnet: true }),
  rpcUrl: 'http://127.0.0.1:1',
  memory: {
    readAbiItems: async () => [],
    readCollectionNames: async () => new Map(),
    readFacts: async () => new Map(),
    writeFacts: async () => {},
  },
})

type TypedTransaction = {
  readonly name: string
  readonly address: string
  readonly key: string
  readonly signed: `0x${string}`
  readonly unsigned: string
  readonly tx: {
    readonly type: number
    readonly accessList?: readonly unknown[]
    readonly to?: string
    readonly data?: `0x${string}`
    readonly chainId?: string | number
    readonly nonce?: string | number
    readonly value?: string
    readonly gasLimit?: string
    readonly maxFeePerGas?: string
    readonly maxPriorityFeePerGas?: string
  }
}

describe('EIP-1559 signing', () => {
  // Cases with access lists are left out, because we do not support them.
  const cases = casesOf<TypedTransaction>('typed-transactions').filter(
    ({ tx }) => tx.type === 2 && (tx.accessList ?? []).length === 0,
  )

  test('there are hundreds of cases', () => expect(cases.length).toBeGreaterThan(300))

  test('each transaction is encoded, signed and recovered as published', () => {
    for (const { tx, unsigned, signed, key, address } of cases) {
      const ours = {
        family: 'evm',
        chainId: Number(tx.chainId ?? 0),
        nonce: Number(tx.nonce ?? 0),
        to: tx.to === undefined ? null : getAddress(tx.to.toLowerCase()),
        value: BigInt(tx.value ?? 0),
        input: tx.data ?? '0x',
        gasLimit: BigInt(tx.gasLimit ?? 0),
        maxFeePerGas: BigInt(tx.maxFeePerGas ?? 0),
        maxPriorityFeePerGas: BigInt(tx.maxPriorityFeePerGas ?? 0),
      } as const
      expect(serializeUnsigned(ours)).toBe(unsigned as `0x${string}`)
      for (const curve of curves) {
        const payload = payloadOf(ours)
        const digest = bytesToSign('evm', payload)
        const signature = curve.sign({ digest, privateKey: bytes(key) })
        expect(assemble(ours, signature).raw).toBe(signed)
        const publicKey = curve.publicKeyOf(bytes(key))
        expect(traceOf({ payload, bytes: digest, signature, publicKey })).toEqual({
          hash: keccak256(signed),
          raw: signed,
        })
        expect(chain.addressOf(curve.publicKeyOf(bytes(key))).toLowerCase()).toBe(address)
      }
    }
  })
})

type TypedData = {
  readonly domain: Record<string, unknown>
  readonly primaryType: string
  readonly types: Record<string, readonly { readonly name: string; readonly type: string }[]>
  readonly data: Record<string, unknown>
  readonly digest: `0x${string}`
  readonly privateKey?: string
  readonly signature?: string
}

describe('EIP-712', () => {
  const cases = casesOf<TypedData>('eip712')

  test('the digests are as published', () => {
    expect(cases.length).toBeGreaterThan(1_000)
    for (const { domain, primaryType, types, data, digest } of cases) {
      expect(hex(typedDataDigest({ domain, primaryType, types, message: data }))).toBe(digest)
    }
  })

  test('the signatures are as published', () => {
    const signed = cases.filter(({ privateKey }) => privateKey !== undefined)
    expect(signed.length).toBeGreaterThan(0)
    for (const { digest, privateKey, signature } of signed) {
      for (const curve of curves) {
        const ours = curve.sign({ digest: bytes(digest), privateKey: bytes(privateKey ?? '') })
        const v = (27 + (ours[64] ?? 0)).toString(16)
        expect(hex(ours.subarray(0, 64)) + v).toBe(signature ?? '')
      }
    }
  })
})
