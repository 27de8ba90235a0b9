// The page's script: what is in client/, as one file for browsers.

import { fileURLToPath } from 'node:url'

const ENTRY = fileURLToPath(new URL('client/main.ts', import.meta.url))

let script: Promise<string> | null = null

const bundle = async (): Promise<string> => {
  const { outputs } = await Bun.build({ entrypoints: [ENTRY], target: 'browser', format: 'esm', minify: true })
  const [output] = outputs
  if (output === undefined) throw new Error('the login page’s script was not made')
  return output.text()
}

/** Made at the first request, once a process. */
export const clientScript = (): Promise<string> => {
  script ??= bundle().catch((error: unknown) => {
    script = null
    throw error
  })
  return script
}
