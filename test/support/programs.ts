// The programs as tests start them. `bun run test` bundles each of them once: a process then starts with a third of the
// work, as it reads a few files instead of a thousand. A test that runs by itself starts them from their sources.

import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const FOLDER_VARIABLE = 'STRONGROOM_TEST_PROGRAMS'

const PROGRAMS = ['src/main/vault', 'src/main/api', 'src/main/console', 'src/main/worker', 'src/main/cli'] as const
export type Program = (typeof PROGRAMS)[number]

/** The file that a test starts. */
export const programPath = (program: Program): string => {
  const folder = process.env[FOLDER_VARIABLE]
  return folder === undefined ? join(ROOT, `${program}.ts`) : join(folder, `${program}.js`)
}

/**
 * Bundles the programs into a folder, unless the environment names one that has them.
 * @returns the environment in which tests start them from there
 */
export const bundlePrograms = async (outdir: string): Promise<Readonly<Record<string, string>>> => {
  if (process.env[FOLDER_VARIABLE] !== undefined) return {}
  await Bun.build({
    entrypoints: PROGRAMS.map((program) => join(ROOT, `${program}.ts`)),
    ...{ root: ROOT, outdir, target: 'bun', splitting: true, sourcemap: 'linked' },
    plugins: [
      {
        name: 'files beside a source are found there',
        setup: (build) => {
          // A native module is required by a path from where it is, and Bun bundles it by a path from somewhere else.
          build.onResolve({ filter: /^@node-rs\/argon2$/ }, ({ path }) => ({
            path: Bun.resolveSync(path, ROOT),
            external: true,
          }))
          build.onLoad({ filter: /\/(src|jobs|db)\/.*\.ts$/ }, async ({ path }) => ({
            loader: 'ts',
            contents: (await readFile(path, 'utf8')).replaceAll('import.meta.url', `'${pathToFileURL(path).href}'`),
          }))
        },
      },
    ],
  })
  return { [FOLDER_VARIABLE]: outdir }
}
