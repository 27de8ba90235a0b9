// Compares the catalogue of a database with what the migrations make of an empty one.

import { MIGRATED } from './catalogue.generated.ts'
import type { Queryable } from './client.ts'
import { ACCESS, PROCESS_ROLES } from './grants.ts'
import { type CatalogueObject, readCatalogue } from './queries/catalogue.ts'

/** What a vault reads or writes. */
const TABLES_OF_VAULT = new Set(ACCESS.filter(({ rights }) => rights.vault !== undefined).map(({ table }) => table))

const nameOf = ({ kind, name }: Pick<CatalogueObject, 'kind' | 'name'>): string => `${kind} ${name}`

/** A function without its arguments. */
const wordOf = (name: string): string => name.replace(/\(.*/, '')

const functions = new Set(MIGRATED.flatMap(([kind, name]) => (kind === 'function' ? [wordOf(name)] : [])))

export type Difference = {
  /** One sentence without its point. */
  readonly found: string
  /** Whether it can change what a vault reads, or what its statements write. */
  readonly concernsVault: boolean
}

/** What belongs to no table is in reach of each statement, but for the functions of the job queue and of the operators' views. */
const isVaults = ({ name, table }: Pick<CatalogueObject, 'name' | 'table'>): boolean =>
  table === null ? !/^(?:graphile_worker|strongroom_views)\./.test(name) : TABLES_OF_VAULT.has(table)

/** Of these a later version may have others than an earlier vault knows, and they only refuse rows. */
const REFUSES_ROWS = ['constraint', 'index']

type Line = (typeof MIGRATED)[number]

const unlike = (line: Line, object: CatalogueObject | undefined): Difference[] => {
  const [kind, name, table, digest] = line
  const what = `the ${nameOf({ kind, name })}`
  const concernsVault = isVaults({ name, table })
  if (object === undefined) return [{ found: `${what} is gone`, concernsVault }]
  if (object.digest === digest) return []
  const onlyRefuses = REFUSES_ROWS.includes(kind) && !object.intervenes
  return [{ found: `${what} is not as the migrations make it`, concernsVault: concernsVault && !onlyRefuses }]
}

/**
 * The differences that count. An operator's own schemas, tables, columns, indexes, checks, functions and extensions do not, unless
 * they take part in our statements.
 */
const compare = (found: readonly CatalogueObject[]): readonly Difference[] => {
  const objects = new Map(found.map((each) => [nameOf(each), each]))
  const isSame = ([kind, name, , digest]: Line) => objects.get(nameOf({ kind, name }))?.digest === digest
  const same = new Set(MIGRATED.flatMap((line) => (line[0] === 'table' && isSame(line) ? [line[1]] : [])))
  const differences = MIGRATED.flatMap((line) => {
    const [kind, name, table] = line
    const object = objects.get(nameOf({ kind, name }))
    // Where the table itself is not the same, its parts that are gone are not named.
    if (object === undefined && kind !== 'table' && table !== null && !same.has(table)) return []
    return unlike(line, object)
  })
  const known = new Set(MIGRATED.map(([kind, name]) => nameOf({ kind, name })))
  const isOverload = ({ kind, name }: CatalogueObject) => kind === 'function' && functions.has(wordOf(name))
  const others = found.filter((each) => !known.has(nameOf(each)) && (each.intervenes || isOverload(each)))
  return [
    ...differences,
    ...others.map((object) => ({
      found: `the ${nameOf(object)} is none of this service's`,
      concernsVault: isVaults(object),
    })),
  ]
}

/** Reads the catalogue and compares it. Any role may. */
export const catalogueDifferences = async (db: Queryable): Promise<readonly Difference[]> =>
  compare(await readCatalogue(db, { roles: PROCESS_ROLES }))
