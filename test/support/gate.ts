// A proxy in front of a real node. A test can hold requests back, change answers into faults, or replace the node.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { callRpc } from '../../devnet/rpc.ts'

type Request = { readonly id: unknown; readonly method: string; readonly params: readonly unknown[] }
type Reply = { id: unknown; result?: unknown; error?: unknown }

/**
 * A request that is held back, until the end of its block at the latest: a test that fails keeps nothing from the
 * others.
 */
export type Held = Disposable & {
  /** Resolves when the request is waiting. */
  readonly reached: Promise<void>
  /** Lets it continue; `forgotten` answers with 502 instead. */
  readonly release: (how?: 'answered' | 'forgotten') => void
}

type Trap = { readonly method: string; readonly when: 'before' | 'after'; readonly stop: () => Promise<boolean> }

/** An HTTP answer that can be changed before it is sent. */
type Exchange = {
  /** The reply to change. */
  readonly spoilt: Reply
  /** The whole answer in its present state. */
  readonly text: () => string
  readonly response: ServerResponse
}

const ANSWER_LIMIT_BYTES = 134_217_728
const CHUNK = Buffer.alloc(1_048_576, ' ')

const end = ({ response }: Exchange, status: number, text: string): void => {
  response.writeHead(status, { 'content-type': 'application/json' }).end(text)
}

/** Changes one reply; the HTTP answer is otherwise right. */
const changing =
  (change: (reply: Reply) => void) =>
  (exchange: Exchange): void => {
    change(exchange.spoilt)
    end(exchange, 200, exchange.text())
  }

/**
 * Faults of a node's HTTP answer. The node itself has received the request and done what it asks for, so a careless
 * client would do it twice.
 */
export const ANSWER_FAULTS = {
  'drops the connection': ({ response }) => void response.destroy(),
  'breaks off within its answer': ({ response, text }) => {
    response.writeHead(200, { 'content-length': String(text().length) })
    response.write(text().slice(0, -5), () => response.destroy())
  },
  'answers 500': (exchange) => end(exchange, 500, exchange.text()),
  'answers 503 with a page': (exchange) => end(exchange, 503, '<html>Service unavailable</html>'),
  'answers 429': (exchange) => end(exchange, 429, ''),
  'answers with a page': (exchange) => end(exchange, 200, '<html>Welcome</html>'),
  'answers nothing': (exchange) => end(exchange, 200, ''),
  'answers half of its JSON': (exchange) => end(exchange, 200, exchange.text().slice(0, -5)),
  'answers a number': (exchange) => end(exchange, 200, '42'),
  'answers more than anybody reads': ({ response }) => {
    let left = ANSWER_LIMIT_BYTES / CHUNK.length + 1
    const go = (): void => {
      while (left > 0 && !response.destroyed) {
        left -= 1
        if (!response.write(CHUNK)) return void response.once('drain', go)
      }
      response.end()
    }
    go()
  },
  hangs: () => {},
} as const satisfies Record<string, (exchange: Exchange) => void>

/** Faults of the answer to one question; the rest of the batch is right. */
export const REPLY_FAULTS = {
  'answers another question': changing((reply) => {
    reply.id = 'of somebody else'
  }),
  'answers neither result nor error': changing((reply) => {
    delete reply.result
    delete reply.error
  }),
  'answers null': changing((reply) => {
    delete reply.error
    reply.result = null
  }),
  'answers in another form': changing((reply) => {
    delete reply.error
    reply.result = [{ nonsense: true }]
  }),
  'answers an internal error': changing((reply) => {
    delete reply.result
    reply.error = { code: -32_603, message: 'Internal error' }
  }),
} as const satisfies Record<string, (exchange: Exchange) => void>

const FAULTS = { ...ANSWER_FAULTS, ...REPLY_FAULTS }
export type Fault = keyof typeof FAULTS

const namesOf = <Name extends string>(faults: Record<Name, unknown>): readonly Name[] => Object.keys(faults) as Name[]
export const ANSWER_FAULT_NAMES = namesOf(ANSWER_FAULTS)
export const REPLY_FAULT_NAMES = namesOf(REPLY_FAULTS)

type Spell = {
  readonly fault: Fault
  readonly method: string
  readonly where: (params: readonly unknown[]) => boolean
  left: number
}

const readBody = async (request: IncomingMessage): Promise<string> => {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  return Buffer.concat(chunks).toString('utf8')
}

/** Starts a proxy in front of one node, or of several in turn. */
export const startGate = (...nodes: readonly string[]) => {
  const traps: Trap[] = []
  let spells: Spell[] = []
  let rpcUrls = nodes
  let turn = 0
  let away = false
  const asked: (readonly string[])[] = []

  const sprung = async (methods: readonly string[], when: Trap['when']): Promise<boolean> => {
    const index = traps.findIndex((trap) => trap.when === when && methods.includes(trap.method))
    const [trap] = index === -1 ? [] : traps.splice(index, 1)
    return trap === undefined ? true : trap.stop()
  }

  /** The fault for a request, and the id of the question that it applies to. */
  const spellOn = (requests: readonly Request[]): { readonly fault: Fault; readonly id: unknown } | null => {
    for (const { id, method, params } of requests) {
      const spell = spells.find((each) => each.left > 0 && each.method === method && each.where(params))
      if (spell === undefined) continue
      spell.left -= 1
      return { fault: spell.fault, id }
    }
    return null
  }

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await readBody(request)
    const parsed = JSON.parse(body) as Request | readonly Request[]
    const requests = [parsed].flat() as readonly Request[]
    const methods = requests.map(({ method }) => method)
    asked.push(methods)
    const gone = () => void response.writeHead(502).end('bad gateway')
    if (away || !(await sprung(methods, 'before'))) return gone()
    const spell = spellOn(requests)
    const rpcUrl = rpcUrls[turn++ % rpcUrls.length] ?? ''
    const headers = { 'content-type': 'application/json' }
    const real = await fetch(rpcUrl, { method: 'POST', headers, body }).catch(() => null)
    if (real === null) return gone()
    const text = await real.text()
    if (!(await sprung(methods, 'after'))) return gone()
    if (spell === null) return void response.writeHead(real.status, headers).end(text)
    const decoded = JSON.parse(text) as Reply | Reply[]
    const replies = [decoded].flat()
    const spoilt = replies.find(({ id }) => id === spell.id)
    if (spoilt === undefined) throw new Error('the node left a question out')
    FAULTS[spell.fault]({ spoilt, response, text: () => JSON.stringify(decoded) })
  }

  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy())
  })
  server.listen(0, '127.0.0.1')

  /** Holds the next request of a method back: before the node receives it, or after it has answered. */
  const hold = (when: Trap['when'], method: string): Held => {
    const reached = Promise.withResolvers<void>()
    const released = Promise.withResolvers<boolean>()
    const trap: Trap = {
      method,
      when,
      stop: () => {
        reached.resolve()
        return released.promise
      },
    }
    traps.push(trap)
    const release: Held['release'] = (how = 'answered') => released.resolve(how === 'answered')
    return {
      reached: reached.promise,
      release,
      [Symbol.dispose]: () => {
        if (traps.includes(trap)) traps.splice(traps.indexOf(trap), 1)
        release()
      },
    }
  }

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    hold,
    /** Applies a fault to the answers to a method's next questions; by default to all. */
    spoil: (spell: {
      readonly fault: Fault
      readonly method: string
      readonly times?: number
      readonly where?: (params: readonly unknown[]) => boolean
    }) => {
      const { times = Number.POSITIVE_INFINITY, where = () => true, ...rest } = spell
      spells.push({ ...rest, where, left: times })
    },
    /** Ends all faults. */
    heal: () => {
      spells = []
    },
    /** Replaces the nodes; requests go to them in turn. */
    lead: (...others: readonly string[]) => {
      rpcUrls = others
    },
    /** Answers every request with 502, or passes requests on again. */
    setAway: (value: boolean) => {
      away = value
    },
    /** The number of questions with this method so far. */
    count: (method: string) => asked.flat().filter((each) => each === method).length,
    /** The methods of each request since the last call. */
    takeRequests: () => asked.splice(0),
    rpc: (method: string, params: readonly unknown[] = []) => callRpc(rpcUrls[0] ?? '', method, params),
    stop: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

export type Gate = ReturnType<typeof startGate>
