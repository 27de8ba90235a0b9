import { LRUCache } from 'lru-cache'
import type { HasDb } from '../../../db/client.ts'
import { endedName, readUnlessEnded } from '../../../db/deciding-rows.ts'
import { findLiveApiKeys, type LiveApiKey, touchApiKey } from '../../../db/queries/api-keys.ts'
import { findProject, type Project } from '../../../db/queries/projects.ts'
import { findLiveSessions } from '../../../db/queries/sessions.ts'
import type { HasClock } from '../../platform/clock.ts'
import type { HasConfig } from '../../platform/config.ts'
import { AppError, type SecurityEvent } from '../../platform/errors.ts'
import { addressOf } from '../../platform/http/peer.ts'
import type { HasLog } from '../../platform/process/log.ts'
import { createBatcher } from '../../platform/queue.ts'
import type { HasIdentity } from '../../platform/sealing/sealer.ts'
import type { HasIssuers } from '../issuers/admit.ts'
import { TOKEN_CHECKS } from '../issuers/verify-token.ts'
import type { HasSecurityEvents } from '../security-events.ts'
import type { HasTokens } from './access-token.ts'
import { hashApiKey } from './api-key.ts'
import { actorOf, type Caller } from './caller.ts'
import { bearerOf, readProjectHeader, tokenSourceNamedBy } from './caller-headers.ts'
import { apiKeyMac, isOurs, isOver, projectMac, sessionMac } from './row-macs.ts'

const LAST_USED_PRECISION_MS = 60_000
const MAX_KEYS_A_QUERY = 200

export type AuthenticateCtx = HasDb &
  HasClock &
  HasLog &
  HasTokens &
  HasIssuers &
  HasConfig &
  HasIdentity &
  HasSecurityEvents

const ADMITTED_MAX = 100_000

type Lookup<Row> = {
  readonly table: 'api_keys' | 'sessions'
  readonly find: (ids: readonly string[]) => Promise<readonly Row[]>
  readonly idOf: (row: Row) => string
  readonly isOurs: (row: Row) => boolean
}

/**
 * Simultaneous look-ups share a query. A row that was admitted and has gone is ended for good: if the database shows it
 * again, an attacker has put it back, and it is not admitted.
 */
const batchedLookup = <Row extends { readonly id: string }>({ db }: HasDb, lookup: Lookup<Row>) => {
  const { table, find, idOf, isOurs: isAdmitted } = lookup
  const admitted = new LRUCache<string, string>({ max: ADMITTED_MAX })
  const hasEnded = ({ id }: Row): boolean => db.ended.has(endedName(table, [id]))
  const findBatched = createBatcher({
    sizeMax: MAX_KEYS_A_QUERY,
    run: async (some: readonly string[]) => {
      // Often many requests carry the same key.
      const ids = [...new Set(some)]
      const rows = await readUnlessEnded(
        () => find(ids),
        (found) => found.some(hasEnded),
      )
      const live = new Set(rows.map(idOf))
      for (const id of ids) {
        const known = admitted.get(id)
        if (known !== undefined && !live.has(id)) db.ended.add(endedName(table, [known]))
      }
      const own = rows.filter(isAdmitted)
      for (const row of own) admitted.set(idOf(row), row.id)
      return new Map(own.map((row) => [idOf(row), row]))
    },
  })
  return async (id: string): Promise<Row | null> => (await findBatched(id)).get(id) ?? null
}

/** Each request queries the database, so a revocation takes effect at once. Simultaneous requests share a query. */
export const createAuthenticate = (ctx: AuthenticateCtx): ((request: Request) => Promise<Caller>) => {
  const hexOf = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')
  const macs = { ofKeys: apiKeyMac(ctx.identity), ofSessions: sessionMac(ctx.identity) }
  const findKey = batchedLookup(ctx, {
    table: 'api_keys',
    find: (hashes) => findLiveApiKeys(ctx.db, hashes),
    idOf: ({ hash }) => hexOf(hash),
    isOurs: (row) => !isOver(ctx, row) && isOurs(ctx, macs.ofKeys, row),
  })
  const findSession = batchedLookup(ctx, {
    table: 'sessions',
    find: (ids) => findLiveSessions(ctx.db, ids),
    idOf: ({ id }) => id,
    isOurs: (row) => isOurs(ctx, macs.ofSessions, row),
  })

  const noteUse = (key: LiveApiKey): void => {
    if (key.lastUsedAt !== null && ctx.now().getTime() - key.lastUsedAt.getTime() < LAST_USED_PRECISION_MS) return
    touchApiKey(ctx.db, key.id).catch((err: unknown) => ctx.log.warn({ err }, 'could not note the use of an API key'))
  }

  const callerOf = async (bearer: string, address: string): Promise<Caller | null> => {
    const hash = hashApiKey(bearer)
    if (hash !== null) {
      const key = await findKey(hexOf(hash))
      if (key === null) return null
      noteUse(key)
      return { kind: 'api_key', projectId: key.projectId, apiKeyId: key.id, scopes: key.scopes, address }
    }
    const token = bearer === '' ? null : await ctx.tokens.verify(bearer)
    if (token === null) return null
    const { projectId, userId, sessionId } = token
    const session = token.expiresAtMs <= ctx.now().getTime() ? null : await findSession(sessionId)
    // The session must belong to the user and the project that the token names.
    if (session?.projectId !== projectId || session.userId !== userId) {
      const sentence = 'The access token has expired, or its session has ended; log in again.'
      // Take the project from the session: the one in the token may not exist.
      const event = session && ({ kind: 'session_mismatch', projectId: session.projectId, subject: sessionId } as const)
      throw new AppError('session_ended', sentence, { event: event ?? undefined })
    }
    return { kind: 'user', projectId, userId, sessionId, address }
  }

  return async (request) => {
    const { headers } = request
    const projectId = readProjectHeader(headers)
    const address = addressOf(ctx.config, request)
    const source = foreignSourceOf(headers)
    if (source !== null) return callerByIssuer(ctx, { projectId, source, headers, address })
    const caller = await callerOf(bearerOf(headers), address)
    if (caller?.projectId === projectId) return caller
    await requireProject(ctx, projectId)
    if (caller !== null) {
      const event = { kind: 'project_mismatch', projectId, actor: actorOf(caller), subject: projectId } as const
      const sentence = 'The API key or access token belongs to another project than the header names.'
      throw new AppError('project_mismatch', sentence, { event })
    }
    const event = refusedBearer(headers, projectId)
    const sentence = 'The header Authorization must be "Bearer " and a valid API key or access token.'
    throw new AppError('unauthorized', sentence, { event })
  }
}

/** A request without a bearer token does not count as a security event: it is usually a programming mistake. */
const refusedBearer = (headers: Headers, projectId: string): SecurityEvent | undefined => {
  const bearer = bearerOf(headers)
  if (bearer === '') return headers.has('authorization') ? { kind: 'bearer_malformed', projectId } : undefined
  return { kind: hashApiKey(bearer) === null ? 'access_token_forged' : 'api_key_unknown', projectId }
}

type ProjectCtx = HasDb & HasIdentity & HasSecurityEvents

/** @returns null for an unknown project, and if another program than the service wrote its settings. */
export const findOwnProject = async (ctx: ProjectCtx, id: string): Promise<Project | null> => {
  const row = await findProject(ctx.db, id)
  return row !== null && isOurs(ctx, projectMac(ctx.identity), { ...row, projectId: id }) ? row : null
}

/** @throws project_unknown where `findOwnProject` returns null. */
export const requireProject = async (ctx: ProjectCtx, projectId: string): Promise<Project> => {
  const project = await findOwnProject(ctx, projectId)
  if (project !== null) return project
  throw new AppError('project_unknown', 'No project has the id in the header X-WalletKit-Project-ID.')
}

/** The issuer whose token a request has; null for an API key and our own access tokens. */
const foreignSourceOf = (headers: Headers): string | null => {
  const source = tokenSourceNamedBy(headers)
  return source === null || source === 'walletkit' ? null : source
}

type ByIssuer = {
  readonly projectId: string
  readonly source: string
  readonly headers: Headers
  readonly address: string
}

const callerByIssuer = async (
  ctx: AuthenticateCtx,
  { projectId, source, headers, address }: ByIssuer,
): Promise<Caller> => {
  const token = bearerOf(headers)
  const admitted = await ctx.issuers.admit({ projectId, name: source, token })
  if (admitted.kind === 'user') {
    const { userId, authenticatedAt: issuedLoginAt, issuerToken } = admitted
    return { kind: 'user', projectId, userId, sessionId: null, issuedLoginAt, issuerToken, address }
  }
  await requireProject(ctx, projectId)
  if (admitted.kind === 'no_issuer') {
    const sentence =
      'The header X-WalletKit-Token-Source must be absent, "walletkit" or the name of an issuer of the project.'
    throw new AppError('token_source_unsupported', sentence)
  }
  const { check } = admitted
  const sentence = `The header Authorization must be "Bearer " and a token of the issuer that counts: ${TOKEN_CHECKS[check]}.`
  const event = { kind: 'issuer_token_refused', projectId, details: { source, check } } as const
  throw new AppError('unauthorized', sentence, { event: token === '' ? refusedBearer(headers, projectId) : event })
}
