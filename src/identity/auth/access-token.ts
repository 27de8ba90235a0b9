// Access tokens: JWTs (RFC 7519) signed with Ed25519 (RFC 8037). The signing keys are in the database, sealed with the
// identity key, which only the API has. A key is published before it signs, and stays published until the last token
// that it signed has expired.

import {
  calculateJwkThumbprint,
  decodeProtectedHeader,
  errors,
  exportJWK,
  generateKeyPair,
  importJWK,
  type JWTPayload,
  jwtVerify,
  SignJWT,
} from 'jose'
import { LRUCache } from 'lru-cache'
import type { Db, Tx } from '../../../db/client.ts'
import {
  dropAllTokenKeys,
  dropOldTokenKeys,
  insertTokenKey,
  listTokenKeys,
  lockTokenKeys,
  type TokenKeyRow,
} from '../../../db/queries/token-keys.ts'
import { repeat } from '../../platform/clock.ts'
import type { Config } from '../../platform/config.ts'
import { AppError } from '../../platform/errors.ts'
import type { Log } from '../../platform/process/log.ts'
import type { Sealer } from '../../platform/sealing/sealer.ts'
import type { SecurityEvents } from '../security-events.ts'
import { reportForged } from './row-macs.ts'

// A row of a key that signs access tokens. Its private half is sealed with the identity key. The seal names the row's
// id, which is the thumbprint of the public key: so an attacker with the database but without the identity key can add
// no public key under which we would accept tokens.

const PURPOSE = 'token key'

type KeyRow = Pick<TokenKeyRow, 'id' | 'publicKey' | 'sealed'>

/** A row's id: the JWK thumbprint (RFC 7638) of an Ed25519 key. @param x the public key, as in a JWK. */
const tokenKeyIdOf = (x: string): Promise<string> => calculateJwkThumbprint({ kty: 'OKP', crv: 'Ed25519', x })

/** @param input.plaintext the private key, 32 bytes; the caller zeroes it. */
export const sealTokenKey = (
  identity: Pick<Sealer, 'seal'>,
  input: { readonly id: string; readonly plaintext: Uint8Array },
): Uint8Array => identity.seal({ purpose: PURPOSE, rowId: input.id, plaintext: input.plaintext })

/** @returns the private key, which the caller zeroes. @throws Error if the row was not sealed by us. */
export const openTokenKey = (identity: Pick<Sealer, 'open'>, { id, sealed }: KeyRow): Uint8Array =>
  identity.open({ purpose: PURPOSE, rowId: id, sealed })

/** Whether a process with the identity key made the row. @throws unavailable if the key was changed meanwhile. */
export const isOwnTokenKey = async (identity: Pick<Sealer, 'open'>, row: KeyRow): Promise<boolean> => {
  if ((await tokenKeyIdOf(row.publicKey)) !== row.id) return false
  try {
    openTokenKey(identity, row).fill(0)
    return true
  } catch (error) {
    if (error instanceof AppError && error.code === 'unavailable') throw error
    return false
  }
}

const ALGORITHM = 'EdDSA'
/** Each process reads the keys again after this time, so a new or dropped key takes effect within it. */
const KEYS_KEPT_MS = 30_000
/** A token with an unknown key makes us read the keys again, but not more often than this. */
const UNKNOWN_KEY_PAUSE_MS = 1_000
const ROTATION_DAYS = 30
/** Longer than clients cache the published keys. */
const PUBLISHED_BEFORE_SECONDS = 3_600
export const JWKS_MAX_AGE_SECONDS = 300
const VERIFIED_TOKENS_MAX = 10_000

type AccessClaims = {
  readonly projectId: string
  readonly userId: string
  readonly sessionId: string
  /** An access token never outlives its session. */
  readonly sessionExpiresAt: Date
  readonly email: string | null
  readonly hasPasskeys: boolean
  readonly signInWallet: string | null
}

/** What a valid signature proves. The caller must still check that the session is live. */
type VerifiedToken = {
  readonly projectId: string
  readonly userId: string
  readonly sessionId: string
  readonly expiresAtMs: number
}

type AccessTokens = ReturnType<typeof createAccessTokens>

export type HasTokens = { readonly tokens: AccessTokens }

type KeysCtx = {
  readonly db: Db
  readonly identity: Sealer
  readonly config: Pick<Config, 'accessTokenSeconds'>
}

const addKey = async (ctx: KeysCtx, tx: Tx, signsInSeconds: number): Promise<string> => {
  const { privateKey } = await generateKeyPair(ALGORITHM, { crv: 'Ed25519', extractable: true })
  const { x, d } = await exportJWK(privateKey)
  if (x === undefined || d === undefined) throw new Error('an Ed25519 key has x and d')
  const id = await tokenKeyIdOf(x)
  const plaintext = Buffer.from(d, 'base64url')
  const sealed = sealTokenKey(ctx.identity, { id, plaintext })
  plaintext.fill(0)
  const { accessTokenSeconds: tokenSeconds } = ctx.config
  await insertTokenKey(tx, { id, publicKey: x, sealed, signsInSeconds, tokenSeconds })
  return id
}

/** The rows of the table that we made, oldest first. */
const listOwnKeys = async (
  { identity }: Pick<KeysCtx, 'identity'>,
  db: Db | Tx,
  onForged: (row: TokenKeyRow) => void = () => {},
): Promise<readonly TokenKeyRow[]> => {
  const own: TokenKeyRow[] = []
  for (const row of await listTokenKeys(db)) {
    if (await isOwnTokenKey(identity, row)) own.push(row)
    else onForged(row)
  }
  return own
}

export const rotateTokenKeys = async (ctx: KeysCtx, now: Date): Promise<void> => {
  await ctx.db.transaction(async (tx) => {
    await lockTokenKeys(tx)
    await dropOldTokenKeys(tx)
    const newest = (await listOwnKeys(ctx, tx)).at(-1)
    const due = newest !== undefined && newest.signsFrom.getTime() + ROTATION_DAYS * 86_400_000 <= now.getTime()
    if (due) await addKey(ctx, tx, PUBLISHED_BEFORE_SECONDS)
  })
}

/** A key signs for 30 days and is published an hour before, so a few minutes do not matter. */
const CHECK_INTERVAL_MS = 600_000

/**
 * Each API process checks, as the worker has no such key. A lock lets only one of them create the next key.
 * @returns a function that stops the checks; call it before the database is closed.
 */
export const startRotatingTokenKeys = (
  ctx: KeysCtx & { readonly now: () => Date; readonly log: Log },
): (() => Promise<void>) =>
  repeat({
    everyMs: CHECK_INTERVAL_MS,
    isAtOnce: true,
    work: () =>
      rotateTokenKeys(ctx, ctx.now()).catch((err: unknown) => {
        ctx.log.warn({ err }, 'could not check whether the keys of access tokens are due for rotation')
      }),
  })

/** Replaces all keys by a new one. Every access token becomes invalid within 30 seconds. @returns the new key's id. */
export const replaceTokenKeys = (ctx: KeysCtx, also: (tx: Tx, id: string) => Promise<void>): Promise<string> =>
  ctx.db.transaction(async (tx) => {
    await lockTokenKeys(tx)
    await dropAllTokenKeys(tx)
    const id = await addKey(ctx, tx, 0)
    await also(tx, id)
    return id
  })

const jwkOf = (row: Pick<TokenKeyRow, 'id' | 'publicKey'>) => ({
  kty: 'OKP',
  crv: 'Ed25519',
  x: row.publicKey,
  kid: row.id,
  alg: ALGORITHM,
  use: 'sig',
})

type Key = Awaited<ReturnType<typeof importJWK>>

type TokensCtx = KeysCtx & { readonly now: () => Date; readonly securityEvents: SecurityEvents }

/** Caches the keys as last read. A private key is decrypted when it first signs. */
const createKeyring = (ctx: TokensCtx) => {
  let rows: readonly TokenKeyRow[] = []
  let readAtMs = Number.NEGATIVE_INFINITY
  /** When the other identity key is retired, the rows are sealed anew, or replaced. */
  let readWith = ctx.identity.other()
  let reading: Promise<void> | null = null
  const publicKeys = new Map<string, Promise<Key>>()
  const privateKeys = new Map<string, Promise<Key>>()

  const read = (): Promise<void> => {
    const other = ctx.identity.other()
    reading ??= listOwnKeys(ctx, ctx.db, ({ id }) => reportForged(ctx, { table: 'token_keys', id, projectId: null }))
      .then((found) => {
        rows = found
        readWith = other
        readAtMs = ctx.now().getTime()
        for (const keys of [publicKeys, privateKeys]) {
          for (const id of keys.keys()) if (!found.some((row) => row.id === id)) keys.delete(id)
        }
      })
      .finally(() => {
        reading = null
      })
    return reading
  }
  const current = async (maxAgeMs = KEYS_KEPT_MS): Promise<readonly TokenKeyRow[]> => {
    if (ctx.now().getTime() - readAtMs >= maxAgeMs || readWith !== ctx.identity.other()) await read()
    return rows
  }
  const rowOf = async (id: string): Promise<TokenKeyRow | undefined> =>
    (await current()).find((row) => row.id === id) ?? (await current(UNKNOWN_KEY_PAUSE_MS)).find((row) => row.id === id)

  const once = (keys: Map<string, Promise<Key>>, id: string, open: () => Promise<Key>): Promise<Key> => {
    const key = keys.get(id) ?? open()
    keys.set(id, key)
    return key
  }
  const signing = (all: readonly TokenKeyRow[]) => all.findLast((row) => row.signsFrom.getTime() <= ctx.now().getTime())

  return {
    current,
    knows: async (id: string): Promise<boolean> => (await rowOf(id)) !== undefined,
    publicKey: async (id: string): Promise<Key | null> => {
      const row = await rowOf(id)
      return row === undefined ? null : once(publicKeys, id, () => importJWK(jwkOf(row), ALGORITHM))
    },
    /** The newest key whose time to sign has come. Creates the first key of a deployment. */
    signingKey: async (): Promise<{ readonly id: string; readonly key: Key }> => {
      if (signing(await current()) === undefined) {
        await ctx.db.transaction(async (tx) => {
          await lockTokenKeys(tx)
          if ((await listOwnKeys(ctx, tx)).length === 0) await addKey(ctx, tx, 0)
        })
        await read()
      }
      const row = signing(rows) ?? rows[0]
      if (row === undefined) throw new Error('there is no key for access tokens')
      const open = () => {
        const plaintext = openTokenKey(ctx.identity, row)
        const d = Buffer.from(plaintext).toString('base64url')
        plaintext.fill(0)
        return importJWK({ ...jwkOf(row), d }, ALGORITHM)
      }
      return { id: row.id, key: await once(privateKeys, row.id, open) }
    },
  }
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

const verifiedOf = (payload: JWTPayload): VerifiedToken => ({
  projectId: textOf(payload.aud),
  userId: textOf(payload.sub),
  sessionId: textOf(payload.session_id),
  expiresAtMs: (payload.exp ?? 0) * 1_000,
})

/** Base64url without padding. The last of a signature's 86 characters has four unused bits, which must be zero. */
const SPELLING = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]{85}[AQgw]$/

const headerOf = (keyId: string) => ({ alg: ALGORITHM, typ: 'JWT', kid: keyId }) as const

/** null for a token that `issue` cannot have written. */
const keyIdOf = (token: string): string | null => {
  if (!SPELLING.test(token)) return null
  try {
    const { kid = '' } = decodeProtectedHeader(token)
    const header = Buffer.from(JSON.stringify(headerOf(kid))).toString('base64url')
    return token.startsWith(`${header}.`) ? kid : null
  } catch {
    return null
  }
}

export const createAccessTokens = (
  ctx: TokensCtx & { readonly config: Pick<Config, 'accessTokenSeconds' | 'publicBaseUrl'> },
) => {
  const { publicBaseUrl: issuer, accessTokenSeconds } = ctx.config
  const keyring = createKeyring(ctx)
  const verified = new LRUCache<string, { readonly keyId: string; readonly token: VerifiedToken }>({
    max: VERIFIED_TOKENS_MAX,
  })

  return {
    issue: async (claims: AccessClaims): Promise<{ readonly token: string; readonly expiresAt: Date }> => {
      const { id, key } = await keyring.signingKey()
      const issuedAt = Math.floor(ctx.now().getTime() / 1_000)
      const sessionEnd = Math.floor(claims.sessionExpiresAt.getTime() / 1_000)
      const expiresAt = Math.min(issuedAt + accessTokenSeconds, sessionEnd)
      const token = await new SignJWT({
        session_id: claims.sessionId,
        ...(claims.email === null ? {} : { email: claims.email }),
        ...(claims.hasPasskeys ? { has_passkey_credentials: true } : {}),
        ...(claims.signInWallet === null ? {} : { siwe_wallet_address: claims.signInWallet }),
      })
        .setProtectedHeader(headerOf(id))
        .setIssuer(issuer)
        .setAudience(claims.projectId)
        .setSubject(claims.userId)
        .setIssuedAt(issuedAt)
        .setExpirationTime(expiresAt)
        .sign(key)
      return { token, expiresAt: new Date(expiresAt * 1_000) }
    },

    /** null for a token that we did not sign. An expired token is returned too, because logout accepts one. */
    verify: async (token: string): Promise<VerifiedToken | null> => {
      const known = verified.get(token)
      if (known !== undefined) return (await keyring.knows(known.keyId)) ? known.token : null
      const keyId = keyIdOf(token)
      const key = keyId === null ? null : await keyring.publicKey(keyId)
      if (keyId === null || key === null) return null
      try {
        const required = { algorithms: [ALGORITHM], issuer, requiredClaims: ['aud', 'sub', 'exp', 'session_id'] }
        const { payload } = await jwtVerify(token, key, { ...required, currentDate: new Date(0) })
        const read = verifiedOf(payload)
        verified.set(token, { keyId, token: read })
        return read
      } catch (error) {
        if (error instanceof errors.JOSEError) return null
        throw error
      }
    },

    jwks: async () => ({ keys: (await keyring.current()).map(jwkOf) }),
  }
}
