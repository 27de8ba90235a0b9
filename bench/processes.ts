import { fileURLToPath } from 'node:url'
import { scripts } from '../package.json'

export type Running = { readonly pid: number; readonly output: () => string; readonly stop: () => Promise<void> }

const path = (name: string) => fileURLToPath(new URL(`../${name}`, import.meta.url))

/** What `bun run` sets for the process of a file, if it is one of the project's: by how much its memory may grow. */
const settingsOf = (file: string): Record<string, string> => {
  const script = Object.values(scripts).find((each) => each.endsWith(` bun ${file}`)) ?? ''
  return Object.fromEntries([...script.matchAll(/(\w+)=(\S+)/g)].map(([, name = '', value = '']) => [name, value]))
}

/** Starts a file of the project as a process of its own, and waits until its output has what `until` looks for. */
export const start = async (input: {
  readonly file: string
  readonly variables: Record<string, string>
  readonly parameters?: readonly string[]
  readonly until: RegExp
  readonly timeoutMs?: number
}): Promise<Running & { readonly match: RegExpMatchArray }> => {
  const child = Bun.spawn(['bun', path(input.file), ...(input.parameters ?? [])], {
    env: { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '', ...settingsOf(input.file), ...input.variables },
    stdout: 'pipe',
    stderr: 'inherit',
  })
  let text = ''
  const read = (async () => {
    for await (const chunk of child.stdout) text += Buffer.from(chunk).toString()
  })()
  const stop = async () => {
    if (child.exitCode === null) child.kill('SIGTERM')
    await child.exited
    await read
  }
  const deadline = performance.now() + (input.timeoutMs ?? 30_000)
  for (;;) {
    const match = text.match(input.until)
    if (match !== null) return { pid: child.pid, output: () => text, stop, match }
    if (child.exitCode !== null || performance.now() > deadline) {
      await stop()
      throw new Error(`${input.file} did not start: ${text.slice(-2000)}`)
    }
    await Bun.sleep(10)
  }
}
