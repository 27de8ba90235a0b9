import { and, eq, isNull, sql } from 'drizzle-orm'
import type { Db, Queryable, Tx } from '../client.ts'
import { insertRow, updateRows } from '../deciding-rows.ts'
import { type Given, prepare } from '../prepare.ts'
import { firstRow } from '../rows.ts'
import { projects } from '../schema.ts'

export type Project = typeof projects.$inferSelect

/** Which pages may call for a project, where its users return to, and who may log in there. */
export type ProjectSettings = Pick<
  Project,
  'id' | 'allowedOrigins' | 'returnAddresses' | 'passkeyRpId' | 'anonymousLogin'
>

export const insertProject = async (
  db: Db | Tx,
  input: {
    readonly id: string
    readonly name: string
    readonly activatedAt: Date | null
    readonly anonymousLogin?: boolean
    readonly mac?: Uint8Array
  },
) => {
  await insertRow(db, projects, input)
}

const projectsWith = prepare((db, { id }: Given<Pick<Project, 'id'>>) =>
  db.select().from(projects).where(eq(projects.id, id)),
)

export const findProject = (db: Queryable, id: string): Promise<Project | null> => firstRow(projectsWith(db, { id }))

/** So that two changes of its settings do not undo each other. */
export const lockProject = (db: Queryable, id: string): Promise<Project | null> =>
  firstRow(db.select().from(projects).where(eq(projects.id, id)).for('update'))

export const requireProjectOfRow = async (db: Queryable, row: { readonly projectId: string }): Promise<Project> => {
  const project = await findProject(db, row.projectId)
  if (project === null) throw new Error('A row belongs to a project that does not exist.')
  return project
}

export const markProjectActivated = async (db: Db | Tx, input: { readonly projectId: string; readonly at: Date }) => {
  const isNew = and(eq(projects.id, input.projectId), isNull(projects.activatedAt))
  await updateRows(db, projects, { set: { activatedAt: input.at }, where: isNew })
}

export const listProjects = async (db: Queryable): Promise<readonly Project[]> =>
  db.select().from(projects).orderBy(projects.createdAt, projects.id)

export const isOriginAllowedByAny = async (db: Queryable, origin: string) =>
  (await firstRow(
    db
      .select({ id: projects.id })
      .from(projects)
      .where(sql`${projects.allowedOrigins} @> ${sql.param([origin])}::text[]`)
      .limit(1),
  )) !== null

export const setProjectSettings = async (tx: Tx, { id, ...settings }: ProjectSettings & Pick<Project, 'mac'>) => {
  const { allowedOrigins, returnAddresses, passkeyRpId, anonymousLogin, mac } = settings
  const changed = { allowedOrigins, returnAddresses, passkeyRpId, anonymousLogin, mac }
  await updateRows(tx, projects, { set: changed, where: eq(projects.id, id) })
}
