import { listPasskeys as list } from '../../db/queries/passkeys.ts'
import type { UserCaller } from '../auth/caller.ts'
import type { Ctx } from '../context.ts'
import type { Passkey } from './passkey-schema.ts'

/** A user's own, oldest first. */
export const listPasskeys = async (ctx: Pick<Ctx, 'db'>, caller: UserCaller): Promise<Passkey[]> =>
  (await list(ctx.db, caller)).map((row) => ({
    id: row.id,
    created_at: row.createdAt.toISOString(),
    last_used_at: row.lastUsedAt?.toISOString() ?? null,
    rp_id: row.rpId,
    backed_up: row.backedUp,
    transports: row.transports,
  }))
