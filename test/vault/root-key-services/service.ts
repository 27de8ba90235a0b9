// The common part of the three services: a server on this machine, keys with versions that really encrypt, and faults
// that a test can choose. Each service has a file next to this one, which names the sources of its formats.

import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import type { Limits } from '../../../src/vault/rooms/root/key-service.ts'
import type { RootKey } from '../../../src/vault/rooms/root/root-key.ts'

const NONCE_BYTES = 12
const TAG_BYTES = 16

/** AES-256 keys, counted from 1; the newest encrypts. */
export class VersionedKey {
  readonly #versions: Buffer[] = [randomBytes(32)]
  /** Versions below this one are kept but not used; an operator can set this. */
  leastVersion = 1

  get newest(): number {
    return this.#versions.length
  }

  rotate(): void {
    this.#versions.push(randomBytes(32))
  }

  encrypt(input: { readonly plaintext: Uint8Array; readonly bound: Uint8Array }): Buffer {
    const nonce = randomBytes(NONCE_BYTES)
    const cipher = createCipheriv('aes-256-gcm', this.#versions.at(-1) ?? Buffer.alloc(0), nonce)
    cipher.setAAD(input.bound)
    return Buffer.concat([nonce, cipher.update(input.plaintext), cipher.final(), cipher.getAuthTag()])
  }

  /** null if it does not decrypt: it was changed, is bound to something else, or belongs to another key. */
  decrypt(input: {
    readonly version: number
    readonly ciphertext: Uint8Array
    readonly bound: Uint8Array
  }): Buffer | null {
    const { version, ciphertext, bound } = input
    const key = this.#versions[version - 1]
    if (key === undefined || ciphertext.length < NONCE_BYTES + TAG_BYTES) return null
    try {
      const decipher = createDecipheriv('aes-256-gcm', key, ciphertext.subarray(0, NONCE_BYTES))
      decipher.setAAD(bound)
      decipher.setAuthTag(ciphertext.subarray(-TAG_BYTES))
      return Buffer.concat([decipher.update(ciphertext.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()])
    } catch {
      return null
    }
  }
}

export type Behaviour =
  | 'well'
  /** 5xx in the service's own format. */
  | 'failing'
  /** Accepts the request and never answers. */
  | 'silent'
  | 'throttling'
  /** 200, and a page of HTML. */
  | 'rubbish'
  /** 200, and an object without any of the fields. */
  | 'empty'
  /** 5xx and HTML, like the answer of a load balancer. */
  | 'broken proxy'
  /** A policy of the service does not allow it. */
  | 'denying'
  /** The key was switched off at the service. */
  | 'disabled'

export type Counts = { encrypt: number; decrypt: number }

/** A service, for tests. */
export type TestService = {
  /** Its name in error messages. */
  readonly name: string
  /** The number of requests that arrived, with any result. */
  readonly calls: Counts
  /** The number of requests to decrypt a value that was changed or bound to something else. */
  readonly undecryptable: () => number
  /** Sets the behaviour for this many requests; afterwards it behaves well. */
  behave(behaviour: Behaviour, requests?: number): void
  /** All bodies and headers that arrived, as text: a careless service might log them. */
  readonly heard: () => string
  open(input?: { readonly key?: 'first' | 'second'; readonly limits?: Limits }): Promise<RootKey>
  /** Makes a new version of the first key; old versions still decrypt. */
  rotate(): void
  /** The second byte of wrapped values, and whether they contain the key's version. */
  readonly told: { readonly mark: number; readonly versions: boolean }
  stop(): Promise<void>
}

export const PAGE = '<html><title>502 Bad Gateway</title></html>'

export const json = (status: number, body: unknown, headers: Record<string, string> = {}): Response =>
  new Response(JSON.stringify(body), { status, headers: { 'content-type': 'application/json', ...headers } })

type Answer = (input: { readonly request: Request; readonly body: string; readonly behaviour: Behaviour }) => Response

/** A server that counts and records requests and simulates faults. */
export const serve = (answer: Answer) => {
  const calls: Counts = { encrypt: 0, decrypt: 0 }
  const heard: string[] = []
  let behaviour: Behaviour = 'well'
  let requestsLeft = Number.POSITIVE_INFINITY
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: async (request) => {
      const body = await request.text()
      heard.push(JSON.stringify([...request.headers]), body)
      const now = requestsLeft > 0 ? behaviour : 'well'
      requestsLeft -= 1
      if (now === 'silent') return new Promise<Response>(() => {})
      if (now === 'rubbish') return new Response(PAGE, { headers: { 'content-type': 'text/html' } })
      if (now === 'broken proxy') return new Response(PAGE, { status: 502, headers: { 'content-type': 'text/html' } })
      if (now === 'empty') return json(200, {})
      return answer({ request, body, behaviour: now })
    },
  })
  return {
    url: `http://127.0.0.1:${server.port}`,
    port: server.port ?? 0,
    calls,
    heard: () => heard.join('\n'),
    behave: (next: Behaviour, requests = Number.POSITIVE_INFINITY) => {
      behaviour = next
      requestsLeft = requests
    },
    stop: () => server.stop(true),
  }
}

/** Sets environment variables. @returns a function that restores the old ones. */
export const setEnvironment = (variables: Readonly<Record<string, string>>): (() => void) => {
  const before = Object.keys(variables).map((name) => [name, process.env[name]] as const)
  Object.assign(process.env, variables)
  return () => {
    for (const [name, value] of before) {
      if (value === undefined) delete process.env[name]
      else process.env[name] = value
    }
  }
}

/** The limits of production, without the pause. */
export const BRISK: Limits = { attemptTimeoutMs: 5_000, attemptsMax: 2, pauseMs: 5 }
/** For services that never answer. */
export const HASTY: Limits = { attemptTimeoutMs: 400, attemptsMax: 2, pauseMs: 5 }
