// Nonces of logins. A MAC covers the purpose and the time of each, so that an attacker with the database cannot make an
// old signature valid again.

import type { Tx } from '../../../db/client.ts'
import { findNonce, insertNonce, type NonceKey, type NonceRow, useNonce } from '../../../db/queries/logins.ts'
import { readPresent } from '../../../db/queries/server.ts'
import { isOurs, isOver, nonceMac } from '../auth/row-macs.ts'
import type { IdentityCtx } from '../ctx.ts'

export const issueNonce = async (
  { db, identity }: IdentityCtx,
  input: NonceKey & Pick<NonceRow, 'userId' | 'target'> & { readonly lifetimeSeconds: number },
): Promise<void> => {
  const { lifetimeSeconds, ...terms } = input
  const createdAt = await readPresent(db)
  const expiresAt = new Date(createdAt.getTime() + lifetimeSeconds * 1_000)
  const row = { ...terms, createdAt, expiresAt }
  await insertNonce(db, { ...row, mac: nonceMac(identity).of(row) })
}

const ifOurs = (ctx: IdentityCtx, row: NonceRow | null): NonceRow | null =>
  row !== null && !isOver(ctx, row) && isOurs(ctx, nonceMac(ctx.identity), { ...row, id: row.nonce }) ? row : null

/** Reads a nonce without using it. @returns null if it is unknown, used, expired, or forged. */
export const readNonce = async (ctx: IdentityCtx, key: NonceKey): Promise<NonceRow | null> =>
  ifOurs(ctx, await findNonce(ctx.db, key))

/** Uses a nonce up. @returns null as `readNonce` does. */
export const takeNonce = async (ctx: IdentityCtx, tx: Tx, key: NonceKey): Promise<NonceRow | null> =>
  ifOurs(ctx, await useNonce(tx, key))
