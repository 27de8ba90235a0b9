import type { Db } from '../../../db/client.ts'
import { unlockGuesses } from '../../../db/queries/custody/guesses.ts'
import { notFound } from '../../errors.ts'
import type { Audit } from '../audit.ts'

/** Forgets all wrong PINs of an owner, as `Vault.unlockOwner` says. */
export const unlockOwner = (
  { db, audit }: { readonly db: Db; readonly audit: Audit },
  input: { readonly projectId: string; readonly ownerId: string; readonly actor: string },
): Promise<void> =>
  db.transaction(async (tx) => {
    const { projectId, ownerId, actor } = input
    if (!(await unlockGuesses(tx, { projectId, ownerId }))) throw notFound('owner with a PIN')
    await audit.record(tx, { projectId, actor, action: 'owner_unlocked', subject: ownerId, details: {} })
  })
