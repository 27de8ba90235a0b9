// What a command gets from the process that runs it. A command uses nothing else of the process, so that several can
// run in one: tests do that.

import { createInterface } from 'node:readline/promises'
import { type Readable, Writable } from 'node:stream'
import { type Config, type Process, readConfig } from '../../platform/config.ts'
import type { Variables } from '../../platform/environment/variables.ts'
import { AppError } from '../../platform/errors.ts'
import type { HasOperatorVault, HasVault } from '../../vault/contract/vault.ts'
import type { AskingCtx, AuditingCtx, OperatorCtx, ReadingCtx } from '../ctx.ts'

// Secrets come from standard input, one a line. Other users of the machine and the shell's history could read them on
// the command line.

const INPUT_BYTES_MAX = 4096

type Streams = { readonly stdin: Readable & { readonly isTTY?: boolean }; readonly stderr: Writable }

const ask = async ({ stdin, stderr }: Streams, prompts: readonly string[]): Promise<readonly string[]> => {
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() })
  const terminal = createInterface({ input: stdin, output: nowhere, terminal: true })
  try {
    const answers: string[] = []
    for (const prompt of prompts) {
      stderr.write(`${prompt}: `)
      answers.push(await terminal.question(''))
      stderr.write('\n')
    }
    return answers
  } finally {
    terminal.close()
  }
}

const readAll = async (stdin: Readable): Promise<string> => {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of stdin) {
    const bytes = Buffer.from(chunk)
    length += bytes.length
    if (length > INPUT_BYTES_MAX) throw new AppError('invalid_input', 'Standard input is too long for a secret.')
    chunks.push(bytes)
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks))
  } catch {
    throw new AppError('invalid_input', 'Standard input must be UTF-8 text.')
  }
}

/** Prompts for each secret at a terminal, or reads one a line. @throws invalid_input for another number of lines. */
const readSecrets = async (streams: Streams, prompts: readonly string[]): Promise<readonly string[]> => {
  if (streams.stdin.isTTY) return ask(streams, prompts)
  const lines = (await readAll(streams.stdin)).replace(/\r?\n$/, '').split(/\r?\n/)
  if (lines.length !== prompts.length) {
    throw new AppError('invalid_input', `Standard input must have one line each for: ${prompts.join(', ')}.`)
  }
  return lines
}

export type Surroundings = {
  readonly variables: Variables
  readonly stdin: Readable & { readonly isTTY?: boolean }
  readonly stdout: Writable & { readonly columns?: number }
  readonly stderr: Writable & { readonly columns?: number }
}

type Create<Of> = (input: Process) => Promise<Of>

type Load<Of> = () => Promise<Create<Of>>

/** Create a command's context. Each is loaded late: help texts need none, and most commands a small one. */
export type Contexts = {
  readonly reading: Load<ReadingCtx>
  readonly asking: Load<AskingCtx>
  /** For a command that looks at what may not work, so it begins without a check. */
  readonly examined: Load<AskingCtx>
  readonly askingIdentity: Load<AskingCtx & AuditingCtx>
  readonly identity: Load<AuditingCtx>
  readonly apiVault: Load<ReadingCtx & HasVault>
  readonly askingVault: Load<AskingCtx & HasVault>
  readonly vault: Load<ReadingCtx & HasOperatorVault>
  /** For a command with keys of which the identity key is not the database's, and the vault. */
  readonly lostKey: Load<AuditingCtx & HasOperatorVault>
  readonly operator: Load<OperatorCtx>
}

/** A command does little at once, and runs beside APIs and workers that need their connections. */
const POOL_SIZE = 2

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

const confirm = async ({ stdin, stderr }: Surroundings, question: string): Promise<boolean> => {
  const terminal = createInterface({ input: stdin, output: stderr })
  const { promise: ended, resolve: end } = Promise.withResolvers<string>()
  // The end of the input, by Ctrl-D, does not count as an answer.
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
