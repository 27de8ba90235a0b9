import type { VaultRows } from '../contract/vault.ts'
import { findContradictions } from './contradictions.ts'
import { type ForgedId, forgedDeveloperKeys, forgedUserKeyLocks, forgedUserKeys } from './credentials/forged-keys.ts'
import { forgedGuesses } from './credentials/guesses.ts'
import type { RoomCtx } from './ctx.ts'
import { forgedDelegateLists } from './wallets/delegates.ts'
import { forgedLocks } from './wallets/forged-locks.ts'
import { forgedPolicies } from './wallets/forged-policies.ts'
import { forgedFreezeLists } from './wallets/freezes.ts'

/** Compares rows with the audit, and checks MACs and seals. @param input.projectId null: of all projects. */
export const forgedRows = async (
  parts: Pick<RoomCtx, 'db' | 'projectKeys' | 'journal' | 'now' | 'freezes'>,
  input: { readonly projectId: string | null },
): Promise<VaultRows> => {
  const contradictions = await findContradictions(parts.db, input)
  const guesses = await forgedGuesses(parts, input)
  const tables: readonly (readonly [table: Parameters<typeof contradictions>[0], forged: readonly ForgedId[]])[] = [
    ['projects', []],
    ['project_keys', []],
    ['developer_keys', await forgedDeveloperKeys(parts, input)],
    ['user_keys', await forgedUserKeys(parts, input)],
    ['pin_guesses', guesses.map(({ ownerId: id, ...row }) => ({ id, ...row }))],
    ['user_key_locks', await forgedUserKeyLocks(parts, input)],
    ['policies', await forgedPolicies(parts, input)],
    ['wallets', []],
    ['wallet_keys', []],
    ['keyrings', await forgedLocks(parts, input)],
    ['delegate_lists', await forgedDelegateLists(parts, input)],
  ]
  const ofTables = tables.flatMap(([table, forged]) =>
    [...contradictions(table), ...forged].map((row) => ({ table, ...row })),
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
