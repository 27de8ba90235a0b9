import { randomUUID } from 'node:crypto'
import type { HasDb, Tx } from '../../../db/client.ts'
import {
  type ApiKeyRow,
  findApiKey,
  insertApiKey,
  listApiKeys as selectApiKeys,
  revokeApiKey as update,
} from '../../../db/queries/api-keys.ts'
import { findProject } from '../../../db/queries/projects.ts'
import type { ApiKeyScope } from '../../../db/words.ts'
import type { HasAudit } from '../../platform/audit/audit.ts'
import type { HasClock } from '../../platform/clock.ts'
import { AppError, invalidInput, noSuchProject } from '../../platform/errors.ts'
import { readGiven } from '../../platform/http/text.ts'
import type { HasIdentity } from '../../platform/sealing/sealer.ts'
import { newApiKey } from '../auth/api-key.ts'
import { apiKeyMac } from '../auth/row-macs.ts'

type NewApiKeyInput = {
  readonly projectId: string
  readonly name: string
  readonly scopes: readonly ApiKeyScope[]
  readonly expiresAt: Date | null
  readonly actor: string
}

/** @param text shown once and not stored. */
type MadeApiKey = { readonly id: string; readonly text: string }

export const addApiKey = async (ctx: HasAudit & HasIdentity, tx: Tx, input: NewApiKeyInput): Promise<MadeApiKey> => {
  const { projectId, name, scopes, expiresAt, actor } = input
  const { text, hash } = newApiKey()
  const id = randomUUID()
  const facts = { id, projectId, hash, scopes, expiresAt }
  await insertApiKey(tx, { ...facts, name, mac: apiKeyMac(ctx.identity).of(facts) })
  await ctx.audit.record(tx, {
    projectId,
    actor,
    action: 'api_key_created',
    subject: id,
    details: { name, scopes: scopes.join(' '), ...(expiresAt === null ? {} : { expires_at: expiresAt.toISOString() }) },
  })
  return { id, text }
}

/** @throws invalid_input for a bad name, no scope or a past expiry. */
export const createApiKey = async (
  ctx: HasDb & HasAudit & HasIdentity & HasClock,
  input: NewApiKeyInput,
): Promise<MadeApiKey> => {
  const name = readGiven('name', input.name)
  if (input.scopes.length === 0) throw invalidInput('An API key must have at least one scope.')
  if (input.expiresAt !== null && input.expiresAt <= ctx.now()) {
    throw invalidInput('The expiry must be in the future.')
  }
  if ((await findProject(ctx.db, input.projectId)) === null) throw noSuchProject()
  return ctx.db.transaction((tx) => addApiKey(ctx, tx, { ...input, name }))
}

/** A project's API keys, oldest first, including revoked and expired ones. */
export const listApiKeys = async (ctx: HasDb, projectId: string): Promise<readonly ApiKeyRow[]> => {
  if ((await findProject(ctx.db, projectId)) === null) throw noSuchProject()
  return selectApiKeys(ctx.db, projectId)
}

/** Every process refuses it from the next request on. Idempotent. @returns false if it was already revoked. */
export const revokeApiKey = async (
  ctx: HasDb & HasAudit,
  input: { readonly id: string; readonly actor: string },
): Promise<boolean> => {
  const revoked = await ctx.db.transaction(async (tx) => {
    const key = await update(tx, input.id)
    if (key === null) return false
    await ctx.audit.record(tx, {
      projectId: key.projectId,
      actor: input.actor,
      action: 'api_key_revoked',
      subject: key.id,
      details: { name: key.name },
    })
    return true
  })
  if (!revoked && (await findApiKey(ctx.db, input.id)) === null) {
    throw new AppError('not_found', 'There is no API key with this id.')
  }
  return revoked
}
