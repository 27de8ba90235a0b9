import type { Task } from 'graphile-worker'
import { noteHeads } from '../../db/queries/heads.ts'
import type { NodeView } from '../../src/chains/nodes.ts'
import type { JobsCtx } from '../ctx.ts'
import { taskOf } from './task.ts'

/** The newest block of a node that answers, of the right chain. */
const headAmong = (views: readonly NodeView[]): bigint | null =>
  views.reduce<bigint | null>((highest, { state, height }) => {
    if (height === null || state === 'down' || state === 'failing' || state === 'wrong_chain') return highest
    return highest === null || height > highest ? height : highest
  }, null)

/** Notes how far each network's followers are behind. It is a job of its own, so that it also says so when they stand still. */
export const noteHeadsTask = (ctx: JobsCtx): Task =>
  taskOf('note_heads', async () => {
    const looks = ctx.chains.all.map(async ({ network, lookAtNodes }) => ({
      network,
      head: headAmong(await lookAtNodes()),
    }))
    await noteHeads(ctx.db, await Promise.all(looks))
  })
