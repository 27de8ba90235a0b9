// Checkpoints of the audit's chains. Rows that no check reads may be moved to an archive, a file for each checkpoint. A checkpoint says
// for a chain what was there up to a position, and a vault signs it after it has verified that:
//
//   Ed25519(HKDF(the deployment's key, "audit checkpoint"),
//     version, chain, first position, last position, time, head of the last one, SHA-256 of the file's lines, SHA-256 of what stays)
//
// Each field has its length before it, as four bytes. The positions of a chain's checkpoints follow each other, from 1 on. So a chain
// begins with its newest checkpoint: whoever removes or edits a checkpoint, a file, or a row that stays is found.

import { createHash } from 'node:crypto'
import { ed25519 } from '@noble/curves/ed25519.js'
import type { AuditRecord } from '../../../../db/queries/audit-rows.ts'
import type { Checkpoint } from '../../../../db/queries/custody/audit.ts'
import type { Link } from '../../../../db/queries/custody/audit-chain.ts'
import { ARCHIVED_ACTIONS } from '../../../../db/words.ts'
import { contentOf } from '../../../platform/audit/audit.ts'
import { encodeFields } from '../../../platform/sealing/bytes.ts'
import type { DeploymentKey } from '../root/deployment-key.ts'

const VERSION = 'strongroom audit checkpoint 1'

type Unsigned = Omit<Checkpoint, 'signature'>

const signedBytes = (of: Unsigned): Uint8Array =>
  encodeFields([
    VERSION,
    of.chain,
    String(of.fromPosition),
    String(of.position),
    of.before.toISOString(),
    of.head,
    of.linesHash,
    of.keptHash,
  ])

export const createCheckpointSigner = (deploymentKey: DeploymentKey) => {
  const seed = deploymentKey.derive('audit checkpoint')
  const publicKey = ed25519.getPublicKey(seed)
  return {
    publicKey,
    sign: (of: Unsigned): Checkpoint => ({ ...of, signature: ed25519.sign(signedBytes(of), seed) }),
    isSigned: (of: Checkpoint): boolean =>
      of.signature.length === 64 && ed25519.verify(of.signature, signedBytes(of), publicKey),
  }
}

/** A row and its link as one line of an archive. */
export const lineOf = (link: Link, row: AuditRecord): string => {
  const { actor, action, subject, details } = row
  const [mac, head] = [row.mac, link.head].map((bytes) => Buffer.from(bytes).toString('hex'))
  const place = { chain: link.chain, position: String(link.position), id: String(row.id), project_id: row.projectId }
  return `${JSON.stringify({ ...place, at: row.at.toISOString(), actor, action, subject, details, mac, head })}\n`
}

/**
 * Decides which rows of a chain stay, in their order: those that a check reads. A use by a policy is compared with the policy's
 * count, and the first use of a wallet shows that it was used.
 */
const createKeeps = (): ((row: AuditRecord) => boolean) => {
  const used = new Set<string>()
  return ({ action, details, subject }) => {
    if (!ARCHIVED_ACTIONS.has(action) || details.policy !== undefined) return true
    const isFirst = !used.has(subject)
    used.add(subject)
    return isFirst
  }
}

/** Takes the rows of a chain in their order. */
export const createKept = () => {
  const keeps = createKeeps()
  const hash = createHash('sha256')
  return {
    /** @returns whether the row stays. */
    add: (link: Link, row: AuditRecord): boolean => {
      const stays = keeps(row)
      if (stays) {
        hash.update(encodeFields([String(link.position), String(row.id), link.head, row.mac, contentOf(row)]))
      }
      return stays
    },
    /** SHA-256 of the rows so far that stay. */
    hash: (): Uint8Array => new Uint8Array(hash.copy().digest()),
  }
}

export type Kept = ReturnType<typeof createKept>
