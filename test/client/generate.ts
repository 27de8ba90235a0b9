// Writes what the client package has from the service's OpenAPI document: its types, which are not committed; with
// `--all`, as in `bun run build`, also its table of operations, which is.

import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { generatedFiles, TYPES_FILE } from '../../client/generate.ts'
import { ROOT } from '../support/imports.ts'
import { startService } from '../support/service.ts'

const isAll = process.argv.includes('--all')
const service = await startService()
try {
  const document = (await service.call('/openapi/json')).json
  for (const [name, text] of Object.entries(await generatedFiles(document)))
    if (isAll || name === TYPES_FILE) await writeFile(join(ROOT, 'client/src', name), text)
} finally {
  await service.close()
}
// The database server ends with its process.
process.exit(0)
