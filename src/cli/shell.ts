// What a command gets from the process that runs it. A command uses nothing else of the process, so that several can run in
// one: tests do that.

import { createInterface } from 'node:readline/promises'
import type { Readable, Writable } from 'node:stream'
import { type Config, readConfig } from '../config.ts'
import type { Process, ReadingCtx } from '../environment/contexts.ts'
import type { Variables } from '../environment/variables.ts'
import { readSecrets } from './secrets.ts'

export type Surroundings = {
  /** The environment variables. */
  readonly variables: Variables
  readonly stdin: Readable & { readonly isTTY?: boolean }
  readonly stdout: Writable & { readonly columns?: number }
  readonly stderr: Writable & { readonly columns?: number }
}

type Create<Of> = (input: Process) => Promise<Of>

/** Loaded late, as help texts need neither, and most commands only the first, which is loaded in a fifth of the time. */
const contexts = () => import('../environment/contexts.ts')
const largeContexts = () => import('../context.ts')

/** A command does little at once, and runs beside APIs and workers that need their connections. */
const POOL_SIZE = 2

/** Runs a command in a context, and always closes its connections. */
const runIn =
  <Of extends ReadingCtx>(variables: Variables, load: () => Promise<Create<Of>>) =>
  async (command: (ctx: Of) => Promise<void>, config: Config = readConfig(variables)): Promise<void> => {
    const create = await load()
    const quiet = { ...config, databaseMaxConnections: POOL_SIZE, logLevel: 'silent' } as const
    const ctx = await create({ config: quiet, process: 'cli' })
    try {
      await command(ctx)
    } finally {
      await ctx.close({ timeoutSeconds: 5 })
    }
  }

/** Asks a question at the terminal. @returns whether the answer is "yes". */
const confirm = async ({ stdin, stderr }: Surroundings, question: string): Promise<boolean> => {
  const terminal = createInterface({ input: stdin, output: stderr })
  const { promise: ended, resolve: end } = Promise.withResolvers<string>()
  // The end of the input, by Ctrl-D, is no answer.
  terminal.once('close', () => end(''))
  try {
    const answer = await Promise.race([terminal.question(`${question} Type "yes": `), ended])
    return answer.trim().toLowerCase() === 'yes'
  } finally {
    terminal.close()
  }
}

export type Shell = ReturnType<typeof createShell>

export const createShell = (surroundings: Surroundings) => {
  const { variables, stdin, stdout, stderr } = surroundings
  const print = (text: string): void => {
    stdout.write(`${text}\n`)
  }
  let hasFailed = false
  return {
    ...surroundings,
    print,
    printJson: (value: unknown): void => print(JSON.stringify(value)),
    /** Prints what is not part of the result: progress and errors. */
    note: (text: string): void => {
      stderr.write(`${text}\n`)
    },
    /** Makes the command end with 1, although it has printed its result. */
    fail: (): void => {
      hasFailed = true
    },
    hasFailed: (): boolean => hasFailed,
    isTerminal: stdin.isTTY === true,
    confirmed: (question: string): Promise<boolean> => confirm(surroundings, question),
    readSecrets: (prompts: readonly string[]): Promise<readonly string[]> => readSecrets(surroundings, prompts),
    /** Runs a command that only reads the database, and needs no key. */
    withReadingCtx: runIn(variables, async () => (await contexts()).createReadingCtx),
    /** Runs a command that asks nodes, and needs no key. */
    withAskingCtx: runIn(variables, async () => (await largeContexts()).createAskingCtx),
    /** Runs a command that looks at what may not work, so it begins without a check. */
    withExaminedCtx: runIn(variables, async () => (await largeContexts()).createExaminedCtx),
    /** Runs a command that needs SERVICE_KEY and IDENTITY_KEY, and the networks. */
    withAskingIdentityCtx: runIn(variables, async () => (await largeContexts()).createAskingIdentityCtx),
    /** Runs a command that needs SERVICE_KEY and IDENTITY_KEY, with which its audit rows are authenticated. */
    withIdentityCtx: runIn(variables, async () => (await contexts()).createIdentityCtx),
    /** Runs a command that asks the vault what an API may ask, and reads the database. */
    withApiVault: runIn(variables, async () => (await import('../environment/vaults.ts')).createApiVaultCtx),
    /** The same, and it asks nodes. */
    withAskingVault: runIn(variables, async () => (await largeContexts()).createAskingVaultCtx),
    /** Runs a command that asks the vault, and reads the database. */
    withVault: runIn(variables, async () => (await import('../environment/vaults.ts')).createVaultCtx),
    /** Runs a command with keys of which the identity key is not the database's, and the vault. */
    withLostKey: runIn(variables, async () => (await import('../environment/vaults.ts')).createLostKeyCtx),
    /** Runs a command with the full context of an operator, which asks the vault too. */
    withOperatorCtx: runIn(variables, async () => (await largeContexts()).createOperatorCtx),
  }
}
