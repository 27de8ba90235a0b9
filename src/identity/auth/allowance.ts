// Each request first spends: from its bearer token if that was accepted before, else from its address. So one look into
// memory refuses a flood of wrong tokens, of logins or of requests without a token.
//
//   the request has                  spends from        gets it back
//   a token that was accepted here   the token's own    never: as many requests a second as a caller may send
//   another token, or none           its address        when the token is accepted; never on public routes
//
// Callers behind one address (NAT) share it. Accepted tokens continue to work when it is used up. A login, and a token
// that this process does not know yet, then get 429 and can be sent again a second later.

import { createHash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { Config } from '../../platform/config.ts'
import { addressOf, subnetOf } from '../../platform/http/peer.ts'
import { requestRate } from '../../platform/http/rate.ts'

const ACCEPTED_MAX = 10_000

/** What supervises a process must see it during a flood, and may have the address of everybody behind a proxy. */
const UNCOUNTED: ReadonlySet<string> = new Set(['/healthz', '/readyz'])

export type Allowance = ReturnType<typeof createAllowance>

const BEARER = /^Bearer +(\S+) *$/i

/** The bearer token, or else the whole header. A signature in base64 has many spellings, which all are one token. */
const bearerIn = ({ headers }: Request): string => {
  const header = headers.get('authorization') ?? ''
  const token = BEARER.exec(header)?.[1] ?? header
  const end = token.lastIndexOf('.') + 1
  return end === 0 ? token : token.slice(0, end) + Buffer.from(token.slice(end), 'base64').toString('base64')
}

/** Each process counts its own. @param input.tokenIn reads the token of a request; the console's is in a cookie. */
export const createAllowance = (
  config: Pick<Config, 'rateLimitPerSecond' | 'trustedProxies'>,
  { tokenIn = bearerIn }: { readonly tokenIn?: (request: Request) => string } = {},
) => {
  const requests = requestRate(config)
  const accepted = new LRUCache<string, true>({ max: ACCEPTED_MAX })
  const spenders = new WeakMap<Request, string>()

  /** The project and the issuer of a request are not part of it: each request is authenticated anew. */
  const tokenOf = (request: Request): string => createHash('sha256').update(tokenIn(request)).digest('base64')

  return {
    /** @throws rate_limited */
    spend: async (request: Request): Promise<void> => {
      if (UNCOUNTED.has(new URL(request.url).pathname)) return
      const token = tokenOf(request)
      const spender = accepted.get(token) ? token : subnetOf(addressOf(config, request))
      spenders.set(request, spender)
      await requests.spend(spender, 1)
    },
    accept: async (request: Request): Promise<void> => {
      const [token, spender] = [tokenOf(request), spenders.get(request)]
      accepted.set(token, true)
      if (spender !== undefined && spender !== token) await requests.giveBack(spender, 1)
    },
    /** The request was answered with 401: its token spends from its address from now on. */
    refuse: (request: Request): void => {
      accepted.delete(tokenOf(request))
    },
  }
}
