// The client's verifier, against signatures of the package of Standard Webhooks.

import { expect, test } from 'bun:test'
import { createServer, type IncomingMessage } from 'node:http'
import { Webhook } from 'standardwebhooks'
import { verifyWebhook, WebhookVerificationError } from '../../client/src/webhook.ts'

const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
const OTHER = 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD'
const NOW = new Date('2026-01-31T12:00:00Z')
const BODY = '{"id":"1","type":"wallet.created","data":{"name":"ü"}}'

const headersBy = (...secrets: readonly string[]) => ({
  'webhook-id': 'p-1',
  'webhook-timestamp': String(NOW.getTime() / 1000),
  'webhook-signature': secrets.map((each) => new Webhook(each).sign('p-1', NOW, BODY)).join(' '),
})
const verified = (changes: Partial<Parameters<typeof verifyWebhook>[0]> = {}) =>
  verifyWebhook({ body: BODY, headers: headersBy(SECRET), secret: SECRET, now: NOW, ...changes })

test('a request of the service is verified, from headers of either kind and from bytes', async () => {
  expect(await verified()).toEqual(JSON.parse(BODY))
  expect(await verified({ headers: new Headers(headersBy(SECRET)), body: new TextEncoder().encode(BODY) })).toEqual(
    JSON.parse(BODY),
  )
})

const headers = headersBy(SECRET)
const capitals = { 'Webhook-Id': 'p-1', 'WEBHOOK-TIMESTAMP': headers['webhook-timestamp'] }
const signature = headers['webhook-signature']
test.each([
  ['with capital letters', { ...capitals, 'Webhook-Signature': signature }],
  ['as lists, which a load balancer of AWS gives', { ...capitals, 'webhook-signature': [signature] }],
  [
    'as several values of one name',
    { ...headers, 'webhook-signature': [headersBy(OTHER)['webhook-signature'], signature] },
  ],
  ['as a Map', new Map(Object.entries(headers))],
  ['as pairs', Object.entries({ ...capitals, 'Webhook-Signature': signature })],
  [
    'of another class, which can be iterated',
    {
      *[Symbol.iterator]() {
        yield* new Headers(headers)
      },
    },
  ],
])('headers are read %s', async (_, given) => {
  expect(await verified({ headers: given })).toEqual(JSON.parse(BODY))
})

test('several headers of one name are read, which Headers joins with commas', async () => {
  const joined = new Headers(headersBy(OTHER))
  joined.set('webhook-id', 'p-1')
  joined.append('webhook-signature', signature)
  expect(await verified({ headers: joined })).toEqual(JSON.parse(BODY))
})

test('the headers of a server of Node are read in each of its forms', async () => {
  const received = Promise.withResolvers<IncomingMessage>()
  const server = createServer((request, response) => {
    received.resolve(request)
    response.end()
  }).listen(0, '127.0.0.1')
  try {
    await new Promise((resolve) => server.once('listening', resolve))
    const address = server.address()
    const port = typeof address === 'object' ? address?.port : undefined
    await fetch(`http://127.0.0.1:${port}`, { headers: { ...capitals, 'Webhook-Signature': signature } })
    const request = await received.promise
    for (const given of [request.headers, request.headersDistinct, request.rawHeaders])
      expect(await verified({ headers: given })).toEqual(JSON.parse(BODY))
  } finally {
    server.close()
  }
})

test.each([
  ['an object', JSON.parse(BODY)],
  ['a list', [JSON.parse(BODY)]],
  ['absent', undefined],
  ['a stream', new Response(BODY).body],
])('a body that is %s is refused with a sentence that says what to give', async (_, body) => {
  const refused = verified({ body })
  await expect(refused).rejects.toBeInstanceOf(WebhookVerificationError)
  await expect(refused).rejects.toThrow('its body must be given as text or bytes, exactly as it came')
})

test('bytes of every class are read', async () => {
  const bytes = new TextEncoder().encode(BODY)
  for (const body of [bytes, bytes.buffer, Buffer.from(bytes), new DataView(bytes.buffer)])
    expect(await verified({ body })).toEqual(JSON.parse(BODY))
})

test('while a secret is rotated either one verifies', async () => {
  expect(await verified({ headers: headersBy(OTHER, SECRET) })).toEqual(JSON.parse(BODY))
  expect(await verified({ headers: headersBy(OTHER), secret: [SECRET, OTHER] })).toEqual(JSON.parse(BODY))
})

const SECONDS = NOW.getTime() / 1000
test.each([
  ['another body', { body: `${BODY} ` }],
  ['another secret', { secret: OTHER }],
  ['another id', { headers: { ...headersBy(SECRET), 'webhook-id': 'p-2' } }],
  ['no id', { headers: { ...headersBy(SECRET), 'webhook-id': undefined } }],
  ['another time', { headers: { ...headersBy(SECRET), 'webhook-timestamp': String(SECONDS + 1) } }],
  ['no time', { headers: { ...headersBy(SECRET), 'webhook-timestamp': 'NaN' } }],
  ['an old request', { now: new Date(NOW.getTime() + 301_000) }],
  ['a request of the future', { now: new Date(NOW.getTime() - 301_000) }],
  [
    'another version',
    {
      headers: {
        ...headersBy(SECRET),
        'webhook-signature': headersBy(SECRET)['webhook-signature'].replace('v1,', 'v2,'),
      },
    },
  ],
  ['no signature', { headers: { ...headersBy(SECRET), 'webhook-signature': 'v1, v1,!! x' } }],
])('%s is refused', async (_, changes) => {
  await expect(verified(changes)).rejects.toBeInstanceOf(WebhookVerificationError)
})

test('at the edge of the tolerance it is taken', async () => {
  expect(await verified({ now: new Date(NOW.getTime() + 300_000) })).toEqual(JSON.parse(BODY))
})

test('a text that is no secret is refused', async () => {
  await expect(verified({ secret: 'x' })).rejects.toBeInstanceOf(TypeError)
})
