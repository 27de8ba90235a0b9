import { readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Static, Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import type { DevFolder } from './dev-folder.ts'
import { becomesFree } from './port.ts'

const PortsSchema = Type.Record(Type.String(), Type.Integer({ minimum: 1, maximum: 65_535 }))

/** The port of each part of a stack, by the part's name. */
type DevPorts = Static<typeof PortsSchema>

const pathIn = (folder: DevFolder): string => join(folder.root, 'ports.json')

/**
 * Finds the ports of the last start, so that a URL in the settings of an app or a wallet stays right.
 * @param input.graceMs how long the parts of a killed stack may still hold their ports
 * @returns a function that gives the port that a part had, or undefined if it had none or another program has taken it
 */
export const readPorts = async (
  folder: DevFolder,
  { graceMs }: { readonly graceMs: number },
): Promise<(part: string) => Promise<number | undefined>> => {
  const text = await readFile(pathIn(folder), 'utf8').catch(() => '{}')
  const before: unknown = JSON.parse(text)
  if (!Value.Check(PortsSchema, before)) throw new Error(`${pathIn(folder)} is damaged: delete it.`)
  return async (part) => {
    const port = before[part]
    return port !== undefined && (await becomesFree(port, graceMs)) ? port : undefined
  }
}

/** Keeps the ports for the next start. */
export const writePorts = async (folder: DevFolder, ports: DevPorts): Promise<void> => {
  await writeFile(`${pathIn(folder)}.new`, `${JSON.stringify(ports, null, 2)}\n`)
  await rename(`${pathIn(folder)}.new`, pathIn(folder))
}
