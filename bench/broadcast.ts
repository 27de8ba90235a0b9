import postgres from 'postgres'
import type { Service } from '../test/support/service.ts'
import { percentile } from './load.ts'

/** Not counted: the processes compile what they run often. */
const WARM_UP = 50
const INTENTS = 500
const PER_SECOND = 50

export type BroadcastBench = {
  readonly intents: number
  readonly perSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
}

/** From recorded to broadcast, by the database's clock, at a steady number of intents a second from several signers. */
export const benchBroadcast = async (input: {
  readonly service: Service
  readonly fund: (address: `0x${string}`) => Promise<void>
}): Promise<BroadcastBench> => {
  const { service, fund } = input
  const wallets = await Promise.all(Array.from({ length: 10 }, () => service.newWallet({ network: 'Ethereum' })))
  for (const wallet of wallets) await fund(wallet.address)
  service.startWorker()
  const send = async (index: number) => {
    const answer = await service.post('/transactions/sign-and-send', {
      network: 'Ethereum',
      signer_wallet_address: wallets[index % wallets.length]?.address,
      developer_secret: 'testnet-secret',
      unsigned_transaction: { to: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8', value: '1' },
    })
    if (answer.status !== 200) throw new Error(`answered ${answer.status}: ${answer.text}`)
    return answer.json.transaction_id as string
  }
  // The worker is up when its first transaction is mined.
  await service.settled(await send(0))
  const begun = performance.now()
  const sent: Promise<string>[] = []
  for (let index = 0; index < WARM_UP + INTENTS; index += 1) {
    const due = begun + (index * 1000) / PER_SECOND
    if (performance.now() < due) await Bun.sleep(due - performance.now())
    sent.push(send(index))
  }
  const ids = (await Promise.all(sent)).slice(WARM_UP)
  for (const id of ids) await service.settled(id)
  const sql = postgres(service.database.url, { max: 1 })
  const rows = await sql<{ ms: number }[]>`
    select extract(epoch from broadcast_at - created_at)::float8 * 1000 as ms
    from transactions where id = any(${ids}) and broadcast_at is not null`
  await sql.end()
  if (rows.length !== INTENTS) throw new Error(`${rows.length} of ${INTENTS} intents were broadcast`)
  const sorted = rows.map((row) => row.ms).sort((a, b) => a - b)
  return { intents: INTENTS, perSecond: PER_SECOND, p50Ms: percentile(sorted, 0.5), p99Ms: percentile(sorted, 0.99) }
}
