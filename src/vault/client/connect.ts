// The client of one or more servers. A call goes to the next one that is connected and not leaving; while there is none
// it waits for a second. A connection that is lost is opened again.
//
// A vault whose root key does not fit any more answers so, and has done nothing. Another one is called. The first gets
// no calls for a while, unless all vaults answer so.
//
// What was asked on a lost connection was done or not. What may be repeated is asked again, anything else fails. What
// is held (`hold`) belongs to one connection, and ends with it.

import type { Static, TSchema } from '@sinclair/typebox'
import { AppError } from '../../platform/errors.ts'
import type { MeasureCall } from '../../platform/tracing/timings.ts'
import { UnfitVault } from '../contract/contract.ts'
import type { Given, Method } from '../contract/method.ts'
import { type Line, LineLost, openLine } from './line.ts'
import type { TlsFiles } from './tls-files.ts'

const RECONNECT_MS = 100
const CONNECTED_WAIT_MS = 1_000
/** A call fails after so many lost connections. Each unfit vault is called once besides. */
const LOST_MAX = 3
/** Call it again after this time: the database may belong to its root key again. */
const UNFIT_MS = 10_000

export type ConnectOptions = {
  /** The paths of the servers' sockets, or `tls://host:port`. */
  readonly sockets: readonly string[]
  /** For places by TLS. */
  readonly tls?: TlsFiles | null
  /** As the client calls itself. */
  readonly name: string
  /** Runs each call that goes to a server, and gets how long its parts took there. */
  readonly measure?: MeasureCall
  /** A connection was opened, or an open one has ended, or its server said that its root key does not fit any more. */
  readonly onChange: (change: { readonly socket: string; readonly is: 'open' | 'lost' | 'unfit' }) => void
  /** A connection could not be opened; `error` is null if the server closed it or said nothing. It is tried again. */
  readonly onUnreached?: (trouble: { readonly socket: string; readonly error: Error | null }) => void
}

/** Calls that must go where the first one went. */
type Held = {
  ask<Input extends TSchema, Output extends TSchema, Progress extends TSchema>(
    method: Method<Input, Output, Progress>,
    input: Given<Static<Input>>,
  ): Promise<Static<Output>>
  /** Closes it, because the server has. */
  release(): void
  /** Closes it, and notifies the server, unless it is closed. */
  end<Input extends TSchema>(method: Method<Input, TSchema, TSchema>, input: Given<Static<Input>>): void
}

export type Client = {
  /**
   * Asks a server.
   * @throws AppError as the server threw it; `unavailable` if there is none, or if the connection was lost.
   */
  ask<Input extends TSchema, Output extends TSchema, Progress extends TSchema>(
    method: Method<Input, Output, Progress>,
    input: Given<Static<Input>>,
    onProgress?: (progress: Static<Progress>) => void,
  ): Promise<Static<Output>>
  /** The same, with what asks the same server further. The caller ends it. */
  hold<Input extends TSchema, Output extends TSchema, Progress extends TSchema>(
    method: Method<Input, Output, Progress>,
    input: Given<Static<Input>>,
  ): Promise<{ readonly output: Static<Output>; readonly held: Held }>
  /** Ends all connections. What is under way fails. */
  close(): void
}

const noServer = () =>
  new AppError('unavailable', 'No vault can be reached: try again in a few seconds.', { retryAfterSeconds: 1 })

/** Lines in turn. A server that answered lately that its root key does not fit is used only if it is the only one. */
const createTurns = () => {
  const unfitUntilMs = new WeakMap<Line, number>()
  let turn = 0
  const isFit = (line: Line): boolean => performance.now() >= (unfitUntilMs.get(line) ?? 0)
  return {
    isFit,
    leave: (line: Line): void => void unfitUntilMs.set(line, performance.now() + UNFIT_MS),
    next: (usable: readonly Line[]): Line | null => {
      const fit = usable.filter(isFit)
      const candidates = fit.length > 0 ? fit : usable
      turn += 1
      return candidates[turn % candidates.length] ?? null
    },
  }
}

/** Keeps a connection to each server, and lets one that leaves end beside the next one to that path. */
const createLines = ({ sockets, tls = null, name, measure, onChange, onUnreached }: ConnectOptions) => {
  const wantsTimings = measure !== undefined
  /** Each with its socket. */
  const lines = new Map<Line, string>()
  const turns = createTurns()
  const timers = new Map<string, NodeJS.Timeout>()
  let opened = Promise.withResolvers<void>()
  let isClosed = false

  const open = (socket: string): void => {
    let state: 'new' | 'open' | 'over' = 'new'
    const onOpen = () => {
      state = 'open'
      onChange({ socket, is: 'open' })
      opened.resolve()
      opened = Promise.withResolvers()
    }
    /** It takes no more work, and later it is closed. */
    const onOver = () => {
      if (state === 'over') return
      if (state === 'open') onChange({ socket, is: 'lost' })
      state = 'over'
      if (!isClosed) timers.set(socket, setTimeout(open, RECONNECT_MS, socket))
    }
    const onClosed = (error: Error | null) => {
      lines.delete(line)
      if (state === 'new' && !isClosed) onUnreached?.({ socket, error })
      onOver()
    }
    const line = openLine({ place: socket, tls, name, wantsTimings, onOpen, onLeaving: onOver, onClosed })
    lines.set(line, socket)
  }

  const usable = () => [...lines.keys()].filter((line) => line.isOpen())

  for (const socket of sockets) open(socket)
  return {
    /** @throws unavailable if there is none within a second. */
    one: async (): Promise<Line> => {
      const now = turns.next(usable())
      if (now !== null) return now
      if (isClosed) throw noServer()
      const { promise: late, reject } = Promise.withResolvers<never>()
      const timer = setTimeout(() => reject(noServer()), CONNECTED_WAIT_MS)
      try {
        for (;;) {
          const line = turns.next(usable())
          if (line !== null) return line
          await Promise.race([opened.promise, late])
        }
      } finally {
        clearTimeout(timer)
      }
    },
    /** Uses other lines for a while. @returns whether there is one. */
    leave: (line: Line): boolean => {
      const socket = lines.get(line)
      if (socket !== undefined && turns.isFit(line)) onChange({ socket, is: 'unfit' })
      turns.leave(line)
      return usable().some(turns.isFit)
    },
    close: () => {
      isClosed = true
      for (const timer of timers.values()) clearTimeout(timer)
      for (const line of lines.keys()) line.destroy()
    },
  }
}

/** How a line is asked, with what measures it. */
const askingBy =
  (measure: MeasureCall | undefined) =>
  (line: Line): Line['ask'] =>
    measure === undefined
      ? line.ask
      : (method, input, hooks) => measure(method.name, (onTimings) => line.ask(method, input, { ...hooks, onTimings }))

/** Connects to servers, and stays connected until it is closed. */
export const connect = (options: ConnectOptions): Client => {
  const lines = createLines(options)
  const asking = askingBy(options.measure)

  const onAnyLine = async <Result>(
    { repeatable }: { readonly repeatable: boolean },
    use: (line: Line) => Promise<Result>,
  ): Promise<Result> => {
    const left = { lost: LOST_MAX, unfit: options.sockets.length }
    for (;;) {
      const line = await lines.one()
      try {
        return await use(line)
      } catch (error) {
        const isUnfit = error instanceof UnfitVault
        const mayRepeat = isUnfit ? lines.leave(line) : error instanceof LineLost && (repeatable || !error.wasSent)
        left[isUnfit ? 'unfit' : 'lost'] -= 1
        if (!mayRepeat || left.lost === 0 || left.unfit === 0) throw error
      }
    }
  }

  return {
    ask: (method, input, onProgress) => onAnyLine(method, (line) => asking(line)(method, input, { onProgress })),
    hold: (method, input) =>
      onAnyLine(method, async (line) => {
        using held = new DisposableStack()
        held.use(line.hold())
        const ask = asking(line)
        const output = await ask(method, input)
        const keeping = held.move()
        const end: Held['end'] = (last, given) => {
          if (keeping.disposed) return
          line.notify(last, given)
          keeping.dispose()
        }
        return { output, held: { ask, end, release: () => keeping.dispose() } }
      }),
    close: lines.close,
  }
}
