import { listProjects as selectProjects } from '../../db/queries/projects.ts'
import type { WorkerCtx } from '../context.ts'

type ListedProject = {
  readonly id: string
  readonly name: string
  readonly created_at: string
  readonly activated_at: string | null
  readonly anonymous_login: boolean
}

/** Every project, oldest first. For operators. */
export const listProjects = async (ctx: Pick<WorkerCtx, 'db'>): Promise<readonly ListedProject[]> =>
  (await selectProjects(ctx.db)).map((row) => ({
    id: row.id,
    name: row.name,
    created_at: row.createdAt.toISOString(),
    activated_at: row.activatedAt?.toISOString() ?? null,
    anonymous_login: row.anonymousLogin,
  }))
