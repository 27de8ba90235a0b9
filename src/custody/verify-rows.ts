import type { Db } from '../../db/client.ts'
import { forgedGuesses } from './credentials/guesses.ts'
import { createProjectKeys } from './root/project-keys.ts'
import { createRootKeys, openRootKey } from './root/root-key.ts'

/** A row that somebody else than a vault has written or deleted. */
export type ForgedCustodyRow = {
  readonly table: 'pin_guesses'
  readonly projectId: string
  /** The primary key within its project. */
  readonly id: string
  readonly trouble: string
}

type RootKeySetting = Parameters<typeof openRootKey>[0]

type Parts = {
  readonly db: Db
  readonly config: { readonly rootKey: RootKeySetting | null; readonly nextRootKey: RootKeySetting | null }
}

/**
 * Checks the MACs of the rows that custody authenticates. It opens no wallet.
 * @param input.projectId null: of all projects.
 * @returns null if there is no root key.
 */
export const forgedRows = async (
  { db, config }: Parts,
  input: { readonly projectId: string | null },
): Promise<readonly ForgedCustodyRow[] | null> => {
  if (config.rootKey === null) return null
  const rootKey = await openRootKey(config.rootKey)
  const nextRootKey = config.nextRootKey ? await openRootKey(config.nextRootKey) : null
  const projectKeys = createProjectKeys({ db, rootKeys: createRootKeys({ db, rootKey, nextRootKey }) })
  const guesses = await forgedGuesses({ db, projectKeys }, input)
  return guesses.map(({ projectId, ownerId: id, trouble }) => ({ table: 'pin_guesses', projectId, id, trouble }))
}
