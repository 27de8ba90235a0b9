import { readFileSync } from 'node:fs'
import { Command, CommanderError } from 'commander'
import { type Contexts, createShell, type Shell, type Surroundings } from './shell.ts'

/** The groups of commands. Only the file of the group that is used is loaded; the help needs all. */
const GROUPS: Readonly<Record<string, () => Promise<(shell: Shell) => Command>>> = {
  project: async () => (await import('./project.ts')).projectCommands,
  'api-key': async () => (await import('./api-key.ts')).apiKeyCommands,
  owner: async () => (await import('./users.ts')).ownerCommands,
  users: async () => (await import('./users.ts')).userCommands,
  sessions: async () => (await import('./users.ts')).sessionCommands,
  freeze: async () => (await import('./freeze.ts')).freezeCommands,
  unfreeze: async () => (await import('./freeze.ts')).unfreezeCommands,
  webhooks: async () => (await import('./webhooks.ts')).webhookCommands,
  tx: async () => (await import('./tx.ts')).transactionCommands,
  jobs: async () => (await import('./jobs.ts')).jobCommands,
  keys: async () => (await import('./keys.ts')).keyCommands,
  abi: async () => (await import('./abi.ts')).abiCommands,
  tokens: async () => (await import('./abi.ts')).tokenCommands,
  networks: async () => (await import('./networks.ts')).networkCommands,
  doctor: async () => (await import('./doctor.ts')).doctorCommands,
  nodes: async () => (await import('./networks.ts')).nodeCommands,
  runtime: async () => (await import('./networks.ts')).runtimeCommands,
  audit: async () => (await import('./audit.ts')).auditCommands,
  journal: async () => (await import('./journal.ts')).journalCommands,
  restore: async () => (await import('./journal.ts')).restoreCommands,
  console: async () => (await import('./console.ts')).consoleCommands,
  db: async () => (await import('./db.ts')).databaseCommands,
}

/** The width of the help where there is no terminal: commander's. */
const HELP_COLUMNS = 80
/** As with the commands of a shell; a command that fails ends with 1. */
const USAGE_EXIT_CODE = 2

const version = (): string =>
  JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')).version

const programOf = async ([first = '']: readonly string[], shell: Shell): Promise<Command> => {
  const program = new Command('strongroom')
    .enablePositionalOptions()
    .version(version(), '--version', 'print the version')
    .description(
      "Strongroom's commands for operators. They read the same environment variables as the servers. Add `--help` to a command for details.",
    )
  const used = GROUPS[first]
  const groups = used === undefined ? Object.values(GROUPS) : [used]
  for (const load of groups) program.addCommand((await load())(shell))
  return program
}

/** Makes commander throw where it would end the process, and write where the shell does. */
const bind = (command: Command, shell: Shell): void => {
  const { stdout, stderr } = shell
  command.exitOverride().configureOutput({
    writeOut: (text) => stdout.write(text),
    writeErr: (text) => stderr.write(text),
    getOutHelpWidth: () => stdout.columns ?? HELP_COLUMNS,
    getErrHelpWidth: () => stderr.columns ?? HELP_COLUMNS,
  })
  for (const each of command.commands) bind(each, shell)
}

export const runWith = async (
  args: readonly string[],
  surroundings: Surroundings,
  contexts: Contexts,
): Promise<number> => {
  const shell = createShell(surroundings, contexts)
  try {
    const program = await programOf(args, shell)
    bind(program, shell)
    await program.parseAsync(args, { from: 'user' })
    return shell.hasFailed() ? 1 : 0
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : USAGE_EXIT_CODE
    const { explainFailure } = await import('../../platform/environment/failure.ts')
    shell.note(explainFailure(error))
    return 1
  }
}
