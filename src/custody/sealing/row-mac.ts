// MACs of rows that decide something and hold no secret, such as the count of an owner's wrong PINs. Whoever can write to the
// database cannot make one. The layout is frozen:
//
//   key id(4, big-endian) | HMAC-SHA-256(HKDF(project key of this version, "row MAC"), the row)(32)
//
// A MAC binds the place of its row and all fields that decide. It cannot tell an earlier state of the same row that was
// written back, as that was true once.

import { timingSafeEqual } from 'node:crypto'
import { encodeFields } from './bytes.ts'
import type { Identity } from './envelope.ts'
import { deriveKey, hmac } from './kdf.ts'

const KEY_ID_BYTES = 4
const MAC_BYTES = KEY_ID_BYTES + 32

/** A row and those of its fields that decide. */
export type BoundRow = {
  readonly identity: Identity
  /** In a fixed order; null for an absent one. */
  readonly fields: Readonly<Record<string, string | number | bigint | Date | null>>
}

/** The one encoding of rows for MACs. Each value follows its name, and absent ones have neither. */
const encodeRow = ({ identity, fields }: BoundRow): Uint8Array => {
  const { purpose, projectId, keyringId, walletId, rowId } = identity
  const values = Object.entries(fields).flatMap(([name, value]) => {
    if (value === null) return []
    return [name, value instanceof Date ? value.toISOString() : String(value)]
  })
  return encodeFields([purpose, projectId, keyringId, walletId, rowId, ...values])
}

type Under = { readonly projectKey: Uint8Array; readonly keyId: number; readonly row: BoundRow }

export const macOfRow = ({ projectKey, keyId, row }: Under): Uint8Array => {
  const key = deriveKey(projectKey, ['row MAC'])
  const mac = Buffer.alloc(MAC_BYTES)
  mac.writeUInt32BE(keyId)
  mac.set(hmac({ key, message: encodeRow(row) }), KEY_ID_BYTES)
  key.fill(0)
  return mac
}

/** The version of the project key with which a MAC was made; null if it is no MAC of a row. */
export const macKeyIdOf = (mac: Uint8Array): number | null =>
  mac.length === MAC_BYTES ? new DataView(mac.buffer, mac.byteOffset).getUint32(0) : null

/** Whether the row is as it was when `mac` was made. */
export const isMacOfRow = ({ mac, ...under }: Under & { readonly mac: Uint8Array }): boolean => {
  const expected = macOfRow(under)
  return mac.length === expected.length && timingSafeEqual(mac, expected)
}
