import { describe, expect, test } from 'bun:test'
import { encodeAddress as encodedByPolkadot } from '@polkadot/util-crypto/address'
import { base58Decode, base58Encode } from '@polkadot/util-crypto/base58'
import { encodeAddress, publicKeyOf } from '../../../src/chains/substrate/address.ts'
import { createNodelessSubstrateChain } from '../../../src/chains/substrate/nodeless.ts'
import { AppError } from '../../../src/platform/errors.ts'
import { SUBSTRATE_NETWORKS, type SubstrateNetwork, substrateNetworkRow } from '../../../src/platform/networks.ts'
import { bytesOf } from '../../vault/support.ts'
import { SS58 } from '../../vault/vectors.ts'

const chainOf = (network: SubstrateNetwork) =>
  createNodelessSubstrateChain(substrateNetworkRow({ network, environment: 'testnet', devnet: false }))
const PREFIX = { Polkadot: 0, Vara: 137 } as const

const ALICE = {
  Polkadot: '15oF4uVJwmo4TdGW7VfQxNLavjCXviqxT9S1MgbjMNHr6Sp5',
  Vara: 'kGkLEU3e3XXkJp2WK4eNpVmSab5xUNL9QtmLPh8QfCL2EgotW',
} as const

const outcome = (network: SubstrateNetwork, text: string): string => {
  try {
    return chainOf(network).parseAddress(text, 'address')
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    expect(error.status).toBe(400)
    expect(error.message).toContain('"address"')
    return error.code
  }
}

describe('an SS58 address', () => {
  test.each(SS58)('is the published one of $publicKey with prefix $prefix', ({ publicKey, prefix, address }) => {
    for (const network of SUBSTRATE_NETWORKS) {
      const fits = PREFIX[network] === prefix
      if (fits) expect(chainOf(network).addressOf(bytesOf(publicKey))).toBe(address)
      expect(outcome(network, address)).toBe(fits ? address : 'network_mismatch')
    }
  })

  test('of the all-zero public key is shorter and valid', () => {
    for (const network of SUBSTRATE_NETWORKS) {
      const zeros = chainOf(network).addressOf(new Uint8Array(32))
      expect(zeros).toBe(substrateNetworkRow({ network: network, environment: 'testnet', devnet: true }).nobody)
      expect(outcome(network, zeros)).toBe(zeros)
      expect(outcome(network, zeros.slice(1))).toBe('address_invalid')
    }
  })

  test('with any prefix is what polkadot-js writes', () => {
    const publicKey = bytesOf(SS58[0]?.publicKey ?? '')
    for (let prefix = 0; prefix < 16_384; prefix += prefix < 256 ? 1 : 61) {
      if (prefix === 46 || prefix === 47) continue
      const address = encodeAddress(publicKey, prefix)
      expect(address).toBe(encodedByPolkadot(publicKey, prefix))
      expect(publicKeyOf(address)).toEqual(publicKey)
    }
    for (const prefix of [46, 47, 16_384]) expect(() => encodeAddress(publicKey, prefix)).toThrow('prefix')
  })

  test('is made from a public key of exactly 32 bytes', () => {
    for (const length of [0, 31, 33, 65]) {
      expect(() => chainOf('Polkadot').addressOf(new Uint8Array(length))).toThrow('expected 32 bytes')
    }
  })

  test.each(SUBSTRATE_NETWORKS)('with any one character changed is refused on %s', (network) => {
    const address = ALICE[network]
    for (let at = 0; at < address.length; at += 1) {
      const letter = address[at] === 'x' ? 'y' : 'x'
      expect(outcome(network, address.slice(0, at) + letter + address.slice(at + 1))).not.toBe(address)
      expect(['address_invalid', 'network_mismatch']).toContain(
        outcome(network, address.slice(0, at) + letter + address.slice(at + 1)),
      )
    }
  })

  test.each([
    ['an address of the other network', ALICE.Vara, 'network_mismatch'],
    ['an address of any network (prefix 42)', '5DfhGyQdFobKM8NsWvEeAKk5EQQgYe9AydgJ7rMB6E1EqRzV', 'network_mismatch'],
    ['an EVM address', '0x70997970C51812dc3A010C7d01b50e0d17dc79C8', 'network_mismatch'],
    ['an EVM address in lower case', '0x70997970c51812dc3a010c7d01b50e0d17dc79c8', 'network_mismatch'],
    ['a wrong checksum', '15oF4uVJwmo4TdGW7VfQxNLavjCXviqxT9S1MgbjMNHr6Sp6', 'address_invalid'],
    ['a public key in hex', `0x${SS58[0]?.publicKey}`, 'address_invalid'],
    ['nothing', '', 'address_invalid'],
    ['white space around it', ` ${ALICE.Polkadot}`, 'address_invalid'],
    ['a letter that base58 leaves out', ALICE.Polkadot.replace('o', '0'), 'address_invalid'],
    ['another case', ALICE.Polkadot.toLowerCase(), 'address_invalid'],
    ['one letter less', ALICE.Polkadot.slice(1), 'address_invalid'],
    ['one letter more', `${ALICE.Polkadot}1`, 'address_invalid'],
    ['a leading 1 more, which is a zero byte', `1${ALICE.Polkadot}`, 'address_invalid'],
    ['a path', '//Alice', 'address_invalid'],
    ['a very long text', '1'.repeat(100_000), 'address_invalid'],
  ])('is not %s', (_what, text, code) => {
    expect(outcome('Polkadot', text)).toBe(code)
  })

  /** Encodes bytes in base58 with the checksum of SS58. */
  const spelled = (prefix: readonly number[]) => {
    const body = Uint8Array.from([...prefix, ...base58Decode(ALICE.Polkadot).slice(1, 33)])
    const hash = new Bun.CryptoHasher('blake2b512').update(Buffer.concat([Buffer.from('SS58PRE'), body])).digest()
    return base58Encode(Buffer.concat([body, hash.subarray(0, 2)]))
  }

  test('with a prefix below 64 in two bytes is refused, even if its checksum is valid', () => {
    expect(outcome('Polkadot', spelled([0]))).toBe(ALICE.Polkadot)
    expect(outcome('Polkadot', spelled([0b0100_0000, 0]))).toBe('address_invalid')
  })

  test('with a prefix in two bytes is refused unless the first one begins with the mark 01', () => {
    expect(outcome('Polkadot', spelled([0b0101_0000, 0]))).toBe('network_mismatch')
    for (const first of [0b1001_0000, 0b1101_0000]) {
      expect(outcome('Polkadot', spelled([first, 0]))).toBe('address_invalid')
    }
  })

  test.each([46, 47, 128, 255])('has no reserved prefix: %d', (prefix) => {
    expect(outcome('Polkadot', spelled([prefix]))).toBe('address_invalid')
  })
})
