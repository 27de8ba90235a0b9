import { openVault } from '../../src/main/open-vault.ts'
import { readConfig } from '../../src/platform/config.ts'
import { createLog } from '../../src/platform/process/log.ts'
import { serveVault } from '../../src/vault/rooms/serve-vault.ts'
import { startChaining } from '../../src/vault/rooms/start-chaining.ts'
import { startProcess } from './process.ts'
import { programPath } from './programs.ts'

/**
 * A vault in this process that listens at its socket, so that APIs of this and of other processes can ask it.
 * @param variables of a vault's process.
 */
export const startVault = async (variables: Readonly<Record<string, string>>) => {
  const config = readConfig(variables)
  const log = createLog({ config, process: 'test-vault' })
  const onJournalLost = (error: unknown) => log.fatal({ err: error }, 'the journal was lost')
  const ctx = await openVault({ config, process: 'test-vault', log, onJournalLost })
  const path = variables.VAULT_SOCKET ?? ''
  const listener = await serveVault({ ...ctx, log, path, users: null, tls: config.vaultListen })
  const stopChaining = startChaining({ ...ctx, log })
  return {
    vault: ctx.vault,
    flushRefusals: ctx.flushRefusals,
    lookAtCatalogue: ctx.lookAtCatalogue,
    close: async () => {
      await listener.stop({ graceMs: 0 })
      await stopChaining()
      await ctx.close({ timeoutSeconds: 5 })
    },
  }
}

/** A vault as a process of its own, when it listens. */
export const startVaultProcess = (
  variables: Readonly<Record<string, string>>,
  command: readonly string[] = ['bun', '--no-env-file', programPath('src/main/vault')],
) => startProcess({ command, variables: { ...variables, LOG_LEVEL: 'info' }, until: /"msg":"listening"/ })
