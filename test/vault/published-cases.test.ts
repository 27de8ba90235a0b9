import { typedDataDigest } from '../../src/vault/language/typed-data.ts'
// Known answers by other authors: the cases of the npm package @ethersproject/testcases.

import { describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { getAddress, keccak256 } from 'viem'
import type { EvmUnsigned } from '../../src/chains/chain.ts'
import { createEvmChain } from '../../src/chains/evm/chain.ts'
import { assemble, payloadOf, serializeUnsigned } from '../../src/chains/evm/encode.ts'
import { evmNetworkRow } from '../../src/platform/networks.ts'
import { traceSignature } from '../../src/vault/rooms/keys/facts.ts'
import { bytesToSign } from '../../src/vault/rooms/keys/payloads.ts'
import { nativeCurve, nobleCurve } from '../../src/vault/rooms/keys/secp256k1.ts'
import { isLong } from '../support/long.ts'

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
    noteDispute: () => {},
    readFacts: async () => new Map(),
    writeFacts: async () => {},
  },
})

/** Each thirty-second in the suite: a signature by both curves takes ten milliseconds. */
const some = <Case>(cases: readonly Case[]): readonly Case[] =>
  isLong ? cases : cases.filter((_, index) => index % 32 === 0)

type TypedTransaction = {
  readonly name: string
  readonly address: string
  readonly key: string
  readonly signed: `0x${string}`
  readonly unsigned: string
  readonly tx: {
    readonly type: number
    readonly accessList?: readonly { readonly address: string; readonly storageKeys: readonly `0x${string}`[] }[]
    readonly to?: string
    readonly data?: `0x${string}`
    readonly chainId?: string | number
    readonly nonce?: string | number
    readonly value?: string
    readonly gasLimit?: string
    readonly gasPrice?: string
    readonly maxFeePerGas?: string
    readonly maxPriorityFeePerGas?: string
  }
}

/** A transaction of type 0. A quantity may be `0x`. */
type LegacyTransaction = Pick<TypedTransaction['tx'], 'to' | 'data' | 'nonce' | 'value' | 'gasLimit' | 'gasPrice'> & {
  readonly accountAddress: string
  readonly privateKey: string
  readonly unsignedTransactionChainId5: string
  readonly signedTransactionChainId5: `0x${string}`
}

const quantityOf = (text: string | number | undefined): bigint => BigInt(text === '0x' ? 0 : (text ?? 0))

const evmUnsigned = (tx: Omit<TypedTransaction['tx'], 'type'>): EvmUnsigned => ({
  family: 'evm',
  chainId: Number(tx.chainId ?? 0),
  nonce: Number(quantityOf(tx.nonce)),
  to: tx.to === undefined || tx.to === '0x' ? null : getAddress(tx.to.toLowerCase()),
  value: quantityOf(tx.value),
  input: tx.data ?? '0x',
  gasLimit: quantityOf(tx.gasLimit),
  maxFeePerGas: quantityOf(tx.gasPrice ?? tx.maxFeePerGas),
  maxPriorityFeePerGas: quantityOf(tx.gasPrice ?? tx.maxPriorityFeePerGas),
  ...(tx.accessList === undefined ? {} : { accessList: tx.accessList }),
})

type Published = {
  readonly ours: EvmUnsigned
  readonly unsigned: string
  readonly signed: `0x${string}`
  readonly key: string
  readonly address: string
}

const expectAsPublished = ({ ours, unsigned, signed, key, address }: Published): void => {
  expect(serializeUnsigned(ours)).toBe(unsigned as `0x${string}`)
  for (const curve of curves) {
    const payload = payloadOf(ours)
    const digest = bytesToSign('evm', payload)
    const signature = curve.sign({ digest, privateKey: bytes(key) })
    expect(assemble(ours, signature).raw).toBe(signed)
    const publicKey = curve.publicKeyOf(bytes(key))
    expect(traceSignature({ payload, bytes: digest, signature, publicKey })).toEqual({
      hash: keccak256(signed),
      raw: signed,
    })
    expect(chain.addressOf(publicKey).toLowerCase()).toBe(address)
  }
}

describe('transactions are encoded, signed and recovered as published', () => {
  const typed = casesOf<TypedTransaction>('typed-transactions')

  test('of type 2 (EIP-1559)', () => {
    const cases = typed.filter(({ tx }) => tx.type === 2)
    expect(cases.filter(({ tx }) => (tx.accessList ?? []).length > 0).length).toBeGreaterThan(600)
    for (const { tx, ...published } of some(cases)) expectAsPublished({ ...published, ours: evmUnsigned(tx) })
  })

  test('of type 1 (EIP-2930)', () => {
    const cases = typed.filter(({ tx }) => tx.type === 1)
    expect(cases.length).toBeGreaterThan(700)
    for (const { tx, ...published } of some(cases)) {
      expectAsPublished({ ...published, ours: { ...evmUnsigned(tx), type: 'eip2930' } })
    }
  })

  test('of type 0, with a chain id (EIP-155)', () => {
    const cases = casesOf<LegacyTransaction>('transactions')
    // Random cases, most with more gas than 8 bytes hold: ethers encodes them, and no node takes them.
    const [tooMuch, taken] = [true, false].map((is) =>
      cases.filter(({ gasLimit }) => quantityOf(gasLimit) >> 64n > 0n === is),
    )
    expect(cases.length).toBeGreaterThan(1_000)
    expect(taken?.length).toBeGreaterThan(100)
    for (const tx of tooMuch ?? []) {
      const ours = { ...evmUnsigned({ ...tx, chainId: 5 }), type: 'legacy' } as const
      expect(() => bytesToSign('evm', payloadOf(ours))).toThrow('expected the fields')
    }
    for (const { accountAddress, privateKey, ...tx } of some(taken ?? [])) {
      expectAsPublished({
        ours: { ...evmUnsigned({ ...tx, chainId: 5 }), type: 'legacy' },
        unsigned: tx.unsignedTransactionChainId5,
        signed: tx.signedTransactionChainId5,
        key: privateKey,
        address: accountAddress,
      })
    }
  })

  test('the example of EIP-155', () => {
    const to = '0x3535353535353535353535353535353535353535'
    expectAsPublished({
      ours: {
        ...evmUnsigned({ nonce: 9, gasPrice: '20000000000', gasLimit: '21000', to, value: '1000000000000000000' }),
        chainId: 1,
        type: 'legacy',
      },
      unsigned: '0xec098504a817c800825208943535353535353535353535353535353535353535880de0b6b3a764000080018080',
      signed:
        '0xf86c098504a817c800825208943535353535353535353535353535353535353535880de0b6b3a76400008025a028ef61340bd939bc2195fe537567866003e1a15d3c71ff63e1590620aa636276a067cbe9d8997f761aecb703304b3800ccf555c9f3dc64214b297fb1966a3b6d83',
      key: `0x${'46'.repeat(32)}`,
      address: '0x9d8a62f656a8d1615c1294fd71e9cfb3e4855a4f',
    })
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
    for (const { domain, primaryType, types, data, digest } of some(cases)) {
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
