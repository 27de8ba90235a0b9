import type { Task } from 'graphile-worker'
import type { WorkerCtx } from '../../src/context.ts'
import { compact } from '../../src/metrics/compact.ts'
import { parsePayload } from './payload.ts'

/** Housekeeping: totals are the same without it, and slower to read. */
export const compactCountsTask =
  (ctx: WorkerCtx): Task =>
  async (payload) => {
    parsePayload('compact_counts', payload)
    await compact(ctx)
  }
