// Secrets come from standard input, one a line. Other users of the machine and the shell's history could read them on the
// command line.

import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { AppError } from '../errors.ts'

const INPUT_BYTES_MAX = 4096

/** Asks at the terminal, without showing what is typed. */
const ask = async (prompts: readonly string[]): Promise<readonly string[]> => {
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() })
  const terminal = createInterface({ input: process.stdin, output: nowhere, terminal: true })
  try {
    const answers: string[] = []
    for (const prompt of prompts) {
      process.stderr.write(`${prompt}: `)
      answers.push(await terminal.question(''))
      process.stderr.write('\n')
    }
    return answers
  } finally {
    terminal.close()
  }
}

const readAll = async (): Promise<string> => {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of process.stdin) {
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
export const readSecrets = async (prompts: readonly string[]): Promise<readonly string[]> => {
  if (process.stdin.isTTY) return ask(prompts)
  const lines = (await readAll()).replace(/\r?\n$/, '').split(/\r?\n/)
  if (lines.length !== prompts.length) {
    throw new AppError('invalid_input', `Standard input must have one line each for: ${prompts.join(', ')}.`)
  }
  return lines
}
