// Writes db/catalogue.generated.ts, after a change of tables, functions or triggers: `bun
// test/db/generate-catalogue.ts`.

import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { ROOT } from '../support/imports.ts'
import { migratedCatalogue } from './migrated-catalogue.ts'

await writeFile(join(ROOT, 'db/catalogue.generated.ts'), await migratedCatalogue())
// The database server ends with its process.
process.exit(0)
