// Where a host is: on this machine, in a private network, or perhaps on the Internet. Names are not looked up.

import { BlockList, isIP } from 'node:net'

const LOOPBACK = /^(?:localhost|.+\.localhost|127(?:\.[0-9]{1,3}){3}|\[::1\]|::1)$/i

/** Whether traffic to a host stays on this machine: a loopback name or address, or the path of a Unix socket. */
export const isLocal = (host: string): boolean => LOOPBACK.test(host) || /^(?:\/|%2f)/i.test(host)

type Ranges = readonly (readonly [address: string, bits: number])[]

const blockListOf = (ranges: Ranges): BlockList => {
  const list = new BlockList()
  for (const [address, bits] of ranges) list.addSubnet(address, bits, isIP(address) === 6 ? 'ipv6' : 'ipv4')
  return list
}

/** IANA's special-purpose registry and multicast: addresses that are not global, or lead to some that are not. */
const SPECIAL_IPV4 = blockListOf([
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
])
/** Global unicast. Loopback, unique and link-local addresses, multicast and IPv4 in IPv6 are outside of it. */
const GLOBAL_IPV6 = blockListOf([['2000::', 3]])
/** Inside of it: protocol assignments with Teredo, documentation, and 6to4, which leads to any IPv4 address. */
const SPECIAL_IPV6 = blockListOf([
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
])

/** Whether an IP address is one of the public Internet. @param address without brackets and without a zone. */
export const isPublicAddress = (address: string): boolean => {
  switch (isIP(address)) {
    case 4:
      return !SPECIAL_IPV4.check(address, 'ipv4')
    case 6:
      return GLOBAL_IPV6.check(address, 'ipv6') && !SPECIAL_IPV6.check(address, 'ipv6')
    default:
      return false
  }
}

/** Hosts that an operator listed, by their names, their addresses, or networks. */
export type ListedHosts = {
  readonly isEmpty: boolean
  /** @param host a name as `URL` writes it, or an address without brackets. */
  has(host: string): boolean
}

/** A host name whose last part is not a number: `URL` would read that as an IPv4 address. */
const NAME = /^(?:[a-z0-9_-]+\.)*(?![0-9]+$)[a-z0-9_-]+$/

const rangeOf = (word: string): Ranges[number] | null => {
  const [, address = '', bits] = /^([0-9a-f:.]+)(?:\/([0-9]{1,3}))?$/.exec(word) ?? []
  const most = isIP(address) === 6 ? 128 : 32
  const length = bits === undefined ? most : Number(bits)
  return isIP(address) === 0 || length > most ? null : [address, length]
}

/** @param words such as id.internal, 10.1.2.3 and fd00::/8. @returns null if one is not a host, address or network. */
export const listedHosts = (words: readonly string[]): ListedHosts | null => {
  const ranges: Ranges[number][] = []
  const names = new Set<string>()
  for (const word of words.map((each) => each.toLowerCase())) {
    const range = rangeOf(word)
    if (range !== null) ranges.push(range)
    else if (NAME.test(word)) names.add(word)
    else return null
  }
  const list = blockListOf(ranges)
  return {
    isEmpty: words.length === 0,
    has: (host) => {
      const version = isIP(host)
      return version === 0 ? names.has(host.replace(/\.$/, '')) : list.check(host, version === 6 ? 'ipv6' : 'ipv4')
    },
  }
}

/** Names without a dot, and the domains of RFC 6761, RFC 6762 and of ICANN's resolution of 2024-07-29. */
const PRIVATE_NAME = /^[^.]+$|\.(?:localhost|local|internal)$/

/** Whether only its own machine or network reaches a host. @param hostname as `URL` writes it. */
export const isPrivate = (hostname: string): boolean => {
  const host = hostname.replace(/^\[|\]$|\.$/g, '')
  return isIP(host) === 0 ? PRIVATE_NAME.test(host) : !isPublicAddress(host)
}
