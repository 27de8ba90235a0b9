// Signing over HTTP, developer-controlled, every field given: beside the bare floor, and beside the least that a
// durable signer must do (floor.ts). What counts is the CPU time of a request by process: how much of it requests share
// depends on how many there are at once, so each number of them has a line.

import type { Service } from '../test/support/service.ts'
import { permit } from '../test/typed-data/data.ts'
import { headersOf, type LoadResult, load, median, middle } from './load.ts'
import { start } from './processes.ts'
import { startStack } from './stack.ts'
import { measureCpu } from './usage.ts'

const AT_ONCE = [1, 8, 32, 128] as const
const SECONDS = 3
const ROUNDS = 3
/** The code of the hot paths is compiled after some thousand runs. */
const WARM_UP_REQUESTS = 3_000
const WARM_UP_SECONDS = 60
const WARM_UP_AT_ONCE = 32
const RECIPIENT = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
/** Ethereum's testnet. */
const CHAIN_ID = 11_155_111

/** In the order of the table. */
const SIGNERS = ['bare', 'durable', 'transaction', 'typedData'] as const
type SignerName = (typeof SIGNERS)[number]

type SignRun = LoadResult & {
  /** CPU time of a request by process, in microseconds. */
  readonly cpuUs: Readonly<Record<string, number>>
}

export type SignBench = {
  readonly lines: readonly {
    readonly atOnce: number
    /** Medians of rounds that alternate, so that all meet the same noise. */
    readonly runs: Readonly<Record<SignerName, SignRun>>
  }[]
}

const middleRun = (rounds: readonly SignRun[]): SignRun => {
  const parts = Object.keys(rounds[0]?.cpuUs ?? {})
  const cpuUs = Object.fromEntries(parts.map((part) => [part, median(rounds.map((round) => round.cpuUs[part] ?? 0))]))
  return { ...middle(rounds), cpuUs }
}

const totalCpuUs = ({ cpuUs }: SignRun): number => Object.values(cpuUs).reduce((sum, us) => sum + us, 0)

/** @param input.postgresPid of the server itself, whose children serve the connections. */
export const benchSign = async (input: {
  readonly service: Service
  readonly postgresPid: number
}): Promise<SignBench> => {
  const { service, postgresPid: postgres } = input
  const wallet = await service.newWallet({ network: 'Ethereum' })
  const stack = await startStack(service)
  const floor = await start({
    file: 'bench/floor.ts',
    variables: { DATABASE_URL: service.database.url, API_KEY: service.project.apiKey },
    until: /listening ([0-9]+)/,
  })
  const headers = headersOf(service)
  const floorUrl = `http://127.0.0.1:${floor.match[1]}`
  const floorPids = { floor: floor.pid, postgres }
  const stackPids = { ...stack.pids, postgres }
  const signers = {
    bare: { url: `${floorUrl}/sign`, bodyOf: transactionOf, pids: floorPids },
    durable: { url: `${floorUrl}/sign-durably`, bodyOf: transactionOf, pids: floorPids },
    transaction: { url: `${stack.url}/transactions/sign`, bodyOf: transactionOf, pids: stackPids },
    typedData: { url: `${stack.url}/transactions/sign-typed-data`, bodyOf: typedDataOf, pids: stackPids },
  }
  const ask = (name: SignerName, loaded: { atOnce: number; seconds: number; requestsMax?: number }) => {
    const { url, bodyOf } = signers[name]
    const request = (nonce: number) => ({
      method: 'POST',
      headers,
      body: JSON.stringify(bodyOf(wallet.address, nonce)),
    })
    return load({ url, request, ...loaded })
  }
  const measure = async (name: SignerName, atOnce: number): Promise<SignRun> => {
    const pids: Readonly<Record<string, number>> = signers[name].pids
    const { cpuMs, result } = await measureCpu(pids, () => ask(name, { atOnce, seconds: SECONDS }))
    const cpuUs = Object.entries(cpuMs).map(([part, ms]) => [part, (ms * 1000) / result.requests] as const)
    return { ...result, cpuUs: Object.fromEntries(cpuUs) }
  }
  try {
    const warmUp = { atOnce: WARM_UP_AT_ONCE, seconds: WARM_UP_SECONDS, requestsMax: WARM_UP_REQUESTS }
    for (const name of SIGNERS) await ask(name, warmUp)
    const lines = []
    for (const atOnce of AT_ONCE) {
      const rounds: Record<SignerName, SignRun[]> = { bare: [], durable: [], transaction: [], typedData: [] }
      for (let round = 0; round < ROUNDS; round += 1) {
        for (const name of SIGNERS) rounds[name].push(await measure(name, atOnce))
      }
      const { bare, durable, transaction, typedData } = rounds
      lines.push({
        atOnce,
        runs: {
          bare: middleRun(bare),
          durable: middleRun(durable),
          transaction: middleRun(transaction),
          typedData: middleRun(typedData),
        },
      })
    }
    return { lines }
  } finally {
    await Promise.all([stack.stop(), floor.stop()])
  }
}

const NAMES: Readonly<Record<SignerName, string>> = {
  bare: 'bare floor',
  durable: 'floor of a durable signer',
  transaction: '/transactions/sign',
  typedData: '/transactions/sign-typed-data',
}

/** The bench's figures as lines of text. */
export const signTable = ({ lines }: SignBench): readonly string[] =>
  lines.flatMap(({ atOnce, runs }) => [
    `\nSigning over HTTP, ${String(atOnce).padStart(3)} at once            per second   p50 ms   p99 ms   CPU µs   of which`,
    ...SIGNERS.map((name) => {
      const run = runs[name]
      const parts = Object.entries(run.cpuUs).map(([part, us]) => `${part} ${us.toFixed(0)}`)
      return `  ${NAMES[name].padEnd(36)} ${run.perSecond.toFixed(0).padStart(11)} ${run.p50Ms.toFixed(1).padStart(8)} ${run.p99Ms.toFixed(1).padStart(8)} ${totalCpuUs(run).toFixed(0).padStart(8)}   ${parts.join(', ')}`
    }),
    `  to the bare floor's rate ${((runs.transaction.perSecond / runs.bare.perSecond) * 100).toFixed(0)}%, to the durable one's ${((runs.transaction.perSecond / runs.durable.perSecond) * 100).toFixed(0)}%; CPU ${(totalCpuUs(runs.transaction) / totalCpuUs(runs.durable)).toFixed(1)} × the durable one's`,
  ])

const signerOf = (signer: string) => ({
  network: 'Ethereum',
  signer_wallet_address: signer,
  developer_secret: 'testnet-secret',
})

const transactionOf = (signer: string, nonce: number) => ({
  ...signerOf(signer),
  unsigned_transaction: {
    to: RECIPIENT,
    value: '1000000000000000',
    input: '0x',
    gasLimit: '21000',
    maxFeePerGas: '30000000000',
    maxPriorityFeePerGas: '1000000000',
    nonce: String(nonce),
  },
})

const typedDataOf = (signer: string, nonce: number) => ({
  ...signerOf(signer),
  typed_data: permit(
    { name: 'USD Coin', chainId: CHAIN_ID, verifyingContract: '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48' },
    { owner: signer, spender: RECIPIENT, value: '2500000', nonce, deadline: '1893456000' },
  ),
})
