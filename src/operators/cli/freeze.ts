import { Command } from 'commander'
import { listFreezes } from '../../../db/queries/freezes.ts'
import type { Network } from '../../../db/words.ts'
import { unreachable } from '../../platform/errors.ts'
import { freeze, type Target, unfreeze } from '../freezes/freeze.ts'
import { NETWORK_WORDS, networkIn, OPERATOR, rowAsJson, uuid } from './arguments.ts'
import type { Shell } from './shell.ts'

const STILL_SENT =
  'From the next request on, it cannot sign, and no wallet of it can be created, exported or changed. Transactions that are already recorded are still sent.'

const nameOf = (target: Target): string => {
  switch (target.scope) {
    case 'owner':
      return `owner ${target.ownerId} of project ${target.projectId}`
    case 'project':
      return `project ${target.projectId}`
    case 'wallet':
      return `wallet ${target.walletId}`
    case 'network':
      return `network ${target.network}`
    default:
      return unreachable(target)
  }
}

type Run = (target: Target, options: { reason: string }) => Promise<void>

const runFreeze =
  ({ print, withApiVault }: Shell): Run =>
  (target: Target, { reason }: { reason: string }) =>
    withApiVault(async (ctx) => {
      const isNew = await freeze(ctx, { target, reason, actor: OPERATOR })
      print(isNew ? `Frozen: ${nameOf(target)}. ${STILL_SENT}` : `Already frozen: ${nameOf(target)}.`)
      if (isNew && target.scope === 'wallet') {
        print(
          "The owner's wallets on other networks may have the same private key. To stop them too, freeze the owner.",
        )
      }
    })

const runUnfreeze =
  ({ print, withApiVault }: Shell): Run =>
  (target: Target, { reason }: { reason: string }) =>
    withApiVault(async (ctx) => {
      const wasFrozen = await unfreeze(ctx, { target, reason, actor: OPERATOR })
      print(wasFrozen ? `Released: ${nameOf(target)}.` : `Not frozen: ${nameOf(target)}.`)
    })

const addTargets = (
  command: Command,
  input: {
    readonly network: (text: string) => Network
    readonly verb: string
    readonly withReason: (each: Command) => Command
    readonly run: Run
  },
) => {
  const { network, verb, withReason, run } = input
  const add = (name: string, what: string) => withReason(command.command(name).description(`${verb} ${what}.`))
  add('project', 'all wallets of a project; it cannot get new ones either')
    .argument('<project-id>', '', uuid)
    .action((projectId: string, options) => run({ scope: 'project', projectId }, options))
  add('owner', 'all wallets of an owner, on every network')
    .argument('<project-id>', '', uuid)
    .argument('<owner-id>')
    .action((projectId: string, ownerId: string, options) => run({ scope: 'owner', projectId, ownerId }, options))
  add('wallet', 'one wallet')
    .argument('<wallet-id>', '', uuid)
    .action((walletId: string, options) => run({ scope: 'wallet', walletId }, options))
  add('network', "every project's wallets on a network")
    .argument('<network>', NETWORK_WORDS, network)
    .action((name: Network, options) => run({ scope: 'network', network: name }, options))
}

const list =
  ({ print, printJson, withReadingCtx }: Shell) =>
  ({ json }: { json?: boolean }) =>
    withReadingCtx(async (ctx) => {
      const rows = await listFreezes(ctx.db)
      if (json) return printJson(rows.map(rowAsJson))
      for (const { scope, projectId, ownerId, walletId, network, reason, createdAt } of rows) {
        const thing = [network, walletId, ownerId, projectId].filter((each) => each !== null).join(' of project ')
        print(`${createdAt.toISOString()}  ${scope} ${thing}: ${reason}`)
      }
      if (rows.length === 0) print('Nothing is frozen.')
    })

export const freezeCommands = (shell: Shell): Command => {
  const command = new Command('freeze').description(
    'Stop the use of keys. Signing, new wallets, import, export and PIN changes answer 403 "frozen", in every process from the next request on.',
  )
  const withReason = (each: Command) =>
    each.requiredOption('--reason <text>', 'why; goes into the audit log, and is not shown to callers')
  addTargets(command, { network: networkIn(shell.variables), verb: 'Freeze', withReason, run: runFreeze(shell) })
  command
    .command('list')
    .description('List what is frozen, oldest first.')
    .option('--json', 'print a JSON array')
    .action(list(shell))
  return command
}

export const unfreezeCommands = (shell: Shell): Command => {
  const command = new Command('unfreeze').description(
    'End a freeze. A wallet of a frozen project stays frozen with the project.',
  )
  const withReason = (each: Command) => each.option('--reason <text>', 'why; goes into the audit log', '')
  addTargets(command, { network: networkIn(shell.variables), verb: 'Release', withReason, run: runUnfreeze(shell) })
  return command
}
