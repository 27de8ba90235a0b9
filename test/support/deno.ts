import { createRequire } from 'node:module'
import { arch, platform } from 'node:process'

/**
 * Deno's program and the options that the service needs; a file comes next. The entry in node_modules/.bin is for Node.
 */
export const denoCommand = (): readonly string[] => {
  const require = createRequire(createRequire(import.meta.url).resolve('deno/package.json'))
  const libc = platform === 'linux' ? '-glibc' : ''
  const program = require.resolve(`@deno/${platform}-${arch}${libc}/deno`)
  return [program, 'run', '--allow-all', '--no-check', '--node-modules-dir=manual']
}
