#!/usr/bin/env bun
// The operator's commands. Results go to standard output, everything else to standard error.

import { Command, CommanderError } from 'commander'
import { databaseCommands } from './cli/db.ts'
import { projectCommands } from './cli/project.ts'

const program = new Command('strongroom')
  .description("Strongroom's commands for operators. They read the same environment as the servers.")
  .configureOutput({ writeErr: (text) => process.stderr.write(text) })
  .exitOverride()
  .addCommand(projectCommands())
  .addCommand(databaseCommands())

try {
  await program.parseAsync()
} catch (error) {
  if (error instanceof CommanderError) process.exit(error.exitCode)
  process.stderr.write(`${error instanceof Error ? error.message : 'unknown failure'}\n`)
  process.exit(1)
}
