import { findUser } from '../../db/queries/users.ts'
import type { Ctx } from '../context.ts'

type Proof = { readonly email: string } | { readonly signInWallet: string }

/** 16 bytes as a UUID of version 8 (RFC 9562 §5.8). */
const uuidOf = (bytes: Uint8Array): string => {
  const hex = Buffer.from(bytes.subarray(0, 16)).toString('hex').split('')
  hex[12] = '8'
  hex[16] = ((Number.parseInt(hex[16] ?? '0', 16) & 0x3) | 0x8).toString(16)
  return hex.join('').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

type Of = { readonly projectId: string; readonly by: Proof }

/**
 * The id that a new user with this e-mail address or wallet gets. It is derived with a key, so that it does not reveal
 * whether such a user exists.
 */
export const derivedUserId = (ctx: Pick<Ctx, 'identity'>, { projectId, by }: Of): string => {
  const [kind, name] = 'email' in by ? ['email', by.email] : ['wallet', by.signInWallet]
  return uuidOf(ctx.identity.authenticator('user id')([projectId, kind, name]))
}

/**
 * The id of the user with this e-mail address or wallet, or of the user that it would create. Never return it to a caller for
 * an e-mail address: if a user added the address later, their id would reveal who they are.
 */
export const userIdOf = async (ctx: Pick<Ctx, 'db' | 'identity'>, of: Of): Promise<string> =>
  (await findUser(ctx.db, of))?.id ?? derivedUserId(ctx, of)
