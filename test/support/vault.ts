import { readConfig } from '../../src/config.ts'
import { serveVault } from '../../src/custody/serve-vault.ts'
import { startChaining } from '../../src/custody/start-chaining.ts'
import { openVault } from '../../src/environment/open-vault.ts'
import { createLog } from '../../src/security/log.ts'
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
    close: async () => {
      await listener.stop({ graceMs: 0 })
      await stopChaining()
      await ctx.close({ timeoutSeconds: 5 })
    },
  }
}

/** A vault as a process of its own, when it listens. */
export const startVaultProcess = async (
  variables: Readonly<Record<string, string>>,
  command: readonly string[] = ['bun', '--no-env-file', programPath('src/vault')],
) => {
  const child = Bun.spawn([...command], {
    env: { PATH: process.env.PATH ?? '', ...variables, LOG_LEVEL: 'info' },
    stdout: 'pipe',
    stderr: 'inherit',
  })
  let output = ''
  const listening = Promise.withResolvers<void>()
  const read = async () => {
    for await (const chunk of child.stdout) {
      output += Buffer.from(chunk).toString()
      if (output.includes('"msg":"listening"')) listening.resolve()
    }
    listening.reject(new Error(`The vault ended: ${output}`))
  }
  void read()
  await listening.promise
  return {
    pid: child.pid,
    /** Stands still, as on a host that hangs, until it goes on. */
    pause: () => child.kill('SIGSTOP'),
    goOn: () => child.kill('SIGCONT'),
    output: () => output,
    /** As the kernel does it: no handler runs. */
    kill: async () => {
      child.kill('SIGKILL')
      await child.exited
    },
    stop: async () => {
      child.kill('SIGTERM')
      return await child.exited
    },
  }
}
