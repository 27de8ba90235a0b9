// Proving a login, 32 at once: everything before verify-login is done in advance. Beside it what cannot be left out:
// the check of a signature of the same kind, alone, and a new user with a session without any proof.

import { generateKeyPairSync, randomBytes, sign, verify } from 'node:crypto'
import { recoverMessageAddress } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { createSiweMessage } from 'viem/siwe'
import type { CreationOptions, RequestOptions } from '../src/identity/users/passkey-schema.ts'
import { evmNetworkRow } from '../src/platform/networks.ts'
import type { Service } from '../test/support/service.ts'
import { createAuthenticator } from '../test/users/authenticator.ts'
import { load, median } from './load.ts'
import { measureCpu } from './usage.ts'

const USERS = 100
const AT_ONCE = 32
const ROUNDS = 3
const LOGINS_A_ROUND = 300
const BARE_CHECKS_A_ROUND = 200
const SECONDS_MAX = 30

export const LOGIN_WAYS = ['anonymous', 'wallet', 'passkey'] as const
export type LoginWay = (typeof LOGIN_WAYS)[number]

export type LoginCost = {
  readonly perSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  /** The API's process and the database's, for one login. */
  readonly cpuMs: { readonly api: number; readonly postgres: number }
  /** The signature alone, in this process; null where there is none. */
  readonly bareCheckMs: number | null
}

type Post = <Answer>(path: string, body: object, bearer?: string) => Promise<Answer>
type World = { readonly service: Service; readonly post: Post; readonly origin: string }

/** For so many logins, one user after the other; so many at a time. */
const inTurns = async <Item, Result>(count: number, of: readonly Item[], work: (item: Item) => Promise<Result>) => {
  const results: Result[] = []
  for (let at = 0; at < count; at += AT_ONCE) {
    const length = Math.min(AT_ONCE, count - at)
    const items = Array.from({ length }, (_, index) => of[(at + index) % of.length] as Item)
    results.push(...(await Promise.all(items.map(work))))
  }
  return results
}

const walletProofs = ({ service, post, origin }: World, count: number) => {
  const accounts = Array.from({ length: USERS }, () => privateKeyToAccount(generatePrivateKey()))
  const { chainId } = evmNetworkRow({ network: 'Ethereum', ...service.ctx.config })
  const page = { domain: new URL(origin).host, uri: origin, chainId, version: '1' as const }
  return inTurns(count, accounts, async (account) => {
    const { nonce } = await post<{ nonce: string }>('/users/login-with-wallet', { sign_in_wallet: account.address })
    const message = createSiweMessage({ ...page, address: account.address, nonce })
    return { siwe_message: message, signature: await account.signMessage({ message }) }
  })
}

const passkeyProofs = async ({ post, origin }: World, count: number) => {
  const authenticators = await inTurns(USERS, [null], async () => {
    const { access_token: token } = await post<{ access_token: string }>('/users/login-anonymously', {})
    const { publicKey } = await post<CreationOptions>('/users/passkey/begin-registration', {}, token)
    const authenticator = createAuthenticator({ origin })
    await post('/users/passkey/finish-registration', authenticator.create(publicKey), token)
    return authenticator
  })
  return inTurns(count, authenticators, async (authenticator) => {
    const { publicKey } = await post<RequestOptions>('/users/login-with-discoverable-passkey', {})
    return { passkey_credential_assertion_response: authenticator.get(publicKey) }
  })
}

const millisecondsEach = async (count: number, work: () => unknown): Promise<number> => {
  const begun = performance.now()
  for (let done = 0; done < count; done += 1) await work()
  return (performance.now() - begun) / count
}

/** Checks of signatures over texts of the same size: secp256k1 with recovery, and P-256. */
const bareChecks = async (): Promise<Readonly<Record<'wallet' | 'passkey', () => unknown>>> => {
  const message = randomBytes(150).toString('hex')
  const signature = await privateKeyToAccount(generatePrivateKey()).signMessage({ message })
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const signed = randomBytes(69)
  const assertion = sign('sha256', signed, privateKey)
  return {
    wallet: () => recoverMessageAddress({ message, signature }),
    passkey: () => verify('sha256', signed, publicKey, assertion),
  }
}

type Round = Awaited<ReturnType<typeof load>> & {
  readonly api: number
  readonly postgres: number
  readonly bare: number
}

const costOf = (rounds: readonly Round[], hasCheck: boolean): LoginCost => {
  const middle = (of: (round: Round) => number) => median(rounds.map(of))
  return {
    perSecond: middle((round) => round.perSecond),
    p50Ms: middle((round) => round.p50Ms),
    p99Ms: middle((round) => round.p99Ms),
    cpuMs: { api: middle((round) => round.api), postgres: middle((round) => round.postgres) },
    bareCheckMs: hasCheck ? middle((round) => round.bare) : null,
  }
}

/** @param input.apiUrl an API process that trusts one proxy: every login comes from an address of its own. */
export const benchLogins = async (input: {
  readonly service: Service
  readonly apiUrl: string
  readonly apiPid: number
  readonly postgresPid: number
}): Promise<Readonly<Record<LoginWay, LoginCost>>> => {
  const { service, apiUrl } = input
  const origin = service.ctx.config.publicBaseUrl
  let requests = 0
  const request = (body: object, bearer?: string): RequestInit => {
    requests += 1
    const headers = {
      'content-type': 'application/json',
      origin,
      'x-walletkit-project-id': service.project.projectId,
      'x-forwarded-for': `10.${requests >> 16}.${(requests >> 8) & 255}.${requests & 255}`,
      ...(bearer === undefined ? {} : { authorization: `Bearer ${bearer}` }),
    }
    return { method: 'POST', headers, body: JSON.stringify(body) }
  }
  const post: Post = async (path, body, bearer) => {
    const response = await fetch(apiUrl + path, request(body, bearer))
    const text = await response.text()
    if (response.status !== 200) throw new Error(`${path} answered ${response.status}: ${text}`)
    return JSON.parse(text)
  }
  const world = { service, post, origin }
  const count = (ROUNDS + 1) * LOGINS_A_ROUND
  const proofs = {
    anonymous: Array.from({ length: count }, () => ({})),
    wallet: await walletProofs(world, count),
    passkey: await passkeyProofs(world, count),
  }
  const checks = { anonymous: () => null, ...(await bareChecks()) }
  const rounds: Record<LoginWay, Round[]> = { anonymous: [], wallet: [], passkey: [] }
  const run = async (way: LoginWay, round: number): Promise<Round> => {
    const { cpuMs, result } = await measureCpu({ api: input.apiPid, postgres: input.postgresPid }, () =>
      load({
        url: `${apiUrl}/users/${way === 'anonymous' ? 'login-anonymously' : 'verify-login'}`,
        request: (index) => request(proofs[way][round * LOGINS_A_ROUND + index] ?? {}),
        atOnce: AT_ONCE,
        seconds: SECONDS_MAX,
        requestsMax: LOGINS_A_ROUND,
      }),
    )
    const [api, postgres] = [cpuMs.api / result.requests, cpuMs.postgres / result.requests]
    return { ...result, api, postgres, bare: await millisecondsEach(BARE_CHECKS_A_ROUND, checks[way]) }
  }
  // The first round is for warming up.
  for (let round = 0; round <= ROUNDS; round += 1) {
    for (const way of LOGIN_WAYS) {
      const each = await run(way, round)
      if (round > 0) rounds[way].push(each)
    }
  }
  const { anonymous, wallet, passkey } = rounds
  return { anonymous: costOf(anonymous, false), wallet: costOf(wallet, true), passkey: costOf(passkey, true) }
}
