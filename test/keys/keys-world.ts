// A service whose identity key or service key is changed: its variables with both keys, and what its users and servers
// do at an API.

import { randomBytes } from 'node:crypto'
import { startApiProcess } from '../support/api.ts'
import { runCli } from '../support/cli.ts'
import { isLong } from '../support/long.ts'
import { type Service, startService } from '../support/service.ts'
import { peopleOf, type Session } from '../users/people.ts'
import { keyFile } from '../vault/support.ts'

export const NETWORK = 'Ethereum'
export const PIN = '493817'

type SecretName = 'IDENTITY_KEY' | 'SERVICE_KEY'

const rpcUrls = { [NETWORK]: 'http://127.0.0.1:1' }

/** Another API of the same database and vault, in this process. */
const startApiHere = async ({ database }: Service, variables: Readonly<Record<string, string>>) => {
  const shared = { ...database, close: async () => {} }
  const { baseUrl, close } = await startService({ rpcUrls, variables, hasVault: false, database: shared })
  return { url: baseUrl, stop: close }
}

export const startWorld = async (name: SecretName) => {
  const service = await startService({
    rpcUrls,
    variables: { OUTGOING_ALLOWED_HOSTS: '127.0.0.1' },
  })
  const next = keyFile(randomBytes(32))
  const present = service.variables[name] ?? ''
  const endings: (() => unknown)[] = []
  const other = `${name}_OTHER`
  const sets = {
    present: service.variables,
    presentFirst: { ...service.variables, [other]: next.spec },
    nextFirst: { ...service.variables, [name]: next.spec, [other]: present },
    next: { ...service.variables, [name]: next.spec },
  } as const
  return {
    service,
    sets,
    /** Runs a command with the login of the database's owner. */
    asOwner: (args: readonly string[], keys: keyof typeof sets) =>
      runCli(args, { ...sets[keys], DATABASE_URL: service.database.url }),
    /** In the suite in this process, which costs half a second less. */
    startApi: async (keys: keyof typeof sets) => {
      const api = await (isLong ? startApiProcess(sets[keys]) : startApiHere(service, sets[keys]))
      endings.push(api.stop)
      return api
    },
    close: async () => {
      for (const end of endings.toReversed()) await end()
      await service.close()
      next.remove()
    },
  }
}

export type World = Awaited<ReturnType<typeof startWorld>>

/** The service at another API process. */
export const at = (service: Service, url: string): Service => ({ ...service, ...service.as(service.project, url) })

/** What one user and one server do again and again at whichever API. A status other than 200 is kept in `failures`. */
export const createTraffic = (service: Service, input: { readonly session: Session; readonly address: string }) => {
  let { session } = input
  const failures: string[] = []
  const round = async (url: string) => {
    const there = at(service, url)
    const people = peopleOf(there)
    const refreshed = await people.refresh(session)
    if (refreshed.status === 200) session = { ...session, ...refreshed.json }
    const answers = [
      ['refresh', refreshed.status],
      ['access token', await people.reach(session)],
      ['API key', (await there.get('/wallets', { network: NETWORK })).status],
      [
        'signature',
        (
          await there.post('/transactions/sign-message', {
            network: NETWORK,
            signer_wallet_address: input.address,
            message: 'It works.',
            user_pin: PIN,
          })
        ).status,
      ],
      ['readiness', (await there.call('/readyz')).status],
    ] as const
    for (const [what, status] of answers) if (status !== 200) failures.push(`${what}: ${status}`)
  }
  return { round, failures, session: () => session }
}
