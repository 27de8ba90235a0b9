// Writes the generated files of the client package: `bun test/client/generate.ts`, after a change of the service's
// interface.

import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { generatedFiles } from '../../client/generate.ts'
import { ROOT } from '../support/imports.ts'
import { startService } from '../support/service.ts'

const service = await startService()
try {
  const document = (await service.call('/openapi/json')).json
  for (const [name, text] of Object.entries(await generatedFiles(document)))
    await writeFile(join(ROOT, 'client/src', name), text)
} finally {
  await service.close()
}
// The database server ends with its process.
process.exit(0)
