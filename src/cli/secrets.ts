// Secrets come from standard input, never from the command line, which other users of the machine and the shell's
// history can read: one a line, without its line end.

import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { AppError } from '../errors.ts'

const INPUT_BYTES_MAX = 4096

/** What is typed is not shown. */
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
    throw new AppError('invalid_input', 'Standard input must be text in UTF-8.')
  }
}

/**
 * Reads secrets from standard input: asks for them at a terminal, and otherwise takes one a line.
 * @throws invalid_input where there are fewer or more lines than prompts.
 */
export const readSecrets = async (prompts: readonly string[]): Promise<readonly string[]> => {
  if (process.stdin.isTTY) return ask(prompts)
  const lines = (await readAll()).replace(/\r?\n$/, '').split(/\r?\n/)
  if (lines.length !== prompts.length) {
    throw new AppError('invalid_input', `Standard input must have, one a line: ${prompts.join(', ')}.`)
  }
  return lines
}
