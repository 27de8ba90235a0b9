import { createHash, randomBytes } from 'node:crypto'
import type { HasDb } from '../../../db/client.ts'
import { deleteOperator, insertToken, saveOperator } from '../../../db/queries/operators.ts'
import { readPresent } from '../../../db/queries/server.ts'
import type { OperatorRole } from '../../../db/words.ts'
import { operatorMac, operatorTokenMac } from '../../identity/auth/row-macs.ts'
import type { HasAudit } from '../../platform/audit/audit.ts'
import { AppError } from '../../platform/errors.ts'
import type { HasIdentity } from '../../platform/sealing/sealer.ts'

/** 32 random bytes in base64url. */
const SECRET = /^[A-Za-z0-9_-]{43}$/

export const isSecret = (text: string): boolean => SECRET.test(text)

/** What the table has of a secret. */
export const hashOf = (secret: string): Uint8Array => createHash('sha256').update(secret).digest()

export const LINK_MINUTES = 10

/** Short and plain: it is part of the actor's name in the audit. */
const NAME = /^[a-z0-9](?:[a-z0-9._-]{0,30}[a-z0-9])?$/

/** Makes an operator, or gives an existing one this role. @returns the secret of a link that logs them in once. */
export const inviteOperator = async (
  ctx: HasDb & HasIdentity & HasAudit,
  { name, role, actor }: { readonly name: string; readonly role: OperatorRole; readonly actor: string },
): Promise<string> => {
  if (!NAME.test(name)) {
    throw new AppError('invalid_input', 'The name must be 1 to 32 small letters, digits or any of . _ - within it.')
  }
  const secret = randomBytes(32).toString('base64url')
  await ctx.db.transaction(async (tx) => {
    const row = { name, role }
    await saveOperator(tx, { ...row, mac: operatorMac(ctx.identity).of(row) })
    const expiresAt = new Date((await readPresent(tx)).getTime() + LINK_MINUTES * 60_000)
    const link = { hash: hashOf(secret), kind: 'link', operatorName: name, expiresAt } as const
    await insertToken(tx, { ...link, mac: operatorTokenMac(ctx.identity).of(link) })
    await ctx.audit.record(tx, { projectId: null, actor, action: 'operator_invited', subject: name, details: { role } })
  })
  return secret
}

export const removeOperator = (
  ctx: HasDb & HasAudit,
  { name, actor }: { readonly name: string; readonly actor: string },
): Promise<void> =>
  ctx.db.transaction(async (tx) => {
    if (!(await deleteOperator(tx, name))) throw new AppError('not_found', 'There is no operator with this name.')
    await ctx.audit.record(tx, { projectId: null, actor, action: 'operator_removed', subject: name, details: {} })
  })
