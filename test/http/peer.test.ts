// How callers are told apart by address.

import { expect, test } from 'bun:test'
import { clientOf, notePeer, subnetOf } from '../../src/platform/http/peer.ts'

const from = (forwarded: string, trustedProxies = 1): string => {
  const request = new Request('http://localhost', { headers: { 'x-forwarded-for': forwarded } })
  notePeer(request, () => '::ffff:198.51.100.1')
  return clientOf({ trustedProxies }, request).address
}

test('the caller is the address that the first of our proxies saw, in any spelling', () => {
  for (const [forwarded, address] of [
    ['203.0.113.9', '203.0.113.9'],
    ['192.0.2.66, 203.0.113.9', '203.0.113.9'],
    ['203.0.113.9:51234', '203.0.113.9'],
    ['::ffff:203.0.113.9', '203.0.113.9'],
    ['2001:db8::1', '2001:db8::1'],
    ['[2001:db8::1]', '2001:db8::1'],
    ['[2001:db8::1]:51234', '2001:db8::1'],
    ['fe80::1%eth0', 'fe80::1'],
  ] as const) {
    expect([forwarded, from(forwarded)]).toEqual([forwarded, address])
  }
  expect(from('192.0.2.66, 203.0.113.9, 10.0.0.1', 2)).toBe('203.0.113.9')
})

test('an invalid address is ignored', () => {
  for (const forwarded of ['', 'unknown', '203.0.113.9,', '203.0.113.256', '1::2::3', ':::', '1.2.3.4.5']) {
    expect([forwarded, from(forwarded)]).toEqual([forwarded, '198.51.100.1'])
  }
  expect(from('203.0.113.9', 2)).toBe('198.51.100.1')
  expect(from('203.0.113.9', 0)).toBe('198.51.100.1')
})

test('an IPv6 caller counts as their subnet, in any spelling', () => {
  for (const [address, subnet] of [
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['2001:0DB8:0:0:ffff::', '2001:db8:0:0::/64'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['1::4:5:6:7:8', '1:0:0:4::/64'],
    ['::1', '0:0:0:0::/64'],
    ['203.0.113.9', '203.0.113.9'],
    ['', ''],
  ] as const) {
    expect([address, subnetOf(address)]).toEqual([address, subnet])
  }
})
