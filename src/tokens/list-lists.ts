import { readTokenLists } from '../../db/queries/listed-tokens.ts'
import type { WorkerCtx } from '../context.ts'

/** What operators imported, oldest first. */
export const listTokenLists = (ctx: Pick<WorkerCtx, 'db'>) => readTokenLists(ctx.db)
