// The address of the caller. It is the server's own word, or X-Forwarded-For as far as it was added by our own proxies.

import { isIP } from 'node:net'
import type { Config } from '../config.ts'

/** Where a request comes from, for throttles and for display when a login is confirmed or listed. */
export type Client = {
  /** An IP address, or '' if unknown. */
  readonly address: string
  /** The header User-Agent, at most 256 characters. */
  readonly device: string
}

const MAX_DEVICE_CHARACTERS = 256
/** Some proxies add the port: `192.0.2.1:443`, `[2001:db8::1]:443`. */
const WITH_PORT = /^(?:\[([^\]]*)\]|([0-9.]+))(?::[0-9]{1,5})?$/
/** An IPv4 caller of a server that listens on IPv6 (RFC 4291 §2.5.5.2). */
const MAPPED = /^::ffff:([0-9.]+)$/i
const GROUPS = 8
const GROUPS_OF_A_SUBNET = 4

const peers = new WeakMap<Request, () => string | null>()

export const notePeer = (request: Request, address: () => string | null): void => {
  peers.set(request, address)
}

/** An address without port and zone, or null. */
const readAddress = (text: string): string | null => {
  const [, bracketed, dotted] = WITH_PORT.exec(text) ?? []
  const bare = (bracketed ?? dotted ?? text).split('%', 1)[0] ?? ''
  const address = MAPPED.exec(bare)?.[1] ?? bare
  return isIP(address) === 0 ? null : address
}

/** The groups of an IPv6 address, normalised as in URLs (RFC 5952). */
const groupsOf = (address: string): readonly string[] => {
  const halves = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::')
  const [before = [], after] = halves.map((half) => half.split(':').filter((group) => group !== ''))
  return after === undefined
    ? before
    : [...before, ...Array<string>(GROUPS - before.length - after.length).fill('0'), ...after]
}

/** The unit of counted tries. For IPv6 it is a /64, the least that a subscriber gets (RFC 6177 §2). */
export const subnetOf = (address: string): string =>
  isIP(address) === 6 ? `${groupsOf(address).slice(0, GROUPS_OF_A_SUBNET).join(':')}::/64` : address

const forwardedFor = (headers: Headers, hops: number): string | null => {
  const addresses = (headers.get('x-forwarded-for') ?? '').split(',').map((each) => each.trim())
  return readAddress(addresses.at(-hops) ?? '')
}

/** The caller's address, or ''. With n trusted proxies it is the nth from the right, which the first of them added. */
export const addressOf = (config: Pick<Config, 'trustedProxies'>, request: Request): string => {
  const peer = readAddress(peers.get(request)?.() ?? '') ?? ''
  const hops = config.trustedProxies
  return hops === 0 ? peer : (forwardedFor(request.headers, hops) ?? peer)
}

export const clientOf = (config: Pick<Config, 'trustedProxies'>, request: Request): Client => ({
  address: addressOf(config, request),
  device: [...(request.headers.get('user-agent') ?? '')].slice(0, MAX_DEVICE_CHARACTERS).join(''),
})
