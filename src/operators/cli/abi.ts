import { basename } from 'node:path'
import { Command } from 'commander'
import { listAbis } from '../../../db/queries/abis.ts'
import type { Network } from '../../../db/words.ts'
import { abiFilesOf, addAbi, removeAbi } from '../../assets/abis/added.ts'
import { EVM_NETWORK_WORDS, evmNetworkIn } from './arguments.ts'
import { counted, OPERATOR, readTextFile, rowAsJson, usageError } from './operator.ts'
import type { Shell } from './shell.ts'

const whereOf = ({ network, address }: { network: string | null; address: string | null }): string =>
  address === null ? 'every contract' : `${address} on ${network}`

type AddOptions = { readonly name?: string; readonly network?: Network; readonly address?: string }

const add =
  ({ print, withAskingIdentityCtx }: Shell) =>
  async (path: string, { name, network, address }: AddOptions, command: Command) => {
    if ((network === undefined) !== (address === undefined)) {
      usageError(command, '--network and --address must be given together: they name the contract.')
    }
    const binding = network === undefined || address === undefined ? null : { network, address }
    const fallbackName = basename(path).replace(/\.json$/i, '')
    await withAskingIdentityCtx(async (ctx) => {
      const text = await readTextFile(path, abiFilesOf(ctx.chains).bytesMax)
      const added = await addAbi(ctx, { text, name, fallbackName, binding, actor: OPERATOR })
      const items = `${counted(added.functions, 'function')} and ${counted(added.errors, 'error')}`
      const where = whereOf(added.binding ?? { network: null, address: null })
      print(`Added ${added.name}: ${items}, for ${where}. Previews use them from now on.`)
      if (added.leftOut.length > 0)
        print(`Left out, as they have types of the library itself: ${added.leftOut.join(', ')}.`)
    })
  }

const list =
  ({ print, printJson, withReadingCtx }: Shell) =>
  ({ json }: { json?: boolean }) =>
    withReadingCtx(async (ctx) => {
      const rows = await listAbis(ctx.db)
      if (json) return printJson(rows.map(rowAsJson))
      for (const row of rows) {
        const items = `${counted(row.functions, 'function')}, ${counted(row.errors, 'error')}`
        print(`${row.createdAt.toISOString()}  ${row.name}: ${items}, for ${whereOf(row)}`)
      }
      if (rows.length === 0) print('No ABI was added.')
    })

const remove =
  ({ print, withIdentityCtx }: Shell) =>
  (name: string) =>
    withIdentityCtx(async (ctx) => {
      await removeAbi(ctx, { name, actor: OPERATOR })
      print(`Removed ${name}.`)
    })

export const abiCommands = (shell: Shell): Command => {
  const command = new Command('abi').description(
    'ABIs that previews use to decode calls and errors, besides the built-in ones.',
  )
  command
    .command('add')
    .description('Add the functions and errors of an ABI.')
    .argument('<file>', 'a JSON ABI, or an artifact of Hardhat or Foundry with one in "abi"')
    .option('--name <name>', "its name; by default the contract's name in the artifact, or the file's name")
    .option('--network <network>', EVM_NETWORK_WORDS, evmNetworkIn(shell.variables))
    .option(
      '--address <address>',
      'the contract with this ABI (behind a proxy: its implementation); by default every contract',
    )
    .action(add(shell))
  command
    .command('list')
    .description('List the added ABIs, oldest first.')
    .option('--json', 'print a JSON array')
    .action(list(shell))
  command.command('remove').description('Remove the ABI with this name.').argument('<name>').action(remove(shell))
  return command
}
