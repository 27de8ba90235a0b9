// Where a host is: on this machine, in a private network, or perhaps on the Internet. Names are not looked up.

import { BlockList, isIP } from 'node:net'

const LOOPBACK = /^(?:localhost|.+\.localhost|127(?:\.[0-9]{1,3}){3}|\[::1\]|::1)$/i

/** Whether traffic to a host stays on this machine: a loopback name or address, or the path of a Unix socket. */
export const isLocal = (host: string): boolean => LOOPBACK.test(host) || /^(?:\/|%2f)/i.test(host)

/** IANA's special-purpose address registries: what is not globally reachable, multicast, and what may lead to
 * such addresses through a gateway. IPv4 also stands for ::ffff:a.b.c.d. */
const PRIVATE = new BlockList()
for (const [address, bits] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
] as const) {
  PRIVATE.addSubnet(address, bits, 'ipv4')
}
for (const [address, bits] of [
  ['::', 127],
  ['64:ff9b::', 96],
  ['64:ff9b:1::', 48],
  ['100::', 64],
  ['2002::', 16],
  ['fc00::', 7],
  ['fe80::', 10],
  ['fec0::', 10],
  ['ff00::', 8],
] as const) {
  PRIVATE.addSubnet(address, bits, 'ipv6')
}

/** Names without a dot, and the domains of RFC 6761, RFC 6762 and of ICANN's resolution of 2024-07-29. */
const PRIVATE_NAME = /^[^.]+$|\.(?:localhost|local|internal)$/

/** Whether the host of a URL can only be reached from its own machine or network. @param hostname as `URL` writes it. */
export const isPrivate = (hostname: string): boolean => {
  const host = hostname.replace(/^\[|\]$|\.$/g, '')
  const version = isIP(host)
  return version === 0 ? PRIVATE_NAME.test(host) : PRIVATE.check(host, version === 6 ? 'ipv6' : 'ipv4')
}
