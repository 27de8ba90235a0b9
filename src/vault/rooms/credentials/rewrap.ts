// Writing a user key or a developer key that was sealed under another credential, into its row, with the audit row.
// One statement writes it, if the row is as it was read:
//
//   the row's version   else another request has changed the credential: 409 credential_changed, and nothing is written
//   the row's bytes     else a rotation has re-sealed the outer layer: it is tried again with the newest outer layer

import type { Tx } from '../../../../db/client.ts'
import type { RowImage } from '../../../../db/queries/custody/journal.ts'
import { newestProjectKeyVersion } from '../../../../db/queries/custody/project-keys.ts'
import type { AuditAct } from '../../../platform/audit/audit.ts'
import { AppError, noSuchProject } from '../../../platform/errors.ts'
import type { RowIdentity } from '../../../platform/sealing/envelope.ts'
import { KeyRotated } from '../../contract/repeatable.ts'
import { changing } from '../changing.ts'
import type { CustodyCtx } from '../ctx.ts'
import { projectKeyRow } from '../journal/records.ts'

/** How many rotations may come in between. Even rotations without a pause are not that many. */
const TRIES_MAX = 200

type Change<Was> = {
  readonly projectId: string
  readonly identity: RowIdentity
  /** The version of the row as it was read first. */
  readonly version: number
  /** The key, sealed under the new credential. */
  readonly inner: Uint8Array
  readonly read: () => Promise<Was | null>
  /** @returns what was written; null if the row is not `was` any more. */
  readonly write: (
    tx: Tx,
    input: { readonly was: Was; readonly sealed: Uint8Array },
  ) => Promise<readonly RowImage[] | null>
  readonly act: AuditAct
}

const tryWrite = async <Was>(ctx: CustodyCtx, change: Change<Was> & { readonly was: Was }): Promise<boolean> => {
  const { db, journal, projectKeys, audit } = ctx
  const { projectId, identity, inner, was } = change
  const version = await newestProjectKeyVersion(db, projectId)
  if (version === null) throw noSuchProject()
  const sealed = await projectKeys.sealOuter({ version, identity, inner })
  try {
    return await changing(ctx, async (tx, wrote) => {
      await projectKeys.keepNewest(tx, { projectId, version })
      const written = await change.write(tx, { was, sealed })
      if (written === null) return false
      wrote(...written)
      await audit.record(tx, change.act)
      tx.afterCommit(() => journal.addSeen(projectKeyRow({ projectId, version })))
      return true
    })
  } catch (error) {
    if (error instanceof KeyRotated) return false
    throw error
  }
}

/** Writes a key that was sealed under another credential. @throws credential_changed, busy */
export const rewrap = async <Was extends { readonly version: number }>(
  ctx: CustodyCtx,
  change: Change<Was>,
): Promise<void> => {
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    const was = await change.read()
    if (was?.version !== change.version) {
      throw new AppError('credential_changed', 'The credential was changed by another request: nothing was done.')
    }
    if (await tryWrite(ctx, { ...change, was })) return
  }
  throw new AppError('busy', "The project's keys are being rotated: try again.")
}
