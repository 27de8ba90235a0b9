import { basename } from 'node:path'
import { Command } from 'commander'
import { listAbis } from '../../../db/queries/abis.ts'
import { readTokenLists } from '../../../db/queries/listed-tokens.ts'
import type { Network } from '../../../db/words.ts'
import { abiFilesOf, addAbi, removeAbi } from '../../assets/abis/added.ts'
import { importTokenList, removeTokenList, TOKEN_LIST_FILE_BYTES_MAX } from '../../assets/tokens/lists.ts'
import { counted, EVM_NETWORK_WORDS, evmNetworkIn, OPERATOR, readTextFile, rowAsJson, usageError } from './arguments.ts'
import type { Shell } from './shell.ts'

const importFile = ({ print, withAskingIdentityCtx }: Shell): Command =>
  new Command('import')
    .description('Import a token list. Replaces an earlier import with the same name.')
    .argument('<file>', 'JSON in the Token Lists format; "extensions.displayDecimals" gives the decimals to display')
    .action(async (path: string) => {
      const text = await readTextFile(path, TOKEN_LIST_FILE_BYTES_MAX)
      await withAskingIdentityCtx(async (ctx) => {
        const { name, version, tokens, skipped, refused } = await importTokenList(ctx, { text, actor: OPERATOR })
        const others = skipped === 0 ? '' : `, and skipped ${counted(skipped, 'token')} of other chains`
        print(`Imported ${name} ${version}: ${counted(tokens.length, 'token')}${others}.`)
        if (refused.length > 0) print(`Refused:\n${refused.map((sentence) => `  ${sentence}`).join('\n')}`)
      })
    })

const listTokens = ({ print, printJson, withReadingCtx }: Shell): Command =>
  new Command('list')
    .description('List the imported token lists, oldest first.')
    .option('--json', 'print a JSON array')
    .action(({ json }: { json?: boolean }) =>
      withReadingCtx(async (ctx) => {
        const rows = await readTokenLists(ctx.db)
        if (json) return printJson(rows.map(rowAsJson))
        for (const row of rows) print(`${row.importedAt.toISOString()}  ${row.name}: ${counted(row.tokens, 'token')}`)
        if (rows.length === 0) print('No token list was imported.')
      }),
    )

const removeTokens = ({ print, withIdentityCtx }: Shell): Command =>
  new Command('remove')
    .description('Remove the token list with this name.')
    .argument('<name>')
    .action((name: string) =>
      withIdentityCtx(async (ctx) => {
        await removeTokenList(ctx, { name, actor: OPERATOR })
        print(`Removed ${name}.`)
      }),
    )

export const tokenCommands = (shell: Shell): Command =>
  new Command('tokens')
    .description('Token lists: logos of tokens, and how many decimals to display.')
    .addCommand(importFile(shell))
    .addCommand(listTokens(shell))
    .addCommand(removeTokens(shell))

const whereOf = ({ network, address }: { network: string | null; address: string | null }): string =>
  address === null ? 'every contract' : `${address} on ${network}`

type AddOptions = { readonly name?: string; readonly network?: Network; readonly address?: string }

const add = ({ variables, print, withAskingIdentityCtx }: Shell): Command =>
  new Command('add')
    .description('Add the functions and errors of an ABI.')
    .argument('<file>', 'a JSON ABI, or an artifact of Hardhat or Foundry with one in "abi"')
    .option('--name <name>', "its name; by default the contract's name in the artifact, or the file's name")
    .option('--network <network>', EVM_NETWORK_WORDS, evmNetworkIn(variables))
    .option(
      '--address <address>',
      'the contract with this ABI (behind a proxy: its implementation); by default every contract',
    )
    .action(async (path: string, { name, network, address }: AddOptions, command: Command) => {
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
    })

const list = ({ print, printJson, withReadingCtx }: Shell): Command =>
  new Command('list')
    .description('List the added ABIs, oldest first.')
    .option('--json', 'print a JSON array')
    .action(({ json }: { json?: boolean }) =>
      withReadingCtx(async (ctx) => {
        const rows = await listAbis(ctx.db)
        if (json) return printJson(rows.map(rowAsJson))
        for (const row of rows) {
          const items = `${counted(row.functions, 'function')}, ${counted(row.errors, 'error')}`
          print(`${row.createdAt.toISOString()}  ${row.name}: ${items}, for ${whereOf(row)}`)
        }
        if (rows.length === 0) print('No ABI was added.')
      }),
    )

const remove = ({ print, withIdentityCtx }: Shell): Command =>
  new Command('remove')
    .description('Remove the ABI with this name.')
    .argument('<name>')
    .action((name: string) =>
      withIdentityCtx(async (ctx) => {
        await removeAbi(ctx, { name, actor: OPERATOR })
        print(`Removed ${name}.`)
      }),
    )

export const abiCommands = (shell: Shell): Command =>
  new Command('abi')
    .description('ABIs that previews use to decode calls and errors, besides the built-in ones.')
    .addCommand(add(shell))
    .addCommand(list(shell))
    .addCommand(remove(shell))
