// The client package as it is published: built, packed, and unpacked where a program finds it beside its peers.

import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { generatedFiles, TYPES_FILE } from '../../client/generate.ts'
import { ROOT } from './imports.ts'

const run = async (cwd: string, ...command: string[]): Promise<string> => {
  const child = Bun.spawn(command, { cwd, stdout: 'pipe', stderr: 'pipe' })
  const texts = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
  if ((await child.exited) !== 0) throw new Error(`${command.join(' ')} failed: ${texts.join('')}`)
  return texts.join('')
}

/** Writes the types that are not committed. */
const makeTypes = async (document: unknown): Promise<unknown> => {
  if (document === undefined) return run(ROOT, process.execPath, 'test/client/generate.ts')
  const { [TYPES_FILE]: text } = await generatedFiles(document as Parameters<typeof generatedFiles>[0])
  return writeFile(join(ROOT, 'client/src', TYPES_FILE), text)
}

/**
 * Builds the package in a folder of its own below `node_modules`. @param document the OpenAPI document, if the caller
 * has it: a service is started for it otherwise. @returns its parts, and a function that removes them
 */
export const packClient = async (document?: unknown) => {
  const cache = join(ROOT, 'node_modules/.cache')
  await mkdir(cache, { recursive: true })
  const folder = await mkdtemp(join(cache, 'strongroom-client-'))
  const remove = () => rm(folder, { recursive: true, force: true })
  try {
    await makeTypes(document)
    const source = join(folder, 'source')
    const tsc = join(ROOT, 'node_modules/typescript/bin/tsc')
    await run(ROOT, 'node', tsc, '-p', 'client/tsconfig.build.json', '--outDir', join(source, 'dist'))
    for (const name of ['package.json', 'README.md', 'LICENSE'])
      await cp(join(ROOT, name === 'LICENSE' ? name : `client/${name}`), join(source, name))
    await run(source, process.execPath, 'pm', 'pack', '--ignore-scripts', '--destination', folder)
    const { version } = JSON.parse(await readFile(join(source, 'package.json'), 'utf8'))
    const tarball = join(folder, `strongroom-client-${version}.tgz`)
    await mkdir(join(folder, 'node_modules'), { recursive: true })
    await run(join(folder, 'node_modules'), 'tar', '-xzf', tarball)
    await run(join(folder, 'node_modules'), 'mv', 'package', 'strongroom-client')
    await rm(source, { recursive: true })
    /** Runs a program that imports the package, by default in TypeScript on Bun. @returns what it prints */
    const runProgram = async (input: {
      readonly text: string
      readonly env: Readonly<Record<string, string>>
      /** The command of another runtime, for JavaScript. */
      readonly runtime?: readonly string[]
    }) => {
      const script = join(folder, `${crypto.randomUUID()}.${input.runtime === undefined ? 'ts' : 'mjs'}`)
      await writeFile(script, input.text)
      const { runtime = [process.execPath, '--no-env-file'] } = input
      const child = Bun.spawn([...runtime, script], {
        cwd: folder,
        env: { PATH: process.env.PATH ?? '', ...input.env },
        stdout: 'pipe',
        stderr: 'pipe',
      })
      const [output, errors] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
      return { exitCode: await child.exited, output, errors }
    }
    return { folder, tarball, runProgram, remove }
  } catch (error) {
    await remove()
    throw error
  }
}
