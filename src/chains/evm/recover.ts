// The address whose key signed a digest, from the signature alone (SEC 1, version 2.0, §4.1.6).

import { keccak_256 } from '@noble/hashes/sha3.js'
import { recoverAddress as recoverByViem } from 'viem/utils'
import { libsecp256k1 } from '../../platform/process/libsecp256k1.ts'
import type { Hex } from '../chain.ts'
import { checksum } from './address.ts'

const WORD_CHARACTERS = 64

type Signed = {
  /** 32 bytes. */
  readonly digest: Uint8Array
  readonly r: Hex
  readonly s: Hex
  readonly yParity: number
}

type Recover = (signed: Signed) => Promise<string>

const wordOf = (number: Hex): Buffer => Buffer.from(number.slice(2).padStart(WORD_CHARACTERS, '0'), 'hex')

const native = libsecp256k1

/** null if no prebuilt module of libsecp256k1 runs. */
export const recoverNatively: Recover | null =
  native &&
  (async ({ digest, r, s, yParity }) => {
    const key = native.ecdsaRecover(Buffer.concat([wordOf(r), wordOf(s)]), yParity, digest, false)
    return checksum(`0x${Buffer.from(keccak_256(key.subarray(1)).subarray(12)).toString('hex')}`)
  })

/** Takes ten times as long. */
export const recoverInJavaScript: Recover = ({ digest, r, s, yParity }) =>
  recoverByViem({ hash: digest, signature: { r, s, yParity } })

/** With the EIP-55 checksum. Pure. @throws Error if no key has signed so. */
export const recoverAddress = recoverNatively ?? recoverInJavaScript
