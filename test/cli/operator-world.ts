// The setting for tests of the operator's view: a chain that mines on command, a gate in front of it, the service,
// workers on demand, and the command line with the API's database login and without the root key.

import postgres from 'postgres'
import type { Hex } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { addJob } from '../../db/jobs.ts'
import { deployCanonicalContracts } from '../../devnet/canonical-contracts.ts'
import { fundedAccount, startChain } from '../support/chains.ts'
import { runCli } from '../support/cli.ts'
import { startGate } from '../support/gate.ts'
import { byTcp } from '../support/postgres.ts'
import { ageTransactions } from '../support/rows.ts'
import { startService } from '../support/service.ts'
import { until } from '../support/until.ts'
import { startWorkerHere, type WorkerHere } from '../support/worker-here.ts'

export const network = 'Ethereum'
export const RECIPIENT = fundedAccount(5).address
export const SECRET = { developer_secret: 'testnet-secret' }

export type Why = {
  readonly cause: string | null
  readonly why: string | null
  readonly late: boolean
  readonly waits_for: string | null
  readonly status: string
  readonly cancelling: boolean
}

export const startOperatorWorld = async () => {
  // With one slot per epoch, a block is final once two more are on top of it.
  const chain = await startChain(network, { flags: ['--slots-in-an-epoch', '1'] })
  const gate = startGate(chain.rpcUrl)
  const service = await startService({ rpcUrls: { [network]: gate.url } })
  const { sql } = service.database
  /** As the command line sees it, with the API's database login. */
  const asOperator = postgres(byTcp(service.database.apiUrl).href, { max: 1 })
  const workers = new Set<WorkerHere>()

  /** Starts a worker, optionally with environment variables that differ from the service's. */
  const startWorker = async (variables: Record<string, string> = {}): Promise<void> => {
    workers.add(await startWorkerHere(service, variables))
  }

  const stopWorkers = async (): Promise<void> => {
    await Promise.all([...workers].map((worker) => worker.stop()))
    workers.clear()
  }

  const cli = (...args: readonly string[]) => runCli(args, { ...service.variables, VAULT_SOCKET: '' })

  /** The output of a command with `--json`. */
  const cliJson = async (...args: readonly string[]) => {
    const { exitCode, output, errors } = await cli(...args, '--json')
    if (exitCode !== 0 || errors !== '') throw new Error(`${args.join(' ')}: ${errors}`)
    return JSON.parse(output)
  }

  const wallet = async (balance = 10n ** 20n): Promise<Hex> => {
    const { address } = await service.newWallet({ network })
    await chain.fund(address, balance)
    return address
  }

  /** A wallet whose key somebody else also has. */
  const sharedWallet = async () => {
    const privateKey = generatePrivateKey()
    const account = privateKeyToAccount(privateKey)
    const answer = await service.post('/wallets/import', {
      ...{ network, name: 'Shared', control_mode: 'developer', private_key: privateKey, ...SECRET },
    })
    if (answer.status !== 200) throw new Error(`not imported: ${answer.text}`)
    await chain.fund(account.address, 10n ** 20n)
    return account
  }

  /** A contract wallet that is not deployed, and the funded address of its key. */
  const contractWallet = async () => {
    await deployCanonicalContracts(chain.rpcUrl)
    const private_key = generatePrivateKey()
    const { address: key } = privateKeyToAccount(private_key)
    const answer = await service.post('/wallets/import', {
      ...{ network, name: 'A Safe', type: 'contract', control_mode: 'developer', private_key, ...SECRET },
    })
    if (answer.status !== 200) throw new Error(`not imported: ${answer.text}`)
    const safe: Hex = answer.json.address
    for (const address of [key, safe]) await chain.fund(address, 10n ** 20n)
    return { key, safe }
  }

  const send = async (from: Hex, unsigned: Record<string, string> = {}): Promise<string> => {
    const answer = await service.post('/transactions/sign-and-send', {
      ...{
        network,
        signer_wallet_address: from,
        unsigned_transaction: { to: RECIPIENT, value: '1', ...unsigned },
        ...SECRET,
      },
    })
    if (answer.status !== 200) throw new Error(`not recorded: ${answer.text}`)
    return answer.json.transaction_id
  }

  const whyOf = async (id: string): Promise<Why> => {
    const [row] = await asOperator<Why[]>`
      select cause, why, late, waits_for, status, cancelling from strongroom_views.transactions where id = ${id}`
    if (row === undefined) throw new Error('the transaction is not recorded')
    return row
  }

  return {
    ...{
      chain,
      gate,
      service,
      sql,
      startWorker,
      stopWorkers,
      cli,
      cliJson,
      wallet,
      sharedWallet,
      contractWallet,
      send,
      whyOf,
      until,
    },
    /** Waits until the view shows this cause. */
    becomes: (id: string, cause: string | null): Promise<Why> =>
      until(
        () => whyOf(id),
        (row) => row.cause === cause,
      ),
    /** Makes every waiting transaction look as if it had waited for a minute. */
    reconcile: async (): Promise<void> => {
      await sql`
        update transactions set created_at = created_at - interval '1 minute'
        where id in (select id from transactions where not final for update skip locked)`
      await ageTransactions(sql)
      await sql`update signers set heard_at = heard_at - interval '30 s'`
      await addJob(service.ctx.db, 'reconcile', { again: false })
    },
    /** Makes jobs that wait for a retry run now. */
    hurry: () =>
      sql`update graphile_worker._private_jobs set run_at = now() where key like 'broadcast:%' and run_at > now()`,
    close: async () => {
      await stopWorkers()
      await asOperator.end()
      await service.close()
      await gate.stop()
      await chain.stop()
    },
  }
}

export type OperatorWorld = Awaited<ReturnType<typeof startOperatorWorld>>
