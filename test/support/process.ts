type Command = readonly string[]

/** A process, when its output matches `until`. */
export const startProcess = async (input: {
  readonly command: Command
  readonly variables: Readonly<Record<string, string>>
  readonly until: RegExp
}) => {
  const child = Bun.spawn([...input.command], {
    env: { PATH: process.env.PATH ?? '', ...input.variables },
    stdout: 'pipe',
    stderr: 'inherit',
  })
  const ready = Promise.withResolvers<RegExpExecArray>()
  let output = ''
  const read = async () => {
    for await (const chunk of child.stdout) {
      output += Buffer.from(chunk).toString()
      const match = input.until.exec(output)
      if (match !== null) ready.resolve(match)
    }
    ready.reject(new Error(`The process ended: ${output}`))
  }
  void read()
  return {
    match: await ready.promise,
    pid: child.pid,
    /** Stands still, as on a host that hangs, until it goes on. */
    pause: () => child.kill('SIGSTOP'),
    goOn: () => child.kill('SIGCONT'),
    output: () => output,
    /** As the kernel does it: no handler runs. */
    kill: async () => {
      child.kill('SIGKILL')
      await child.exited
    },
    stop: async () => {
      child.kill('SIGTERM')
      return await child.exited
    },
  }
}
