// The operator's commands: in this process, or as processes of their own where that is the point, which cost a second
// each.

import { Readable, Writable } from 'node:stream'
import { runCommand } from '../../src/main/run-command.ts'
import { programPath } from './programs.ts'

type Variables = Readonly<Record<string, string>>
type Input = string | Uint8Array
type Stdin = Readable & { readonly isTTY?: boolean }

/** A terminal at which somebody types this. */
export const terminal = (typed: string): Stdin => Object.assign(Readable.from([Buffer.from(typed)]), { isTTY: true })

/** A stream that keeps what is written. */
const keeping = () => {
  const chunks: Buffer[] = []
  const stream = new Writable({
    write: (chunk, _encoding, done) => {
      chunks.push(chunk)
      done()
    },
  })
  return { stream, text: () => Buffer.concat(chunks).toString() }
}

/** Runs an operator's command in this process, with these environment variables and no others. */
export const runCli = async (args: readonly string[], variables: Variables, input: Input | Stdin = '') => {
  const [out, err] = [keeping(), keeping()]
  const stdin = input instanceof Readable ? input : Readable.from([Buffer.from(input)])
  const exitCode = await runCommand(args, { variables, stdin, stdout: out.stream, stderr: err.stream })
  return { exitCode, output: out.text(), errors: err.text() }
}

/** Starts an operator's command as a process. A developer's own stack, which may run here, is nothing to it. */
export const startCli = (args: readonly string[], variables: Variables, input: Input = '') =>
  Bun.spawn(['bun', '--no-env-file', programPath('src/main/cli'), ...args], {
    env: { PATH: process.env.PATH ?? '', DEV_DIR: '/nonexistent', ...variables },
    stdin: Buffer.from(input),
    stdout: 'pipe',
    stderr: 'pipe',
  })

/** What `runCli` does, with a process. */
export const runCliProcess = async (...command: Parameters<typeof startCli>) => {
  const child = startCli(...command)
  const [output, errors] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
  return { exitCode: await child.exited, output, errors }
}

/**
 * What a refused command ends with: 2 for a wrong use of it, which commander reports with these first words, and else
 * 1.
 */
export const exitCodeOf = (errors: string): number => (/^(?:error: |Usage: )/.test(errors) ? 2 : 1)
