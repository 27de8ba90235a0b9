import { mkdtemp, open, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { awaitPart } from './await-part.ts'
import { startTethered, type TetheredCommand, type TetheredProcess } from './tether.ts'

const LOG_BYTES_MAX = 65_536

/** Reads a log file, even after it was deleted. */
type Messages = { readonly read: () => Promise<string>; readonly close: () => Promise<void> }

const follow = async (path: string): Promise<Messages> => {
  const file = await open(path)
  const read = async (): Promise<string> => {
    const { bytesRead, buffer } = await file.read({ buffer: Buffer.alloc(LOG_BYTES_MAX), position: 0 })
    return buffer.toString('utf8', 0, bytesRead)
  }
  return { read, close: () => file.close() }
}

type Waiting = {
  readonly name: string
  readonly logPath: string
  readonly process: TetheredProcess
  readonly messages: Messages
}

/**
 * Waits until a node's output names its port. Probing the port instead could reach another chain that has taken it.
 */
const waitForPort = async ({ name, process, logPath, messages }: Waiting): Promise<number> => {
  const waited = await awaitPart(
    { process, logPath },
    async () => /^Listening on 127\.0\.0\.1:([0-9]+)$/m.exec(await messages.read())?.[1],
  )
  if ('found' in waited) return Number(waited.found)
  await process.stop()
  const lastMessages = (await messages.read()).trim().split('\n').slice(-6).join('\n')
  throw new Error(`${name} did not start: it ${waited.failure}. It wrote:\n${lastMessages}`)
}

/**
 * Starts a local node and waits until its output names its port on 127.0.0.1. Without a `logPath` the output is not
 * kept.
 * @throws Error with its last messages if it does not start
 */
export const startListening = async (
  command: Omit<TetheredCommand, 'logPath' | 'stopSignal'> & {
    readonly name: string
    readonly logPath?: string | undefined
  },
): Promise<{ readonly process: TetheredProcess; readonly rpcUrl: string }> => {
  const folder = await mkdtemp(join(tmpdir(), `strongroom-${command.name}-`))
  const logPath = command.logPath ?? join(folder, 'node.log')
  await rm(logPath, { force: true })
  const process = await startTethered({ ...command, logPath, stopSignal: 'SIGTERM' })
  const messages = await follow(logPath)
  await rm(folder, { recursive: true, force: true })
  try {
    const port = await waitForPort({ name: command.name, process, logPath, messages })
    return { process, rpcUrl: `http://127.0.0.1:${port}` }
  } finally {
    await messages.close()
  }
}
