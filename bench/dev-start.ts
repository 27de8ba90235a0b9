import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { start } from './processes.ts'

export type DevStartBench = { readonly firstSeconds: number; readonly secondSeconds: number }

/** The whole dev stack, from the command to dev.json: on an empty folder, and again on what it kept. */
export const benchDevStart = async (): Promise<DevStartBench> => {
  const folder = await mkdtemp(join(tmpdir(), 'strongroom-bench-'))
  const once = async (): Promise<number> => {
    const begun = performance.now()
    const port = String(20_000 + Math.floor(Math.random() * 20_000))
    const stack = await start({
      file: 'devnet/dev.ts',
      variables: { DEV_DIR: folder, PORT: port },
      until: /curl/,
      timeoutMs: 120_000,
    })
    while (!existsSync(join(folder, 'dev.json'))) await Bun.sleep(5)
    const seconds = (performance.now() - begun) / 1000
    await stack.stop()
    return seconds
  }
  try {
    return { firstSeconds: await once(), secondSeconds: await once() }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
