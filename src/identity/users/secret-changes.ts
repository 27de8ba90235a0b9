// A user gets a mail after each change of what opens their wallets, and a change of the PIN ends their other sessions.
// The vault commits the change in its own transaction. So the API notes the change before, and deletes the note in the
// transaction that ends the sessions and queues the mail. A note that stays shows that an API died in between, or did
// not learn the outcome. Then the mail says that the change may have been made, and a PIN's note ends all sessions.

import type { HasDb, Tx } from '../../../db/client.ts'
import { deleteSecretChange, insertSecretChange, lockLeftSecretChanges } from '../../../db/queries/users.ts'
import type { ChangedSecret } from '../../../db/words.ts'
import type { HasAudit } from '../../platform/audit/audit.ts'
import { repeat } from '../../platform/clock.ts'
import { AppError } from '../../platform/errors.ts'
import { UUID } from '../../platform/http/text.ts'
import type { HasLog } from '../../platform/process/log.ts'
import type { HasIdentity } from '../../platform/sealing/sealer.ts'
import { endSessions } from './end-sessions.ts'
import { type ChangedWay, mailUser } from './mail-way-changed.ts'

/** Longer than a request. */
const LEFT_AFTER_SECONDS = 90
const LOOK_EVERY_MS = 60_000
const AT_ONCE = 50

type SecretsCtx = HasDb & HasAudit & HasIdentity & Parameters<typeof mailUser>[0]

type Told = {
  readonly projectId: string
  readonly userId: string
  readonly actor: string
  readonly way: ChangedWay
  /** Which sessions end: those of `endSessions` without a change of the PIN. */
  readonly endSessions: Pick<Parameters<typeof endSessions>[2], 'except' | 'issuerToken'> | null
}

export type SecretChange = Omit<Told, 'userId'> & { readonly ownerId: string; readonly secret: ChangedSecret }

/** A user's wallets have the user's id, in lower case, as owner id; other owner ids are any text. */
const isUserId = (ownerId: string): boolean => UUID.test(ownerId) && ownerId === ownerId.toLowerCase()

/** The vault refused, so nothing was changed. Other errors leave that open. */
const isRefusal = (error: unknown): boolean =>
  error instanceof AppError && !['unavailable', 'internal'].includes(error.code)

/** Ends the sessions, tells the user, and deletes the note: all of it or nothing. */
const finish = async (ctx: SecretsCtx, tx: Tx, { id, ...change }: Told & { readonly id: string }): Promise<void> => {
  const { projectId, userId, actor } = change
  if (change.endSessions !== null) {
    await endSessions(ctx, tx, { projectId, userId, actor, ...change.endSessions, by: 'pin_changed' })
  }
  await mailUser(ctx, tx, { projectId, userId, change: change.way })
  await deleteSecretChange(tx, id)
}

/** If the owner is a user, also mails them and ends their sessions, even if this process dies. */
export const changeSecret = async <Result>(
  ctx: SecretsCtx,
  { ownerId, secret, ...facts }: SecretChange,
  change: () => Promise<Result>,
): Promise<Result> => {
  if (!isUserId(ownerId)) return change()
  const ofUser = { ...facts, userId: ownerId }
  const id = await insertSecretChange(ctx.db, { ...ofUser, secret })
  let result: Result
  try {
    result = await change()
  } catch (error) {
    if (isRefusal(error)) await deleteSecretChange(ctx.db, id)
    throw error
  }
  await ctx.db.transaction((tx) => finish(ctx, tx, { ...ofUser, id }))
  return result
}

const LEFT = {
  pin: { way: 'pin_perhaps_changed', endSessions: { except: null } },
  recovery_code: { way: 'recovery_code_perhaps_changed', endSessions: null },
  passkey: { way: 'passkey_perhaps_changed', endSessions: null },
} as const satisfies Record<ChangedSecret, Pick<Told, 'way' | 'endSessions'>>

const finishLeft = (ctx: SecretsCtx): Promise<void> =>
  ctx.db.transaction(async (tx) => {
    const left = await lockLeftSecretChanges(tx, { ageSeconds: LEFT_AFTER_SECONDS, limit: AT_ONCE })
    for (const change of left) await finish(ctx, tx, { ...change, ...LEFT[change.secret] })
  })

/** Finishes changes that a process has left: looks at once and every minute. @returns what stops it. */
export const startFinishingSecretChanges = (ctx: SecretsCtx & HasLog): (() => Promise<void>) =>
  repeat({
    everyMs: LOOK_EVERY_MS,
    isAtOnce: true,
    work: () =>
      finishLeft(ctx).catch((err: unknown) =>
        ctx.log.warn({ err }, 'could not tell of changes of secrets that a process has left'),
      ),
  })
