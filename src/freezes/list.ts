import { type FreezeRow, listFreezes as selectFreezes } from '../../db/queries/freezes.ts'
import type { WorkerCtx } from '../context.ts'

/** What is frozen now, oldest first. For operators. */
export const listFreezes = (ctx: Pick<WorkerCtx, 'db'>): Promise<readonly FreezeRow[]> => selectFreezes(ctx.db)
