// A row of a key that signs access tokens. Its private half is sealed with the identity key. The seal names the row's id, which
// is the thumbprint of the public key: so an attacker with the database but without the identity key can add no
// public key under which we would accept tokens.

import { calculateJwkThumbprint } from 'jose'
import type { TokenKeyRow } from '../../../db/queries/token-keys.ts'
import { AppError } from '../../platform/errors.ts'
import type { Sealer } from '../../platform/sealing/sealer.ts'

const PURPOSE = 'token key'

type KeyRow = Pick<TokenKeyRow, 'id' | 'publicKey' | 'sealed'>

/** A row's id: the JWK thumbprint (RFC 7638) of an Ed25519 key. @param x the public key, as in a JWK. */
export const tokenKeyIdOf = (x: string): Promise<string> => calculateJwkThumbprint({ kty: 'OKP', crv: 'Ed25519', x })

/** @param input.plaintext the private key, 32 bytes; the caller zeroes it. */
export const sealTokenKey = (
  identity: Pick<Sealer, 'seal'>,
  input: { readonly id: string; readonly plaintext: Uint8Array },
): Uint8Array => identity.seal({ purpose: PURPOSE, rowId: input.id, plaintext: input.plaintext })

/** @returns the private key, which the caller zeroes. @throws Error if the row was not sealed by us. */
export const openTokenKey = (identity: Pick<Sealer, 'open'>, { id, sealed }: KeyRow): Uint8Array =>
  identity.open({ purpose: PURPOSE, rowId: id, sealed })

/** Whether a process with the identity key made the row. @throws unavailable if the key was changed meanwhile. */
export const isOwnTokenKey = async (identity: Pick<Sealer, 'open'>, row: KeyRow): Promise<boolean> => {
  if ((await tokenKeyIdOf(row.publicKey)) !== row.id) return false
  try {
    openTokenKey(identity, row).fill(0)
    return true
  } catch (error) {
    if (error instanceof AppError && error.code === 'unavailable') throw error
    return false
  }
}
