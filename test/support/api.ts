import { programPath } from './programs.ts'

/** An API as a process of its own, when it listens. */
export const startApiProcess = async (
  variables: Readonly<Record<string, string>>,
  command: readonly string[] = ['bun', '--no-env-file', programPath('src/server')],
) => {
  const child = Bun.spawn([...command], {
    env: { PATH: process.env.PATH ?? '', ...variables, PORT: '0', LOG_LEVEL: 'info' },
    stdout: 'pipe',
    stderr: 'inherit',
  })
  const listening = Promise.withResolvers<string>()
  let output = ''
  const read = async () => {
    for await (const chunk of child.stdout) {
      output += Buffer.from(chunk).toString()
      const [, url] = /"url":"([^"]+)"[^\n]*"msg":"listening"/.exec(output) ?? []
      if (url !== undefined) listening.resolve(url)
    }
    listening.reject(new Error(`The API ended: ${output}`))
  }
  void read()
  return {
    url: await listening.promise,
    output: () => output,
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
