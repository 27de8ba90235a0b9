// `bun run demo`: the main job as a story on the dev stack (started here if none is running). The result of each step
// is checked on the chain by plain JSON-RPC, and the exit code is 0 only if all are right.

import { mkdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { CONTRACT_WALLET } from './demo-contract-wallet.ts'
import { DELEGATION } from './demo-delegation.ts'
import { FURTHER } from './demo-further.ts'
import { MAIN_JOB } from './demo-steps.ts'
import { type DemoStep, type Story, storyOf } from './demo-story.ts'
import { SUBSTRATE } from './demo-substrate.ts'
import { type DevJson, readDevJson } from './dev-json.ts'
import { startTethered, type TetheredProcess } from './tether.ts'

const STEPS = [...MAIN_JOB, ...FURTHER, ...SUBSTRATE, ...CONTRACT_WALLET, ...DELEGATION]
const POLL_MS = 100

const devFolder = (): string => process.env.DEV_DIR?.trim() || '.dev'

/** Not among the logs of the stack, which a start renames. */
const stackLog = (): string => join(devFolder(), 'stack.log')

const isAlive = async (dev: DevJson | undefined): Promise<boolean> => {
  if (dev === undefined) return false
  return fetch(`${dev.base_url}/healthz`).then(
    (response) => response.ok,
    () => false,
  )
}

/** The running stack, or one that is started for the demo. */
const findStack = async (): Promise<{ readonly dev: DevJson; readonly stop: () => Promise<void> }> => {
  const running = await readDevJson(devFolder())
  if (running !== undefined && (await isAlive(running))) return { dev: running, stop: async () => {} }
  console.log('No dev stack is running: starting one for the length of the demo.')
  await mkdir(devFolder(), { recursive: true, mode: 0o700 })
  await rm(stackLog(), { force: true })
  const child = await startTethered({
    program: process.execPath,
    args: [fileURLToPath(new URL('./dev.ts', import.meta.url))],
    env: Object.fromEntries(Object.entries(process.env).flatMap(([name, value]) => (value ? [[name, value]] : []))),
    logPath: stackLog(),
    stopSignal: 'SIGTERM',
  })
  return { dev: await untilReady(child), stop: async () => void (await child.stop()) }
}

/** Waits as long as the stack starts, which ends by itself if it cannot. Shows what it prints meanwhile. */
const untilReady = async (child: TetheredProcess): Promise<DevJson> => {
  let shown = 0
  while (child.isRunning()) {
    const dev = await readDevJson(devFolder())
    if (dev !== undefined && (await isAlive(dev))) return dev
    const printed = await readFile(stackLog(), 'utf8')
    process.stdout.write(printed.slice(shown))
    shown = printed.length
    await Bun.sleep(POLL_MS)
  }
  throw new Error(`The dev stack did not start; its output is in ${stackLog()}.`)
}

const run = async (story: Story): Promise<boolean> => {
  const done: (readonly [step: DemoStep, result: string, ms: number])[] = []
  for (const [index, step] of STEPS.entries()) {
    process.stdout.write(`[${index + 1}/${STEPS.length}] ${step.title} … `)
    const begun = performance.now()
    try {
      const result = await step.run(story)
      done.push([step, result, performance.now() - begun])
      console.log(`ok (${Math.round(performance.now() - begun)} ms)`)
    } catch (error) {
      console.log('FAILED')
      console.error(`    ${error instanceof Error ? error.message : String(error)}`)
      return false
    }
  }
  console.log('\nWhat was checked on the chains:\n')
  const width = Math.max(...done.map(([{ title }]) => title.length))
  for (const [step, result] of done) console.log(`  ${step.title.padEnd(width)}  ${result}`)
  return true
}

const { dev, stop } = await findStack()
let held = false
try {
  held = await run(storyOf(dev))
} finally {
  await stop()
}
console.log(held ? '\nEverything held.' : '\nThe demo failed.')
process.exit(held ? 0 : 1)
