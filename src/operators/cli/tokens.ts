import { Command } from 'commander'
import { readTokenLists } from '../../../db/queries/listed-tokens.ts'
import { importTokenList, removeTokenList, TOKEN_LIST_FILE_BYTES_MAX } from '../../assets/tokens/lists.ts'
import { counted, OPERATOR, readTextFile, rowAsJson } from './operator.ts'
import type { Shell } from './shell.ts'

const importFile =
  ({ print, withAskingIdentityCtx }: Shell) =>
  async (path: string) => {
    const text = await readTextFile(path, TOKEN_LIST_FILE_BYTES_MAX)
    await withAskingIdentityCtx(async (ctx) => {
      const { name, version, tokens, skipped, refused } = await importTokenList(ctx, { text, actor: OPERATOR })
      const others = skipped === 0 ? '' : `, and skipped ${counted(skipped, 'token')} of other chains`
      print(`Imported ${name} ${version}: ${counted(tokens.length, 'token')}${others}.`)
      if (refused.length > 0) print(`Refused:\n${refused.map((sentence) => `  ${sentence}`).join('\n')}`)
    })
  }

const list =
  ({ print, printJson, withReadingCtx }: Shell) =>
  ({ json }: { json?: boolean }) =>
    withReadingCtx(async (ctx) => {
      const rows = await readTokenLists(ctx.db)
      if (json) return printJson(rows.map(rowAsJson))
      for (const row of rows) print(`${row.importedAt.toISOString()}  ${row.name}: ${counted(row.tokens, 'token')}`)
      if (rows.length === 0) print('No token list was imported.')
    })

const remove =
  ({ print, withIdentityCtx }: Shell) =>
  (name: string) =>
    withIdentityCtx(async (ctx) => {
      await removeTokenList(ctx, { name, actor: OPERATOR })
      print(`Removed ${name}.`)
    })

export const tokenCommands = (shell: Shell): Command => {
  const command = new Command('tokens').description('Token lists: logos of tokens, and how many decimals to display.')
  command
    .command('import')
    .description('Import a token list. Replaces an earlier import with the same name.')
    .argument('<file>', 'JSON in the Token Lists format; "extensions.displayDecimals" gives the decimals to display')
    .action(importFile(shell))
  command
    .command('list')
    .description('List the imported token lists, oldest first.')
    .option('--json', 'print a JSON array')
    .action(list(shell))
  command
    .command('remove')
    .description('Remove the token list with this name.')
    .argument('<name>')
    .action(remove(shell))
  return command
}
