import { Command } from 'commander'
import { archiveAudit } from '../audit/archive.ts'
import { instant } from './arguments.ts'
import { rowAsJson } from './operator.ts'
import type { Shell } from './shell.ts'

type Options = { readonly before: Date; readonly to: string; readonly json?: boolean }

const archive =
  ({ print, printJson, withVault }: Shell) =>
  ({ before, to: folder, json }: Options) =>
    withVault(async ({ vault }) => {
      let files = 0
      const { finished } = await archiveAudit(vault, { before, folder }, (archived) => {
        files += 1
        if (json) return printJson(rowAsJson(archived))
        const { chain, fromPosition, position, file, dropped } = archived
        print(`${file}: chain ${chain}, positions ${fromPosition} to ${position}; ${dropped} rows were deleted.`)
      })
      if (json) return
      if (finished > 0) print(`${finished} rows of an earlier run were deleted.`)
      print(
        files === 0
          ? 'Nothing is to be archived.'
          : `Keep these files (${files}): "audit verify --archive" needs them.`,
      )
    })

export const auditArchiveCommand = (shell: Shell): Command =>
  new Command('archive')
    .summary('Move old audit rows to files, behind checkpoints that the vault signs.')
    .description(
      'Write the audit rows before a time to files, one for each chain, have the vault verify them and sign a checkpoint for each, ' +
        "and delete those on which nothing depends. As root or the vault's user, with VAULT_SOCKET. It can be killed, and run again.",
    )
    .requiredOption('--before <time>', 'only rows before this time, at least 30 days ago', instant)
    .requiredOption('--to <folder>', 'a folder that exists')
    .option('--json', 'print one JSON object for each file')
    .action(archive(shell))
