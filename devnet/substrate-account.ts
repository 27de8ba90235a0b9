// An account in a Substrate chain's state: `Account` of pallet System, by public key.

import { blake2AsU8a, decodeAddress } from '@polkadot/util-crypto'

type Hex = `0x${string}`

/** twox128("System") and twox128("Account"). */
const ACCOUNT_PREFIX = '26aa394eea5630e07c48ae0c9558cef7b99d880ec681799c0cf30e8886371da9'
/**
 * nonce, consumers, providers, sufficients: 4 bytes each; free, reserved and two more: 16 bytes each; little-endian.
 */
const ACCOUNT_BYTES = 80
const PROVIDERS_AT = 8
const FREE_AT = 16
/** twox128("Balances") and twox128("TotalIssuance"). */
export const TOTAL_ISSUANCE_KEY: Hex = '0xc2261276cc9d1f8598ea4b6a74b15c2f57c875e4cff74148e4628f264b974c80'

const hex = (bytes: Uint8Array): Hex => `0x${Buffer.from(bytes).toString('hex')}`
const bytesOf = (text: string): Buffer => Buffer.from(text.slice(2), 'hex')

/** Reads an account from SS58 with any prefix, hex or 32 bytes. @throws Error for anything else */
export const publicKeyFrom = (account: string | Uint8Array): Uint8Array => decodeAddress(account)

/** The storage key of an account: blake2_128_concat of its public key. */
export const accountKey = (publicKey: Uint8Array): Hex =>
  `0x${ACCOUNT_PREFIX}${Buffer.from(blake2AsU8a(publicKey, 128)).toString('hex')}${Buffer.from(publicKey).toString('hex')}`

const readU128 = (bytes: Buffer, at: number): bigint =>
  bytes.readBigUInt64LE(at) | (bytes.readBigUInt64LE(at + 8) << 64n)

const writeU128 = (bytes: Buffer, at: number, value: bigint): void => {
  bytes.writeBigUInt64LE(BigInt.asUintN(64, value), at)
  bytes.writeBigUInt64LE(value >> 64n, at + 8)
}

/** @param account the stored value; nothing for a missing account */
export const readNonce = (account: string | null | undefined): number =>
  account ? bytesOf(account).readUInt32LE(0) : 0

/** The free balance in base units. @param account as of `readNonce` */
export const readFree = (account: string | null | undefined): bigint =>
  account ? readU128(bytesOf(account), FREE_AT) : 0n

/**
 * An account with another free balance and at least one provider, which keeps it alive. @param account as of
 * `readNonce`
 */
export const withFree = (account: string | null | undefined, freePlanck: bigint): Hex => {
  const bytes = account ? bytesOf(account) : Buffer.alloc(ACCOUNT_BYTES)
  bytes.writeUInt32LE(Math.max(1, bytes.readUInt32LE(PROVIDERS_AT)), PROVIDERS_AT)
  writeU128(bytes, FREE_AT, freePlanck)
  return hex(bytes)
}

/** The sum of all balances after a change. @param issuance the stored value */
export const withIssuance = (issuance: string | null | undefined, changePlanck: bigint): Hex => {
  const bytes = issuance ? bytesOf(issuance) : Buffer.alloc(16)
  writeU128(bytes, 0, readU128(bytes, 0) + changePlanck)
  return hex(bytes)
}
