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

/** The id that an address or wallet would make as a first proof; it tells nothing of whether it was one. */
export const firstIdOf = (ctx: Pick<Ctx, 'identity'>, { projectId, by }: Of): string => {
  const [kind, name] = 'email' in by ? ['email', by.email] : ['wallet', by.signInWallet]
  return uuidOf(ctx.identity.authenticator('user id')([projectId, kind, name]))
}

/**
 * Whose id it is that an address or wallet stands for: a user's, or the one that its first proof will make. Not to be told
 * for an address: that of a user who added it later would show who they are otherwise.
 */
export const userIdOf = async (ctx: Pick<Ctx, 'db' | 'identity'>, of: Of): Promise<string> =>
  (await findUser(ctx.db, of))?.id ?? firstIdOf(ctx, of)
