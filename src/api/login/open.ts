import type { HasDb } from '../../../db/client.ts'
import type { HasChains } from '../../chains/chains.ts'
import { findOwnProject } from '../../identity/auth/authenticate.ts'
import { rpIdFor } from '../../identity/auth/relying-party.ts'
import { readReturnAddress } from '../../identity/auth/return-addresses.ts'
import { loginIssuers } from '../../identity/issuers/browser-login.ts'
import { sendsMail } from '../../identity/mail/queue.ts'
import type { HasSecurityEvents } from '../../identity/security-events.ts'
import { CODE_CHALLENGE, CODE_CHALLENGE_METHOD } from '../../identity/users/code-verifier.ts'
import type { HasConfig } from '../../platform/config.ts'
import { AppError } from '../../platform/errors.ts'
import { UUID } from '../../platform/http/text.ts'
import { PAGE_HEADERS, rootOf } from '../../platform/pages/page.ts'
import type { HasIdentity } from '../../platform/sealing/sealer.ts'
import { refusedPage } from './page.ts'

export type Login = {
  /** The path under which clients reach this service; '' if it is the host's root. */
  readonly root: string
  readonly projectId: string
  readonly projectName: string
  readonly returnTo: string | null
  /** Returned with the user unchanged; at most 512 characters. */
  readonly state: string | null
  readonly hasMail: boolean
  readonly issuers: readonly string[]
  /** The domain of the project's passkeys, if they work on a page at our own address. */
  readonly rpId: string | null
  /** The chain ids that a wallet's sign-in message may name. */
  readonly chainIds: readonly number[]
}

const STATE_MAX = 512

const refuse = (sentence: string): never => {
  throw new AppError('invalid_input', sentence)
}

const IS_CODE_CHALLENGE = new RegExp(`^${CODE_CHALLENGE}$`)

/**
 * The hash of the secret that the app keeps (PKCE): without the secret, the answer on its way to the app gives no thief
 * a session. The list of return addresses keeps a stranger out who made the link with a secret of their own.
 */
export const readCodeChallenge = (query: Readonly<Record<string, string | undefined>>): string => {
  const { code_challenge: codeChallenge = '', code_challenge_method: method } = query
  if (method !== CODE_CHALLENGE_METHOD || !IS_CODE_CHALLENGE.test(codeChallenge)) {
    return refuse(
      `With redirect_uri, code_challenge must be a SHA-256 in base64url, and code_challenge_method must be ${CODE_CHALLENGE_METHOD} (RFC 7636).`,
    )
  }
  return codeChallenge
}

const ownRpId = (ctx: HasConfig, project: Parameters<typeof rpIdFor>[0]): string | null => {
  try {
    return rpIdFor(project, new URL(ctx.config.publicBaseUrl).origin)
  } catch (error) {
    if (error instanceof AppError) return null
    throw error
  }
}

/** @param query as in `/login?project_id=…&redirect_uri=…`. @throws invalid_input for the app's developer. */
export const openLogin = async (
  ctx: HasConfig & HasDb & HasChains & HasIdentity & HasSecurityEvents,
  query: Readonly<Record<string, string | undefined>>,
): Promise<Login> => {
  const { project_id: id = '', redirect_uri: wanted, state } = query
  const project = UUID.test(id) ? await findOwnProject(ctx, id.toLowerCase()) : null
  if (project === null) return refuse('The parameter project_id must be the id of a project.')
  const returnTo = wanted === undefined ? null : readReturnAddress(ctx, project, wanted)
  if (state !== undefined && state.length > STATE_MAX) {
    refuse(`The parameter state must be a text of at most ${STATE_MAX} characters.`)
  }
  return {
    root: rootOf(ctx.config),
    projectId: project.id,
    projectName: project.name,
    returnTo,
    state: state ?? null,
    hasMail: sendsMail(ctx),
    issuers: await loginIssuers(ctx, project.id),
    rpId: ownRpId(ctx, project),
    chainIds: ctx.chains.known.flatMap(({ chainId }) => chainId ?? []),
  }
}

/** The answer that a handler fills in. */
export type Answered = { headers: Record<string, string | number>; status?: number | string }

/** Answers with a page, or tells the developers of the app that links here what is wrong with the link. */
export const answerPage = async (
  set: Answered,
  input: { readonly make: () => Promise<string>; readonly title?: string; readonly advice: string },
): Promise<string> => {
  const { make, title = 'This link does not work', advice } = input
  Object.assign(set.headers, PAGE_HEADERS)
  try {
    return await make()
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    set.status = error.status
    return refusedPage({ title, advice, sentence: error.message })
  }
}
