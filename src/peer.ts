// Who is at the other end of a connection. The server says so for a request when it is asked; whoever stands between says
// it in X-Forwarded-For, which counts only as far as the proxies are ours.

import type { Config } from './config.ts'

/** Who asks: for throttles, and to show to whoever completes or lists a login. */
export type Asker = {
  /** An IP address, or '' where it is not known. */
  readonly address: string
  /** The header User-Agent, at most 256 characters. */
  readonly device: string
}

const MAX_DEVICE_CHARACTERS = 256
const ADDRESS = /^[0-9a-fA-F:.]{2,45}$/

const peers = new WeakMap<Request, () => string | null>()

/** Called by whoever listens. */
export const notePeer = (request: Request, address: () => string | null): void => {
  peers.set(request, address)
}

const forwardedFor = (headers: Headers, hops: number): string | null => {
  const said = (headers.get('x-forwarded-for') ?? '').split(',').map((each) => each.trim())
  const address = said.at(-hops)
  return address !== undefined && ADDRESS.test(address) ? address : null
}

/** The caller's address and device. With n proxies of ours the nth address from the right is what the first of them saw. */
export const askerOf = (config: Pick<Config, 'trustedProxies'>, request: Request): Asker => {
  const peer = peers.get(request)?.() ?? ''
  const hops = config.trustedProxies
  return {
    address: hops === 0 ? peer : (forwardedFor(request.headers, hops) ?? peer),
    device: [...(request.headers.get('user-agent') ?? '')].slice(0, MAX_DEVICE_CHARACTERS).join(''),
  }
}
