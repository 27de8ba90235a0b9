import { expect, test } from 'bun:test'
import { runCli } from '../support/cli.ts'

const help = (command: readonly string[]) => runCli([...command, '--help'], {})

/** The commands that a help text names; each may go on in the next lines. */
const namedIn = (text: string): readonly string[] => {
  const [, list = ''] = text.split('\nCommands:\n')
  const names = [...list.matchAll(/^ {2}([a-z][\w-]*)/gm)].map(([, name = '']) => name)
  return names.filter((name) => name !== 'help')
}

/** All commands, with those that have others under them. */
const commandsUnder = async (command: readonly string[]): Promise<readonly (readonly string[])[]> => {
  const names = namedIn((await help(command)).output)
  const under = await Promise.all(names.map((name) => commandsUnder([...command, name])))
  return [...(command.length === 0 ? [] : [command]), ...under.flat()]
}

const COMMANDS = (await commandsUnder([])).map((words) => words.join(' '))

test('help names commands at each depth', () => {
  for (const command of [
    'restore',
    'journal compact',
    'runtime pin',
    'tx repair',
    'db migrate',
    'db sum-holdings',
    'owner unlock',
    'owner release-from-policies',
    'project origins add',
    'nodes',
  ]) {
    expect(COMMANDS).toContain(command)
  }
})

test.each(COMMANDS)('%s --help describes the command and needs no environment variables', async (command) => {
  const { exitCode, output, errors } = await help(command.split(' '))
  expect({ exitCode, errors }).toEqual({ exitCode: 0, errors: '' })
  const [usage, empty, description] = output.split('\n')
  expect(usage).toStartWith(`Usage: strongroom ${command}`)
  expect(empty).toBe('')
  expect(description).toMatch(/^[A-Z].{10,}/)
  // Each subcommand and option must have a description.
  for (const line of output.split('\n')) expect(line).not.toMatch(/^ {2}-{0,2}[a-z][\w-]*( [<[]\S+)*$/)
})
