// The values of the vault's contract that an API needs beside the table of methods (methods.ts) and their types
// (vault.ts).

import { AppError } from '../../platform/errors.ts'

/**
 * The root key was changed, and this vault has only the old one. Nothing was done; a vault with the present key can do
 * it.
 */
export class UnfitVault extends AppError {
  constructor() {
    super('unavailable', 'The root key was changed: the vault must be restarted with the present one as ROOT_KEY.', {
      retryAfterSeconds: 30,
    })
    this.name = 'UnfitVault'
  }
}

/** What a database may lack of a vault's journal, in sentences. Then the vault opens no key. */
export const LACKING_WORDS = {
  records: 'The database lacks what the vault has recorded since: an operator must run "cli restore".',
  rows_of_notes:
    'The database may lack what the vaults have signed last: an API is restoring it. Try again in a moment.',
} as const

type Word = keyof typeof LACKING_WORDS

/**
 * `records`: of the journal. `rows_of_notes`: of transactions and wallets, which an API writes by the journal's notes.
 */
export type Lacking = Word | null

export const LACKING = Object.keys(LACKING_WORDS) as readonly Word[]

/** The developer secret of every project on testnet: published, so that anyone can try the service. */
export const TESTNET_DEVELOPER_SECRET = 'testnet-secret'

/** The signatures of each use. EVM: 65 bytes, r, s (low), recovery id. Substrate: 64 bytes, sr25519. */
export type Signatures = readonly (readonly Uint8Array[])[]

/** The signature of one use with one payload. @throws Error if the vault returned none. */
export const onlySignature = (signatures: Signatures): Uint8Array => {
  const signature = signatures[0]?.[0]
  if (signature === undefined) throw new Error('the vault returned no signature')
  return signature
}
