// A proxy in front of a real node that can be in trouble, by HTTP and by WebSocket. Several of them in front of one
// node are like several nodes of one network, of which some are ill.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { callRpc } from '../../devnet/rpc.ts'

type Request = { readonly id: unknown; readonly method: string; readonly params: readonly unknown[] }
type Reply = { id: unknown; result?: unknown; error?: unknown }

/**
 * `lags`: it stays at the block that was the newest when the trouble began. `lies`: it says that it is of another
 * chain.
 */
export const TROUBLES = ['closes', 'answers 500', 'answers 429', 'hangs', 'lies', 'truncates', 'lags'] as const
export type Trouble = (typeof TROUBLES)[number]

export const RETRY_AFTER_SECONDS = 1
/** What these troubles answer to every request. */
const REFUSALS: Partial<Record<Trouble, { readonly status: number; readonly headers?: Record<string, string> }>> = {
  'answers 500': { status: 500 },
  'answers 429': { status: 429, headers: { 'retry-after': String(RETRY_AFTER_SECONDS) } },
}
const OTHER_HASH = `0x${'11'.repeat(32)}`
const EPOCHS_TO_FINAL = 64

/** How a family's questions and answers are changed. */
type Family = {
  /** The newest block that a lagging node has: its number, and its hash where questions name blocks by hash. */
  newest(rpcUrl: string): Promise<{ readonly number: number; readonly hash: string }>
  asked(request: Request, newest: { readonly number: number; readonly hash: string }): Request
  answered(request: Request, reply: Reply, newest: { readonly number: number }): Reply
  isIdentity(request: Request): boolean
  readonly otherIdentity: string
}

const heightOf = (value: unknown): number => {
  const number = (value as { blockNumber?: unknown; number?: unknown } | null)?.blockNumber
  return typeof number === 'string' ? Number(number) : -1
}

const EVM: Family = {
  newest: async (rpcUrl) => ({ number: Number(await callRpc(rpcUrl, 'eth_blockNumber')), hash: '' }),
  asked: (request, { number }) => ({
    ...request,
    params: request.params.map((param) => {
      if (param === 'latest' || param === 'pending' || param === 'safe') return `0x${number.toString(16)}`
      return param === 'finalized' ? `0x${Math.max(number - EPOCHS_TO_FINAL, 0).toString(16)}` : param
    }),
  }),
  answered: ({ method, params }, reply, { number }) => {
    if (method === 'eth_blockNumber') return { id: reply.id, result: `0x${number.toString(16)}` }
    const isAbove = method === 'eth_getBlockByNumber' && Number(params[0]) > number
    const ofTransaction = method === 'eth_getTransactionReceipt' || method === 'eth_getTransactionByHash'
    return isAbove || (ofTransaction && heightOf(reply.result) > number) ? { id: reply.id, result: null } : reply
  },
  isIdentity: ({ method }) => method === 'eth_chainId',
  otherIdentity: '0x1',
}

const AT_LAST_PARAM = { state_getStorage: 1, state_call: 2, state_getRuntimeVersion: 0, chain_getHeader: 0 } as const

const SUBSTRATE: Family = {
  newest: async (rpcUrl) => {
    const hash = String(await callRpc(rpcUrl, 'chain_getFinalizedHead'))
    const { number } = (await callRpc(rpcUrl, 'chain_getHeader', [hash])) as { number: string }
    return { number: Number(number), hash }
  },
  asked: (request, { hash }) => {
    const at = Object.entries(AT_LAST_PARAM).find(([method]) => method === request.method)?.[1]
    return at === request.params.length ? { ...request, params: [...request.params, hash] } : request
  },
  answered: ({ method, params }, reply, newest) => {
    if (method === 'chain_getFinalizedHead') return { id: reply.id, result: (newest as { hash?: string }).hash }
    const isAbove = method === 'chain_getBlockHash' && Number(params[0] ?? 0) > newest.number
    return isAbove ? { id: reply.id, result: null } : reply
  },
  isIdentity: ({ method, params }) => method === 'chain_getBlockHash' && params[0] === 0,
  otherIdentity: OTHER_HASH,
}

const FAMILIES = { evm: EVM, substrate: SUBSTRATE } as const

const readBody = async (request: IncomingMessage): Promise<string> => {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  return Buffer.concat(chunks).toString('utf8')
}

/** Starts a proxy in front of a node. */
export const startSickNode = (rpcUrl: string, familyName: keyof typeof FAMILIES = 'evm') => {
  const family = FAMILIES[familyName]
  let trouble: Trouble | null = null
  let newest = { number: 0, hash: '' }
  let asked: string[] = []
  const hanging = new Set<ServerResponse>()

  const forward = async (requests: readonly Request[], now: Trouble | null): Promise<Reply[]> => {
    const at = newest
    const sent = now === 'lags' ? requests.map((request) => family.asked(request, at)) : requests
    const real = await fetch(rpcUrl, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(sent),
    })
    const replies = [(await real.json()) as Reply | Reply[]].flat()
    return requests.flatMap((request) => {
      const reply = replies.find(({ id }) => id === request.id)
      if (reply === undefined) return []
      if (now === 'lags') return [{ jsonrpc: '2.0', ...family.answered(request, reply, at) }]
      if (now === 'lies' && family.isIdentity(request)) {
        return [{ jsonrpc: '2.0', id: reply.id, result: family.otherIdentity }]
      }
      return [reply]
    })
  }

  const read = (text: string): Request | Request[] => {
    const body = JSON.parse(text) as Request | Request[]
    asked.push(...[body].flat().map(({ method }) => method))
    return body
  }

  const answerTo = async (body: Request | Request[], now: Trouble | null): Promise<string> => {
    const replies = await forward([body].flat(), now)
    const text = JSON.stringify(Array.isArray(body) ? replies : replies[0])
    return now === 'truncates' ? text.slice(0, -5) : text
  }

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = read(await readBody(request))
    const now = trouble
    if (now === 'closes') return void response.destroy()
    if (now === 'hangs') return void hanging.add(response)
    const refusal = now === null ? undefined : REFUSALS[now]
    if (refusal !== undefined) return void response.writeHead(refusal.status, refusal.headers).end('trouble')
    response.writeHead(200, { 'content-type': 'application/json' }).end(await answerTo(body, now))
  }

  /**
   * By WebSocket it has no statuses for its answers: it closes the connection, and refuses the next one with the
   * status.
   */
  const webSockets = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: (request, self) => {
      const refusal = trouble === null ? undefined : REFUSALS[trouble]
      if (refusal === undefined && self.upgrade(request)) return undefined
      return new Response('trouble', refusal ?? { status: 400 })
    },
    websocket: {
      message: async (socket, text) => {
        const body = read(String(text))
        const now = trouble
        if (now === 'hangs') return
        if (now === 'closes' || now === 'answers 500' || now === 'answers 429') return socket.terminate()
        const sent = await answerTo(body, now).catch(() => null)
        if (sent === null) socket.terminate()
        else socket.send(sent)
      },
    },
  })

  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy())
  })
  server.listen(0, '127.0.0.1')

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    wsUrl: `ws://127.0.0.1:${webSockets.port}`,
    /** Begins a trouble; null ends it. What hangs stays unanswered. */
    fall: async (next: Trouble | null): Promise<void> => {
      if (next === 'lags') newest = await family.newest(rpcUrl)
      trouble = next
    },
    /** The methods that it was asked since the last call. */
    takeAsked: (): readonly string[] => {
      const taken = asked
      asked = []
      return taken
    },
    stop: async () => {
      await webSockets.stop(true)
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

export type SickNode = ReturnType<typeof startSickNode>
