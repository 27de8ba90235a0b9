// Finds misspelt variables: those that look like ours, and that nothing has asked for.

import type { Log } from '../security/log.ts'

type Variables = Readonly<Record<string, string | undefined>>

/** What follows the name of a network. */
const OF_NETWORK = /^[A-Z][A-Z0-9_]*_(?:RPC_?URLS?|MAX_FEE(?:_[A-Z]+)?|METADATA_PINS?)$/
/** Beginnings that other programs hardly use. */
const OURS =
  /^(?:ROOT_KEY|SERVICE_KEY|IDENTITY_KEY|DATABASE_|PUBLIC_BASE|TRUSTED_PROX|RATE_LIMIT|WRONG_|ACCESS_TOKEN_SECONDS?|SESSION_DAYS?|VAULT_SOCKET|VAULT_LISTEN|VAULT_TLS|VAULT_JOURNAL|MAIL_URL|MAIL_FROM|IPFS_API|WORKER_|METRICS_|BALANCE_CHECK|NODE_TIME_?OUT|NETWORKS?_FILE)/

/** The same variables, and those among them that look like ours although nobody has read them. */
export const recorded = (
  variables: Variables,
): { readonly variables: Variables; readonly unknown: () => readonly string[] } => {
  const asked = new Set<string>()
  return {
    variables: new Proxy(variables, {
      get: (target, name) => {
        if (typeof name === 'string') asked.add(name)
        return Reflect.get(target, name)
      },
    }),
    unknown: () =>
      Object.keys(variables)
        .filter((name) => !asked.has(name) && (OF_NETWORK.test(name) || OURS.test(name)))
        .sort(),
  }
}

/** Names the variables that look like ours but are none. Their values may be secret. */
export const warnOfUnknown = (ctx: {
  readonly log: Log
  readonly config: { readonly unknownVariables: readonly string[] }
}): void => {
  const { unknownVariables: variables } = ctx.config
  if (variables.length > 0) ctx.log.warn({ variables }, 'unknown variables are ignored: perhaps they are misspelt')
}
