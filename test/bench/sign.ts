import type { Service } from '../support/service.ts'
import { headersOf, type LoadResult, load, middle } from './load.ts'
import { start } from './processes.ts'

const AT_ONCE = 32
const SECONDS = 4
const ROUNDS = 3

export type SignBench = {
  readonly floor: LoadResult
  readonly strongroom: LoadResult
  /** Medians of rounds that alternate, so that both meet the same noise. */
  readonly ratio: number
}

/** Signing over HTTP, developer-controlled, every field given, against the bare floor. */
export const benchSign = async (service: Service): Promise<SignBench> => {
  const wallet = await service.newWallet({ network: 'Ethereum' })
  const api = await start({
    file: 'src/server.ts',
    variables: { ...service.variables, PORT: '0', LOG_LEVEL: 'info' },
    until: /"url":"http:\/\/127\.0\.0\.1:([0-9]+)"/,
  })
  const floor = await start({
    file: 'test/bench/floor.ts',
    variables: { DATABASE_URL: service.database.url },
    until: /listening ([0-9]+)/,
  })
  const headers = headersOf(service)
  const rounds = { floor: [] as LoadResult[], strongroom: [] as LoadResult[] }
  const runs = {
    floor: (seconds: number) =>
      load({
        url: `http://127.0.0.1:${floor.match[1]}/sign`,
        request: (nonce) => ({ method: 'POST', headers, body: JSON.stringify(bodyOf(wallet.address, nonce)) }),
        atOnce: AT_ONCE,
        seconds,
      }),
    strongroom: (seconds: number) =>
      load({
        url: `http://127.0.0.1:${api.match[1]}/transactions/sign`,
        request: (nonce) => ({ method: 'POST', headers, body: JSON.stringify(bodyOf(wallet.address, nonce)) }),
        atOnce: AT_ONCE,
        seconds,
      }),
  }
  try {
    for (const name of ['floor', 'strongroom'] as const) await runs[name](1)
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const name of ['floor', 'strongroom'] as const) rounds[name].push(await runs[name](SECONDS))
    }
  } finally {
    await Promise.all([api.stop(), floor.stop()])
  }
  const result = { floor: middle(rounds.floor), strongroom: middle(rounds.strongroom) }
  return { ...result, ratio: result.strongroom.perSecond / result.floor.perSecond }
}

const bodyOf = (signer: string, nonce: number) => ({
  network: 'Ethereum',
  signer_wallet_address: signer,
  developer_secret: 'testnet-secret',
  unsigned_transaction: {
    to: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
    value: '1000000000000000',
    input: '0x',
    gasLimit: '21000',
    maxFeePerGas: '30000000000',
    maxPriorityFeePerGas: '1000000000',
    nonce: String(nonce),
  },
})
