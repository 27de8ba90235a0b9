import { endOf } from './await-part.ts'
import type { TetheredProcess } from './tether.ts'

/** The order of stopping: services before the foundations that they use. */
type PartKind = 'service' | 'foundation'

/** One process of the stack. */
type Part = {
  readonly name: string
  readonly kind: PartKind
  readonly process: TetheredProcess
  readonly logPath: string
  readonly stop: () => Promise<void>
  /** If it ends by itself, the stack goes on with a warning. */
  readonly isDispensable?: boolean
}

/** The processes of a stack. Each is added when it starts, and is then watched and stopped with the others. */
export type Parts = {
  /** @throws Error if the stack is already stopping; the process is then stopped */
  readonly keep: (part: Part) => Promise<void>
  /** Resolves with a sentence when an indispensable part ends unexpectedly. */
  readonly failed: Promise<string>
  /** Stops the services, then the foundations. */
  readonly stop: () => Promise<void>
}

/** An empty stack. */
export const createParts = (): Parts => {
  const parts: Part[] = []
  const failure = Promise.withResolvers<string>()
  let ending = false

  const keep = async (part: Part): Promise<void> => {
    if (ending) {
      await part.stop()
      throw new Error('The stack was stopped while it was starting.')
    }
    parts.push(part)
    void part.process.exited.then(async (reason) => {
      if (ending) return
      const warning = `Warning: ${part.name} ended unexpectedly (${reason}). ${await endOf(part.logPath)}`
      if (part.isDispensable) console.error(warning)
      else failure.resolve(warning)
    })
  }

  const stopAll = async (kind: PartKind): Promise<void> => {
    await Promise.allSettled(parts.filter((part) => part.kind === kind).map((part) => part.stop()))
  }

  const stop = async (): Promise<void> => {
    ending = true
    await stopAll('service')
    await stopAll('foundation')
  }
  return { keep, failed: failure.promise, stop }
}
