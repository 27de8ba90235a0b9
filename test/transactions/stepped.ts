// The service with a worker that runs step by step in this process, so that a test acts between two steps.

import postgres from 'postgres'
import type { Network } from '../../db/words.ts'
import { startRound } from '../../src/blocks/follow.ts'
import { createWorkerCtx } from '../../src/main/asking-contexts.ts'
import { readConfig } from '../../src/platform/config.ts'
import { broadcastTransaction } from '../../src/signing/transactions/broadcast.ts'
import { reconcileTransactions } from '../../src/signing/transactions/reconcile.ts'
import { trackStep } from '../../src/signing/transactions/track.ts'
import { fundedAccount } from '../support/chains.ts'
import { ageTransactions } from '../support/rows.ts'
import { startService } from '../support/service.ts'

const MAX_STEPS = 400
/** For anvil a block is final when two epochs of 32 blocks are above it. */
export const BLOCKS_TO_FINAL = 64

export type Stepped = Awaited<ReturnType<typeof startStepped>>

/** What it needs of a local chain. */
type SteppedNode = {
  readonly network: Network
  fund(address: string): Promise<unknown>
  /** Waits until what was sent is mined. */
  poolMined(): Promise<unknown>
  stop(): Promise<unknown>
}

/**
 * @param input.rpcUrls as in the configuration: of the node, or of what is in front of it. `close` stops the node too.
 * @param input.to who gets a unit of the coin.
 */
export const startStepped = async (input: {
  readonly node: SteppedNode
  readonly rpcUrls: string
  readonly to?: string
}) => {
  const { node, rpcUrls, to = fundedAccount(5).address } = input
  const { network } = node
  const service = await startService({ rpcUrls: { [network]: rpcUrls } })
  const variables = { ...service.variables, DATABASE_URL: service.database.workerUrl, VAULT_SOCKET: '' }
  const ctx = await createWorkerCtx({ config: readConfig(variables), process: 'test-worker' })
  const chain = ctx.chains.withNode(network)
  const sql = postgres(service.database.url, { max: 2 })

  const newSigner = async () => {
    const { address } = await service.newWallet({ network })
    await node.fund(address)
    return address
  }

  /** Signs a transaction, by default of a new signer. */
  const act = async (path: 'sign' | 'sign-and-send', signer?: string, fields: object = {}) =>
    service.post(`/transactions/${path}`, {
      network,
      signer_wallet_address: signer ?? (await newSigner()),
      unsigned_transaction: { to, value: '1', ...fields },
      developer_secret: 'testnet-secret',
    })

  /** Records a transaction. @returns its id. */
  const send = async (signer?: string, fields?: object): Promise<string> => {
    const answer = await act('sign-and-send', signer, fields)
    if (answer.status !== 200) throw new Error(`not recorded: ${answer.text}`)
    return answer.json.transaction_id
  }

  return {
    service,
    ctx,
    chain,
    sql,
    newSigner,
    act,
    send,
    catchUp: async (tracked = chain): Promise<void> => {
      for (let steps = 0; steps < MAX_STEPS; steps += 1) if ((await trackStep(ctx, tracked)) === 'caught_up') return
      throw new Error('the tracker did not catch up')
    },
    /** Makes transactions look as if nothing had been observed for long, so that the reconciler asks the node. */
    reconcile: async (): Promise<void> => {
      await ageTransactions(sql, '1 hour')
      await reconcileTransactions(ctx, startRound(chain))
    },
    /** Sends a transaction to the node and waits until it is mined. */
    broadcast: async (id: string): Promise<void> => {
      await broadcastTransaction(ctx, id)
      await node.poolMined()
    },
    rowOf: async (id: string) => {
      const [row] = await sql<
        { status: string; final: boolean; code: string | null; block: string | null; number: string }[]
      >`
        select status, final, error_code as code, mined_block_hash as block, mined_block_number as number
        from transactions where id = ${id}`
      if (row === undefined) throw new Error('the transaction is not recorded')
      return { ...row, number: Number(row.number) }
    },
    clearJobs: () => sql`delete from graphile_worker._private_jobs`,
    close: async (): Promise<void> => {
      await sql.end()
      await ctx.close({ timeoutSeconds: 2 })
      await service.close()
      await node.stop()
    },
  }
}
