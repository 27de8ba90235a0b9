// What the login page asks an issuer: OpenID Connect's code flow with PKCE, by openid-client. Each request goes through
// our own guard.

import { LRUCache } from 'lru-cache'
import {
  AuthorizationResponseError,
  allowInsecureRequests,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  ClientError,
  ClientSecretBasic,
  ClientSecretPost,
  Configuration,
  type CustomFetch,
  customFetch,
  discovery,
  None,
  ResponseBodyError,
  type ServerMetadata,
  WWWAuthenticateChallengeError,
} from 'openid-client'
import type { IssuerRow } from '../../../db/queries/issuers.ts'
import type { HasConfig } from '../../platform/config.ts'
import { OutgoingError, sendOutgoing } from '../../platform/process/outgoing.ts'
import type { HasIdentity } from '../../platform/sealing/sealer.ts'
import { openClientSecret } from './client-secret.ts'

const LIMITS = { maxBytes: 65_536, timeoutMs: 5_000 }
const FRESH_MS = 600_000
const ISSUERS_MAX = 1_000

/** The issuer asks the user again after this time, so a login here is as fresh as one in another way. */
const LOGIN_SECONDS_MAX = 300

export type IssuerRefusal = 'cancelled' | 'refused' | 'away' | 'stale'

export class IssuerLoginError extends Error {
  readonly why: IssuerRefusal
  constructor(why: IssuerRefusal, cause: unknown) {
    super('The login at the issuer failed.', { cause })
    this.why = why
  }
}

type ProviderCtx = HasConfig & HasIdentity

export type LoginIssuer = IssuerRow & { readonly clientId: string }

const guarded =
  (ctx: ProviderCtx): CustomFetch =>
  async (url, { method, headers, body }) => {
    const {
      status,
      headers: answered,
      text,
      missing,
    } = await sendOutgoing(ctx, {
      ...LIMITS,
      url,
      method: method === 'POST' ? 'POST' : 'GET',
      headers,
      ...(body != null && { body: String(body) }),
    })
    if (missing !== null) throw new OutgoingError(`The server ${missing}.`)
    // A redirect does not count as an answer here, and a body does not go with each status.
    if (status < 200 || status > 599 || [204, 205, 304].includes(status)) {
      throw new OutgoingError(`The server answered with status ${status}.`)
    }
    const type = answered['content-type']
    return new Response(text, { status, headers: type === undefined ? {} : { 'content-type': type } })
  }

const isHttp = (issuer: string): boolean => new URL(issuer).protocol === 'http:'

/** OpenID Connect Discovery 1.0 §3: without a list it is `client_secret_basic`. */
const authenticationOf = (
  { token_endpoint_auth_methods_supported: methods }: ServerMetadata,
  secret: string | null,
) => {
  if (secret === null) return None()
  return methods === undefined || methods.includes('client_secret_basic')
    ? ClientSecretBasic(secret)
    : ClientSecretPost(secret)
}

/** Pages of an issuer by https, or by http if we ask the issuer by that too: nothing else may be opened. */
const requirePage = (issuer: string, { authorization_endpoint: page = '' }: ServerMetadata): void => {
  const protocol = URL.canParse(page) ? new URL(page).protocol : ''
  if (protocol === 'https:' || (protocol === 'http:' && isHttp(issuer))) return
  throw new IssuerLoginError('refused', new Error('The authorization endpoint is no page.'))
}

/** RFC 6749's word, and those of Facebook, Apple (`user_cancelled_authorize`) and LinkedIn (`user_cancelled_login`). */
const CANCELLED = /^(?:access_denied|user_denied|user_cancell?ed(?:_[a-z]+)*)$/

/** The sentence for the log has no secret: what the library and the issuer say about a failure. */
const whyOf = (error: unknown): IssuerRefusal => {
  if (error instanceof AuthorizationResponseError) {
    if (CANCELLED.test(error.error)) return 'cancelled'
    return ['server_error', 'temporarily_unavailable'].includes(error.error) ? 'away' : 'refused'
  }
  return error instanceof ClientError && error.cause instanceof OutgoingError ? 'away' : 'refused'
}

const REFUSALS = [AuthorizationResponseError, ClientError, ResponseBodyError, WWWAuthenticateChallengeError, TypeError]

/** An answer that the library refuses. A TypeError is about the issuer's documents, such as one without an endpoint. */
const isRefusal = (error: unknown): boolean => REFUSALS.some((kind) => error instanceof kind)

const orRefusal = async <Value>(work: () => Promise<Value>): Promise<Value> => {
  try {
    return await work()
  } catch (error) {
    throw isRefusal(error) ? new IssuerLoginError(whyOf(error), error) : error
  }
}

const createConfigurations = (ctx: ProviderCtx) => {
  const documents = new LRUCache<string, ServerMetadata>({ max: ISSUERS_MAX, ttl: FRESH_MS })
  const fetch = guarded(ctx)

  const documentOf = async ({ issuer, clientId }: LoginIssuer): Promise<ServerMetadata> => {
    const known = documents.get(issuer)
    if (known !== undefined) return known
    const found = await discovery(new URL(issuer), clientId, undefined, None(), {
      [customFetch]: fetch,
      execute: isHttp(issuer) ? [allowInsecureRequests] : [],
    })
    const document = { ...found.serverMetadata() }
    documents.set(issuer, document)
    return document
  }

  return async (issuer: LoginIssuer): Promise<Configuration> => {
    const document = await documentOf(issuer)
    const opened = openClientSecret(ctx.identity, issuer)
    if (opened === null) throw new IssuerLoginError('refused', new Error('The client secret is not as we sealed it.'))
    const configuration = new Configuration(document, issuer.clientId, {}, authenticationOf(document, opened.secret))
    configuration[customFetch] = fetch
    if (isHttp(issuer.issuer)) allowInsecureRequests(configuration)
    return configuration
  }
}

export const createProvider = (ctx: ProviderCtx) => {
  const configurationOf = createConfigurations(ctx)
  return {
    /** The issuer's page that asks the user. @throws IssuerLoginError */
    pageOf: (
      issuer: LoginIssuer,
      asked: {
        readonly callback: string
        readonly state: string
        readonly nonce: string
        readonly codeChallenge: string
      },
    ): Promise<URL> =>
      orRefusal(async () => {
        const configuration = await configurationOf(issuer)
        requirePage(issuer.issuer, configuration.serverMetadata())
        return buildAuthorizationUrl(configuration, {
          redirect_uri: asked.callback,
          // Other claims than `sub` are usually in the scope "profile".
          scope: issuer.userClaim === 'sub' ? 'openid' : 'openid profile',
          state: asked.state,
          nonce: asked.nonce,
          code_challenge: asked.codeChallenge,
          code_challenge_method: 'S256',
          max_age: String(LOGIN_SECONDS_MAX),
        })
      }),
    /** Checks no signature. @param answer.url the callback with the issuer's parameters. @throws IssuerLoginError */
    idTokenOf: (
      issuer: LoginIssuer,
      answer: { readonly url: URL; readonly state: string; readonly nonce: string; readonly verifier: string },
    ): Promise<string> =>
      orRefusal(async () => {
        const tokens = await authorizationCodeGrant(await configurationOf(issuer), answer.url, {
          expectedState: answer.state,
          expectedNonce: answer.nonce,
          pkceCodeVerifier: answer.verifier,
          idTokenExpected: true,
        })
        return tokens.id_token ?? ''
      }),
  }
}
