// A node whose answers a test chooses: it answers by itself, or it is a proxy of a real node and changes answers.

type Request = { readonly jsonrpc: '2.0'; readonly id: number; readonly method: string; readonly params: unknown[] }
type Reply = { readonly result: unknown } | { readonly error: { code: number; message: string; data?: unknown } }

/**
 * `undefined` passes the request on to the real node, or answers "Method not found" if there is none. With a real node,
 * `eth_chainId` always goes to that node.
 */
export type Behaviour = (request: Request) => Reply | undefined | Promise<Reply | undefined>

const methodNotFound = (method: string): Reply => ({
  error: { code: -32601, message: `the method ${method} does not exist/is not available` },
})

const forward = async (rpcUrl: string, request: Request): Promise<unknown> => {
  const response = await fetch(rpcUrl, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(request),
  })
  return response.json()
}

/** The methods of each request without that for the chain id, which is asked along now and then. */
export const withoutIdentity = (calls: readonly (readonly string[])[]): string[][] =>
  calls.map((methods) => methods.filter((method) => method !== 'eth_chainId'))

/** Speaks JSON-RPC on a free port of this machine. `calls` are the methods of each HTTP request, in order. */
export const startFakeNode = (input: { readonly behaviour?: Behaviour; readonly behind?: string }) => {
  let behaviour: Behaviour = input.behaviour ?? (() => undefined)
  const calls: string[][] = []
  const answer = async (request: Request): Promise<unknown> => {
    const isIdentity = request.method === 'eth_chainId' && input.behind !== undefined
    const reply = isIdentity ? undefined : await behaviour(request)
    if (reply !== undefined) return { jsonrpc: '2.0', id: request.id, ...reply }
    if (input.behind !== undefined) return forward(input.behind, request)
    return { jsonrpc: '2.0', id: request.id, ...methodNotFound(request.method) }
  }
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    idleTimeout: 60,
    maxRequestBodySize: 64 * 1024 * 1024,
    fetch: async (http) => {
      const body = (await http.json()) as Request | Request[]
      const requests = Array.isArray(body) ? body : [body]
      calls.push(requests.map(({ method }) => method))
      const answers = await Promise.all(requests.map(answer))
      return Response.json(Array.isArray(body) ? answers : answers[0])
    },
  })
  return {
    rpcUrl: `http://127.0.0.1:${server.port}`,
    calls,
    behave: (next: Behaviour) => {
      behaviour = next
    },
    stop: () => server.stop(true),
  }
}

/** A server that answers every request with these bytes. */
export const startRawServer = (respond: (request: globalThis.Request) => Response | Promise<Response>) => {
  const server = Bun.serve({ port: 0, hostname: '127.0.0.1', idleTimeout: 60, fetch: respond })
  return { rpcUrl: `http://127.0.0.1:${server.port}/v2/secret-key`, stop: () => server.stop(true) }
}
