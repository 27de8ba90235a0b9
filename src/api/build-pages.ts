// Builds the scripts of our pages, each from its folder into one file for browsers. Run it after a change: `bun run
// build`.

import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { buildSync } from 'esbuild'

type Script = {
  readonly room: 'api/login' | 'operators/console'
  readonly constant: string
  readonly what: string
}

export const SCRIPTS: readonly Script[] = [
  { room: 'api/login', constant: 'clientScript', what: "The login page's script" },
  { room: 'operators/console', constant: 'consoleScript', what: "The console's script" },
]

export const generatedUrl = ({ room }: Script): URL => new URL(`../${room}/client.generated.ts`, import.meta.url)

/** The text of `client.generated.ts` as the present sources give it. */
export const buildScript = ({ room, constant, what }: Script): string => {
  // Not `build`, whose helper process hung in a second use by a process of `bun test` (esbuild 0.25, Bun 1.4).
  const { outputFiles } = buildSync({
    entryPoints: [fileURLToPath(new URL(`../${room}/client/main.ts`, import.meta.url))],
    bundle: true,
    write: false,
    minify: true,
    format: 'esm',
    target: 'es2022',
  })
  const [output] = outputFiles
  if (output === undefined) throw new Error(`${what} was not built.`)
  return [
    '// Built from client/ by src/api/build-pages.ts: do not edit, run `bun run build`.',
    '',
    `/** ${what}, for browsers. */`,
    `export const ${constant} = ${JSON.stringify(output.text)}`,
    '',
  ].join('\n')
}

if (import.meta.main) {
  for (const script of SCRIPTS) writeFileSync(generatedUrl(script), buildScript(script))
}
