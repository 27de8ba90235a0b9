// What authentication costs a request: the same calls through our door and through an open one (doors.ts), in turns.

import type { Service } from '../test/support/service.ts'
import { type LoadResult, load, median } from './load.ts'
import { start } from './processes.ts'
import type { Stack } from './stack.ts'
import { measureCpu } from './usage.ts'

const USERS = 32
/** Short, and many: whatever else the machine does meets all of them alike. */
const SECONDS = 0.5
const ROUNDS = 10

const WAYS = ['none', 'API key', 'access token'] as const
export type Way = (typeof WAYS)[number]

/** CPU time by process. */
type CpuMs = Readonly<Record<'api' | 'vault' | 'postgres', number>>

export type Cost = {
  readonly perSecond: number
  readonly p50Ms: number
  /** For one request. */
  readonly cpuMs: CpuMs
}

export type Overhead = { readonly what: string; readonly costs: Readonly<Record<Way, Cost>> }

type Call = (index: number) => { readonly path: string; readonly init: RequestInit }
type Slice = { readonly result: LoadResult; readonly cpuMs: CpuMs }

const costOf = (slices: readonly Slice[]): Cost => {
  const requests = slices.reduce((sum, { result }) => sum + result.requests, 0)
  const cpuMs = (part: keyof CpuMs) => slices.reduce((sum, slice) => sum + slice.cpuMs[part], 0) / requests
  return {
    perSecond: median(slices.map(({ result }) => result.perSecond)),
    p50Ms: median(slices.map(({ result }) => result.p50Ms)),
    cpuMs: { api: cpuMs('api'), vault: cpuMs('vault'), postgres: cpuMs('postgres') },
  }
}

/** Users, each with a wallet that the developer controls. */
const newUsers = (service: Service) =>
  Promise.all(
    Array.from({ length: USERS }, async () => {
      const { json: session } = await service.post('/users/login-anonymously', {}, { authorization: undefined })
      const wallet = await service.newWallet({ network: 'Ethereum', ownerId: session.user_id })
      return { token: String(session.access_token), wallet }
    }),
  )

const signature = (signer: string, nonce: number) => ({
  network: 'Ethereum',
  signer_wallet_address: signer,
  developer_secret: 'testnet-secret',
  unsigned_transaction: {
    to: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
    value: '1000000000000000',
    gasLimit: '21000',
    maxFeePerGas: '30000000000',
    maxPriorityFeePerGas: '1000000000',
    nonce: String(nonce),
  },
})

export const benchOverhead = async (input: {
  readonly service: Service
  readonly stack: Stack
  readonly postgresPid: number
}): Promise<readonly Overhead[]> => {
  const { service, stack, postgresPid } = input
  const users = await newUsers(service)
  const { projectId, apiKey } = service.project
  const doors = await start({
    file: 'bench/doors.ts',
    variables: { ...service.variables, VAULT_SOCKET: stack.socket, PROJECT_ID: projectId },
    until: /listening ([0-9]+) ([0-9]+)/,
  })
  const bearer = (way: Way, index: number) => (way === 'access token' ? users[index % USERS]?.token : apiKey)
  const slice = (way: Way, call: Call, atOnce: number): Promise<Slice> =>
    measureCpu({ api: doors.pid, vault: stack.pids.vault, postgres: postgresPid }, () =>
      load({
        url: `http://127.0.0.1:${doors.match[way === 'none' ? 1 : 2]}`,
        request: (index) => {
          const headers = {
            'content-type': 'application/json',
            authorization: `Bearer ${bearer(way, index)}`,
            'x-walletkit-project-id': projectId,
          }
          return { ...call(index).init, headers }
        },
        pathOf: (index) => call(index).path,
        atOnce,
        seconds: SECONDS,
      }),
    )
  const measured = async (what: string, call: Call, atOnce: number): Promise<Overhead> => {
    const slices: Record<Way, Slice[]> = { none: [], 'API key': [], 'access token': [] }
    for (const way of WAYS) await slice(way, call, atOnce)
    for (let round = 0; round < ROUNDS; round += 1) {
      const order = round % 2 === 0 ? WAYS : WAYS.toReversed()
      for (const way of order) slices[way].push(await slice(way, call, atOnce))
    }
    const costs = { none: costOf(slices.none), 'API key': costOf(slices['API key']) }
    return { what, costs: { ...costs, 'access token': costOf(slices['access token']) } }
  }
  const walletOf = (index: number) => users[index % USERS]?.wallet
  const sign: Call = (index) => {
    const body = JSON.stringify(signature(walletOf(index)?.address ?? '', index))
    return { path: '/transactions/sign', init: { method: 'POST', body } }
  }
  const get: Call = (index) => ({ path: `/wallets/get-by-id?network=Ethereum&id=${walletOf(index)?.id}`, init: {} })
  try {
    return [
      await measured('/transactions/sign, one at a time', sign, 1),
      // What arrives together shares one look at the database: the more at once, the less each pays for it.
      await measured('/transactions/sign, 32 at once', sign, 32),
      await measured('/transactions/sign, 128 at once', sign, 128),
      await measured('/wallets/get-by-id, 32 at once', get, 32),
    ]
  } finally {
    await doors.stop()
  }
}
