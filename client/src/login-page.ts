// The way to the service's login page and back. This tab makes and keeps a `state`: a user who comes back with another
// one did not begin here, and would be logged in as the author of the link. It also keeps a secret, without which an
// attacker who reads the code of the login cannot use it (PKCE, RFC 7636); the address has only its hash. Each session
// of a page keeps both under a name of its own.

import { StrongroomError } from './errors.ts'
import { readTab, readTabAll, writeTab } from './tab-storage.ts'

const BEGUN = 'strongroom login '

const begunName = (name: string) => `${BEGUN}${name}`

const base64urlOf = (bytes: Uint8Array): string =>
  btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')

const hashOf = async (text: string): Promise<string> =>
  base64urlOf(new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))))

/** What proves the login at the service. */
export type LoginProof = { readonly session_challenge_code: string; readonly code_verifier: string }

/** @returns the address of the login page, which leads back to `redirectUri` or to the present page */
export const beginLogin = async (input: {
  readonly baseUrl: string
  readonly projectId: string
  /** Of the session, in this tab. */
  readonly name: string
  readonly redirectUri: string | undefined
}): Promise<string> => {
  const { projectId, name, redirectUri } = input
  const state = crypto.randomUUID()
  const verifier = base64urlOf(crypto.getRandomValues(new Uint8Array(32)))
  // The service itself uses the fragment.
  const [here = ''] = location.href.split('#')
  const fragment = redirectUri === undefined ? location.hash : ''
  if (!writeTab(begunName(name), { state, verifier, fragment }))
    throw new StrongroomError('storage_unavailable', 'This browser keeps nothing for this page, which a login needs.')
  const query = new URLSearchParams({
    project_id: projectId,
    redirect_uri: redirectUri ?? here,
    state,
    code_challenge: await hashOf(verifier),
    code_challenge_method: 'S256',
  })
  return `${input.baseUrl.replace(/\/+$/, '')}/login?${query}`
}

/** Whether a login was begun and did not come back. It is asked once. */
export const isCancelled = (name: string): boolean => {
  const begun = readTab(begunName(name))
  writeTab(begunName(name), null)
  return begun !== null
}

/** Whether another session of this tab began the login. */
const isOfAnother = (name: string, state: string | null): boolean =>
  state !== null &&
  readTab(begunName(name))?.state !== state &&
  readTabAll(BEGUN).some((begun) => begun.state === state)

/**
 * Takes the code with which the login page has sent the user back out of the address, and adds the secret that this tab
 * has kept.
 * @returns null if there is none for this session
 * @throws StrongroomError for one that this tab did not ask for
 */
export const takeProof = (name: string): LoginProof | null => {
  const answer = new URLSearchParams(location.hash.slice(1))
  const [code, state] = [answer.get('session_challenge_code'), answer.get('state')]
  if (code === null || isOfAnother(name, state)) return null
  const begun = readTab(begunName(name))
  writeTab(begunName(name), null)
  const fragment = typeof begun?.fragment === 'string' ? begun.fragment : ''
  history.replaceState(history.state, '', location.pathname + location.search + fragment)
  const verifier = begun?.verifier
  if (begun !== null && begun.state === state && typeof verifier === 'string')
    return { session_challenge_code: code, code_verifier: verifier }
  throw new StrongroomError('login_unexpected', 'This page did not begin this login. Log in again.')
}
