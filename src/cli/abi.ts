import { readFile, stat } from 'node:fs/promises'
import { basename } from 'node:path'
import { Command } from 'commander'
import { listAbis } from '../../db/queries/abis.ts'
import type { Network } from '../../db/words.ts'
import { abiFilesOf, addAbi, removeAbi } from '../abis/added.ts'
import { EVM_NETWORK_WORDS, evmNetwork } from './arguments.ts'
import { OPERATOR, print, printJson, shownRow, usageError, withServiceCtx } from './operator.ts'

/** @throws Error for what is no file of a sensible size. */
const textOf = async (path: string, bytesMax: number): Promise<string> => {
  const { size } = await stat(path)
  if (size > bytesMax) throw new Error(`The file must have at most ${bytesMax} bytes; it has ${size}.`)
  return readFile(path, 'utf8')
}

const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`

const whereOf = ({ network, address }: { network: string | null; address: string | null }): string =>
  address === null ? 'every contract' : `${address} on ${network}`

type AddOptions = { readonly name?: string; readonly network?: Network; readonly address?: string }

const add = async (path: string, { name, network, address }: AddOptions, command: Command) => {
  if ((network === undefined) !== (address === undefined)) {
    usageError(command, '--network and --address belong together: they name the contract whose ABI it is.')
  }
  const binding = network === undefined || address === undefined ? null : { network, address }
  const fallbackName = basename(path).replace(/\.json$/i, '')
  await withServiceCtx(async (ctx) => {
    const text = await textOf(path, abiFilesOf(ctx.chains).bytesMax)
    const added = await addAbi(ctx, { text, name, fallbackName, binding, actor: OPERATOR })
    const items = `${counted(added.functions, 'function')} and ${counted(added.errors, 'error')}`
    const where = whereOf(added.binding ?? { network: null, address: null })
    print(`Added ${added.name}: ${items}, for ${where}. Previews show them from now on.`)
  })
}

const list = ({ json }: { json?: boolean }) =>
  withServiceCtx(async (ctx) => {
    const rows = await listAbis(ctx.db)
    if (json) return printJson(rows.map(shownRow))
    for (const row of rows) {
      const items = `${counted(row.functions, 'function')}, ${counted(row.errors, 'error')}`
      print(`${row.createdAt.toISOString()}  ${row.name}: ${items}, for ${whereOf(row)}`)
    }
    if (rows.length === 0) print('No ABI was added.')
  })

export const abiCommands = (): Command => {
  const command = new Command('abi').description(
    'ABIs by which previews show calls and errors, besides those built in.',
  )
  command
    .command('add')
    .description('Add the functions and errors of an ABI.')
    .argument('<file>', 'a JSON ABI, or an artifact of Hardhat or Foundry with one in "abi"')
    .option('--name <name>', "what to call it; by default the contract's name in the artifact, or the file's name")
    .option('--network <network>', EVM_NETWORK_WORDS, evmNetwork)
    .option(
      '--address <address>',
      'the contract whose ABI it is, or the implementation behind proxies; else for every one',
    )
    .action(add)
  command
    .command('list')
    .description('List what was added, oldest first.')
    .option('--json', 'print a JSON array')
    .action(list)
  command
    .command('remove')
    .description('Remove what was added under a name.')
    .argument('<name>')
    .action((name: string) =>
      withServiceCtx(async (ctx) => {
        await removeAbi(ctx, { name, actor: OPERATOR })
        print(`Removed ${name}.`)
      }),
    )
  return command
}
