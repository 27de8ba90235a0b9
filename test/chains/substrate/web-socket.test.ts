import { afterEach, expect, test } from 'bun:test'
import type { ServerWebSocket } from 'bun'
import { webSocketTransport } from '../../../src/chains/node/web-socket.ts'
import { NodeUnavailable } from '../../../src/chains/node/wire.ts'

const TIMEOUT_MS = 100
const LONG_MS = 5_000

type Question = { readonly id: number; readonly method: string }

const stops: (() => void)[] = []
afterEach(() => {
  for (const stop of stops.splice(0)) stop()
})

/** @param answer answers a question; connections are numbered from 1 */
const nodeWith = (answer: (question: Question, socket: ServerWebSocket<{ readonly connection: number }>) => void) => {
  let connections = 0
  const server = Bun.serve<{ connection: number }>({
    port: 0,
    hostname: '127.0.0.1',
    fetch: (request, self) => {
      connections += 1
      return self.upgrade(request, { data: { connection: connections } }) ? undefined : new Response('no')
    },
    websocket: { message: (socket, text) => answer(JSON.parse(String(text)), socket) },
  })
  stops.push(() => server.stop(true))
  const transport = webSocketTransport({ rpcUrl: `ws://127.0.0.1:${server.port}/secret`, network: 'Polkadot' })
  let lastId = 0
  const ask = async (method: string, timeoutMs = LONG_MS): Promise<unknown> => {
    lastId += 1
    const id = lastId
    try {
      return await transport({ body: JSON.stringify({ id, method }), ids: [id], timeoutMs })
    } catch (error) {
      expect(error).toBeInstanceOf(NodeUnavailable)
      expect(Bun.inspect(error)).not.toContain('secret')
      return (error as NodeUnavailable).trouble
    }
  }
  return { ask, connections: () => connections }
}

const reply = (socket: ServerWebSocket<unknown>, { id }: Question) => socket.send(JSON.stringify({ id, result: 1 }))

test('a late answer does not affect others; a time-out without any other answer ends the connection', async () => {
  const held: (() => void)[] = []
  const node = nodeWith((question, socket) => {
    if (question.method === 'now') reply(socket, question)
    if (question.method === 'soon') held.push(() => reply(socket, question))
  })
  expect(await node.ask('now')).toMatchObject({ result: 1 })
  const soon = node.ask('soon')
  const never = node.ask('never', TIMEOUT_MS)
  await node.ask('now')
  expect(await never).toBe('timeout')
  for (const release of held) release()
  expect(await soon).toMatchObject({ result: 1 })
  expect(await node.ask('never', TIMEOUT_MS)).toBe('timeout')
  expect(await node.ask('now')).toMatchObject({ result: 1 })
  expect(node.connections()).toBe(2)
})

test('an error without an id fails all waiting questions at once', async () => {
  const node = nodeWith((question, socket) => {
    if (question.method === 'now') reply(socket, question)
    else socket.send(JSON.stringify({ id: null, error: { code: -32010, message: 'The batch request was too large' } }))
  })
  expect(await node.ask('batch')).toBe('refused')
  expect(await node.ask('now')).toMatchObject({ result: 1 })
  expect(node.connections()).toBe(1)
})

test('an answer that is not JSON ends the connection, and the next question opens a new one', async () => {
  const node = nodeWith((question, socket) => {
    if (socket.data.connection === 1) socket.send('{')
    else reply(socket, question)
  })
  expect(await node.ask('any')).toBe('unreadable')
  expect(await node.ask('any')).toMatchObject({ result: 1 })
})

test('an error for a refused URL does not contain the URL', async () => {
  const transport = webSocketTransport({ rpcUrl: 'wss://127.0.0.1:1/secret#fragment', network: 'Polkadot' })
  const failed = transport({ body: '{}', ids: [1], timeoutMs: LONG_MS })
  await expect(failed).rejects.toMatchObject({
    trouble: 'unreachable',
    message: 'The Polkadot node cannot be reached.',
  })
})
