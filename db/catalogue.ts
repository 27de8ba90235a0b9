// Compares the catalogue of a database with what the migrations make of an empty one.

import { sql } from 'drizzle-orm'
import { MIGRATED } from './catalogue.generated.ts'
import type { Db } from './client.ts'
import { ACCESS, PROCESS_ROLES } from './grants.ts'
import { type CatalogueObject, readCatalogue } from './queries/catalogue.ts'
import { MEANING } from './words.ts'

const tablesWhere = (holds: (rights: string) => boolean): ReadonlySet<string> =>
  new Set(ACCESS.flatMap(({ table, rights: { vault } }) => (vault !== undefined && holds(vault) ? [table] : [])))

const READ_BY_VAULT = tablesWhere(() => true)
const WRITTEN_BY_VAULT = tablesWhere((rights) => /insert|update|delete/.test(rights))

const describeObject = ({ kind, name }: Pick<CatalogueObject, 'kind' | 'name'>): string => `${kind} ${name}`

/** A function without its arguments; those of pg_catalog are found before those of public. */
const readFunctionName = (name: string): string => name.replace(/^pg_catalog\.|\(.*/g, '')

const functions = new Set(MIGRATED.flatMap(([kind, name]) => (kind === 'function' ? [readFunctionName(name)] : [])))

export type Difference = {
  /** One sentence without its point. */
  readonly found: string
  /** Whether it can change what a vault reads, or what its statements write. */
  readonly concernsVault: boolean
}

/** They act only on statements that write. A function that belongs to a table is called by its triggers alone. */
const ACTS_ON_WRITES = ['trigger', 'function', 'constraint']

/** Each process sets these for its own connections, and what its connection has in the end is compared, too. */
const isOverruled = (name: string): boolean => Object.keys(MEANING).some((setting) => name.startsWith(`${setting}=`))

/** Each statement reaches an object without a table, but not functions of the job queue and of the operators' views. */
const concernsVaults = ({ kind, name, table }: Pick<CatalogueObject, 'kind' | 'name' | 'table'>): boolean => {
  if (table !== null) return (ACTS_ON_WRITES.includes(kind) ? WRITTEN_BY_VAULT : READ_BY_VAULT).has(table)
  return kind === 'setting' ? !isOverruled(name) : !/^(?:graphile_worker|strongroom_views)\./.test(name)
}

/** A later version may have other ones than an earlier vault knows, and they only refuse rows. */
const REFUSES_ROWS = ['constraint', 'index']

type Line = (typeof MIGRATED)[number]

const findDifferences = (line: Line, object: CatalogueObject | undefined): Difference[] => {
  const [kind, name, table, digest] = line
  const what = `the ${describeObject({ kind, name })}`
  const concernsVault = concernsVaults({ kind, name, table })
  if (object === undefined) return [{ found: `${what} is gone`, concernsVault }]
  if (object.digest === digest) return []
  const onlyRefuses = REFUSES_ROWS.includes(kind) && !object.intervenes
  return [{ found: `${what} is not as the migrations make it`, concernsVault: concernsVault && !onlyRefuses }]
}

/** Differences that count: an operator's own objects do only where they take part in the service's statements. */
const compare = (found: readonly CatalogueObject[]): readonly Difference[] => {
  const objects = new Map(found.map((each) => [describeObject(each), each]))
  const isSame = ([kind, name, , digest]: Line) => objects.get(describeObject({ kind, name }))?.digest === digest
  const same = new Set(MIGRATED.flatMap((line) => (line[0] === 'table' && isSame(line) ? [line[1]] : [])))
  const differences = MIGRATED.flatMap((line) => {
    const [kind, name, table] = line
    const object = objects.get(describeObject({ kind, name }))
    // If the table differs, its missing parts are not named.
    if (object === undefined && kind !== 'table' && table !== null && !same.has(table)) return []
    return findDifferences(line, object)
  })
  const known = new Set(MIGRATED.map(([kind, name]) => describeObject({ kind, name })))
  const isOverload = ({ kind, name }: CatalogueObject) => kind === 'function' && functions.has(readFunctionName(name))
  const others = found.filter((each) => !known.has(describeObject(each)) && (each.intervenes || isOverload(each)))
  return [
    ...differences,
    ...others.map((object) => ({
      found: `the ${describeObject(object)} is not in the migrations`,
      concernsVault: concernsVaults(object),
    })),
  ]
}

/** Any role may read the catalogue. A locked table delays this call, and no request, as none shares the connection. */
export const catalogueDifferences = (db: Db): Promise<readonly Difference[]> =>
  db.transaction(async (tx) => {
    await tx.execute(sql`set local lock_timeout = '2s'`)
    return compare(await readCatalogue(tx, { roles: PROCESS_ROLES }))
  })
