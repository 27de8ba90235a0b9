import type { ForgedRow, VaultRows } from '../contract/vault.ts'
import { findContradictions } from './contradictions.ts'
import { forgedDeveloperKeys, forgedUserKeyLocks, forgedUserKeys } from './credentials/forged-keys.ts'
import { forgedGuesses } from './credentials/guesses.ts'
import type { CustodyCtx } from './ctx.ts'
import { forgedDelegateLists } from './wallets/delegates.ts'
import { forgedLocks } from './wallets/forged-locks.ts'
import { forgedPolicies } from './wallets/forged-policies.ts'
import { forgedFreezeLists } from './wallets/freezes.ts'

type Parts = Pick<CustodyCtx, 'db' | 'projectKeys' | 'journal' | 'now' | 'freezes'>

const TABLES = [
  'projects',
  'project_keys',
  'developer_keys',
  'user_keys',
  'pin_guesses',
  'user_key_locks',
  'policies',
  'wallets',
  'wallet_keys',
  'keyrings',
  'delegate_lists',
] as const

/**
 * Compares the rows of custody with the audit, and checks those that it authenticates (developer keys, user keys and their locks,
 * counts of wrong PINs, policies, locks of keyrings, lists of delegates and of freezes). It opens no wallet.
 * @param input.projectId null: of all projects.
 */
export const forgedRows = async (parts: Parts, input: { readonly projectId: string | null }): Promise<VaultRows> => {
  const contradictions = await findContradictions(parts.db, input)
  const guesses = await forgedGuesses(parts, input)
  const written: Partial<Record<(typeof TABLES)[number], readonly Omit<ForgedRow, 'table'>[]>> = {
    developer_keys: await forgedDeveloperKeys(parts, input),
    user_keys: await forgedUserKeys(parts, input),
    pin_guesses: guesses.map(({ projectId, ownerId: id, trouble }) => ({ projectId, id, trouble })),
    user_key_locks: await forgedUserKeyLocks(parts, input),
    policies: await forgedPolicies(parts, input),
    keyrings: await forgedLocks(parts, input),
    delegate_lists: await forgedDelegateLists(parts, input),
  }
  const ofTables = TABLES.flatMap((table) =>
    [...contradictions(table), ...(written[table] ?? [])].map((row) => ({ table, ...row })),
  )
  const freezes = await forgedFreezeLists(parts, input)
  const gone = (await parts.journal.missingAudit()).filter(
    ({ projectId }) => input.projectId === null || projectId === input.projectId,
  )
  return {
    forged: [
      ...ofTables,
      ...freezes.map((row) => ({ table: 'freeze_lists', ...row })),
      ...gone.map(({ projectId, subject: id, action, at }) => ({
        table: 'audit',
        projectId,
        id,
        trouble: `the journal has the row ${action} of ${at}, and it is gone`,
      })),
    ],
    unfinished: contradictions('unfinished').map((row) => ({ table: 'wallets', ...row })),
  }
}
