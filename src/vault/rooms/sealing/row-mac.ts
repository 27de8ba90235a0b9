// MACs of rows that decide something and contain no secret, such as the count of an owner's wrong PINs. An attacker
// with the database cannot make one. The layout is frozen:
//
//   key id(4, big-endian) | HMAC-SHA-256(HKDF(project key of this version, "row MAC"), the row)(32)
//
// A MAC binds the place of its row and all fields that decide. It cannot detect that an attacker put back an earlier
// state of the row.

import { timingSafeEqual } from 'node:crypto'
import { type BoundFields, encodeFields, textsOf } from '../../../platform/sealing/bytes.ts'
import type { RowIdentity } from '../../../platform/sealing/envelope.ts'
import { deriveKey, hmac } from '../../../platform/sealing/kdf.ts'

const KEY_ID_BYTES = 4
const MAC_BYTES = KEY_ID_BYTES + 32

export type BoundRow = { readonly identity: RowIdentity; readonly fields: BoundFields }

const encodeRow = ({ identity, fields }: BoundRow): Uint8Array => {
  const { purpose, projectId, keyringId, walletId, rowId } = identity
  return encodeFields([purpose, projectId, keyringId, walletId, rowId, ...textsOf(fields)])
}

/** The version of the project key with which a MAC was made; null if it is no MAC of a row. */
export const macKeyIdOf = (mac: Uint8Array): number | null =>
  mac.length === MAC_BYTES ? new DataView(mac.buffer, mac.byteOffset).getUint32(0) : null

/** Makes and checks MACs under one version of a project's key. Its end zeroes the key that it has. */
export type RowMacs = Disposable & {
  of(row: BoundRow): Uint8Array
  holds(input: { readonly row: BoundRow; readonly mac: Uint8Array }): boolean
}

export const openRowMacs = (input: { readonly projectKey: Uint8Array; readonly keyId: number }): RowMacs => {
  const key = deriveKey(input.projectKey, ['row MAC'])
  let closed = false
  const of = (row: BoundRow): Uint8Array => {
    if (closed) throw new Error('the key of row MACs was used after it was closed')
    const mac = Buffer.alloc(MAC_BYTES)
    mac.writeUInt32BE(input.keyId)
    mac.set(hmac({ key, message: encodeRow(row) }), KEY_ID_BYTES)
    return mac
  }
  return {
    of,
    holds: ({ row, mac }) => {
      const expected = of(row)
      return mac.length === expected.length && timingSafeEqual(mac, expected)
    },
    [Symbol.dispose]: () => {
      closed = true
      key.fill(0)
    },
  }
}
