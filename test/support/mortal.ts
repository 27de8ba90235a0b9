// A process of the service whose connections go through proxies. When a chosen message passes, it is killed (SIGKILL),
// or PostgreSQL.

import { type Program, programPath } from './programs.ts'
import type { Service } from './service.ts'
import { type Moment, startDatabaseWire, startNodeWire, type Wire } from './wire.ts'

/** A step boundary: the nth message of a kind, counted from when the point was chosen. */
export type Point = { readonly wire: Wire; readonly kind: string; readonly nth: number; readonly moment: Moment }

const START_TIMEOUT_MS = 30_000
const OUTPUT_KEPT = 20_000
const WORDS_SHOWN = 1_000

type Life = {
  readonly child: Bun.Subprocess<'ignore', 'pipe', 'pipe'>
  readonly ready: Promise<RegExpMatchArray | null>
}

/** @returns `ready`: the match of `until` in the output, or null if the process ended before. */
const spawn = (input: {
  readonly program: Program
  readonly variables: Record<string, string>
  readonly until: RegExp
  readonly keep: (text: string) => void
}): Life => {
  const child = Bun.spawn([process.execPath, programPath(input.program)], {
    env: { PATH: process.env.PATH ?? '', ...input.variables },
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const { promise, resolve } = Promise.withResolvers<RegExpMatchArray | null>()
  const timer = setTimeout(() => resolve(null), START_TIMEOUT_MS)
  const read = async (stream: ReadableStream<Uint8Array>) => {
    let begun = ''
    let isReady = false
    for await (const chunk of stream) {
      const text = Buffer.from(chunk).toString()
      input.keep(text)
      if (isReady) continue
      begun += text
      const match = begun.match(input.until)
      isReady = match !== null
      if (match !== null) resolve(match)
    }
  }
  void Promise.all([read(child.stdout), read(child.stderr)]).then(() => resolve(null))
  void promise.then(() => clearTimeout(timer))
  return { child, ready: promise }
}

/**
 * One process of the service, with proxies to its database and its node.
 * @param input.until the process is ready when its output matches this.
 */
export const createMortal = async (input: {
  readonly program: Program
  readonly variables: Record<string, string>
  readonly databaseUrl: string
  readonly node: { readonly variable: string; readonly rpcUrl: string }
  readonly until: RegExp
}) => {
  let life: Life | null = null
  let counts = new Map<string, number>()
  let total = 0
  let aim: ((wire: Wire, kind: string, nth: number) => Moment | null) | null = null
  let loss: { readonly kind: string; readonly nth: number; readonly moment: Moment } | null = null
  let output = ''
  let killed = Promise.withResolvers<void>()
  const keep = (text: string) => {
    output = (output + text).slice(-OUTPUT_KEPT)
  }
  const isAlive = (): boolean => life !== null && life.child.exitCode === null && life.child.signalCode === null
  const kill = async (): Promise<void> => {
    life?.child.kill('SIGKILL')
    await life?.child.exited
  }
  let strike = kill
  const tap = {
    heard: (wire: Wire, kind: string): Moment | null => {
      const name = `${wire} ${kind}`
      const nth = (counts.get(name) ?? 0) + 1
      counts.set(name, nth)
      total += 1
      const moment = aim?.(wire, kind, nth) ?? null
      if (moment !== null) aim = null
      return moment
    },
    kill: async () => {
      await strike()
      // A killed process neither sends nor hears anything.
      if (!isAlive()) await new Promise(() => {})
    },
    loses: (kind: string): Moment | null => {
      if (loss === null || kind !== loss.kind) return null
      const { moment, nth } = loss
      loss = nth === 1 ? null : { ...loss, nth: nth - 1 }
      return nth === 1 ? moment : null
    },
  }
  const database = await startDatabaseWire({ url: input.databaseUrl, tap })
  const node = startNodeWire({ rpcUrl: input.node.rpcUrl, tap })
  const variables = { ...input.variables, DATABASE_URL: database.url, [input.node.variable]: node.url }

  const recount = () => {
    counts = new Map()
    total = 0
  }
  return {
    /** For connections that others make for it, or to it. */
    tap,
    /** Starts it, and resolves when it is ready; null if it was killed before. */
    start: (): Promise<RegExpMatchArray | null> => {
      killed = Promise.withResolvers<void>()
      life = spawn({ program: input.program, variables, until: input.until, keep })
      void life.child.exited.then(() => killed.resolve())
      return life.ready
    },
    /** Restarts the count, and at a point kills the process, or whom `how` kills. */
    killAt: (point: Point, how = kill): void => {
      recount()
      strike = how
      aim = (wire, kind, nth) => (wire === point.wire && kind === point.kind && nth === point.nth ? point.moment : null)
    },
    /** The same at the nth message of any kind. */
    killAtMessage: (at: { readonly message: number; readonly moment: Moment }, how = kill): void => {
      recount()
      strike = how
      aim = () => (total === at.message ? at.moment : null)
    },
    /** Restarts the count, and does not kill the process. */
    spare: (): void => {
      recount()
      aim = null
    },
    /** Loses the nth of the next requests of a kind to the node, or its answer; null: loses none. */
    lose: (what: typeof loss): void => {
      loss = what
    },
    /** The number of messages of each kind, named `wire kind`. */
    counted: (): ReadonlyMap<string, number> => counts,
    isAlive,
    /** Resolves when it has ended. */
    ended: (): Promise<void> => killed.promise,
    /** Kills it like the kernel when memory runs out: no handler runs. */
    kill,
    output: () => output,
    /** How it ended, and the last of what it said; for a message. */
    lastWords: () => `${life?.child.signalCode ?? `exit code ${life?.child.exitCode}`}: ${output.slice(-WORDS_SHOWN)}`,
    stop: async (): Promise<void> => {
      if (life !== null) {
        life.child.kill('SIGTERM')
        await life.child.exited
      }
      await database.stop()
      await node.stop()
    },
  }
}

export type Mortal = Awaited<ReturnType<typeof createMortal>>

/** A vault and an API beside those of this service, at a socket of their own. */
export const createMortals = async (
  service: Pick<Service, 'variables' | 'vaultVariables' | 'database'>,
  rpcUrl: string,
): Promise<{ readonly vault: Mortal; readonly api: Mortal }> => {
  const node = { variable: 'ETHEREUM_RPC_URL', rpcUrl }
  const socket = `${service.variables.VAULT_SOCKET}.mortal`
  const changes = { LOG_LEVEL: 'info', PORT: '0', VAULT_SOCKET: socket }
  const vault = await createMortal({
    program: 'src/main/vault',
    variables: { ...service.vaultVariables, ...changes, VAULT_JOURNAL: `${socket}.journal` },
    databaseUrl: service.database.vaultUrl,
    node,
    until: /"msg":"listening"/,
  })
  const api = await createMortal({
    program: 'src/main/api',
    variables: { ...service.variables, ...changes },
    databaseUrl: service.database.apiUrl,
    node,
    until: /"url":"(http[^"]+)"/,
  })
  return { vault, api }
}
