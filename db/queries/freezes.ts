import { and, asc, eq, isNull, sql } from 'drizzle-orm'
import type { PgColumn } from 'drizzle-orm/pg-core'
import type { Queryable } from '../client.ts'
import { freezes } from '../schema.ts'
import { FREEZE_SCOPES, type FreezeScope, type Network } from '../words.ts'

type FreezeRow = typeof freezes.$inferSelect

/** What is frozen. Columns that its scope does not use are null. */
export type FrozenThing = Pick<FreezeRow, 'scope' | 'projectId' | 'ownerId' | 'walletId' | 'network'>

const same = <Column extends PgColumn>(column: Column, value: Column['_']['data'] | null) =>
  value === null ? isNull(column) : eq(column, value)

const ofThing = (thing: FrozenThing) =>
  and(
    eq(freezes.scope, thing.scope),
    same(freezes.projectId, thing.projectId),
    same(freezes.ownerId, thing.ownerId),
    same(freezes.walletId, thing.walletId),
    same(freezes.network, thing.network),
  )

/** @returns false if it was frozen before. */
export const insertFreeze = async (
  db: Queryable,
  { thing, reason }: { readonly thing: FrozenThing; readonly reason: string },
): Promise<boolean> => {
  const { rowCount } = await db
    .insert(freezes)
    .values({ ...thing, reason })
    .onConflictDoNothing()
  return rowCount === 1
}

/** @returns false if it was not frozen. */
export const deleteFreeze = async (db: Queryable, thing: FrozenThing): Promise<boolean> =>
  (await db.delete(freezes).where(ofThing(thing))).rowCount === 1

/** Oldest first. */
export const listFreezes = async (db: Queryable): Promise<readonly FreezeRow[]> =>
  db.select().from(freezes).orderBy(asc(freezes.createdAt), asc(freezes.id))

type FreezableThing = {
  readonly projectId: string
  readonly ownerId: string
  /** null if there is no wallet. */
  readonly walletId: string | null
  readonly network: Network | null
}

/** The widest scope in which this place is frozen, or null; for use in another query. */
export const frozenScopeOf = (place: FreezableThing) =>
  sql<FreezeScope | null>`(
    select scope from ${freezes}
    where (scope = 'project' and project_id = ${place.projectId}::uuid)
      or (scope = 'owner' and project_id = ${place.projectId}::uuid and owner_id = ${place.ownerId})
      or (scope = 'wallet' and project_id = ${place.projectId}::uuid and wallet_id = ${place.walletId}::uuid)
      or (scope = 'network' and network = ${place.network}::text)
    order by array_position(${sql.raw(`array[${FREEZE_SCOPES.map((scope) => `'${scope}'`).join(', ')}]`)}, scope)
    limit 1)`
