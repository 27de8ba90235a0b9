// A user is told by mail of each change of what opens their wallets, and after a change of the PIN their other sessions end. The vault
// commits the change in its own transaction. So the API notes the change before, and after it deletes the note in the transaction that
// ends the sessions and queues the mail. A note that is left shows that an API died in between, or did not learn what became of the
// change. Then the mail says that it may have been made, and after a change of the PIN all sessions of the user end, as nobody knows
// any more which one made it.

import type { HasDb, Tx } from '../../../db/client.ts'
import { deleteSecretChange, insertSecretChange, lockLeftSecretChanges } from '../../../db/queries/users.ts'
import type { ChangedSecret } from '../../../db/words.ts'
import type { HasAudit } from '../../platform/audit/audit.ts'
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
  readonly told: ChangedWay
  /** Which sessions end: those of `endSessions` without a change of the PIN. */
  readonly endSessions: Pick<Parameters<typeof endSessions>[2], 'except' | 'issuerToken'> | null
}

export type SecretChange = Omit<Told, 'userId'> & { readonly ownerId: string; readonly secret: ChangedSecret }

/** A user's wallets have the user's id, in lower case, as owner id; other owner ids are any text. */
const isUserId = (ownerId: string): boolean => UUID.test(ownerId) && ownerId === ownerId.toLowerCase()

/** The vault refused, so that nothing was changed. Of other errors nobody knows. */
const isRefusal = (error: unknown): boolean =>
  error instanceof AppError && !['unavailable', 'internal'].includes(error.code)

/** Ends the sessions, tells the user, and deletes the note: all of it or nothing. */
const finish = async (ctx: SecretsCtx, tx: Tx, { id, ...of }: Told & { readonly id: string }): Promise<void> => {
  const { projectId, userId, actor } = of
  if (of.endSessions !== null) {
    await endSessions(ctx, tx, { projectId, userId, actor, ...of.endSessions, by: 'pin_changed' })
  }
  await mailUser(ctx, tx, { projectId, userId, change: of.told })
  await deleteSecretChange(tx, id)
}

/**
 * Changes what opens the wallets of an owner. If the owner is a user, tells them and ends their sessions, whatever becomes of this process;
 * others have no sessions, and no address.
 */
export const changeSecret = async <Result>(
  ctx: SecretsCtx,
  { ownerId, secret, ...of }: SecretChange,
  change: () => Promise<Result>,
): Promise<Result> => {
  if (!isUserId(ownerId)) return change()
  const told = { ...of, userId: ownerId }
  const id = await insertSecretChange(ctx.db, { ...told, secret })
  let result: Result
  try {
    result = await change()
  } catch (error) {
    if (isRefusal(error)) await deleteSecretChange(ctx.db, id)
    throw error
  }
  await ctx.db.transaction((tx) => finish(ctx, tx, { ...told, id }))
  return result
}

/** Of changes that a process has left. */
const LEFT = {
  pin: { told: 'pin_perhaps_changed', endSessions: { except: null } },
  recovery_code: { told: 'recovery_code_perhaps_changed', endSessions: null },
  passkey: { told: 'passkey_perhaps_changed', endSessions: null },
} as const satisfies Record<ChangedSecret, Pick<Told, 'told' | 'endSessions'>>

const finishLeft = (ctx: SecretsCtx): Promise<void> =>
  ctx.db.transaction(async (tx) => {
    const left = await lockLeftSecretChanges(tx, { ageSeconds: LEFT_AFTER_SECONDS, limit: AT_ONCE })
    for (const change of left) await finish(ctx, tx, { ...change, ...LEFT[change.secret] })
  })

/** Finishes changes that a process has left: looks at once and every minute. @returns what stops it. */
export const startFinishingSecretChanges = (ctx: SecretsCtx & HasLog): (() => Promise<void>) => {
  let look = Promise.resolve()
  const start = (): void => {
    look = finishLeft(ctx).catch((err: unknown) =>
      ctx.log.warn({ err }, 'could not tell of changes of secrets that a process has left'),
    )
  }
  start()
  const timer = setInterval(start, LOOK_EVERY_MS)
  return async () => {
    clearInterval(timer)
    await look
  }
}
