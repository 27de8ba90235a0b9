import type { HasDb } from '../../../db/client.ts'
import { listPasskeys } from '../../../db/queries/passkeys.ts'
import { findProject } from '../../../db/queries/projects.ts'
import { type SessionRow, listSessions as selectSessions } from '../../../db/queries/sessions.ts'
import { findIssuerName, findUser, listUsers as selectUsers, type UserRow } from '../../../db/queries/users.ts'
import { AppError, noSuchProject } from '../../platform/errors.ts'
import type { UserCaller } from '../auth/caller.ts'
import type { OwnSession } from './schema.ts'

export const LISTED_MAX = 1_000

/** A user, with what the project calls their issuer now. */
export type NamedUser = UserRow & { readonly issuerName: string | null }

/** A project's users, newest first. For operators. */
export const listUsers = async (ctx: HasDb, projectId: string): Promise<readonly NamedUser[]> => {
  if ((await findProject(ctx.db, projectId)) === null) throw noSuchProject()
  return selectUsers(ctx.db, { projectId, limit: LISTED_MAX })
}

export const showUser = async (
  ctx: HasDb,
  input: { readonly projectId: string; readonly userId: string },
): Promise<NamedUser & { readonly passkeys: number }> => {
  const user = await findUser(ctx.db, { projectId: input.projectId, by: { id: input.userId } })
  if (user === null) throw new AppError('not_found', 'The project has no user with this id.')
  const issuerName = await findIssuerName(ctx.db, input)
  return { ...user, issuerName, passkeys: (await listPasskeys(ctx.db, input)).length }
}

/** Sessions of a project or of one user, newest first, including ended ones. For operators. */
export const listSessions = async (
  ctx: HasDb,
  input: { readonly projectId: string; readonly userId?: string },
): Promise<readonly SessionRow[]> => {
  if ((await findProject(ctx.db, input.projectId)) === null) throw noSuchProject()
  return selectSessions(ctx.db, { ...input, limit: LISTED_MAX })
}

export const listOwnSessions = async (
  ctx: HasDb,
  { projectId, userId, sessionId }: UserCaller,
): Promise<OwnSession[]> =>
  (await selectSessions(ctx.db, { projectId, userId, isLiveOnly: true, limit: LISTED_MAX })).map((row) => ({
    id: row.id,
    current: row.id === sessionId,
    way: row.way,
    created_at: row.createdAt.toISOString(),
    last_refreshed_at: row.refreshedAt.toISOString(),
    expires_at: row.expiresAt.toISOString(),
    address: row.askerAddress,
    device: row.askerDevice,
  }))
