// SS58 addresses: the network's prefix, a public key and a checksum, in base58. @polkadot/util-crypto has them too, but
// compiles its WebAssembly when it is loaded, in each process and for an address alone: 0.1 to 0.2 s of CPU.

import { hash } from 'node:crypto'
import { base58 } from '@scure/base'
import { AppError } from '../../platform/errors.ts'
import type { SubstrateNetworkRow } from '../../platform/networks.ts'
import type { Hex } from '../chain.ts'
import { fromHex, toHex } from './scale.ts'

type Prefixed = Pick<SubstrateNetworkRow, 'network' | 'ss58Prefix'>
type Row = Prefixed & Pick<SubstrateNetworkRow, 'hasPrograms'>

const PUBLIC_KEY_BYTES = 32
/** The id of a program in hex, as the wallets and explorers of its network write it. */
export const LIKE_PROGRAM = /^0x[0-9a-fA-F]{64}$/
const PROGRAM_ID = /^0x[0-9a-f]{64}$/
export const LIKE_EVM = /^0x[0-9a-fA-F]{40}$/
/**
 * 35 or 36 bytes in base58: a prefix of one or two bytes, a public key of 32, a checksum of two. Base58 writes each
 * leading zero byte as one character, so zeros are the shortest.
 */
const LIKE_SS58 = /^[1-9A-HJ-NP-Za-km-z]{35,50}$/

/** SS58: what comes before the bytes that the checksum is made of. */
const CHECKSUM_CONTEXT = Buffer.from('SS58PRE')
const CHECKSUM_BYTES = 2
/** SS58: these two are reserved. */
const RESERVED_PREFIXES = [46, 47]
/** 14 bits. */
const PREFIX_MAX = 0x3fff

/** SS58: a prefix from 64 is written in two bytes, its low six bits between the mark 01 and two of the high ones. */
const prefixBytes = (prefix: number): readonly number[] =>
  prefix < 64 ? [prefix] : [0x40 | ((prefix >> 2) & 0x3f), (prefix >> 8) | ((prefix & 0x03) << 6)]

const isPrefix = (prefix: number): boolean => prefix <= PREFIX_MAX && !RESERVED_PREFIXES.includes(prefix)

const checksumOf = (body: Uint8Array): Uint8Array =>
  hash('blake2b512', Buffer.concat([CHECKSUM_CONTEXT, body]), 'buffer').subarray(0, CHECKSUM_BYTES)

/** The SS58 address of a public key of 32 bytes. */
export const encodeAddress = (publicKey: Uint8Array, prefix: number): string => {
  if (publicKey.length !== PUBLIC_KEY_BYTES) throw new Error('expected 32 bytes of an sr25519 public key')
  if (!isPrefix(prefix)) throw new Error(`expected an SS58 prefix, not ${prefix}`)
  const body = Buffer.concat([Uint8Array.from(prefixBytes(prefix)), publicKey])
  return base58.encode(Buffer.concat([body, checksumOf(body)]))
}

/** @returns null unless the text is the canonical SS58 address of a public key of 32 bytes, with a valid checksum. */
const decode = (text: string): { readonly prefix: number; readonly publicKey: Uint8Array } | null => {
  if (!LIKE_SS58.test(text)) return null
  const bytes = base58.decode(text)
  const [first = 0, second = 0] = bytes
  const isLong = first >= 64
  const prefix = isLong ? ((first & 0x3f) << 2) | (second >> 6) | ((second & 0x3f) << 8) : first
  // An account has one address: a prefix below 64 takes one byte, and the first of two begins with the mark.
  if (!isPrefix(prefix) || (isLong && prefix < 64) || first >= 0x80) return null
  const [body, checksum] = [bytes.subarray(0, -CHECKSUM_BYTES), bytes.subarray(-CHECKSUM_BYTES)]
  const publicKey = body.slice(isLong ? 2 : 1)
  const isRight = publicKey.length === PUBLIC_KEY_BYTES && Buffer.compare(checksumOf(body), checksum) === 0
  return isRight ? { prefix, publicKey } : null
}

/** @param publicKey sr25519, 32 bytes. */
export const addressOf = (row: Prefixed, publicKey: Uint8Array): string => encodeAddress(publicKey, row.ss58Prefix)

export const programAddress = (row: Prefixed, id: string): string => addressOf(row, fromHex(id))

/**
 * On a network with programs also the id of a program in hex; the result is the SS58 address of the same 32 bytes.
 * @throws network_mismatch
 */
export const parseAddress = (row: Row, input: { readonly text: string; readonly field: string }) => {
  const { text, field } = input
  const right = `right is an SS58 address with the prefix ${row.ss58Prefix} of ${row.network}`
  if (LIKE_EVM.test(text)) {
    throw new AppError('network_mismatch', `Field "${field}" is an address of an EVM network; ${right}.`)
  }
  if (row.hasPrograms && LIKE_PROGRAM.test(text)) return programAddress(row, text)
  const account = decode(text)
  if (account === null) {
    const orProgram = row.hasPrograms ? ', or the id of a program: 0x and 64 hex digits' : ''
    throw new AppError('address_invalid', `Field "${field}" must be an SS58 address with a valid checksum${orProgram}.`)
  }
  if (account.prefix !== row.ss58Prefix) {
    const here = addressOf(row, account.publicKey)
    throw new AppError(
      'network_mismatch',
      `Field "${field}" has the SS58 prefix ${account.prefix}; ${right}. The same account is ${here} here.`,
    )
  }
  return text
}

export const isLikeSs58 = (text: string): boolean => LIKE_SS58.test(text)

/** The public key in an address with any prefix; null if the text is not an address. */
export const publicKeyOf = (text: string): Uint8Array | null => decode(text)?.publicKey ?? null

/** The 32 bytes of an account or a program in hex. @throws Error for any other text. */
export const actorId = (text: string): Hex => {
  const id = parseProgramId(text)
  if (id === null) throw new Error('expected an address')
  return id
}

/** The 32 bytes in hex of an address, or of the id of a program in lower case; null for any other text. */
export const parseProgramId = (text: string): Hex | null => {
  if (PROGRAM_ID.test(text)) return `0x${text.slice(2)}`
  const publicKey = publicKeyOf(text)
  return publicKey === null ? null : toHex(publicKey)
}

export const accountAddress = (text: string): string | null => {
  const publicKey = publicKeyOf(text)
  return publicKey === null ? null : encodeAddress(publicKey, 0)
}
