// Programs that read the OpenAPI document, each run on Node as its own command does. Those that generate clients write
// them with TypeScript 5, which the client package has; the root's TypeScript 7 has no interface for programs.

import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { ROOT } from './imports.ts'

const CLIENT = join(ROOT, 'client')

/** Makes `typescript` the client package's for every importer (Node, `module.register`). */
const withTypescript5 = (): string => {
  const parentURL = pathToFileURL(join(CLIENT, 'package.json')).href
  const hook = `export const resolve = (name, context, next) => next(name, name === 'typescript' ? { ...context, parentURL: '${parentURL}' } : context)`
  const urlOf = (script: string) => `data:text/javascript,${encodeURIComponent(script)}`
  return urlOf(`import { register } from 'node:module'; register(${JSON.stringify(urlOf(hook))})`)
}

type Ran = { readonly exitCode: number; readonly output: string; readonly errors: string }

/** No tool may ask the network. */
const OFFLINE = { REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true', NO_COLOR: '1', CI: '1' }

/** Runs a program of an installed package. @param script its path below node_modules */
export const runTool = async (input: {
  readonly script: string
  readonly args: readonly string[]
  readonly cwd: string
}): Promise<Ran> => {
  const child = Bun.spawn(['node', join(ROOT, 'node_modules', input.script), ...input.args], {
    cwd: input.cwd,
    // Of the children too, as which some of them do their work.
    env: { PATH: process.env.PATH ?? '', HOME: input.cwd, NODE_OPTIONS: `--import=${withTypescript5()}`, ...OFFLINE },
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [output, errors] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
  return { exitCode: await child.exited, output, errors }
}

/** What the compiler says of files with strict options, in a folder of their own. */
export const typeErrorsOf = async (folder: string, files: Readonly<Record<string, string>>): Promise<string> => {
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true })
    await writeFile(join(folder, name), text)
  }
  const compilerOptions = {
    ...{ target: 'ESNext', module: 'ESNext', moduleResolution: 'bundler', lib: ['ESNext', 'DOM', 'DOM.Iterable'] },
    ...{ strict: true, noEmit: true, skipLibCheck: true, types: [], jsx: 'react-jsx' },
  }
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: Object.keys(files) }))
  const child = Bun.spawn(['node', join(ROOT, 'node_modules/typescript/bin/tsc'), '-p', folder], {
    env: { PATH: process.env.PATH ?? '' },
    stdout: 'pipe',
  })
  const output = await new Response(child.stdout).text()
  await child.exited
  return output
}
