import type { Task } from 'graphile-worker'
import { addJob } from '../../db/jobs.ts'
import { createChainer } from '../../src/audit/chain.ts'
import { follow } from '../../src/blocks/follow.ts'
import type { WorkerCtx } from '../../src/context.ts'
import { taskOf } from './task.ts'

const KEY = 'chain_audit'
const PAUSE_MS = 1_000

/** One shift of chaining audit rows; it adds the job for the next one. */
export const chainAuditTask = (ctx: WorkerCtx): Task => {
  const chainer = createChainer(ctx)
  return taskOf('chain_audit', async (_, signal) => {
    const { startAgain } = await follow(ctx, { what: KEY, pauseMs: PAUSE_MS, signal, step: () => chainer.step() })
    if (startAgain) await addJob(ctx.db, 'chain_audit', {}, { key: KEY, whenKeyed: 'replace' })
  })
}

/** Adds the job that chains audit rows if it is missing. */
export const startChaining = (ctx: WorkerCtx): Promise<void> =>
  addJob(ctx.db, 'chain_audit', {}, { key: KEY, whenKeyed: 'keep' })
