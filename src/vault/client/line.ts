// One connection of a client, from its hello to its end.

import type { Static, TSchema } from '@sinclair/typebox'
import { AppError } from '../../platform/errors.ts'
import type { Timing } from '../../platform/tracing/timings.ts'
import type { AnyMethod, Method } from '../contract/method.ts'
import { openChannel } from './channel.ts'
import { Refused } from './data.ts'
import { dial } from './dial.ts'
import { errorOf } from './failure.ts'
import { ALIVE, DONE, HELLO_WAIT_MS, isAnswer, isHello, LEAVING, NOTICE, PROGRESS, PROTOCOL } from './protocol.ts'
import type { TlsFiles } from './tls-files.ts'

/** Six times what a server lets pass between two messages. */
const SILENCE_MS = 3_000
/** If this process itself stood still, it reads in this time what came meanwhile. */
const READ_MS = 500

/** The connection was lost before the answer came. */
export class LineLost extends AppError {
  /** Whether the server may have begun. */
  readonly wasSent: boolean

  constructor({ wasSent }: { readonly wasSent: boolean }) {
    super('unavailable', 'The vault went away: it is unknown whether this was done.', { retryAfterSeconds: 1 })
    this.name = 'LineLost'
    this.wasSent = wasSent
  }
}

export type Line = {
  /** Whether it takes new work. */
  isOpen(): boolean
  /** Asks, and waits for the answer. @throws LineLost, or what the server threw. */
  ask<Input extends TSchema, Output extends TSchema, Progress extends TSchema>(
    method: Method<Input, Output, Progress>,
    input: unknown,
    hooks?: Hooks<Static<Progress>>,
  ): Promise<Static<Output>>
  /** Sends a message that has no answer. */
  notify(method: AnyMethod, input: unknown): void
  /** Keeps it, although its server may be leaving, until the result is disposed of. */
  hold(): Disposable
  destroy(): void
}

type Hooks<Progress> = {
  readonly onProgress?: ((progress: Progress) => void) | undefined
  /** Called before the answer, if the line asked for timings. */
  readonly onTimings?: ((timings: readonly Timing[]) => void) | undefined
}

type PendingCall = {
  readonly onTimings: (timings: readonly Timing[]) => void
  readonly onProgress: (progress: unknown) => void
  readonly onDone: (output: unknown) => void
  readonly onFailed: (error: unknown) => void
}

export const openLine = (input: {
  /** The path of a Unix socket, or `tls://host:port`. */
  readonly place: string
  readonly tls: TlsFiles | null
  readonly name: string
  readonly wantsTimings: boolean
  readonly onOpen: () => void
  readonly onLeaving: () => void
  /** It is over, or could not be opened. */
  readonly onClosed: (error: Error | null) => void
}): Line => {
  const { socket, openedBy } = dial(input.place, input.tls)
  const pending = new Map<number, PendingCall>()
  let state: 'new' | 'open' | 'leaving' | 'closed' = 'new'
  let lastId = 0
  let held = 0
  /** Whether something came since the last check. */
  let isHeard = true
  /** Whether the server's identity is verified. A path needs no check. */
  let isKnown = openedBy === 'connect'
  let trouble: Error | null = null

  const endIfLeft = () => {
    if (state === 'leaving' && pending.size === 0 && held === 0) channel.end()
  }

  const onHello = (hello: unknown) => {
    if (!isKnown || !isHello.Check(hello) || hello.protocol !== PROTOCOL)
      throw new Refused('the hello is not as it should be')
    clearTimeout(waiting)
    state = 'open'
    input.onOpen()
  }

  const onAnswer = (answer: unknown) => {
    if (!isAnswer.Check(answer)) throw new Refused('an answer is not as it should be')
    const [id, kind, body, timings = []] = answer
    if (kind === NOTICE) {
      if (body === ALIVE) return
      if (body !== LEAVING) throw new Refused('a notice is unknown')
      state = 'leaving'
      input.onLeaving()
      endIfLeft()
      return
    }
    const call = pending.get(id)
    if (call === undefined) throw new Refused('an answer is to nothing that was asked')
    if (kind === PROGRESS) {
      call.onProgress(body)
      return
    }
    call.onTimings(timings)
    if (kind === DONE) call.onDone(body)
    else call.onFailed(errorOf(body))
    pending.delete(id)
    endIfLeft()
  }

  const channel = openChannel(socket, {
    mayTake: () => true,
    // The Uint8Arrays of an answer belong to the caller.
    onMessage: ({ value }) => {
      isHeard = true
      if (state === 'new') onHello(value)
      else onAnswer(value)
    },
    onRefused: () => channel.destroy(),
    onClosed: () => {
      clearTimeout(waiting)
      clearInterval(listening)
      state = 'closed'
      for (const { onFailed } of pending.values()) onFailed(new LineLost({ wasSent: true }))
      pending.clear()
      input.onClosed(trouble)
    },
  })
  const waiting = setTimeout(channel.destroy, HELLO_WAIT_MS)
  const listening = setInterval(() => {
    if (!isHeard) setTimeout(() => isHeard || channel.destroy(), READ_MS)
    isHeard = false
  }, SILENCE_MS)
  socket.once('error', (error) => {
    trouble = error
  })
  socket.once(openedBy, () => {
    isKnown = true
    channel.send({ protocol: PROTOCOL, name: input.name, ...(input.wantsTimings && { timings: true }) })
  })

  /** The server would close the connection, which other requests use too. */
  const refused = (why: string) => new AppError('invalid_input', `This cannot be passed on to the vault: ${why}.`)

  /** @throws AppError for what the server would refuse. */
  const send = (id: number, { name, input: shape }: AnyMethod, given: unknown) => {
    const named = shape.named(given)
    if (!shape.fits(named)) throw refused(`the input of ${name} is not as it should be`)
    try {
      channel.send([id, name, named])
    } catch (error) {
      throw error instanceof Refused ? refused(error.message) : error
    }
  }

  return {
    isOpen: () => state === 'open' && socket.writable,
    ask: async (method, given, { onProgress, onTimings = () => {} } = {}) => {
      if (channel.isClogged()) await channel.flowing()
      if (!socket.writable) throw new LineLost({ wasSent: false })
      lastId += 1
      send(lastId, method, given)
      return await new Promise((resolve, reject) => {
        pending.set(lastId, {
          onTimings,
          onProgress: (progress) => {
            if (method.progress.fits(progress)) onProgress?.(progress)
          },
          onDone: (output) => {
            if (method.output.fits(output)) resolve(output)
            else reject(new AppError('internal', 'The vault answered something unexpected: is it of another version?'))
          },
          onFailed: reject,
        })
      })
    },
    notify: (method, given) => {
      if (socket.writable) send(0, method, given)
    },
    hold: () => {
      held += 1
      let isHeld = true
      const release = () => {
        if (isHeld) held -= 1
        isHeld = false
        endIfLeft()
      }
      return { [Symbol.dispose]: release }
    },
    destroy: channel.destroy,
  }
}
