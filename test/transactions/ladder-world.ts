// The set-up for tests of the ladder: a chain that mines on command, go-ethereum's pool in front of it, the service
// with a worker, and clocks that can be moved back.

import postgres from 'postgres'
import type { Hex } from 'viem'
import { addJob } from '../../db/jobs.ts'
import { fundedAccount, startChain } from '../support/chains.ts'
import { startGethRules } from '../support/geth-rules.ts'
import { ageTransactions } from '../support/rows.ts'
import { startService } from '../support/service.ts'
import { startWorkerHere } from '../support/worker-here.ts'

export const network = 'Ethereum'
export const GWEI = 1_000_000_000n
export const RECIPIENT = fundedAccount(5).address

/** With one slot per epoch, a block is final when two blocks are above it. */
const SLOTS = ['--slots-in-an-epoch', '1']
const BLOCKS_TO_FINAL = 3
/** More than the devnet's depth. */
const CLIMB_SECONDS = 4
const EXPIRE_SECONDS = 30
const PATIENCE_MS = 15_000
const POLL_MS = 50

export type Row = {
  readonly chosen: number
  readonly rungs: number
  readonly status: string
  readonly shown_hash: string | null
  readonly clock: boolean
  /** The node's last refusal of the chosen attempt. */
  readonly cause: string | null
}

export type Attempt = { readonly hash: Hex; readonly raw: Hex | null; readonly error: string | null }

export const startLadderWorld = async () => {
  const chain = await startChain(network, { flags: SLOTS })
  const node = startGethRules(chain.rpcUrl)
  const service = await startService({ rpcUrls: { [network]: node.url } })
  const sql = postgres(service.database.url, { max: 1 })
  const worker = await startWorkerHere(service)
  await chain.setAutomine(false)

  const wallet = async (balance = 10n ** 21n): Promise<Hex> => {
    const { address } = await service.newWallet({ network })
    await chain.fund(address, balance)
    return address
  }

  const send = async (from: Hex, unsigned: Record<string, string> = {}): Promise<string> => {
    const answer = await service.post('/transactions/sign-and-send', {
      network,
      signer_wallet_address: from,
      unsigned_transaction: { to: RECIPIENT, value: '1', ...unsigned },
      developer_secret: 'testnet-secret',
    })
    if (answer.status !== 200) throw new Error(`not recorded: ${answer.text}`)
    return answer.json.transaction_id
  }

  const attemptsOf = (id: string): Promise<readonly Attempt[]> => sql<Attempt[]>`
    select hash, raw, last_error as error from tests.attempts where transaction_id = ${id}
    order by case kind when 'rung' then 0 when 'cancel' then 1 else 2 end, rung`

  const rowOf = async (id: string): Promise<Row> => {
    const [row] = await sql<Row[]>`
      select chosen, rungs, status, shown_hash, clock_started_at is not null as clock, (
        select last_error from tests.attempts
        where transaction_id = id and case when chosen = rungs then kind = 'cancel' else rung = chosen and kind = 'rung' end
      ) as cause
      from transactions where id = ${id}`
    if (row === undefined) throw new Error('the transaction is not recorded')
    return row
  }

  /** Makes jobs that wait for their next try due now, and notifies the worker. */
  const hurry = async (): Promise<void> => {
    const hurried = await sql`
      update graphile_worker._private_jobs set run_at = now() where key like 'broadcast:%' and run_at > now() returning id`
    if (hurried.length > 0) await sql`select pg_notify('jobs:insert', '{"r":0.5,"count":1}')`
  }

  const until = async (id: string, right: (row: Row) => boolean): Promise<Row> => {
    const deadline = Date.now() + PATIENCE_MS
    for (;;) {
      const row = await rowOf(id)
      if (right(row)) return row
      if (Date.now() > deadline) throw new Error(`it did not come to that: ${JSON.stringify(row)}`)
      await hurry()
      await Bun.sleep(POLL_MS)
    }
  }

  /** Makes its clock and its chosen attempt look this old; in that time blocks came, the last one now. */
  const age = async (id: string, seconds: number): Promise<void> => {
    await until(id, (row) => row.clock)
    await sql`
      with came as (update cursors set updated_at = now(), resumed_at = null where purpose = 'track')
      update transactions set
        clock_started_at = now() - make_interval(secs => ${seconds}),
        chosen_at = now() - make_interval(secs => ${seconds})
      where id = ${id}`
  }

  return {
    ...{ chain, node, service, sql, wallet, send, attemptsOf, rowOf, until, age },
    /** Makes it old enough to climb, and waits until it does. */
    climb: async (id: string): Promise<Row> => {
      const { chosen } = await rowOf(id)
      await age(id, CLIMB_SECONDS)
      return until(id, (row) => row.chosen > chosen)
    },
    /** Makes it old enough to be given up, and waits until it is. */
    expire: async (id: string): Promise<Row> => {
      await age(id, EXPIRE_SECONDS)
      return until(id, (row) => row.chosen === row.rungs)
    },
    /** Waits until the node has the chosen attempt. */
    taken: async (id: string): Promise<Row> => {
      const attempts = await attemptsOf(id)
      return until(id, (row) => row.shown_hash === attempts[row.chosen]?.hash && row.cause === null)
    },
    /** Waits until the node has refused the chosen attempt, or has not answered. */
    refused: (id: string): Promise<Row> => until(id, (row) => row.cause !== null),
    /** Runs the reconciler as if nothing had been observed for long. */
    reconcile: async (): Promise<void> => {
      await ageTransactions(sql)
      await addJob(service.ctx.db, 'reconcile', { again: false })
    },
    /** Mines a block with this base fee. */
    mineAt: async (baseFeeWei: bigint): Promise<void> => {
      await chain.rpc('anvil_setNextBlockBaseFeePerGas', [`0x${baseFeeWei.toString(16)}`])
      await node.mine()
    },
    /** Waits until the tracker has read the newest block's fee. */
    seen: async (): Promise<void> => {
      const { baseFeePerGas, hash } = await chain.publicClient.getBlock()
      const deadline = Date.now() + PATIENCE_MS
      for (;;) {
        const rows = await sql`
          select 1 from cursors
          where purpose = 'track' and block_hash = ${hash} and base_fee_per_gas = ${String(baseFeePerGas)}`
        if (rows.length === 1) return
        if (Date.now() > deadline) throw new Error(`block ${hash} was not taken in`)
        await Bun.sleep(POLL_MS)
      }
    },
    /** Mines enough blocks for the next one to become final. */
    mineToFinal: () => node.mine(BLOCKS_TO_FINAL + 1),
    statusOf: async (id: string) => (await service.get('/transactions/status-by-id', { id })).json,
    statusOfHash: async (hash: string) =>
      (await service.get('/transactions/status-by-hash', { network, transaction_hash: hash })).json,
    close: async () => {
      await sql.end()
      await worker.stop()
      await service.close()
      await node.stop()
      await chain.stop()
    },
  }
}

export type LadderWorld = Awaited<ReturnType<typeof startLadderWorld>>
