// Secrets come from standard input, one a line. Other users of the machine and the shell's history could read them on the
// command line.

import { createInterface } from 'node:readline/promises'
import { type Readable, Writable } from 'node:stream'
import { AppError } from '../../platform/errors.ts'

const INPUT_BYTES_MAX = 4096

type Streams = { readonly stdin: Readable & { readonly isTTY?: boolean }; readonly stderr: Writable }

/** Asks at the terminal, without showing what is typed. */
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

/**
 * Reads secrets from standard input: prompts for each at a terminal, and otherwise reads one a line.
 * @throws invalid_input for fewer or more lines than prompts.
 */
export const readSecrets = async (streams: Streams, prompts: readonly string[]): Promise<readonly string[]> => {
  if (streams.stdin.isTTY) return ask(streams, prompts)
  const lines = (await readAll(streams.stdin)).replace(/\r?\n$/, '').split(/\r?\n/)
  if (lines.length !== prompts.length) {
    throw new AppError('invalid_input', `Standard input must have one line each for: ${prompts.join(', ')}.`)
  }
  return lines
}
