#!/usr/bin/env -S bun --no-install
// The operator's commands. Results go to standard output, and everything else to standard error.

import { readFileSync } from 'node:fs'
import { Command, CommanderError } from 'commander'
import { sentenceOf } from '../environment/failure.ts'
import { abiCommands } from './abi.ts'
import { apiKeyCommands } from './api-key.ts'
import { auditCommands } from './audit.ts'
import { databaseCommands } from './db.ts'
import { freezeCommands, unfreezeCommands } from './freeze.ts'
import { jobCommands } from './jobs.ts'
import { keyCommands } from './keys.ts'
import { networkCommands } from './networks.ts'
import { nodeCommands } from './nodes.ts'
import { projectCommands } from './project.ts'
import { runtimeCommands } from './runtime.ts'
import { sessionCommands } from './sessions.ts'
import { tokenCommands } from './tokens.ts'
import { transactionCommands } from './tx.ts'
import { ownerCommands, userCommands } from './users.ts'

const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
/** As with the commands of a shell; a command that fails ends with 1. */
const USAGE_EXIT_CODE = 2

const program = new Command('strongroom')
  .version(version, '--version', 'print the version')
  .description(
    "Strongroom's commands for operators. They read the same environment variables as the servers. Add `--help` to a command for details.",
  )
  .addCommand(projectCommands())
  .addCommand(apiKeyCommands())
  .addCommand(ownerCommands())
  .addCommand(userCommands())
  .addCommand(sessionCommands())
  .addCommand(freezeCommands())
  .addCommand(unfreezeCommands())
  .addCommand(transactionCommands())
  .addCommand(jobCommands())
  .addCommand(keyCommands())
  .addCommand(abiCommands())
  .addCommand(tokenCommands())
  .addCommand(networkCommands())
  .addCommand(nodeCommands())
  .addCommand(runtimeCommands())
  .addCommand(auditCommands())
  .addCommand(databaseCommands())

/** Makes commander throw where it would end the process. */
const throwExits = (command: Command): void => {
  command.exitOverride()
  for (const each of command.commands) throwExits(each)
}
throwExits(program)

try {
  await program.parseAsync()
  // Exit explicitly, because an open connection to a node would keep the process alive.
  process.stdout.write('', () => process.exit())
} catch (error) {
  if (error instanceof CommanderError) process.exit(error.exitCode === 0 ? 0 : USAGE_EXIT_CODE)
  process.stderr.write(`${sentenceOf(error)}\n`)
  process.exit(1)
}
