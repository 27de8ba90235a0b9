// A gateway on loopback in front of the service. It passes each request on, so that the service has done what was asked
// for, and can then replace or lose the answer, as gateways do.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

type Exchange = { readonly response: ServerResponse; readonly text: string }

const replacing =
  (status: number, type: string, text: string, headers: Readonly<Record<string, string>> = {}) =>
  ({ response }: Exchange): void => {
    response.writeHead(status, { 'content-type': type, ...headers }).end(text)
  }

const page = (status: number, title: string) =>
  replacing(status, 'text/html', `<html><head><title>${title}</title></head><body><h1>${title}</h1></body></html>`)

const json = (status: number, body: unknown, headers: Readonly<Record<string, string>> = {}) =>
  replacing(status, 'application/json', JSON.stringify(body), headers)

/** The forms are those that the named gateways document or show. */
export const LOSSES = {
  'nginx 502': page(502, '502 Bad Gateway'),
  'nginx 503': page(503, '503 Service Temporarily Unavailable'),
  'nginx 504': page(504, '504 Gateway Time-out'),
  'Cloudflare 520': page(520, 'example.com | 520: Web server is returning an unknown error'),
  'Cloudflare 520 in JSON': json(520, { type: 'about:blank', title: 'Error 520', status: 520, retryable: true }),
  'AWS API Gateway 504': json(504, { message: 'Endpoint request timed out' }),
  'AWS API Gateway 429': json(429, { message: 'Too Many Requests' }, { 'retry-after': '0' }),
  'Google 503': json(503, { error: { code: 503, message: 'The service is unavailable.', status: 'UNAVAILABLE' } }),
  'Railway 502': json(502, { status: 'error', code: 502, message: 'Application failed to respond' }),
  'AWS API Gateway 401': json(401, { message: 'Unauthorized' }),
  'a firewall 403': page(403, '403 Forbidden'),
  'a portal 200': page(200, 'Log in to the Wi-Fi'),
  'a 200 in other JSON': json(200, { errorMessage: 'Task timed out after 3.00 seconds' }),
  'a 500 of the service': json(500, {
    error: 'An error on our side: the operator finds the cause by the header X-Request-Id.',
    code: 'internal',
  }),
  'a broken connection': ({ response }) => void response.socket?.destroy(),
  'half of the answer': ({ response, text }) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': String(text.length) })
    response.write(text.slice(0, Math.max(1, text.length - 5)), () => response.destroy())
  },
} as const satisfies Readonly<Record<string, (exchange: Exchange) => void>>

export type Loss = keyof typeof LOSSES

export const LOSS_NAMES = Object.keys(LOSSES) as readonly Loss[]

const bodyOf = async (request: IncomingMessage): Promise<Buffer<ArrayBuffer>> => {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  return Buffer.concat(chunks)
}

/** @param target the service's address */
export const startLossyGateway = async (target: string) => {
  let rules: { readonly loss: Loss; readonly path: string; left: number }[] = []
  const asked: string[] = []
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { method = 'GET', url = '/' } = request
    asked.push(url)
    const body = await bodyOf(request)
    const headers = Object.entries(request.headers).filter(
      ([name]) => !['host', 'connection', 'content-length'].includes(name),
    )
    const real = await fetch(target + url, {
      method,
      headers: headers.map(([name, value]): [string, string] => [name, String(value)]),
      ...(method === 'GET' ? {} : { body }),
    })
    const text = await real.text()
    const rule = rules.find(({ left, path }) => left > 0 && url.startsWith(path))
    if (rule !== undefined) {
      rule.left -= 1
      return LOSSES[rule.loss]({ response, text })
    }
    const {
      'content-encoding': _,
      'content-length': __,
      'transfer-encoding': ___,
      ...passed
    } = Object.fromEntries(real.headers)
    response.writeHead(real.status, passed).end(text)
  }
  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** Loses the next answers to requests whose path begins so. */
    lose: (next: { readonly loss: Loss; readonly path: string; readonly times?: number }) => {
      rules.push({ ...next, left: next.times ?? 1 })
    },
    /** Passes all answers on. */
    heal: () => {
      rules = []
    },
    /** Passes all answers on, and counts anew. */
    reset: () => {
      rules = []
      asked.length = 0
    },
    /** How many requests had a path that begins so. */
    count: (path: string) => asked.filter((url) => url.startsWith(path)).length,
    stop: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

export type LossyGateway = Awaited<ReturnType<typeof startLossyGateway>>
