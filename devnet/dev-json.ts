import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Static, Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'

const DevJsonSchema = Type.Object({
  base_url: Type.String(),
  project_id: Type.String(),
  api_key: Type.String(),
  developer_secret: Type.String(),
  database_url: Type.String(),
  /** Where Prometheus scrapes the API and the worker. */
  metrics_urls: Type.Array(Type.String()),
  networks: Type.Record(
    Type.String(),
    Type.Object({
      rpc_url: Type.String(),
      chain_id: Type.Integer(),
      funded_private_key: Type.Optional(Type.String()),
    }),
  ),
})

/** The description of a running dev stack in `<DEV_DIR>/dev.json`, for programs. */
export type DevJson = Static<typeof DevJsonSchema>

const pathIn = (devFolder: string): string => join(devFolder, 'dev.json')

/** Reads the running stack's description; undefined if none is running and ready. */
export const readDevJson = async (devFolder: string): Promise<DevJson | undefined> => {
  const text = await readFile(pathIn(devFolder), 'utf8').catch(() => undefined)
  if (text === undefined) return undefined
  const content: unknown = JSON.parse(text)
  if (!Value.Check(DevJsonSchema, content)) throw new Error(`${pathIn(devFolder)} is not what \`bun run dev\` writes.`)
  return content
}

/** Writes the file all at once when the stack is ready. Only its owner may read it, because it holds an API key. */
export const writeDevJson = async (devFolder: string, content: DevJson): Promise<void> => {
  await writeFile(`${pathIn(devFolder)}.new`, `${JSON.stringify(content, null, 2)}\n`, { mode: 0o600 })
  await rename(`${pathIn(devFolder)}.new`, pathIn(devFolder))
}

/** Removes the file when the stack is no longer ready. */
export const removeDevJson = (devFolder: string): Promise<void> => rm(pathIn(devFolder), { force: true })

const commandEnvIn = (devFolder: string): string => join(devFolder, 'cli.env')

/**
 * Writes the variables of a command, which one without an environment of its own reads
 * (src/operators/cli/dev-stack.ts).
 */
export const writeCommandEnv = async (
  devFolder: string,
  variables: Readonly<Record<string, string | undefined>>,
): Promise<void> => {
  const lines = Object.entries(variables).map(([name, value = '']) => `${name}=${value}\n`)
  await writeFile(`${commandEnvIn(devFolder)}.new`, lines.join(''), { mode: 0o600 })
  await rename(`${commandEnvIn(devFolder)}.new`, commandEnvIn(devFolder))
}

/** Removes these variables when the stack is no longer ready. */
export const removeCommandEnv = (devFolder: string): Promise<void> => rm(commandEnvIn(devFolder), { force: true })
