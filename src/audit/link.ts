// The chain over the audit: each project's rows, and the deployment's, in one order, each bound to all before it.
//
//   head(n) = HMAC-SHA-256(HKDF(SERVICE_KEY, "audit chain"), chain, n, head(n - 1), audit id, MAC of the row)
//
// A row's own MAC says that it was written by someone with the service key. A head says that these rows and no others came
// before, in this order: whoever has noted a head, from the log or from elsewhere, proves with it that nothing behind it
// was changed, removed, added or swapped. For somebody who has the service key too can write every MAC and every head
// anew; but not so that the noted head comes out again. What has been noted nowhere, such a one can rewrite.
//
// The order is the chain's own: position after position as rows become visible, and by id among those that are chained
// together. Ids are drawn before their transactions commit, so a row can appear behind a higher id: it gets the next
// position, and nothing waits for it.

import { type AuditRecord, chainOf, type Link } from '../../db/queries/audit-chain.ts'
import type { Sealer } from '../custody/sealer.ts'

const NO_HEAD = new Uint8Array(0)

export type LinkMaker = (input: {
  readonly previous: Link | null
  readonly row: Pick<AuditRecord, 'id' | 'projectId' | 'mac'>
}) => Link

/** Makes the link of a row that comes after another one, or first. */
export const createLinkMaker = (sealer: Pick<Sealer, 'authenticator'>): LinkMaker => {
  const authenticate = sealer.authenticator('audit chain')
  return ({ previous, row }) => {
    const chain = chainOf(row)
    const position = (previous?.position ?? 0n) + 1n
    const fields = [chain, String(position), previous?.head ?? NO_HEAD, String(row.id), row.mac]
    return { chain, position, auditId: row.id, head: authenticate(fields) }
  }
}

/** As it is published, and as it is given back to be proved. */
export const shownHead = (link: Pick<Link, 'chain' | 'position' | 'head'>): string =>
  `${link.chain}:${link.position}:${Buffer.from(link.head).toString('hex')}`
