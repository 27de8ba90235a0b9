import { and, asc, eq, gt, sql } from 'drizzle-orm'
import type { Queryable, Tx } from '../../client.ts'
import { keyrings, ownerLocks } from '../../schema.ts'
import type { ControlMode } from '../../words.ts'
import type { RowImage } from './journal.ts'
import { proofOf, provenImage } from './proofs.ts'

/** null: of all projects. */
type OfProject = { readonly projectId: string | null }

const LOCK = {
  id: ownerLocks.id,
  keyringId: ownerLocks.keyringId,
  controlMode: ownerLocks.controlMode,
  policiesOnly: ownerLocks.policiesOnly,
  version: ownerLocks.version,
  sealed: ownerLocks.sealed,
}

/** Owner locks after `after`, in the order of their ids. */
export const pageOfOwnerLocks = (
  db: Queryable,
  input: OfProject & { readonly after: string | null; readonly limit: number },
) =>
  db
    .select({ ...LOCK, projectId: keyrings.projectId })
    .from(ownerLocks)
    .innerJoin(keyrings, eq(keyrings.id, ownerLocks.keyringId))
    .where(
      and(
        input.projectId === null ? undefined : eq(keyrings.projectId, input.projectId),
        input.after === null ? undefined : gt(ownerLocks.id, input.after),
      ),
    )
    .orderBy(asc(ownerLocks.id))
    .limit(input.limit)

/** Keyrings after `after`, in the order of their ids. */
export const pageOfKeyrings = (
  db: Queryable,
  input: OfProject & { readonly after: string | null; readonly limit: number },
) =>
  db
    .select({
      id: keyrings.id,
      projectId: keyrings.projectId,
      kind: keyrings.kind,
      /** The control modes of its owner locks. */
      controlModes: sql<
        ControlMode[]
      >`array(select l.control_mode from owner_locks l where l.keyring_id = keyrings.id)`,
      sealed: keyrings.sealed,
    })
    .from(keyrings)
    .where(
      and(
        input.projectId === null ? undefined : eq(keyrings.projectId, input.projectId),
        input.after === null ? undefined : gt(keyrings.id, input.after),
      ),
    )
    .orderBy(asc(keyrings.id))
    .limit(input.limit)

type LockState = Pick<typeof ownerLocks.$inferSelect, 'sealed' | 'policiesOnly' | 'version'>

/** Replaces a lock's outer layer, with its new use. @returns null if its bytes are not `was` any more. @throws NotWritten */
export const updateOwnerLock = async (
  tx: Tx,
  input: LockState & { readonly id: string; readonly was: Uint8Array },
): Promise<RowImage | null> => {
  const { id, was, ...state } = input
  const meant = { id, ...state }
  const written = await tx
    .update(ownerLocks)
    .set(state)
    .where(and(eq(ownerLocks.id, id), eq(ownerLocks.sealed, was)))
    .returning(proofOf(ownerLocks, meant))
  return provenImage(ownerLocks, meant, written)
}

/** Reads the locks of a keyring and locks their rows until the transaction ends. */
export const holdOwnerLocks = (tx: Tx, keyringId: string) =>
  tx
    .select({ controlMode: ownerLocks.controlMode, version: ownerLocks.version })
    .from(ownerLocks)
    .where(eq(ownerLocks.keyringId, keyringId))
    .orderBy(asc(ownerLocks.id))
    .for('share')

/** An owner's locks of the developer's mode whose wallets only policies open. */
export const locksUnderPolicies = (
  db: Queryable,
  { projectId, ownerId }: { readonly projectId: string; readonly ownerId: string },
) =>
  db
    .select(LOCK)
    .from(ownerLocks)
    .innerJoin(keyrings, eq(keyrings.id, ownerLocks.keyringId))
    .where(and(eq(keyrings.projectId, projectId), eq(keyrings.ownerId, ownerId), eq(ownerLocks.policiesOnly, true)))
    .orderBy(asc(ownerLocks.id))
