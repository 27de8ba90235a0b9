import type { Db } from '../../db/client.ts'
import { findLiveApiKeys, type LiveApiKey, touchApiKey } from '../../db/queries/api-keys.ts'
import { findProject } from '../../db/queries/projects.ts'
import { createBatcher } from '../batcher.ts'
import { AppError } from '../errors.ts'
import type { Log } from '../log.ts'
import { hashApiKey } from './api-key.ts'
import type { Caller } from './caller.ts'

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i
const BEARER = /^Bearer +([A-Za-z0-9._~+/=-]{1,4096})$/i
const LAST_USED_PRECISION_MS = 60_000
const MAX_KEYS_A_QUERY = 200

export type Authenticate = (headers: Headers) => Promise<Caller>

/**
 * Tells who is calling from the project header and the bearer token. Every request asks the database, so that a
 * revocation acts at once; requests that arrive together share one query.
 * @throws project_required, project_unknown, project_mismatch, unauthorized, token_source_unsupported.
 */
export const createAuthenticate = (ctx: {
  readonly db: Db
  readonly now: () => Date
  readonly log: Log
}): Authenticate => {
  const findTogether = createBatcher({
    sizeMax: MAX_KEYS_A_QUERY,
    run: async (hashes: readonly Uint8Array[]) => {
      const rows = await findLiveApiKeys(ctx.db, hashes)
      return new Map(rows.map((row) => [Buffer.from(row.hash).toString('hex'), row]))
    },
  })
  const findKey = async (hash: Uint8Array): Promise<LiveApiKey | null> =>
    (await findTogether(hash)).get(Buffer.from(hash).toString('hex')) ?? null

  const noteUse = (key: LiveApiKey): void => {
    if (key.lastUsedAt !== null && ctx.now().getTime() - key.lastUsedAt.getTime() < LAST_USED_PRECISION_MS) return
    touchApiKey(ctx.db, key.id).catch((err: unknown) => ctx.log.warn({ err }, 'could not note the use of an API key'))
  }

  return async (headers) => {
    const projectId = readProjectHeader(headers)
    refuseForeignToken(headers)
    const hash = hashApiKey(BEARER.exec(headers.get('authorization') ?? '')?.[1] ?? '')
    const key = hash === null ? null : await findKey(hash)
    if (key === null || key.projectId !== projectId) {
      if ((await findProject(ctx.db, projectId)) === null) {
        throw new AppError('project_unknown', 'No project has the id in the header X-WalletKit-Project-ID.')
      }
      throw key === null
        ? new AppError('unauthorized', 'The header Authorization must be "Bearer " and a valid API key.')
        : new AppError('project_mismatch', 'The API key belongs to another project than the header names.')
    }
    noteUse(key)
    return { kind: 'api_key', projectId, apiKeyId: key.id, scopes: key.scopes }
  }
}

const readProjectHeader = (headers: Headers): string => {
  const text = (headers.get('x-walletkit-project-id') ?? headers.get('x-project-id') ?? '').trim()
  if (UUID.test(text)) return text.toLowerCase()
  throw new AppError('project_required', 'The header X-WalletKit-Project-ID must be the UUID of your project.')
}

const refuseForeignToken = (headers: Headers): void => {
  const source = headers.get('x-walletkit-token-source')
  if (source !== null && source !== 'walletkit') {
    throw new AppError('token_source_unsupported', 'The header X-WalletKit-Token-Source must be absent or "walletkit".')
  }
}
