// The only file that knows the runtime: Bun, or Deno 2. All other code uses what both have.

import http from 'node:http'

/** The parts of the `Deno` namespace that we use, because its types are not installed. */
type DenoRuntime = {
  serve(
    options: {
      readonly hostname: string
      readonly port: number
      readonly signal: AbortSignal
      readonly onListen: () => void
      readonly onError: (error: unknown) => Response
    },
    handler: (request: Request, info: { readonly remoteAddr: { readonly hostname: string } }) => Answer,
  ): { readonly addr: { readonly hostname: string; readonly port: number }; shutdown(): Promise<void> }
  dlopen(
    library: string,
    symbols: Record<string, { readonly parameters: readonly string[]; readonly result: string }>,
  ): { readonly symbols: Record<string, CFunction> }
}

type Answer = Response | Promise<Response>
type CFunction = (...args: readonly unknown[]) => unknown

const deno = (globalThis as { Deno?: DenoRuntime }).Deno

const IDLE_TIMEOUT_SECONDS = 60
/** Bun would answer a larger body without a text. platform/http/body.ts has our limits, and drops the excess. */
const NO_LIMIT_BYTES = Number.MAX_SAFE_INTEGER

export type Server = {
  readonly hostname: string
  readonly port: number
  /** Accepts no more requests, and resolves when the running ones are answered, or at once if they are cut off. */
  readonly stop: (cutsOff: boolean) => Promise<void>
}

type ServeOptions = {
  readonly hostname: string
  readonly port: number
  /** @param address of the client, if known. */
  readonly fetch: (request: Request, address: () => string | null) => Answer
  readonly error: (error: unknown) => Response
}

/** By default 16 KiB. The bearer token alone may have as many characters (src/identity/auth/caller-headers.ts). */
const HEADER_BYTES_MAX = 32_768

const serveOnBun = ({ hostname, port, fetch, error }: ServeOptions): Server => {
  // Bun has no such option of one server.
  Object.assign(http, { maxHeaderSize: HEADER_BYTES_MAX })
  const server = Bun.serve({
    hostname,
    port,
    fetch: (request, self) => fetch(request, () => self.requestIP(request)?.address ?? null),
    maxRequestBodySize: NO_LIMIT_BYTES,
    idleTimeout: IDLE_TIMEOUT_SECONDS,
    // Bun's own error page would show source text, stack and paths.
    development: false,
    error,
  })
  return { hostname, port: server.port ?? port, stop: (cutsOff) => server.stop(cutsOff) }
}

const serveOnDeno = (runtime: DenoRuntime, { hostname, port, fetch, error }: ServeOptions): Server => {
  const cut = new AbortController()
  const server = runtime.serve(
    { hostname, port, signal: cut.signal, onListen: () => {}, onError: error },
    (request, info) => fetch(request, () => info.remoteAddr.hostname),
  )
  const stop = async (cutsOff: boolean): Promise<void> => (cutsOff ? cut.abort() : server.shutdown())
  return { hostname, port: server.addr.port, stop }
}

export const serve = (options: ServeOptions): Server =>
  deno === undefined ? serveOnBun(options) : serveOnDeno(deno, options)

/** The C types of parameters that we use; `pointer` points to the memory of a typed array. */
type CType = 'i32' | 'u64' | 'pointer'

export const loadCFunction = async (
  library: string,
  name: string,
  parameters: readonly CType[],
): Promise<(...args: readonly (number | NodeJS.TypedArray)[]) => number> => {
  if (deno !== undefined) {
    const types = parameters.map((type) => (type === 'pointer' ? 'buffer' : type))
    const call = deno.dlopen(library, { [name]: { parameters: types, result: 'i32' } }).symbols[name]
    return (...args) => Number(call?.(...args))
  }
  const { dlopen } = await import('bun:ffi')
  const args = parameters.map((type) => (type === 'pointer' ? 'ptr' : type))
  const call = dlopen(library, { [name]: { args, returns: 'i32' } }).symbols[name] as CFunction | undefined
  return (...given) => Number(call?.(...given))
}
