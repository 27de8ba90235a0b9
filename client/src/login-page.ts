// The way to the service's login page and back. `state` is made and kept in this tab: who comes back with another one did not
// begin here, and would be logged in as whoever made the link.

import { StrongroomError } from './errors.ts'
import { readTab, writeTab } from './tab-storage.ts'

const begunName = (projectId: string) => `strongroom login ${projectId}`

/** @returns the address of the login page, which leads back to `redirectUri` or to the present page */
export const beginLogin = (input: {
  readonly baseUrl: string
  readonly projectId: string
  readonly redirectUri: string | undefined
}): string => {
  const { projectId, redirectUri } = input
  const state = crypto.randomUUID()
  // The service itself uses the fragment.
  const [here = ''] = location.href.split('#')
  const fragment = redirectUri === undefined ? location.hash : ''
  if (!writeTab(begunName(projectId), { state, fragment }))
    throw new StrongroomError('storage_unavailable', 'This browser keeps nothing for this page, which a login needs.')
  const query = new URLSearchParams({ project_id: projectId, redirect_uri: redirectUri ?? here, state })
  return `${input.baseUrl.replace(/\/+$/, '')}/login?${query}`
}

/** Whether a login was begun and did not come back. It is asked once. */
export const isCancelled = (projectId: string): boolean => {
  const begun = readTab(begunName(projectId))
  writeTab(begunName(projectId), null)
  return begun !== null
}

/**
 * Takes the code with which the login page has sent the user back out of the address.
 * @returns null if there is none
 * @throws StrongroomError for one that this tab did not ask for
 */
export const takeCode = (projectId: string): string | null => {
  const answer = new URLSearchParams(location.hash.slice(1))
  const code = answer.get('session_challenge_code')
  if (code === null) return null
  const begun = readTab(begunName(projectId))
  writeTab(begunName(projectId), null)
  const fragment = typeof begun?.fragment === 'string' ? begun.fragment : ''
  history.replaceState(history.state, '', location.pathname + location.search + fragment)
  if (begun !== null && begun.state === answer.get('state')) return code
  throw new StrongroomError('login_unexpected', 'This page did not begin this login. Log in again.')
}
