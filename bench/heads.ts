// How soon a new block shows in a transaction's status, with the settings that a network has in production: from the
// block that confirms it being mined, until the API says `success`. Two services with a worker each follow one chain,
// one by HTTP and one by WebSocket, and each has a transaction in the same block.

import postgres from 'postgres'
import { evmNetworkRow } from '../src/platform/networks.ts'
import { startChain, type TestChain } from '../test/support/chains.ts'
import { type Service, startService } from '../test/support/service.ts'
import { percentile } from './load.ts'
import { RECIPIENT } from './signers.ts'

const NETWORKS = ['Ethereum', 'Polygon'] as const
const WARM_UP_ROUNDS = 2
const ROUNDS = 40
const LOOK_MS = 5
const WAIT_MAX_MS = 60_000

export type HeadsFigures = { readonly medianMs: number; readonly p90Ms: number }
export type HeadsCost = {
  readonly network: string
  readonly pollIntervalMs: number
  readonly byHttp: HeadsFigures
  readonly byWebSocket: HeadsFigures
}
export type HeadsBench = { readonly rounds: number; readonly costs: readonly HeadsCost[] }

type Network = (typeof NETWORKS)[number]
type Follower = {
  readonly service: Service
  readonly sql: postgres.Sql
  readonly address: string
  readonly latenciesMs: number[]
}

const until = async (isSo: () => Promise<boolean>): Promise<void> => {
  for (const endMs = performance.now() + WAIT_MAX_MS; !(await isSo()); await Bun.sleep(LOOK_MS)) {
    if (performance.now() > endMs) throw new Error(`it did not come to that within ${WAIT_MAX_MS} ms`)
  }
}

const startFollower = async (chain: TestChain, input: { readonly network: Network; readonly rpcUrl: string }) => {
  const { network, rpcUrl } = input
  const service = await startService({ rpcUrls: { [network]: rpcUrl }, variables: { DEVNET: 'false' } })
  const { address } = await service.newWallet({ network })
  await chain.fund(address)
  service.startWorker()
  return { service, sql: postgres(service.database.url, { max: 1 }), address, latenciesMs: [] }
}

const send = async ({ service, address }: Follower, network: Network): Promise<string> => {
  const answer = await service.post('/transactions/sign-and-send', {
    network,
    signer_wallet_address: address,
    developer_secret: 'testnet-secret',
    unsigned_transaction: { to: RECIPIENT, value: '1' },
  })
  if (answer.status !== 200) throw new Error(`answered ${answer.status}: ${answer.text}`)
  return answer.json.transaction_id
}

const hasTracked = async ({ sql }: Follower, height: bigint): Promise<boolean> => {
  const [row] = await sql<{ height: string }[]>`select block_number as height from cursors where purpose = 'track'`
  return row !== undefined && BigInt(row.height) >= height
}

const isTold = async ({ service }: Follower, id: string): Promise<boolean> => {
  const { json } = await service.get('/transactions/status-by-id', { id })
  if (json.status === 'failed') throw new Error(`the transaction failed: ${json.error}`)
  return json.status === 'success'
}

const poolSize = async (chain: TestChain): Promise<number> =>
  Number(((await chain.rpc('txpool_status')) as { readonly pending: string }).pending)

/**
 * @param input.phase from 0 to 1: which part of the interval passes before the block, as no block comes when somebody
 * looks.
 */
const measureRound = async (
  chain: TestChain,
  input: { readonly followers: readonly Follower[]; readonly network: Network; readonly phase: number },
): Promise<readonly number[]> => {
  const { followers, network, phase } = input
  const { confirmations, pollIntervalMs } = evmNetworkRow({ network, environment: 'testnet', devnet: false })
  const ids = await Promise.all(followers.map((follower) => send(follower, network)))
  await until(async () => (await poolSize(chain)) === followers.length)
  await chain.mine(confirmations - 1)
  const height = await chain.publicClient.getBlockNumber()
  for (const follower of followers) await until(() => hasTracked(follower, height))
  await Bun.sleep(phase * pollIntervalMs)
  const minedMs = performance.now()
  await chain.mine()
  return Promise.all(
    followers.map(async (follower, index) => {
      await until(() => isTold(follower, ids[index] ?? ''))
      return performance.now() - minedMs
    }),
  )
}

const figuresOf = ({ latenciesMs }: Follower): HeadsFigures => {
  const sorted = latenciesMs.toSorted((one, other) => one - other)
  return { medianMs: percentile(sorted, 0.5), p90Ms: percentile(sorted, 0.9) }
}

const benchNetwork = async (network: Network): Promise<HeadsCost> => {
  const chain = await startChain(network)
  const followers: Follower[] = []
  try {
    for (const rpcUrl of [chain.rpcUrl, chain.rpcUrl.replace('http:', 'ws:')]) {
      followers.push(await startFollower(chain, { network, rpcUrl }))
    }
    // A worker begins at the newest block.
    for (const follower of followers) await until(() => hasTracked(follower, 0n))
    await chain.setAutomine(false)
    for (let round = -WARM_UP_ROUNDS; round < ROUNDS; round += 1) {
      const latenciesMs = await measureRound(chain, { followers, network, phase: Math.max(0, round) / ROUNDS })
      if (round < 0) continue
      for (const [index, follower] of followers.entries()) follower.latenciesMs.push(latenciesMs[index] ?? Number.NaN)
    }
    const [byHttp, byWebSocket] = followers.map(figuresOf)
    if (byHttp === undefined || byWebSocket === undefined) throw new Error('expected two followers')
    const { pollIntervalMs } = evmNetworkRow({ network, environment: 'testnet', devnet: false })
    return { network, pollIntervalMs, byHttp, byWebSocket }
  } finally {
    for (const { service, sql } of followers) {
      await sql.end()
      await service.close()
    }
    await chain.stop()
  }
}

export const benchHeads = async (): Promise<HeadsBench> => {
  const costs: HeadsCost[] = []
  for (const network of NETWORKS) costs.push(await benchNetwork(network))
  return { rounds: ROUNDS, costs }
}

/** For people. */
export const headsTable = ({ rounds, costs }: HeadsBench): readonly string[] => {
  const figures = ({ medianMs, p90Ms }: HeadsFigures) =>
    `${medianMs.toFixed(0).padStart(14)}${p90Ms.toFixed(0).padStart(8)}`
  return [
    `\nFrom a block to the status it brings, ${rounds} of each  HTTP p50 ms  p90 ms  WebSocket p50 ms  p90 ms`,
    ...costs.map(
      ({ network, pollIntervalMs, byHttp, byWebSocket }) =>
        `  ${`${network}, asked every ${pollIntervalMs} ms`.padEnd(44)}${figures(byHttp)}${figures(byWebSocket).padStart(26)}`,
    ),
  ]
}
