// The programs of an installation as processes of their own: the vault too, so that the generator of the load does
// nothing but ask.

import { dirname, join } from 'node:path'
import type { Service } from '../test/support/service.ts'
import { type Running, start } from './processes.ts'

const URL_LINE = /"url":"(http:\/\/127\.0\.0\.1:[0-9]+)"/

let stacks = 0

export type Stack = {
  /** Of the API. */
  readonly url: string
  /** Of the vault. */
  readonly socket: string
  readonly pids: Readonly<Record<'api' | 'vault', number>>
  /** null: it has none. */
  readonly workerPid: number | null
  readonly stop: () => Promise<void>
}

/**
 * Starts a vault and an API on a service's database, with a socket of their own, and on demand a worker.
 * @param input.variables for all of them, as nodes
 */
export const startStack = async (
  { variables, vaultVariables, database }: Service,
  input: { readonly variables?: Record<string, string>; readonly hasWorker?: boolean } = {},
): Promise<Stack> => {
  const socket = `${join(dirname(variables.VAULT_SOCKET ?? ''), 'bench')}-${++stacks}.socket`
  const common = { ...input.variables, VAULT_SOCKET: socket, LOG_LEVEL: 'info' }
  const vault = await start({
    file: 'src/main/vault.ts',
    variables: { ...vaultVariables, ...common },
    until: /"msg":"listening"/,
  })
  const api = await start({
    file: 'src/main/api.ts',
    variables: { ...variables, ...common, PORT: '0' },
    until: URL_LINE,
  })
  const worker: Running | null = input.hasWorker
    ? await start({
        file: 'src/main/worker.ts',
        variables: { ...variables, ...common, VAULT_SOCKET: '', DATABASE_URL: database.workerUrl },
        until: /"working"/,
      })
    : null
  return {
    url: api.match[1] ?? '',
    socket,
    pids: { api: api.pid, vault: vault.pid },
    workerPid: worker?.pid ?? null,
    stop: async () => {
      await Promise.all([api.stop(), worker?.stop()])
      await vault.stop()
    },
  }
}
