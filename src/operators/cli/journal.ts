import { Command } from 'commander'
import { openVaultsAsOperator, operatorSocketsOf } from '../../vault/client/vaults.ts'
import type { OperatorVault } from '../../vault/contract/vault.ts'
import type { ReadingCtx } from '../ctx.ts'
import { journalsElsewhere } from '../restore/journals.ts'
import { instant, uuid } from './arguments.ts'
import { counted, rowAsJson } from './operator.ts'
import type { Shell } from './shell.ts'

type NamedVault = { readonly socket: string; readonly vault: OperatorVault }

/** Asks each vault that VAULT_SOCKET names, as each has a journal of its own. */
export const withEachVault = async <Result>(
  { config }: ReadingCtx,
  work: (vaults: readonly NamedVault[]) => Promise<Result>,
): Promise<Result> => {
  const vaults = operatorSocketsOf(config).map((socket) => ({
    socket,
    vault: openVaultsAsOperator({ config: { ...config, vaultSockets: [socket] }, process: 'cli' }),
  }))
  try {
    return await work(vaults)
  } finally {
    for (const { vault } of vaults) vault.close()
  }
}

const show =
  ({ withReadingCtx, print, printJson }: Shell) =>
  ({ json }: { json?: boolean }) =>
    withReadingCtx((ctx) =>
      withEachVault(ctx, async (vaults) => {
        const states = []
        for (const { socket, vault } of vaults) states.push({ socket, ...(await vault.journalState()) })
        if (json) return printJson(states.map(rowAsJson))
        for (const { socket, id, first, records, known, isBehind } of states) {
          const state = isBehind ? 'the database is behind it: run "restore"' : 'the database has all of it'
          print(`${socket}: journal ${id}, records ${first} to ${records - 1}, ${known} known; ${state}`)
        }
        for (const id of journalsElsewhere(states)) print(`journal ${id}: of no vault in VAULT_SOCKET`)
      }),
    )

const compact =
  ({ withReadingCtx, print }: Shell) =>
  ({ before }: { before: Date }) =>
    withReadingCtx((ctx) =>
      withEachVault(ctx, async (vaults) => {
        for (const { socket, vault } of vaults) {
          const { leftOut } = await vault.compactJournal({ before })
          print(`${socket}: ${counted(leftOut, 'record')} left out.`)
        }
      }),
    )

const retire =
  ({ withReadingCtx, print }: Shell) =>
  (id: string) =>
    withReadingCtx((ctx) =>
      withEachVault(ctx, async (vaults) => {
        let wasKnown = false
        for (const { vault } of vaults) wasKnown = (await vault.retireJournal({ id })).wasKnown || wasKnown
        print(
          wasKnown ? `The journal ${id} is retired.` : `The database knows no journal ${id}, or it is retired already.`,
        )
      }),
    )

export const journalCommands = (shell: Shell): Command => {
  const command = new Command('journal').description('The journals of the vaults in VAULT_SOCKET.')
  command
    .command('show')
    .description('Show how many records each journal has, and whether the database has all of them.')
    .option('--json', 'print a JSON array')
    .action(show(shell))
  command
    .command('compact')
    .description(
      'Leave out the records before a time. Give the time of the oldest backup that you may go back to: an older one cannot be ' +
        'brought to the present any more. The vault signs nothing while it writes its journal anew.',
    )
    .requiredOption('--before <time>', 'for instance 2027-01-31T00:00:00Z', instant)
    .action(compact(shell))
  command
    .command('retire')
    .description(
      'Say that the vault of a journal is gone for good, so that "restore" does not ask for it. If the journal is lost before a ' +
        'restore, what it alone tells is lost with it.',
    )
    .argument('<id>', 'as "journal show" prints it', uuid)
    .action(retire(shell))
  return command
}
