/** What a database may lack of a vault's journal, in sentences. Then the vault opens no key. */
export const LACKING_WORDS = {
  records: 'The database lacks what the vault has recorded since: an operator must run "cli restore".',
  rows_of_notes:
    'The database may lack what the vaults have signed last: an API is restoring it. Try again in a moment.',
} as const

type Word = keyof typeof LACKING_WORDS

/** `records`: of the journal. `rows_of_notes`: of transactions and wallets, which an API writes by the journal's notes. */
export type Lacking = Word | null

export const LACKING = Object.keys(LACKING_WORDS) as readonly Word[]
