import { afterEach, expect, test } from 'bun:test'
import { RPC_ANSWER_LIMIT_BYTES } from '../../../src/chains/node/http.ts'
import { createRpc, NodeUnavailable, question, RPC_BATCH_LIMIT, RpcError } from '../../../src/chains/node/rpc.ts'
import { quantity, record, smallQuantity } from '../../../src/chains/node/wire.ts'
import { type Behaviour, startFakeNode, startRawServer } from './fake-node.ts'

const open: { stop: () => unknown }[] = []
afterEach(async () => {
  for (const each of open.splice(0)) await each.stop()
})

const fake = (behaviour: Behaviour) => {
  const node = startFakeNode({ behaviour })
  open.push(node)
  return { node, rpc: createRpc({ rpcUrl: node.rpcUrl, network: 'Ethereum' }) }
}

const raw = (respond: () => Response | Promise<Response>, timeoutMs = 15_000) => {
  const server = startRawServer(respond)
  open.push(server)
  return createRpc({ rpcUrl: server.rpcUrl, network: 'Ethereum', timeoutMs })
}

const blockNumber = question('eth_blockNumber', [], quantity)

const failure = async (promise: Promise<unknown>): Promise<NodeUnavailable> => {
  try {
    await promise
  } catch (error) {
    if (error instanceof NodeUnavailable) return error
    throw error
  }
  throw new Error('expected a failure')
}

test('sends one question as a single request and several as one batch', async () => {
  const { node, rpc } = fake(({ params: [value] }) => ({ result: value ?? '0x10' }))
  expect(await rpc.ask(blockNumber)).toBe(16n)
  const echo = (value: string) => question('echo', [value], quantity)
  expect(await rpc.askAll([echo('0x1'), null, echo('0x2')])).toEqual([1n, null, 2n])
  expect(node.calls).toEqual([['eth_blockNumber'], ['echo', 'echo']])
})

test('sends nothing if there is nothing to ask', async () => {
  const { node, rpc } = fake(() => ({ result: '0x1' }))
  expect(await rpc.askAll([])).toEqual([])
  expect(await rpc.askAll([null])).toEqual([null])
  expect(node.calls).toEqual([])
})

test('matches answers by id, in any order', async () => {
  const server = startRawServer(async (request) => {
    const body = (await request.json()) as { id: number; params: unknown[] }[]
    return Response.json(body.map(({ id, params: [result] }) => ({ jsonrpc: '2.0', id, result })).reverse())
  })
  open.push(server)
  const rpc = createRpc({ rpcUrl: server.rpcUrl, network: 'Ethereum' })
  const echo = (value: number) => question('echo', [`0x${value.toString(16)}`], smallQuantity)
  const values = Array.from({ length: 20 }, (_, index) => index)
  expect(await rpc.askAll(values.map(echo))).toEqual(values)
})

test('splits questions over several batches if there are too many for one', async () => {
  const { node, rpc } = fake(({ params: [value] }) => ({ result: value }))
  const values = Array.from({ length: 2 * RPC_BATCH_LIMIT + 1 }, (_, index) => index)
  const answers = await rpc.askAll(values.map((value) => question('echo', [`0x${value.toString(16)}`], smallQuantity)))
  expect(answers).toEqual(values)
  expect(node.calls.map(({ length }) => length).toSorted((a, b) => a - b)).toEqual([
    1,
    RPC_BATCH_LIMIT,
    RPC_BATCH_LIMIT,
  ])
})

test('returns a refusal with its code, message and data to the caller', async () => {
  const { rpc } = fake(() => ({ error: { code: 3, message: 'execution reverted', data: '0x08c379a0' } }))
  const answer = await rpc.try(blockNumber)
  if (answer.ok) throw new Error('expected a refusal')
  expect(answer.error).toBeInstanceOf(RpcError)
  expect(answer.error).toMatchObject({
    method: 'eth_blockNumber',
    code: 3,
    message: 'execution reverted',
    data: '0x08c379a0',
  })
})

test('one refusal in a batch does not affect the other answers', async () => {
  const { rpc } = fake(({ method }) => (method === 'bad' ? { error: { code: 1, message: 'no' } } : { result: '0x2' }))
  const [bad, good] = await rpc.tryAll([question('bad', [], quantity), blockNumber])
  expect(bad.ok).toBe(false)
  expect(good).toEqual({ ok: true, value: 2n })
})

test('one error object for a whole batch is a refusal of each question', async () => {
  const rpc = raw(() =>
    Response.json({ jsonrpc: '2.0', id: null, error: { code: -32600, message: 'batch too large' } }),
  )
  const answers = await rpc.tryAll([blockNumber, blockNumber])
  expect(answers.map((answer) => (answer.ok ? 'ok' : answer.error.message))).toEqual([
    'batch too large',
    'batch too large',
  ])
})

test('one result for several questions is not accepted as an answer', async () => {
  const rpc = raw(() => Response.json({ jsonrpc: '2.0', id: 1, result: '0x1' }))
  expect((await failure(rpc.askAll([blockNumber, blockNumber]))).trouble).toBe('unreadable')
})

test('if a node refuses what it must answer, it is unavailable, and the error has the cause', async () => {
  const { rpc } = fake(() => ({ error: { code: -32005, message: 'too many requests of key 1234' } }))
  const error = await failure(rpc.ask(blockNumber))
  expect(error).toMatchObject({ code: 'node_unavailable', trouble: 'refused', retryable: true })
  expect(error.message).not.toContain('1234')
  expect(error.cause).toMatchObject({ message: 'too many requests of key 1234' })
})

test('a node with unreadable answers is unavailable', async () => {
  const bodies: [string, ResponseInit?][] = [
    ['<html>welcome</html>'],
    [''],
    ['null'],
    ['42'],
    ['[]'],
    ['{}'],
    ['{"jsonrpc":"2.0","id":1}'],
    ['[{"jsonrpc":"2.0","id":999999,"result":"0x1"}]'],
    ['{"jsonrpc":"2.0","id":999999,"result":"0x1"}'],
    ['{"jsonrpc":"2.0","id":null,"result":"0x1"}'],
    ['{"jsonrpc":"2.0","result":"0x1"}'],
    ['{"jsonrpc":"2.0","id":1,"result":"ten"}'],
    ['{"jsonrpc":"2.0","id":1,"result":null}'],
    ['{"jsonrpc":"2.0","id":1,"result":"0x"}'],
    ['{"jsonrpc":"2.0","id":1,"result":"0x-1"}'],
    [`{"jsonrpc":"2.0","id":1,"result":"0x${'f'.repeat(65)}"}`],
    ['{"jsonrpc":"2.0","id":1,"error":"no"}'],
    ['not found', { status: 404 }],
  ]
  for (const [body, init] of bodies) {
    const error = await failure(raw(() => new Response(body, init)).ask(blockNumber))
    expect([body, error.code]).toEqual([body, 'node_unavailable'])
  }
})

test('a status of 5xx or 429 means that the node is unavailable, with any body', async () => {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, result: '0x1' })
  for (const status of [429, 500, 502, 503, 504]) {
    const error = await failure(raw(() => new Response(body, { status })).ask(blockNumber))
    expect(error.trouble).toBe('http')
    expect(error.message).toContain(String(status))
  }
})

test('a JSON-RPC error with a 4xx status is read as one', async () => {
  const body = { jsonrpc: '2.0', id: 1, error: { code: -32601, message: 'Method not found' } }
  const answer = await raw(() => Response.json(body, { status: 400 })).try(blockNumber)
  expect(answer.ok).toBe(false)
})

test('gives up on a node that hangs, before and within its answer', async () => {
  const never = raw(() => new Promise<Response>(() => {}), 100)
  const error = await failure(never.ask(blockNumber))
  expect(error).toMatchObject({ trouble: 'timeout', message: expect.stringContaining('100 ms') })
  const stalls = raw(
    () =>
      new Response(
        new ReadableStream({
          start: (controller) => controller.enqueue(new TextEncoder().encode('{"jsonrpc":"2.0",')),
        }),
      ),
    200,
  )
  expect((await failure(stalls.ask(blockNumber))).trouble).toBe('timeout')
})

test('stops reading an answer at the limit', async () => {
  const chunk = new Uint8Array(4 * 1024 * 1024).fill(32)
  let sent = 0
  const endless = raw(
    () =>
      new Response(
        new ReadableStream({
          pull: (controller) => {
            sent += chunk.length
            controller.enqueue(chunk)
          },
        }),
      ),
  )
  expect((await failure(endless.ask(blockNumber))).trouble).toBe('too_large')
  expect(sent).toBeLessThan(2 * RPC_ANSWER_LIMIT_BYTES)
})

test('no message and no cause contains the URL, which contains the provider’s key', async () => {
  const server = startRawServer(() => new Response('no', { status: 500 }))
  const rpc = createRpc({ rpcUrl: server.rpcUrl, network: 'Base' })
  const errors = [await failure(rpc.ask(blockNumber))]
  await server.stop()
  errors.push(await failure(rpc.ask(blockNumber)))
  for (const error of errors) {
    const all = `${Bun.inspect(error)} ${Bun.inspect(error.cause)} ${JSON.stringify(error.cause)}`
    expect(all).not.toContain('secret-key')
    expect(error.message).toContain('Base')
  }
})

test('a mistake of a parser is not mistaken for one of the node', async () => {
  const { rpc } = fake(() => ({ result: {} }))
  const broken = question('eth_x', [], (value) => {
    record(value)
    throw new TypeError('our mistake')
  })
  await expect(rpc.ask(broken)).rejects.toThrow('our mistake')
})
