import { randomUUID } from 'node:crypto'
import { insertApiKey, insertProject } from '../../db/queries/projects.ts'
import { API_KEY_SCOPES } from '../../db/words.ts'
import { newApiKey } from '../auth/api-key.ts'
import type { Ctx } from '../context.ts'
import { TESTNET_DEVELOPER_SECRET } from '../custody/vault.ts'
import { AppError } from '../errors.ts'
import { createProjectWallet } from './wallet.ts'

const MAX_NAME_LENGTH = 256

export type NewProject = { readonly projectId: string; readonly apiKey: string }

/**
 * Makes a project with a first API key, and on testnet its project wallets on every network that is served.
 * On mainnet the developer's secret, and with it the wallets, come with the activation.
 * @returns the API key's text: it is shown here once and kept nowhere.
 */
export const createProject = async (
  ctx: Ctx,
  input: { readonly name: string; readonly actor: string },
): Promise<NewProject> => {
  const name = input.name.trim()
  if (name.length === 0 || name.length > MAX_NAME_LENGTH) {
    throw new AppError('invalid_input', `The name must be a text of 1 to ${MAX_NAME_LENGTH} characters.`)
  }
  const projectId = randomUUID()
  const developerSecret = ctx.config.environment === 'testnet' ? TESTNET_DEVELOPER_SECRET : null
  const apiKey = newApiKey()
  const apiKeyId = randomUUID()
  const apiKeyName = 'First key'
  const keys = await ctx.vault.newProject({ projectId, developerSecret, actor: input.actor })
  await ctx.db.transaction(async (tx) => {
    await insertProject(tx, { id: projectId, name, activatedAt: developerSecret === null ? null : ctx.now() })
    await keys.write(tx)
    await insertApiKey(tx, { id: apiKeyId, projectId, name: apiKeyName, hash: apiKey.hash, scopes: API_KEY_SCOPES })
    await ctx.vault.recordAct(tx, {
      projectId,
      actor: input.actor,
      action: 'api_key_created',
      subject: apiKeyId,
      details: { name: apiKeyName },
    })
  })
  if (developerSecret !== null) {
    for (const { network } of ctx.chains.all) {
      await createProjectWallet(ctx, { projectId, network, developerSecret, actor: input.actor })
    }
  }
  return { projectId, apiKey: apiKey.text }
}
