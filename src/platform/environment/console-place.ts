// Where the console listens, and where browsers reach it.

import { isLocal } from './hosts.ts'

type Variables = Readonly<Record<string, string | undefined>>

const PORT_MAX = 65_535
const PORT_DEFAULT = 3_900

const portOf = (variables: Variables): number => {
  const text = variables.CONSOLE_PORT?.trim()
  if (!text) return PORT_DEFAULT
  const port = /^[0-9]{1,5}$/.test(text) ? Number(text) : Number.NaN
  if (!(port <= PORT_MAX)) throw new Error(`CONSOLE_PORT must be a whole number from 0 to ${PORT_MAX}.`)
  return port
}

/** A passkey works only on the host for which it was made, so this is not taken from requests. */
const originOf = (variables: Variables): string | null => {
  const text = variables.CONSOLE_BASE_URL?.trim()
  if (!text) return null
  const url = URL.canParse(text) ? new URL(text) : null
  const isFit = url !== null && (url.protocol === 'https:' || (url.protocol === 'http:' && isLocal(url.hostname)))
  if (!isFit || url.pathname !== '/') {
    throw new Error(
      'CONSOLE_BASE_URL must be an https:// URL without a path; http:// only if its host is this machine.',
    )
  }
  return url.origin
}

/** @throws Error with one sentence that names the variable and what it must be. */
export const consolePlaceOf = (variables: Variables) => {
  const consoleHost = variables.CONSOLE_HOST?.trim() || '127.0.0.1'
  const consoleOrigin = originOf(variables)
  // A link's secret would cross the network in plain text.
  if (!isLocal(consoleHost) && !consoleOrigin?.startsWith('https:')) {
    throw new Error(
      'CONSOLE_BASE_URL must be an https:// URL if CONSOLE_HOST is not this machine: put a proxy with TLS before the console.',
    )
  }
  return {
    consoleHost,
    /** 0 chooses a free port and logs it. */
    consolePort: portOf(variables),
    /** null: `http://localhost` with the console's port. */
    consoleOrigin,
  }
}
