// Builds the login page's script from this folder into one file for browsers. Run it after a change: `bun run build`.

import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const ENTRY = fileURLToPath(new URL('main.ts', import.meta.url))
const GENERATED_URL = new URL('../client.generated.ts', import.meta.url)

/** The text of `client.generated.ts` as the present sources give it. */
export const buildClient = async (): Promise<string> => {
  const { outputFiles } = await build({
    entryPoints: [ENTRY],
    bundle: true,
    write: false,
    minify: true,
    format: 'esm',
    target: 'es2022',
  })
  const [output] = outputFiles
  if (output === undefined) throw new Error('The login page’s script was not built.')
  return [
    '// Built from client/ by client/build.ts: do not edit, run `bun run build`.',
    '',
    "/** The login page's script, for browsers. */",
    `export const clientScript = ${JSON.stringify(output.text)}`,
    '',
  ].join('\n')
}

if (import.meta.main) writeFileSync(GENERATED_URL, await buildClient())
