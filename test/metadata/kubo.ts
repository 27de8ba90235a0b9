// A server with the part of Kubo's RPC API that we use: POST /api/v0/add. It computes CIDs in its own way.

import { createHash } from 'node:crypto'

type Mood = 'well' | 'failing' | 'lying' | 'babbling' | 'redirecting' | 'silent'

const BASE32 = 'abcdefghijklmnopqrstuvwxyz234567'

/** RFC 4648 §6, five bits at a time. */
const base32 = (bytes: Uint8Array): string => {
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, '0')).join('')
  return (bits.match(/.{1,5}/g) ?? []).map((five) => BASE32[Number.parseInt(five.padEnd(5, '0'), 2)]).join('')
}

const rawCid = (content: Uint8Array): string =>
  `b${base32(Buffer.concat([Uint8Array.of(0x01, 0x55, 0x12, 0x20), createHash('sha256').update(content).digest()]))}`

/** @param whileAdding runs before each answer. */
export const startKubo = ({ whileAdding = async () => {} }: { readonly whileAdding?: () => Promise<void> } = {}) => {
  /** The pinned texts, by CID. */
  const pins = new Map<string, string>()
  const moods: { now: Mood } = { now: 'well' }
  const asked: { authorization: string | null; path: string }[] = []

  const add = async (request: Request): Promise<Response> => {
    const { pathname, searchParams } = new URL(request.url)
    asked.push({ authorization: request.headers.get('authorization'), path: pathname })
    if (request.method !== 'POST') return new Response('405 - Method Not Allowed', { status: 405 })
    if (!pathname.endsWith('/api/v0/add')) return new Response('404 page not found', { status: 404 })
    const file = (await request.formData()).get('file')
    if (file === null || typeof file === 'string')
      return Response.json({ Message: 'no file', Code: 0 }, { status: 400 })
    const content = await file.bytes()
    // The options that make the CID that of the bytes themselves.
    const plain = { 'cid-version': '1', 'raw-leaves': 'true', hash: 'sha2-256', pin: 'true', inline: 'false' }
    for (const [name, value] of Object.entries(plain)) {
      if (searchParams.get(name) !== value) return Response.json({ Message: name, Code: 1 }, { status: 400 })
    }
    const cid = rawCid(content)
    pins.set(cid, Buffer.from(content).toString('utf8'))
    return new Response(`${JSON.stringify({ Name: file.name, Hash: cid, Size: String(content.length) })}\n`, {
      headers: { 'content-type': 'application/json', 'x-chunked-output': '1' },
    })
  }

  const server: Bun.Server<undefined> = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: async (request): Promise<Response> => {
      await whileAdding()
      switch (moods.now) {
        case 'well':
          return add(request)
        case 'failing':
          return Response.json({ Message: 'no space left on device', Code: 0, Type: 'error' }, { status: 500 })
        case 'lying':
          return Response.json({ Name: 'x', Hash: rawCid(Buffer.from('something else')), Size: '1' })
        case 'babbling':
          return new Response('<html>')
        case 'redirecting':
          if (new URL(request.url).pathname.startsWith('/elsewhere')) return add(request)
          return new Response(null, {
            status: 307,
            headers: { location: request.url.replace('/api/', '/elsewhere/api/') },
          })
        case 'silent':
          return new Promise<Response>(() => {})
      }
    },
  })
  return {
    url: `http://127.0.0.1:${server.port}`,
    host: `127.0.0.1:${server.port}`,
    pins,
    moods,
    asked,
    stop: () => server.stop(true),
  }
}

export type Kubo = ReturnType<typeof startKubo>
