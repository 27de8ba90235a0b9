import { fileURLToPath } from 'node:url'

const MAIN = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url))

/** Runs an operator's command in its own process, with these environment variables and no others. */
export const runCli = async (args: readonly string[], variables: Readonly<Record<string, string>>) => {
  const child = Bun.spawn(['bun', '--no-env-file', MAIN, ...args], {
    env: { PATH: process.env.PATH ?? '', ...variables },
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [output, errors] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
  return { exitCode: await child.exited, output, errors }
}

/** What a refused command ends with: 2 for a wrong use of it, which commander reports with these first words, and else 1. */
export const exitCodeOf = (errors: string): number => (/^(?:error: |Usage: )/.test(errors) ? 2 : 1)
