#!/usr/bin/env -S bun --no-install

// The operator's commands. Results go to standard output, and everything else to standard error.

import { withDevStack } from '../operators/cli/dev-stack.ts'
import { CORE_DUMPS_ALLOWED, forbidCoreDumps } from '../platform/process/libc.ts'
import { runCommand } from './run-command.ts'

const { argv, stdin, stdout, stderr } = process
// Before the first key or secret is read.
if (!(await forbidCoreDumps())) stderr.write(`${CORE_DUMPS_ALLOWED}\n`)
const variables = withDevStack(process.env, (sentence) => stderr.write(`${sentence}\n`))
const exitCode = await runCommand(argv.slice(2), { variables, stdin, stdout, stderr })
// Exit explicitly, because an open connection to a node would keep the process alive.
stdout.write('', () => process.exit(exitCode))
