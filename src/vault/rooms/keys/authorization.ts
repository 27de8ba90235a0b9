import { keccak_256 } from '@noble/hashes/sha3.js'
import { bytesOfInteger, encodeList, minimal } from './rlp.ts'

/** No transaction type, and no first byte of anything else that is signed (payloads.ts). */
const MAGIC = 0x05

/** To let an account run the code of a contract (EIP-7702). */
export type Authorization = {
  readonly chainId: number
  /** 0x and 40 hex digits. The zero address ends a delegation. */
  readonly delegate: string
  /** The account's. */
  readonly nonce: number
}

/** keccak256(0x05 ‖ rlp([chain id, address, nonce])). Pure. */
export const authorizationDigest = ({ chainId, delegate, nonce }: Authorization): Uint8Array => {
  const integer = (value: number) => minimal(bytesOfInteger(BigInt(value)))
  const address = Buffer.from(delegate.slice(2), 'hex')
  return keccak_256(Buffer.concat([Buffer.of(MAGIC), encodeList([integer(chainId), address, integer(nonce)])]))
}
