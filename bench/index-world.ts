// What is measured: the worker's own step, with the worker's rights, on a database of its own.

import postgres from 'postgres'
import { indexStep } from '../src/assets/activity/index-blocks.ts'
import { createWorkerCtx } from '../src/main/asking-contexts.ts'
import { readConfig } from '../src/platform/config.ts'
import { startService } from '../test/support/service.ts'
import type { WorkerCtx } from '../test/support/worker-here.ts'
import { NETWORK } from './index-chain.ts'

const STEPS_MAX = 10_000

export type IndexWorld = Awaited<ReturnType<typeof startIndexWorld>>

export const startIndexWorld = async (rpcUrl: string) => {
  const service = await startService({ rpcUrls: { [NETWORK]: rpcUrl } })
  const sql = postgres(service.database.url, { max: 1, onnotice: () => {} })
  const [keyring] = await sql<{ id: string }[]>`
    insert into keyrings (id, project_id, owner_id, kind, sealed)
    values (gen_random_uuid(), ${service.project.projectId}, 'bench', 'key', '\\x00') returning id`

  /** Wallets, whose keys nobody has. */
  const watch = async (addresses: readonly string[]): Promise<void> => {
    await sql`
      insert into wallets
        (id, project_id, network, owner_id, name, address, control_mode, type, keyring_id, public_key, mac)
      select gen_random_uuid(), ${service.project.projectId}, ${NETWORK}, address, 'Bench', address, 'developer', 'eoa',
        ${keyring?.id ?? null}, '\\x00', '\\x00'
      from unnest(${[...addresses]}::text[]) address`
  }

  /** So many more, with addresses that never move anything. */
  const watchStrangers = async (count: number): Promise<void> => {
    await sql`
      insert into wallets
        (id, project_id, network, owner_id, name, address, control_mode, type, keyring_id, public_key, mac)
      select gen_random_uuid(), ${service.project.projectId}, ${NETWORK}, 'stranger ' || each, 'Bench',
        '0x' || substr(encode(sha256(each::text::bytea), 'hex'), 1, 40), 'developer', 'eoa', ${keyring?.id ?? null}, '\\x00', '\\x00'
      from generate_series(1, ${count}::int) each`
  }

  /** A process that has just started, and knows nothing of its node. */
  const openWorker = (): Promise<WorkerCtx> => {
    const rights = { VAULT_SOCKET: '', DATABASE_URL: service.database.workerUrl }
    return createWorkerCtx({ config: readConfig({ ...service.variables, ...rights }), process: 'bench' })
  }

  /** From the first block to the last. @returns milliseconds; @throws Error where it has not kept so many movements. */
  const indexAll = async (input: { readonly kept: number }): Promise<number> => {
    await sql`truncate movements, holdings, cursors, seen_blocks, contract_facts`
    await sql`vacuum analyze`
    const ctx = await openWorker()
    const begun = performance.now()
    await catchUp(ctx)
    const ms = performance.now() - begun
    await ctx.close({ timeoutSeconds: 5 })
    const [row] = await sql<{ count: number }[]>`select count(*)::int as count from movements`
    if (row?.count !== input.kept) throw new Error(`${row?.count} movements were kept, not ${input.kept}`)
    return ms
  }

  const close = async (): Promise<void> => {
    await sql.end()
    await service.close()
  }
  return { sql, watch, watchStrangers, openWorker, indexAll, close }
}

export const catchUp = async (ctx: WorkerCtx): Promise<void> => {
  const chain = ctx.chains.withNode(NETWORK)
  for (let steps = 0; steps < STEPS_MAX; steps += 1) if ((await indexStep(ctx, chain)) === 'caught_up') return
  throw new Error(`the indexer has not caught up in ${STEPS_MAX} steps`)
}
