// Extrinsics signed over HTTP, with the runtime's metadata in memory and the nonce given, beside the bare floor; the
// memory of the API process with both networks live; and whether nodes that are away delay its start.

import { startService } from '../test/support/service.ts'
import { startSubstrateChain } from '../test/support/substrate.ts'
import { headersOf, type LoadResult, load, middle } from './load.ts'
import { start } from './processes.ts'
import { memoryMiB } from './substrate-memory.ts'

const SECONDS = 4
const ROUNDS = 3
const AT_ONCE = 32
const NETWORKS = ['Polkadot', 'Vara'] as const
const LISTENING = /"url":"http:\/\/127\.0\.0\.1:([0-9]+)"/

export type SubstrateSignBench = {
  readonly floor: LoadResult
  readonly strongroom: LoadResult
  /** One request after the other. */
  readonly alone: LoadResult
  readonly floorAlone: LoadResult
  /** Resident, at its start and at the most with both networks live. */
  readonly memoryMiB: { readonly started: number; readonly peak: number }
  readonly startMs: { readonly nodesThere: number; readonly nodesAway: number }
}

export const benchSubstrateSign = async (): Promise<SubstrateSignBench> => {
  const chains = await Promise.all(NETWORKS.map((network) => startSubstrateChain(network)))
  const rpcUrls = Object.fromEntries(chains.map(({ network, wsUrl }) => [network, wsUrl]))
  const service = await startService({ rpcUrls })
  const variables = { ...service.variables, PORT: '0', LOG_LEVEL: 'info' }
  const startApi = async (change: Record<string, string> = {}) => {
    const begun = performance.now()
    const api = await start({ file: 'src/main/api.ts', variables: { ...variables, ...change }, until: LISTENING })
    return { api, ms: performance.now() - begun }
  }
  const away = await startApi({ POLKADOT_RPC_URL: 'ws://127.0.0.1:1', VARA_RPC_URL: 'ws://127.0.0.1:1' })
  await away.api.stop()
  const there = await startApi()
  const { api } = there
  const floor = await start({
    file: 'bench/floor.ts',
    variables: { DATABASE_URL: service.database.url },
    until: /listening ([0-9]+)/,
  })
  const headers = headersOf(service)
  const wallets = await Promise.all(NETWORKS.map((network) => service.newWallet({ network })))
  const bodyOf = ({ network, address }: { network: string; address: string }, nonce: number) =>
    JSON.stringify({
      network,
      signer_wallet_address: address,
      developer_secret: 'testnet-secret',
      unsigned_transaction: { to: address, value: '1000000000000', nonce: String(nonce) },
    })
  const run = (where: 'floor' | 'strongroom', atOnce: number, seconds: number) => {
    const url =
      where === 'floor'
        ? `http://127.0.0.1:${floor.match[1]}/sign`
        : `http://127.0.0.1:${api.match[1]}/transactions/sign`
    const wallet = wallets[0] ?? { network: 'Polkadot', address: '' }
    return load({
      url,
      request: (nonce) => ({ method: 'POST', headers, body: bodyOf(wallet, nonce) }),
      atOnce,
      seconds,
    })
  }
  try {
    const started = memoryMiB(api.pid, 'VmRSS')
    for (const wallet of wallets) {
      const answer = await fetch(`http://127.0.0.1:${api.match[1]}/transactions/sign`, {
        method: 'POST',
        headers,
        body: bodyOf(wallet, 0),
      })
      if (!answer.ok) throw new Error(await answer.text())
    }
    const rounds: Record<'floor' | 'strongroom', { many: LoadResult[]; one: LoadResult[] }> = {
      floor: { many: [], one: [] },
      strongroom: { many: [], one: [] },
    }
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const where of ['floor', 'strongroom'] as const) {
        rounds[where].many.push(await run(where, AT_ONCE, SECONDS))
        rounds[where].one.push(await run(where, 1, 1))
      }
    }
    return {
      floor: middle(rounds.floor.many),
      strongroom: middle(rounds.strongroom.many),
      alone: middle(rounds.strongroom.one),
      floorAlone: middle(rounds.floor.one),
      memoryMiB: { started, peak: memoryMiB(api.pid, 'VmHWM') },
      startMs: { nodesThere: there.ms, nodesAway: away.ms },
    }
  } finally {
    await Promise.all([api.stop(), floor.stop()])
    await service.close()
    await Promise.all(chains.map((chain) => chain.stop()))
  }
}

export const substrateSignTable = (bench: SubstrateSignBench): readonly string[] => {
  const line = (name: string, { perSecond, p50Ms, p99Ms }: LoadResult) =>
    `  ${name.padEnd(36)} ${perSecond.toFixed(0).padStart(11)} ${p50Ms.toFixed(1).padStart(8)} ${p99Ms.toFixed(1).padStart(8)}`
  const { memoryMiB: memory, startMs } = bench
  return [
    '\nSigning extrinsics over HTTP             per second   p50 ms   p99 ms',
    line(`bare floor, ${AT_ONCE} at once`, bench.floor),
    line(`/transactions/sign, ${AT_ONCE} at once`, bench.strongroom),
    line('bare floor, one by one', bench.floorAlone),
    line('/transactions/sign, one by one', bench.alone),
    `  memory of the API: ${memory.started.toFixed(0)} MiB at its start, ${memory.peak.toFixed(0)} MiB at the most with both networks live by the local chains’ metadata`,
    `  its start: ${startMs.nodesThere.toFixed(0)} ms with the nodes there, ${startMs.nodesAway.toFixed(0)} ms with both away`,
  ]
}
