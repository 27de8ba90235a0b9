import { goneCustodyRows } from '../../db/queries/custody/gone-rows.ts'
import { forgedUserKeyLocks } from './credentials/forged-user-secrets.ts'
import { forgedGuesses } from './credentials/guesses.ts'
import type { CustodyCtx } from './ctx.ts'
import { forgedDelegateLists } from './wallets/delegates.ts'
import { forgedLocks } from './wallets/forged-locks.ts'
import { forgedPolicies } from './wallets/forged-policies.ts'
import { forgedWallets } from './wallets/forged-wallets.ts'
import { forgedFreezeLists } from './wallets/freezes.ts'

const GONE = 'the audit names it, and it is gone'

/** A row that decides something, and that somebody else than the service has written, put back or deleted. */
export type ForgedRow = {
  readonly table: string
  /** null for a row of the deployment. */
  readonly projectId: string | null
  /** The primary key within its project. */
  readonly id: string
  readonly trouble: string
}

type Parts = Pick<CustodyCtx, 'db' | 'projectKeys' | 'journal' | 'now' | 'freezes'>

/** Forged rows of custody, and `unfinished` ones, which a stopped process can also leave. */
export type CustodyRows = { readonly forged: readonly ForgedRow[]; readonly unfinished: readonly ForgedRow[] }

/**
 * Checks the rows that custody authenticates (counts of wrong PINs, locks of user keys, policies, wallets, locks of
 * keyrings, lists of delegates and of freezes), and that no row that the audit names is gone. It opens no wallet.
 * @param input.projectId null: of all projects.
 */
export const forgedRows = async (parts: Parts, input: { readonly projectId: string | null }): Promise<CustodyRows> => {
  const guesses = await forgedGuesses(parts, input)
  const userSecrets = await forgedUserKeyLocks(parts, input)
  const policies = await forgedPolicies(parts, input)
  const wallets = await forgedWallets(parts, input)
  const locks = await forgedLocks(parts, input)
  const delegates = await forgedDelegateLists(parts, input)
  const freezes = await forgedFreezeLists(parts, input)
  const gone = await goneCustodyRows(parts.db, input)
  const ofWallets = (rows: typeof wallets.forged) => rows.map((wallet) => ({ table: 'wallets', ...wallet }))
  const forged = [
    ...guesses.map(({ projectId, ownerId: id, trouble }) => ({ table: 'pin_guesses', projectId, id, trouble })),
    ...userSecrets.map((lock) => ({ table: 'user_key_locks', ...lock })),
    ...policies.map((policy) => ({ table: 'policies', ...policy })),
    ...ofWallets(wallets.forged),
    ...locks.map((keyring) => ({ table: 'keyrings', ...keyring })),
    ...delegates.map((list) => ({ table: 'delegate_lists', ...list })),
    ...freezes.map((list) => ({ table: 'freeze_lists', ...list })),
    ...gone.map((row) => ({ ...row, trouble: GONE })),
  ]
  return { forged, unfinished: ofWallets(wallets.unfinished) }
}
