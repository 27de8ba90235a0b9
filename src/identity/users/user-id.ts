import type { HasDb } from '../../../db/client.ts'
import { findUser } from '../../../db/queries/users.ts'
import type { HasIdentity } from '../../platform/sealing/sealer.ts'

type Proof =
  | { readonly email: string }
  | { readonly signInWallet: string }
  | { readonly issuer: string; readonly subject: string }

/** 16 bytes as a UUID of version 8 (RFC 9562 §5.8). */
const uuidOf = (bytes: Uint8Array): string => {
  const hex = Buffer.from(bytes.subarray(0, 16)).toString('hex').split('')
  hex[12] = '8'
  hex[16] = ((Number.parseInt(hex[16] ?? '0', 16) & 0x3) | 0x8).toString(16)
  return hex.join('').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

type Of = { readonly projectId: string; readonly by: Proof }
type OfKnown = Of & { readonly by: Exclude<Proof, { readonly subject: string }> }

/**
 * The id that a new user with this e-mail address, wallet or name at an issuer gets. It is derived with a key, so that it does not reveal
 * whether such a user exists.
 */
export const derivedUserId = (ctx: HasIdentity, { projectId, by }: Of): string => {
  return uuidOf(ctx.identity.authenticator('user id')([projectId, ...wordsOf(by)]))
}

const wordsOf = (by: Proof): readonly string[] => {
  if ('email' in by) return ['email', by.email]
  return 'subject' in by ? ['subject', by.issuer, by.subject] : ['wallet', by.signInWallet]
}

/**
 * The id of the user with this e-mail address or wallet, or of the user that it would create. Never return it to a caller for
 * an e-mail address: if a user added the address later, their id would reveal who they are.
 */
export const userIdOf = async (ctx: HasDb & HasIdentity, of: OfKnown): Promise<string> =>
  (await findUser(ctx.db, of))?.id ?? derivedUserId(ctx, of)
