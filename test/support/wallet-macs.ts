// The MACs of wallets' rows, made by PostgreSQL: for wallets that a test writes or edits, and that an API shall take
// for its own.

import postgres from 'postgres'
import type { Sealer } from '../../src/platform/sealing/sealer.ts'

const BLOCK_BYTES = 64

/** The columns in the order of `walletMac` in src/identity/auth/row-macs.ts. */
const COLUMNS = [
  ...['id', 'project_id', 'network', 'owner_id', 'control_mode', 'type', 'keyring_id'].map(
    (column) => `convert_to(${column}::text, 'UTF8')`,
  ),
  'public_key',
  `convert_to(address, 'UTF8')`,
]

/** HMAC-SHA-256 (RFC 2104) of all columns, each after its length. $1 and $2 are the padded keys. */
const MAC = `sha256($2::bytea || sha256($1::bytea || ${COLUMNS.map((of) => `int4send(octet_length(${of})) || ${of}`).join(' || ')}))`

/**
 * Makes the MACs of all wallets, or of one, as they are now: what somebody with IDENTITY_KEY can. @param of.url as
 * superuser.
 */
export const authenticateWallets = async (of: {
  readonly url: string
  readonly identity: Pick<Sealer, 'derive'>
  readonly id?: string
}): Promise<void> => {
  const key = Buffer.alloc(BLOCK_BYTES)
  key.set(of.identity.derive('row of wallets'))
  const [inner, outer] = [0x36, 0x5c].map((pad) => key.map((byte) => byte ^ pad))
  const sql = postgres(of.url, { max: 1, onnotice: () => {} })
  try {
    await sql.unsafe(`update wallets set mac = ${MAC} where id = coalesce($3::uuid, id)`, [
      Buffer.from(inner ?? []),
      Buffer.from(outer ?? []),
      of.id ?? null,
    ])
    if (of.id === undefined) await sql.unsafe('vacuum analyze wallets')
  } finally {
    await sql.end()
  }
}
