import type { Service } from '../test/support/service.ts'
import { permit } from '../test/typed-data/data.ts'
import { headersOf, type LoadResult, load, middle } from './load.ts'
import { start } from './processes.ts'

const AT_ONCE = 32
const SECONDS = 4
const ROUNDS = 3
const RECIPIENT = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
/** Ethereum's testnet. */
const CHAIN_ID = 11_155_111

export type SignBench = {
  readonly floor: LoadResult
  readonly strongroom: LoadResult
  /** A permit (ERC-2612). */
  readonly typedData: LoadResult
  /** Medians of rounds that alternate, so that all meet the same noise. */
  readonly ratio: number
  /** The time of a signature of typed data, in times of a transaction's. */
  readonly typedDataRatio: number
}

/** Signing over HTTP, developer-controlled, every field given, against the bare floor. */
export const benchSign = async (service: Service): Promise<SignBench> => {
  const wallet = await service.newWallet({ network: 'Ethereum' })
  const api = await start({
    file: 'src/main/api.ts',
    variables: { ...service.variables, PORT: '0', LOG_LEVEL: 'info' },
    until: /"url":"http:\/\/127\.0\.0\.1:([0-9]+)"/,
  })
  const floor = await start({
    file: 'bench/floor.ts',
    variables: { DATABASE_URL: service.database.url },
    until: /listening ([0-9]+)/,
  })
  const headers = headersOf(service)
  const rounds = { floor: [] as LoadResult[], strongroom: [] as LoadResult[], typedData: [] as LoadResult[] }
  const loadOf = (url: string, bodyOf: (signer: string, nonce: number) => object) => (seconds: number) =>
    load({
      url,
      request: (nonce) => ({ method: 'POST', headers, body: JSON.stringify(bodyOf(wallet.address, nonce)) }),
      atOnce: AT_ONCE,
      seconds,
    })
  const transactions = `http://127.0.0.1:${api.match[1]}/transactions`
  const runs = {
    floor: loadOf(`http://127.0.0.1:${floor.match[1]}/sign`, transactionOf),
    strongroom: loadOf(`${transactions}/sign`, transactionOf),
    typedData: loadOf(`${transactions}/sign-typed-data`, typedDataOf),
  }
  const names = ['floor', 'strongroom', 'typedData'] as const
  try {
    for (const name of names) await runs[name](1)
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const name of names) rounds[name].push(await runs[name](SECONDS))
    }
  } finally {
    await Promise.all([api.stop(), floor.stop()])
  }
  const strongroom = middle(rounds.strongroom)
  const result = { floor: middle(rounds.floor), strongroom, typedData: middle(rounds.typedData) }
  return {
    ...result,
    ratio: strongroom.perSecond / result.floor.perSecond,
    typedDataRatio: strongroom.perSecond / result.typedData.perSecond,
  }
}

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
