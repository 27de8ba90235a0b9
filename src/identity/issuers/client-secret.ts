// The secret of our login page at an issuer. It is sealed for exactly this issuer and client, so that an attacker who
// can only write to the database cannot have it sent to another server.

import type { IssuerRow } from '../../../db/queries/issuers.ts'
import type { Sealer, SealingKey } from '../../platform/sealing/sealer.ts'

const PURPOSE = 'issuer client secret'

type IssuerClient = Pick<IssuerRow, 'id' | 'projectId' | 'issuer' | 'clientId'>

const rowIdOf = ({ id, projectId, issuer, clientId }: IssuerClient): string =>
  [id, projectId, issuer, clientId ?? ''].join('\n')

export const sealClientSecret = (
  identity: Pick<SealingKey, 'seal'>,
  { secret, ...client }: IssuerClient & { readonly secret: string },
): Uint8Array => identity.seal({ purpose: PURPOSE, rowId: rowIdOf(client), plaintext: Buffer.from(secret) })

/** @returns null if another program than the service wrote it. A client without a secret has none. */
export const openClientSecret = (
  identity: Pick<Sealer, 'open' | 'requirePresent'>,
  row: IssuerClient & Pick<IssuerRow, 'sealedSecret'>,
): { readonly secret: string | null } | null => {
  if (row.sealedSecret === null) return { secret: null }
  identity.requirePresent()
  try {
    const opened = identity.open({ purpose: PURPOSE, rowId: rowIdOf(row), sealed: row.sealedSecret })
    return { secret: Buffer.from(opened).toString() }
  } catch {
    return null
  }
}
