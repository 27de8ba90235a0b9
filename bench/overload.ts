// Ten times as many payments as the service can take. What it can is measured in the same run, before and after, by 64
// clients that wait for their answers. The ten times come whatever becomes of them. Load, API, vault, worker,
// PostgreSQL and node are processes of their own on one machine, so the load takes a part of what it measures.

import type { TestChain } from '../test/support/chains.ts'
import type { Service } from '../test/support/service.ts'
import { headersOf } from './load.ts'
import type { OverloadRun } from './overload-client.ts'
import { start } from './processes.ts'
import { RECIPIENT } from './signers.ts'

const SIGNERS = 128
const AT_ONCE = 64
const TIMES = 10
const SECONDS = 60
const WARM_UP_SECONDS = 3
const CAPACITY_SECONDS = 10
/** A request that waits for its answer has a connection. */
const CONNECTIONS_MAX = 20_000
/** What is under way when the time is over is waited for. */
const LAST_ANSWERS_SECONDS = 120

export type OverloadBench = {
  readonly seconds: number
  /** Before and after. */
  readonly calm: readonly OverloadRun[]
  /** Accepted a second, the mean of both. */
  readonly capacityPerSecond: number
  readonly overload: OverloadRun
  /** Which part of the capacity is accepted under overload. */
  readonly goodputRatio: number
}

/** @param input.seconds how long the overload lasts. */
export const benchOverload = async (input: {
  readonly service: Service
  readonly chain: TestChain
  readonly seconds?: number
}): Promise<OverloadBench> => {
  const { service, chain, seconds = SECONDS } = input
  const wallets: { readonly address: `0x${string}` }[] = []
  for (let made = 0; made < SIGNERS; made++) wallets.push(await service.newWallet({ network: 'Ethereum' }))
  for (const { address } of wallets) await chain.fund(address)
  const socket = `${service.variables.VAULT_SOCKET}.bench`
  const settings = {
    ETHEREUM_RPC_URL: chain.rpcUrl,
    LOG_LEVEL: 'info',
    EXPECTED_WAIT_MAX_MS: process.env.EXPECTED_WAIT_MAX_MS ?? '',
    VAULT_SOCKET: socket,
  }
  const { workerUrl } = service.database
  const vault = await start({
    file: 'src/main/vault.ts',
    variables: { ...service.vaultVariables, ...settings },
    until: /"msg":"listening"/,
  })
  const api = await start({
    file: 'src/main/api.ts',
    variables: { ...service.variables, ...settings, PORT: '0' },
    until: /"url":"(http:\/\/127\.0\.0\.1:[0-9]+)"/,
  })
  const worker = await start({
    file: 'src/main/worker.ts',
    variables: { ...service.variables, ...settings, VAULT_SOCKET: '', DATABASE_URL: workerUrl },
    until: /"working"/,
  })
  const bare = await start({ file: 'bench/bare-refusal.ts', variables: {}, until: /listening ([0-9]+)/ })
  const run = async (how: Record<string, string>, forSeconds: number): Promise<OverloadRun> => {
    const client = await start({
      file: 'bench/overload-client.ts',
      variables: {
        BUN_CONFIG_MAX_HTTP_REQUESTS: String(CONNECTIONS_MAX),
        TARGET_URL: `${api.match[1]}/transactions/sign-and-send`,
        BARE_URL: `http://127.0.0.1:${bare.match[1]}`,
        HEADERS: JSON.stringify(headersOf(service)),
        SIGNERS: JSON.stringify(wallets.map(({ address }) => address)),
        RECIPIENT,
        SECONDS: String(forSeconds),
        ...how,
      },
      until: /^done (.*)$/m,
      timeoutMs: (forSeconds + LAST_ANSWERS_SECONDS) * 1000,
    })
    await client.stop()
    return JSON.parse(client.match[1] ?? '') as OverloadRun
  }
  try {
    await run({ AT_ONCE: String(AT_ONCE) }, WARM_UP_SECONDS)
    const capacity = () => run({ AT_ONCE: String(AT_ONCE) }, CAPACITY_SECONDS)
    const before = await capacity()
    const perSecond = String(before.acceptedPerSecond * TIMES)
    const overload = await run({ PER_SECOND: perSecond }, seconds)
    const calm = [before, await capacity()]
    const capacityPerSecond = calm.reduce((sum, { acceptedPerSecond }) => sum + acceptedPerSecond / calm.length, 0)
    return { seconds, calm, capacityPerSecond, overload, goodputRatio: overload.acceptedPerSecond / capacityPerSecond }
  } finally {
    for (const each of [worker, api, vault, bare]) await each.stop()
  }
}

const whole = (value: number) => Math.round(value).toLocaleString('en')

/** For people. */
export const overloadTable = (bench: OverloadBench): readonly string[] => {
  const { seconds, capacityPerSecond, calm, overload, goodputRatio } = bench
  const { sent, acceptedPerSecond, accepted, refused, bare, others, withRetryAfter } = overload
  const each = calm.map((run) => `${whole(run.acceptedPerSecond)}/s with p99 ${whole(run.accepted.p99Ms)} ms`)
  return [
    `\nPayments, ${AT_ONCE} at once: ${whole(capacityPerSecond)}/s are accepted (before ${each.join(', after ')}); then for ${whole(seconds)} s ${TIMES} times as many`,
    `  of ${whole(sent)} sent, accepted ${whole(acceptedPerSecond)}/s: ${whole(goodputRatio * 100)}% of the capacity (aim: at least 80%), p50 ${whole(accepted.p50Ms)} ms, p99 ${whole(accepted.p99Ms)} ms (aim: under 5,000)`,
    `  refused as busy ${whole(refused.count)}, ${whole(withRetryAfter)} with Retry-After: p50 ${whole(refused.p50Ms)} ms, p99 ${whole(refused.p99Ms)} ms (aim: under 100; a server that only refuses: ${whole(bare.p50Ms)} and ${whole(bare.p99Ms)} ms); other answers: ${JSON.stringify(others)}`,
  ]
}
