import { Command } from 'commander'
import { type Named, openVaultsAsOperator, operatorSocketsOf, withEachVault } from '../../vault/client/vaults.ts'
import type { OperatorVault } from '../../vault/contract/vault.ts'
import type { ReadingCtx } from '../ctx.ts'
import { checkRestored, releaseChecked } from '../restore/check.ts'
import { journalsElsewhere } from '../restore/journals.ts'
import { type Restored, restore } from '../restore/restore.ts'
import { counted, instant, OPERATOR, rowAsJson, uuid } from './arguments.ts'
import type { Shell } from './shell.ts'

const withVaults = <Result>(
  { config }: ReadingCtx,
  work: (vaults: readonly Named<OperatorVault>[]) => Promise<Result>,
) => withEachVault(openVaultsAsOperator, { config, process: 'cli', sockets: operatorSocketsOf(config) }, work)

const show = ({ withReadingCtx, print, printJson }: Shell): Command =>
  new Command('show')
    .description('Show how many records each journal has, and whether the database has all of them.')
    .option('--json', 'print a JSON array')
    .action(({ json }: { json?: boolean }) =>
      withReadingCtx((ctx) =>
        withVaults(ctx, async (vaults) => {
          const states = []
          for (const { socket, vault } of vaults) states.push({ socket, ...(await vault.journalState()) })
          if (json) return printJson(states.map(rowAsJson))
          for (const { socket, id, first, records, known, isBehind } of states) {
            const state = isBehind ? 'the database is behind it: run "restore"' : 'the database has all of it'
            print(`${socket}: journal ${id}, records ${first} to ${records - 1}, ${known} known; ${state}`)
          }
          for (const id of journalsElsewhere(states)) print(`journal ${id}: of no vault in VAULT_SOCKET`)
        }),
      ),
    )

const compact = ({ withReadingCtx, print }: Shell): Command =>
  new Command('compact')
    .description(
      'Leave out the records before a time. Give the time of the oldest backup that you may go back to: an older one cannot be ' +
        'brought to the present any more. The vault signs nothing while it writes its journal anew.',
    )
    .requiredOption('--before <time>', 'for instance 2027-01-31T00:00:00Z', instant)
    .action(({ before }: { before: Date }) =>
      withReadingCtx((ctx) =>
        withVaults(ctx, async (vaults) => {
          for (const { socket, vault } of vaults) {
            const { leftOut } = await vault.compactJournal({ before })
            print(`${socket}: ${counted(leftOut, 'record')} left out.`)
          }
        }),
      ),
    )

const retire = ({ withReadingCtx, print }: Shell): Command =>
  new Command('retire')
    .description(
      'Say that the vault of a journal is gone for good, so that "restore" does not ask for it. If the journal is lost before a ' +
        'restore, what it alone tells is lost with it.',
    )
    .argument('<id>', 'as "journal show" prints it', uuid)
    .action((id: string) =>
      withReadingCtx((ctx) =>
        withVaults(ctx, async (vaults) => {
          let wasKnown = false
          for (const { vault } of vaults) wasKnown = (await vault.retireJournal({ id })).wasKnown || wasKnown
          print(
            wasKnown
              ? `The journal ${id} is retired.`
              : `The database knows no journal ${id}, or it is retired already.`,
          )
        }),
      ),
    )

export const journalCommands = (shell: Shell): Command =>
  new Command('journal')
    .description('The journals of the vaults in VAULT_SOCKET.')
    .addCommand(show(shell))
    .addCommand(compact(shell))
    .addCommand(retire(shell))

const WHY = {
  nonce_held: 'another transaction of its signer has its nonce',
  no_wallet: 'its wallet is not there',
  answered: 'its request was answered with another one',
  failed: 'it could not be written, so its wallet is frozen',
} as const

const onChainWords = ({
  network,
  hashes,
  onChain,
}: Pick<Restored['skipped'][number], 'network' | 'hashes' | 'onChain'>): string => {
  if (onChain === null) return `The chain of ${network} has none of its hashes: ${hashes.join(', ')}.`
  if (onChain === 'unknown') return `No node of ${network} tells whether it was mined: ${hashes.join(', ')}.`
  return `THE CHAIN OF ${network} HAS IT, as ${onChain}: if its request was repeated, it was done twice.`
}

const linesOf = (restored: Restored): readonly string[] => [
  `Vault: ${counted(restored.rows, 'row')}, and ${counted(restored.audit, 'audit row')}.`,
  `Projects: ${restored.projects.length}. Wallets: ${restored.wallets}. Transactions: ${restored.transactions}, and ${counted(restored.spedUp, 'speed-up')}.`,
  ...restored.projects.map(
    (id) => `Project ${id} was gone: it has the settings of a new one now, and needs an API key (api-key create).`,
  ),
  ...restored.skipped.map(
    ({ id, why, network, hashes, onChain }) =>
      `Transaction ${id} was signed and is not recorded: ${WHY[why]}. ${onChainWords({ network, hashes, onChain })}`,
  ),
  'The vaults open keys again. Start the APIs and the workers.',
]

const UNREAD = {
  no_node: 'this command has no node of it',
  not_followed: 'no worker had followed it before the backup, so it is unknown where to begin',
} as const

const checkCommand = ({ print, printJson, note, fail, withAskingVault }: Shell): Command =>
  new Command('check')
    .summary('After a restore without a journal: find what wallets have done since the backup.')
    .description(
      'Read the blocks since the backup. Name transactions of our wallets that the database does not have, and freeze these ' +
        'wallets. Run it before the workers start, and then again with --release. It can be killed and run again.',
    )
    .option('--release', 'wait until the workers have read the blocks that are there now, and unfreeze these wallets')
    .option('--json', 'print a JSON object')
    .action(({ release, json }: { release?: boolean; json?: boolean }) =>
      withAskingVault(async (ctx) => {
        if (release) {
          const released = await releaseChecked(ctx, { actor: OPERATOR })
          if (json) return printJson({ released })
          return print(`${counted(released.length, 'wallet')} can be used again.`)
        }
        const onProgress = ({ network, block, to }: { network: string; block: bigint; to: bigint }) =>
          note(`${network}: block ${block} of ${to}`)
        const { unknown, frozen, read, unread } = await checkRestored(ctx, { actor: OPERATOR, onProgress })
        if (unread.length > 0) fail()
        if (json)
          return printJson({
            unknown: unknown.map(({ callText: _, ...each }) => rowAsJson(each)),
            frozen,
            read: read.map(rowAsJson),
            unread,
          })
        for (const { network, from, to } of read)
          print(`${network}: ${from > to ? 'no block since the backup' : `blocks ${from} to ${to}`}`)
        for (const { network, why } of unread) print(`${network}: NOT READ, although it has wallets: ${UNREAD[why]}`)
        for (const { network, block, hash, address } of unknown)
          print(`${network}, block ${block}: the transaction ${hash} of ${address} is not in the database`)
        print(
          unknown.length === 0
            ? unread.length === 0
              ? 'The database has all transactions of our wallets. Start the workers and the APIs.'
              : 'The database has all transactions of our wallets on the networks that were read.'
            : `${counted(frozen.length, 'wallet')} frozen. Start the workers and the APIs, and run this with --release.`,
        )
      }),
    )

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
        const restored = await withVaults(ctx, (vaults) =>
          restore(
            ctx,
            vaults.map(({ vault }) => vault),
          ),
        )
        if (json) return shell.printJson({ ...rowAsJson(restored), skipped: restored.skipped.map(rowAsJson) })
        for (const line of linesOf(restored)) shell.print(line)
      }),
    )
    // `--json` after `check` belongs to that.
    .enablePositionalOptions()
    .addCommand(checkCommand(shell))
