import { openDb } from '../../db/client.ts'
import { PROCESS_ROLES } from '../../db/grants.ts'
import { readCatalogue } from '../../db/queries/catalogue.ts'
import { createDatabase } from '../support/postgres.ts'

/** The text of db/catalogue.generated.ts: what the migrations make of an empty database. */
export const migratedCatalogue = async (): Promise<string> => {
  const database = await createDatabase()
  const db = openDb({ url: database.vaultUrl, maxConnections: 1, applicationName: 'catalogue' })
  try {
    const objects = await readCatalogue(db, { roles: PROCESS_ROLES })
    const lines = objects.map(({ kind, name, table, digest }) => `  ${JSON.stringify([kind, name, table, digest])},\n`)
    return `// Written by test/db/generate-catalogue.ts.
import type { CatalogueObject } from './queries/catalogue.ts'

type Line = readonly [kind: CatalogueObject['kind'], name: string, table: string | null, digest: string | null]

export const MIGRATED: readonly Line[] = [
${lines.join('')}]
`
  } finally {
    await db.close({ timeoutSeconds: 2 })
    await database.close()
  }
}
