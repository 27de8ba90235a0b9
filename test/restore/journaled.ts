// An API whose vaults are processes of their own, each with a journal.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startRestoring } from '../../src/operators/restore/after-failover.ts'
import { readConfig } from '../../src/platform/config.ts'
import { type Service, startService } from '../support/service.ts'
import { startVaultProcess } from '../support/vault.ts'

type Variables = Readonly<Record<string, string>>

type Input = Pick<NonNullable<Parameters<typeof startService>[0]>, 'rpcUrls' | 'database'> & {
  /** What each vault's variables are beside the usual ones; by default there is one vault. */
  readonly vaults?: readonly Variables[]
}

export const startJournaled = async ({ vaults: changes = [{}], ...input }: Input) => {
  const folder = await mkdtemp(join(tmpdir(), 'strongroom-journaled-'))
  /** With a vault of its own, which has no journal. */
  const first = await startService(input)
  const vaultVariables = changes.map((own, index) => ({
    ...first.vaultVariables,
    VAULT_SOCKET: `${first.variables.VAULT_SOCKET}.${index}`,
    VAULT_JOURNAL: join(folder, `journal-${index}`),
    ...own,
  }))
  const sockets = vaultVariables.map(({ VAULT_SOCKET }) => VAULT_SOCKET)
  let vaults: readonly Awaited<ReturnType<typeof startVaultProcess>>[] = []
  const startVaults = async (others: Variables = {}): Promise<void> => {
    vaults = await Promise.all(vaultVariables.map((variables) => startVaultProcess({ ...variables, ...others })))
  }
  const stopVaults = () => Promise.all(vaults.map((vault) => vault.stop()))
  await startVaults()
  const apis: Service[] = []
  const stops: (() => Promise<void>)[] = []
  const startApi = async (): Promise<Service> => {
    const database = { ...first.database, close: async () => {} }
    const variables = { ...first.variables, VAULT_SOCKET: sockets.join(',') }
    const api = await startService({ ...input, database, hasVault: false, variables })
    apis.push(api)
    // As an API's process does.
    stops.push(startRestoring({ ...api.ctx, config: readConfig(variables) }))
    return api
  }
  return {
    first,
    api: await startApi(),
    /** Starts another API. */
    startApi,
    sockets,
    /** Each vault's, as `VAULT_JOURNAL` names them. */
    journals: vaultVariables.map(({ VAULT_JOURNAL }) => VAULT_JOURNAL),
    /** What each vault has logged since its start. */
    output: () => vaults.map((vault) => vault.output()),
    startVaults,
    /** Also waits for those that end by themselves. @returns their exit codes. */
    stopVaults,
    stopVault: async (index: number): Promise<void> => void (await vaults[index]?.stop()),
    restartVaults: async (): Promise<void> => {
      await stopVaults()
      await startVaults()
    },
    killVaults: async (): Promise<void> => {
      for (const vault of vaults) await vault.kill()
    },
    close: async () => {
      for (const stop of stops) await stop()
      for (const api of apis) await api.close()
      await stopVaults()
      await first.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

export type Journaled = Awaited<ReturnType<typeof startJournaled>>
