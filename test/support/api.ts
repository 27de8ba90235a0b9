import { startProcess } from './process.ts'
import { programPath } from './programs.ts'

/** An API as a process of its own, when it listens. */
export const startApiProcess = async (
  variables: Readonly<Record<string, string>>,
  command: readonly string[] = ['bun', '--no-env-file', programPath('src/main/api')],
) => {
  const { match, ...api } = await startProcess({
    command,
    variables: { ...variables, PORT: '0', LOG_LEVEL: 'info' },
    until: /"url":"([^"]+)"[^\n]*"msg":"listening"/,
  })
  return { ...api, url: match[1] ?? '' }
}
