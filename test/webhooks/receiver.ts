// Receivers of webhooks on loopback. They verify each request with the package of Standard Webhooks.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Webhook } from 'standardwebhooks'

export type Received = {
  readonly id: string
  readonly path: string
  readonly signatures: number
  // A receiver has no types either.
  // biome-ignore lint/suspicious/noExplicitAny: parsed JSON
  readonly payload: any
}

const bodyOf = async (request: IncomingMessage): Promise<string> => {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}

/** @param answer by default 204. A request whose signature is wrong is not received, and answered with 400. */
export const startReceiver = async (
  answer: (received: Received, response: ServerResponse) => unknown = (_, response) => response.writeHead(204).end(),
) => {
  const received: Received[] = []
  const refused: string[] = []
  const waiting = new Set<() => void>()
  let secret = ''
  let answering = answer
  const server = createServer(async (request, response) => {
    const body = await bodyOf(request)
    const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]))
    try {
      const payload = new Webhook(secret).verify(body, headers)
      const signatures = String(headers['webhook-signature']).split(' ').length
      const one = { id: String(headers['webhook-id']), path: request.url ?? '', signatures, payload }
      received.push(one)
      for (const wake of waiting) wake()
      answering(one, response)
    } catch (error) {
      refused.push(String(error))
      response.writeHead(400).end()
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    received,
    /** What was wrong with requests. */
    refused,
    trust: (of: string) => {
      secret = of
    },
    answer: (next: typeof answer) => {
      answering = next
    },
    /** Waits until there are so many. */
    until: async (count: number) => {
      while (received.length < count) {
        await new Promise<void>((resolve) => {
          const wake = () => {
            waiting.delete(wake)
            resolve()
          }
          waiting.add(wake)
        })
      }
      return received
    },
    close: () =>
      new Promise<void>((resolve) => {
        server.closeAllConnections()
        server.close(() => resolve())
      }),
  }
}

export type Receiver = Awaited<ReturnType<typeof startReceiver>>
