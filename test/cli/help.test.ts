import { expect, test } from 'bun:test'
import { runCli } from '../support/cli.ts'

const COMMANDS = [
  'project',
  'project show',
  'project origins',
  'project origins list',
  'project origins add',
  'project origins remove',
  'project anonymous-login',
  'api-key',
  'api-key create',
  'api-key list',
  'api-key revoke',
  'owner',
  'users',
  'users list',
  'users show',
  'users remove-passkeys',
  'sessions',
  'sessions list',
  'sessions revoke',
  'sessions replace-keys',
  'freeze',
  'freeze project',
  'freeze owner',
  'freeze wallet',
  'freeze network',
  'freeze list',
  'unfreeze',
  'unfreeze wallet',
  'tx',
  'tx list',
  'tx show',
  'tx retry',
  'tx cancel',
  'networks',
  'networks list',
  'nodes',
  'jobs',
  'jobs list',
  'jobs retry',
  'keys',
  'keys rotate-root',
  'keys rotate-project',
  'abi',
  'abi add',
  'abi list',
  'abi remove',
  'tokens',
  'tokens import',
  'tokens list',
  'tokens remove',
  'audit',
  'audit verify',
  'audit list',
  'db',
]

test.each(COMMANDS)('%s --help describes the command and needs no environment variables', async (command) => {
  const { exitCode, output, errors } = await runCli([...command.split(' '), '--help'], {})
  expect({ exitCode, errors }).toEqual({ exitCode: 0, errors: '' })
  const [usage, empty, description] = output.split('\n')
  expect(usage).toStartWith(`Usage: strongroom ${command}`)
  expect(empty).toBe('')
  expect(description).toMatch(/^[A-Z].{10,}/)
  // Each subcommand and option must have a description.
  for (const line of output.split('\n')) expect(line).not.toMatch(/^ {2}-{0,2}[a-z][\w-]*( [<[]\S+)*$/)
})
