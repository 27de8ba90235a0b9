import { expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { createProject } from '../../src/operators/projects.ts'
import { commonService } from '../support/common-service.ts'
import { longTest } from '../support/long.ts'

const service = await commonService()
const { sql } = service.database

const bytesOf = (text: string) => Uint8Array.from(Buffer.from(text, 'latin1'))

/** A PNG of one black pixel. */
const PNG = Uint8Array.from(
  Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg==', 'base64'),
)
const JPEG = bytesOf('\xff\xd8\xff\xe0\0\x10JFIF\0')
const GIF = bytesOf('GIF89a\x01\0\x01\0')
const WEBP = bytesOf('RIFF\x1a\0\0\0WEBPVP8L')

const BOUNDARY = 'the-boundary'
const part = (content: Uint8Array, disposition = 'name="file"; filename="a.png"', type = 'image/png') =>
  Buffer.concat([
    Buffer.from(`--${BOUNDARY}\r\nContent-Disposition: form-data; ${disposition}\r\nContent-Type: ${type}\r\n\r\n`),
    content,
    Buffer.from('\r\n'),
  ])
const form = (...parts: readonly Uint8Array[]) =>
  Uint8Array.from(Buffer.concat([...parts, Buffer.from(`--${BOUNDARY}--\r\n`)]))

const FORM = { 'content-type': `multipart/form-data; boundary=${BOUNDARY}` }
const send = (rawBody: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = FORM, who = service) =>
  who.call('/nfts/upload', { method: 'POST', rawBody, headers })
const upload = (content: Uint8Array) => send(form(part(content)))
const countImages = async () => Number((await sql`select count(*) from hosted_images`)[0]?.count)

const download = async (url: string, headers: Record<string, string> = {}) => {
  const response = await fetch(url.replace('http://localhost:3000', service.baseUrl), { headers })
  return { response, content: new Uint8Array(await response.arrayBuffer()) }
}

test.each([
  ['png', 'image/png', PNG],
  ['jpg', 'image/jpeg', JPEG],
  ['gif', 'image/gif', GIF],
  ['webp', 'image/webp', WEBP],
] as const)('a %s is hosted under the digest of its bytes, with its own type', async (suffix, type, content) => {
  // Neither the type nor the file name of the part counts.
  const answer = await send(form(part(content, 'name="file"; filename="page.html"', 'text/html')))
  const digest = createHash('sha256').update(content).digest('hex')
  expect([answer.status, answer.json]).toEqual([200, { url: `http://localhost:3000/metadata/${digest}.${suffix}` }])
  const { response, content: served } = await download(answer.json.url)
  expect([response.status, served]).toEqual([200, content])
  const headers = ['content-type', 'x-content-type-options', 'cache-control', 'etag', 'access-control-allow-origin']
  expect(headers.map((name) => response.headers.get(name))).toEqual([
    type,
    'nosniff',
    'public, max-age=31536000, immutable',
    `"${digest}"`,
    '*',
  ])
  expect((await download(answer.json.url, { 'if-none-match': `"${digest}"` })).response.status).toBe(304)
  // Under another suffix it would have another type.
  const other = suffix === 'png' ? 'gif' : 'png'
  expect((await service.get(`/metadata/${digest}.${other}`)).status).toBe(404)
})

test('the same image again is the same URL, and is stored once', async () => {
  const one = await upload(PNG)
  const before = await countImages()
  expect((await upload(PNG)).json).toEqual(one.json)
  expect(await countImages()).toBe(before)
})

test('the URL is taken as the image of an NFT and of a collection', async () => {
  const { url } = (await upload(PNG)).json
  const collection = { network: 'Ethereum', name: 'D', symbol: 'D', image_url: url, developer_secret: 'testnet-secret' }
  expect((await service.post('/nfts/collections', collection)).json.code).toBe('node_unavailable')
  for (const image_url of [
    `${url}/x`,
    url.replace('localhost', 'localhost.example.com'),
    url.replace('metadata', 'x'),
  ]) {
    const { json } = await service.post('/nfts/collections', { ...collection, image_url })
    expect([json.code, json.error]).toEqual(['invalid_input', expect.stringContaining('"image_url"')])
  }
})

test('what is no image of these kinds is refused, whatever it is called', async () => {
  const before = await countImages()
  const contents = [
    bytesOf('<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'),
    bytesOf('<?xml version="1.0"?><svg/>'),
    bytesOf('<html>GIF89a'),
    bytesOf('GIF88a'),
    bytesOf('\x89PNG\r\n\x1a\n'),
    bytesOf('RIFF\0\0\0\0WAVE'),
    bytesOf('RIFF'),
    bytesOf('\xff\xd8'),
    bytesOf(' GIF89a'),
    bytesOf('BM'),
    new Uint8Array(),
  ]
  for (const content of contents) {
    const { status, json } = await upload(content)
    expect([status, json]).toEqual([
      400,
      { code: 'invalid_input', error: 'Field "file" must be a PNG, JPEG, GIF or WebP image.' },
    ])
  }
  expect(await countImages()).toBe(before)
})

test('a form without exactly one file, or a body that is no form, is refused', async () => {
  for (const body of [
    form(),
    form(part(PNG), part(PNG)),
    form(part(PNG, 'name="image"; filename="a.png"')),
    form(part(PNG), part(bytesOf('x'), 'name="note"', 'text/plain')),
    form(part(bytesOf('GIF89a'), 'name="file"', 'text/plain')),
    bytesOf('--another'),
    bytesOf(`--${BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\nGIF89a`),
  ]) {
    const { status, json } = await send(body)
    expect([status, json]).toEqual([
      400,
      { code: 'invalid_input', error: 'The form must have exactly one part: a file with the name "file".' },
    ])
  }
  expect((await send(form(part(PNG)), { 'content-type': 'multipart/form-data' })).json.code).toBe('invalid_input')
  for (const type of ['application/json', 'image/png', 'text/plain']) {
    expect((await send(form(part(PNG)), { 'content-type': type })).json.code).toBe('content_type_unsupported')
  }
  const empty = await service.call('/nfts/upload', { method: 'POST' })
  expect([empty.status, empty.json.code]).toEqual([400, 'invalid_input'])
  expect((await service.post('/nfts/upload', { file: 'x' })).json.code).toBe('content_type_unsupported')
})

longTest('an image may have four megabytes with its form, and no byte more', async () => {
  const most = 4 * 1024 * 1024
  const large = Buffer.concat([PNG, Buffer.alloc(most - PNG.length - form(part(new Uint8Array())).length)])
  expect((await upload(large)).status).toBe(200)
  const { status, json } = await upload(Buffer.concat([large, Buffer.alloc(1)]))
  expect([status, json.code]).toEqual([413, 'body_too_large'])
})

test('the size of all images of a project in a day is bounded', async () => {
  expect((await upload(PNG)).status).toBe(200)
  const { projectId } = service.project
  await sql`update hosted_images set size_bytes = ${256 * 1024 * 1024} where digest = (select min(digest) from hosted_images)`
  const refused = await upload(Buffer.concat([PNG, Buffer.from('1')]))
  expect([refused.status, refused.json.code, refused.headers.get('retry-after')]).toEqual([429, 'rate_limited', '3600'])
  const other = service.as(await createProject(service.ctx, { name: 'Other', actor: 'operator' }))
  const raw = { method: 'POST', rawBody: form(part(Buffer.concat([PNG, Buffer.from('1')]))), headers: FORM }
  expect((await other.call('/nfts/upload', raw)).status).toBe(200)
  await sql`update hosted_images set created_at = now() - interval '25 hours' where project_id = ${projectId}`
  expect((await upload(Buffer.concat([PNG, Buffer.from('2')]))).status).toBe(200)
})

test('users cannot upload, nor can somebody without a key', async () => {
  const session = (await service.post('/users/login-anonymously', {}, { authorization: undefined })).json
  const { projectId } = service.project
  const user = service.as({ projectId, apiKey: session.access_token })
  const raw = { method: 'POST', rawBody: form(part(PNG)), headers: FORM }
  const { status, json } = await user.call('/nfts/upload', raw)
  expect([status, json.code]).toEqual([403, 'scope_required'])
  const stranger = service.as({ projectId, apiKey: 'sk_unknown' })
  expect((await stranger.call('/nfts/upload', raw)).status).toBe(401)
})
