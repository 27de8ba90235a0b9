import { Command } from 'commander'
import { type Restored, restore } from '../restore/restore.ts'
import { withEachVault } from './journal.ts'
import { counted, rowAsJson } from './operator.ts'
import type { Shell } from './shell.ts'

const WHY = {
  nonce_held: 'another transaction of its signer has its nonce',
  no_wallet: 'its wallet is not there',
  answered: 'its request was answered with another one',
} as const

const linesOf = (restored: Restored): readonly string[] => [
  `Custody: ${counted(restored.rows, 'row')}, and ${counted(restored.audit, 'audit row')}.`,
  `Projects: ${restored.projects.length}. Wallets: ${restored.wallets}. Transactions: ${restored.transactions}, and ${counted(restored.spedUp, 'speed-up')}.`,
  ...restored.projects.map(
    (id) => `Project ${id} was gone: it has the settings of a new one now, and needs an API key (api-key create).`,
  ),
  ...restored.skipped.map(({ id, why }) => `Transaction ${id} was signed and is not recorded: ${WHY[why]}.`),
  'The vaults open keys again. Start the APIs and the workers.',
]

export const restoreCommands = (shell: Shell): Command =>
  new Command('restore')
    .summary('Bring in what the journals of the vaults have, after the database was restored.')
    .description(
      'Bring in what the journals of the vaults have and the database lacks, after it was restored from a backup: keys, wallets, ' +
        'policies, wrong PINs, audit rows and signed transactions. Until then a vault opens no key. Name all vaults in ' +
        'VAULT_SOCKET, and stop the APIs and the workers before. It can be killed and run again.',
    )
    .option('--json', 'print a JSON object')
    .action(({ json }: { json?: boolean }) =>
      shell.withOperatorCtx(async (ctx) => {
        const restored = await withEachVault(ctx, (vaults) =>
          restore(
            ctx,
            vaults.map(({ vault }) => vault),
          ),
        )
        if (json) return shell.printJson({ ...rowAsJson(restored), skipped: restored.skipped })
        for (const line of linesOf(restored)) shell.print(line)
      }),
    )
