import { listAbis as read } from '../../db/queries/abis.ts'
import type { WorkerCtx } from '../context.ts'

/** What operators added, oldest first. */
export const listAbis = (ctx: Pick<WorkerCtx, 'db'>) => read(ctx.db)
