#!/usr/bin/env bun
// The operator's commands. Results go to standard output, everything else to standard error.

import { Command, CommanderError } from 'commander'
import { abiCommands } from './cli/abi.ts'
import { apiKeyCommands } from './cli/api-key.ts'
import { auditCommands } from './cli/audit.ts'
import { databaseCommands } from './cli/db.ts'
import { freezeCommands, unfreezeCommands } from './cli/freeze.ts'
import { jobCommands } from './cli/jobs.ts'
import { keyCommands } from './cli/keys.ts'
import { sentenceOf } from './cli/operator.ts'
import { projectCommands } from './cli/project.ts'
import { runtimeCommands } from './cli/runtime.ts'
import { sessionCommands } from './cli/sessions.ts'
import { tokenCommands } from './cli/tokens.ts'
import { transactionCommands } from './cli/tx.ts'
import { ownerCommands, userCommands } from './cli/users.ts'

const program = new Command('strongroom')
  .description(
    "Strongroom's commands for operators. They read the same environment as the servers; `--help` behind any of them says more.",
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
  .addCommand(runtimeCommands())
  .addCommand(auditCommands())
  .addCommand(databaseCommands())

/** Commands throw what they would otherwise end the process with. */
const throwExits = (command: Command): void => {
  command.exitOverride()
  for (const each of command.commands) throwExits(each)
}
throwExits(program)

try {
  await program.parseAsync()
  // A connection to a node that stays open would keep the process.
  process.stdout.write('', () => process.exit())
} catch (error) {
  if (error instanceof CommanderError) process.exit(error.exitCode)
  process.stderr.write(`${sentenceOf(error)}\n`)
  process.exit(1)
}
