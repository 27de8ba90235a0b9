// What a command gets from the process that runs it. A command uses nothing else of the process, so that several can run in
// one: tests do that.

import { createInterface } from 'node:readline/promises'
import type { Readable, Writable } from 'node:stream'
import { type Config, type Process, readConfig } from '../../platform/config.ts'
import type { Variables } from '../../platform/environment/variables.ts'
import type { HasOperatorVault, HasVault } from '../../vault/contract/vault.ts'
import type { AskingCtx, AuditingCtx, OperatorCtx, ReadingCtx } from '../ctx.ts'
import { readSecrets } from './secrets.ts'

export type Surroundings = {
  /** The environment variables. */
  readonly variables: Variables
  readonly stdin: Readable & { readonly isTTY?: boolean }
  readonly stdout: Writable & { readonly columns?: number }
  readonly stderr: Writable & { readonly columns?: number }
}

type Create<Of> = (input: Process) => Promise<Of>

type Load<Of> = () => Promise<Create<Of>>

/** Who creates a command's context, by what the command needs. Each is loaded late: help texts need none, and most commands a small one. */
export type Contexts = {
  /** For a command that only reads the database, and needs no key. */
  readonly reading: Load<ReadingCtx>
  /** For a command that asks nodes, and needs no key. */
  readonly asking: Load<AskingCtx>
  /** For a command that looks at what may not work, so it begins without a check. */
  readonly examined: Load<AskingCtx>
  /** For a command that needs SERVICE_KEY and IDENTITY_KEY, and the networks. */
  readonly askingIdentity: Load<AskingCtx & AuditingCtx>
  /** For a command that needs SERVICE_KEY and IDENTITY_KEY, with which its audit rows are authenticated. */
  readonly identity: Load<AuditingCtx>
  /** For a command that asks the vault what an API may ask, and reads the database. */
  readonly apiVault: Load<ReadingCtx & HasVault>
  /** The same, and it asks nodes. */
  readonly askingVault: Load<AskingCtx & HasVault>
  /** For a command that asks the vault, and reads the database. */
  readonly vault: Load<ReadingCtx & HasOperatorVault>
  /** For a command with keys of which the identity key is not the database's, and the vault. */
  readonly lostKey: Load<AuditingCtx & HasOperatorVault>
  /** For a command that does what an API does, and asks the vault as an operator. */
  readonly operator: Load<OperatorCtx>
}

/** A command does little at once, and runs beside APIs and workers that need their connections. */
const POOL_SIZE = 2

/** Runs a command in a context, and always closes its connections. */
const runIn =
  <Of extends ReadingCtx>(variables: Variables, load: Load<Of>) =>
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

export const createShell = (surroundings: Surroundings, contexts: Contexts) => {
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
    withReadingCtx: runIn(variables, contexts.reading),
    withAskingCtx: runIn(variables, contexts.asking),
    withExaminedCtx: runIn(variables, contexts.examined),
    withAskingIdentityCtx: runIn(variables, contexts.askingIdentity),
    withIdentityCtx: runIn(variables, contexts.identity),
    withApiVault: runIn(variables, contexts.apiVault),
    withAskingVault: runIn(variables, contexts.askingVault),
    withVault: runIn(variables, contexts.vault),
    withLostKey: runIn(variables, contexts.lostKey),
    withOperatorCtx: runIn(variables, contexts.operator),
  }
}
