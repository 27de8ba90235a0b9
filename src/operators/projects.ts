import { randomUUID } from 'node:crypto'
import type { HasDb } from '../../db/client.ts'
import {
  findProject,
  insertProject,
  markProjectActivated,
  type Project,
  listProjects as selectProjects,
} from '../../db/queries/projects.ts'
import { API_KEY_SCOPES } from '../../db/words.ts'
import { addApiKey } from '../identity/api-keys/api-keys.ts'
import { projectMac } from '../identity/auth/row-macs.ts'
import type { HasConfig } from '../platform/config.ts'
import { noSuchProject } from '../platform/errors.ts'
import { readGiven } from '../platform/http/text.ts'
import type { HasIdentity } from '../platform/sealing/sealer.ts'
import { projectWallet } from '../signing/wallets/create.ts'
import { TESTNET_DEVELOPER_SECRET } from '../vault/contract/contract.ts'
import type { OperatorCtx } from './ctx.ts'

type WithSecret = { readonly projectId: string; readonly developerSecret: string; readonly actor: string }

const createProjectWallets = async (ctx: OperatorCtx, input: WithSecret): Promise<void> => {
  for (const { network } of ctx.chains.served) await projectWallet(ctx, { ...input, network })
}

export const insertNewProject = async (
  { db, config, identity }: HasDb & HasConfig & HasIdentity,
  { id, name }: { readonly id: string; readonly name: string },
): Promise<void> => {
  // Off on mainnet, because bots could create any number of anonymous users. The project can turn it on.
  const anonymousLogin = config.environment === 'testnet'
  const settings = { id, allowedOrigins: [], returnAddresses: [], passkeyRpId: null, anonymousLogin }
  await insertProject(db, { ...settings, name, activatedAt: null, mac: projectMac(identity).of(settings) })
}

export type NewProject = { readonly projectId: string; readonly apiKey: string }

/**
 * Creates a project with a first API key, and on testnet its wallets on all served networks; on mainnet the activation
 * does that.
 * @returns the API key's text, which is shown only here.
 */
export const createProject = async (
  ctx: OperatorCtx,
  input: { readonly name: string; readonly actor: string },
): Promise<NewProject> => {
  const name = readGiven('name', input.name)
  const projectId = randomUUID()
  const isTestnet = ctx.config.environment === 'testnet'
  const developerSecret = isTestnet ? TESTNET_DEVELOPER_SECRET : null
  await insertNewProject(ctx, { id: projectId, name })
  const { actor } = input
  await ctx.vault.newProject({ projectId, developerSecret, actor, about: JSON.stringify({ name }) })
  // Last, so that no caller can use what is half made.
  const apiKey = await ctx.db.transaction(async (tx) => {
    if (developerSecret !== null) await markProjectActivated(tx, { projectId, at: ctx.now() })
    return addApiKey(ctx, tx, { projectId, name: 'First key', scopes: API_KEY_SCOPES, expiresAt: null, actor })
  })
  if (developerSecret !== null) await createProjectWallets(ctx, { projectId, developerSecret, actor })
  return { projectId, apiKey: apiKey.text }
}

/** Sets the developer's secret and creates the project wallets. A repeated call or a request creates a missing one. */
export const activateProject = async (ctx: OperatorCtx, input: WithSecret): Promise<void> => {
  await ctx.vault.activateProject(input)
  await markProjectActivated(ctx.db, { projectId: input.projectId, at: ctx.now() })
  await createProjectWallets(ctx, input)
}

type ListedProject = {
  readonly id: string
  readonly name: string
  readonly created_at: string
  readonly activated_at: string | null
  readonly anonymous_login: boolean
}

type ShownProject = ListedProject & {
  readonly allowed_origins: readonly string[]
  readonly return_addresses: readonly string[]
  /** null: the host of the calling page. */
  readonly passkey_domain: string | null
}

const listed = (row: Project): ListedProject => ({
  id: row.id,
  name: row.name,
  created_at: row.createdAt.toISOString(),
  activated_at: row.activatedAt?.toISOString() ?? null,
  anonymous_login: row.anonymousLogin,
})

export const listProjects = async (ctx: HasDb): Promise<readonly ListedProject[]> =>
  (await selectProjects(ctx.db)).map(listed)

export const showProject = async (ctx: HasDb, { projectId }: { readonly projectId: string }): Promise<ShownProject> => {
  const row = await findProject(ctx.db, projectId)
  if (row === null) throw noSuchProject()
  const { allowedOrigins, returnAddresses, passkeyRpId } = row
  return {
    ...listed(row),
    allowed_origins: allowedOrigins,
    return_addresses: returnAddresses,
    passkey_domain: passkeyRpId,
  }
}
