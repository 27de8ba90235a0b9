// Reads single variables of the environment. An error names the variable and what it must be, never its value.

import type { Log } from '../process/log.ts'

export type Variables = Readonly<Record<string, string | undefined>>

export const problem = (name: string, right: string): Error => new Error(`${name} must be ${right}.`)

export const required = (variables: Variables, name: string, right: string): string => {
  const value = variables[name]?.trim()
  if (!value) throw problem(name, right)
  return value
}

export const oneOf = <Word extends string>(
  variables: Variables,
  name: string,
  words: readonly Word[],
  fallback?: Word,
): Word => {
  const value = variables[name]?.trim() || fallback
  const word = words.find((each) => each === value)
  if (word === undefined) throw problem(name, `one of ${words.join(', ')}`)
  return word
}

export const wholeNumber = (variables: Variables, name: string, fallback: number, most: number, least = 1): number => {
  const text = variables[name]?.trim()
  if (!text) return fallback
  const value = /^[0-9]{1,9}$/.test(text) ? Number(text) : Number.NaN
  if (!(value >= least && value <= most)) throw problem(name, `a whole number from ${least} to ${most}`)
  return value
}

export const url = (name: string, text: string, protocols: readonly string[]): string => {
  const parsed = URL.canParse(text) ? new URL(text) : null
  if (parsed === null || !protocols.includes(parsed.protocol)) {
    throw problem(name, `a URL that begins with ${protocols.map((each) => `${each}//`).join(' or ')}`)
  }
  return text
}

export const flag = (variables: Variables, name: string, fallback: 'true' | 'false' = 'false'): boolean =>
  oneOf(variables, name, ['true', 'false'], fallback) === 'true'

/** @throws Error if there is one, because an attacker who runs code in an API or a worker must not find it. */
export const refuseRootKey = (variables: Variables): void => {
  const name = ['ROOT_KEY', 'ROOT_KEY_NEXT'].find((each) => variables[each]?.trim())
  if (name === undefined) return
  throw new Error(
    `${name} must not be set in this process: only the vault may have it. Remove it from the environment.`,
  )
}

// Finds misspelt variables: those with a name like the service's that no code has read.

const OF_NETWORK = /^[A-Z][A-Z0-9_]*_(?:RPC_?URLS?|MAX_FEE(?:_[A-Z]+)?|METADATA_PINS?)$/
/** Beginnings that other programs hardly use. */
const OURS =
  /^(?:ROOT_KEY|SERVICE_KEY|IDENTITY_KEY|DATABASE_|PUBLIC_BASE|TRUSTED_PROX|RATE_LIMIT|WRONG_|ACCESS_TOKEN_SECONDS?|SESSION_DAYS?|EVENT_DAYS?|VAULT_SOCKET|VAULT_LISTEN|VAULT_TLS|VAULT_CLIENT|VAULT_JOURNAL|MAIL_URL|MAIL_FROM|IPFS_API|WORKER_|CONSOLE_(?:HOST|PORT|BASE)|METRICS_|BALANCE_CHECK|NODE_TIME_?OUT|NETWORKS?_FILE|ACCESS_LOG|OUTGOING_|OTEL_)/

const OF_OTHERS = new Set(['ACCESS_TOKEN', 'MAILFROM', 'OTEL_DENO'])

/** One or two changes of a shorter name often give another real name: PORT and PORTS, API_PAGE and API_PATH. */
const ONE_MISTAKE_LENGTH_MIN = 6
const TWO_MISTAKES_LENGTH_MIN = 12

/** How many letters are wrong, missing, superfluous or swapped with their neighbour (optimal string alignment). */
const mistakesIn = (name: string, right: string): number => {
  let before: number[] = []
  let row = Array.from({ length: right.length + 1 }, (_, index) => index)
  for (let i = 1; i <= name.length; i += 1) {
    const next = [i]
    for (let j = 1; j <= right.length; j += 1) {
      const isSame = name[i - 1] === right[j - 1]
      const areSwapped = name[i - 1] === right[j - 2] && name[i - 2] === right[j - 1]
      next.push(
        Math.min(
          (row[j] ?? 0) + 1,
          (next[j - 1] ?? 0) + 1,
          (row[j - 1] ?? 0) + (isSame ? 0 : 1),
          areSwapped && i > 1 && j > 1 ? (before[j - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY,
        ),
      )
    }
    before = row
    row = next
  }
  return row[right.length] ?? 0
}

/** Whether a word is missing, as in IPFS_URL for IPFS_API_URL. The first word and another one must be there. */
const lacksWord = (name: string, right: string): boolean => {
  const words = right.split('_')
  const without = (index: number) => words.filter((_, at) => at !== index).join('_')
  return words.length > 2 && words.some((_, index) => index > 0 && name === without(index))
}

const isNearly = (name: string, right: string): boolean => {
  if (right.length < ONE_MISTAKE_LENGTH_MIN) return false
  const mistakesMax = right.length < TWO_MISTAKES_LENGTH_MIN ? 1 : 2
  if (Math.abs(name.length - right.length) <= mistakesMax && mistakesIn(name, right) <= mistakesMax) return true
  return lacksWord(name, right)
}

/** The variables, and those that look like the service's although no code has read them. */
export const recorded = (
  variables: Variables,
): { readonly variables: Variables; readonly unknown: () => readonly string[] } => {
  const names = new Set<string>()
  const looksLikeOurs = (name: string) =>
    OF_NETWORK.test(name) || OURS.test(name) || [...names].some((right) => isNearly(name, right))
  return {
    variables: new Proxy(variables, {
      get: (target, name) => {
        if (typeof name === 'string') names.add(name)
        return Reflect.get(target, name)
      },
    }),
    unknown: () =>
      Object.keys(variables)
        .filter((name) => !names.has(name) && !OF_OTHERS.has(name) && looksLikeOurs(name))
        .sort(),
  }
}

/** Names the variables that look like the service's but are not. Their values may be secret. */
export const warnOfUnknown = (ctx: {
  readonly log: Log
  readonly config: { readonly unknownVariables: readonly string[] }
}): void => {
  const { unknownVariables: variables } = ctx.config
  if (variables.length > 0) ctx.log.warn({ variables }, 'unknown variables are ignored: perhaps they are misspelt')
}
