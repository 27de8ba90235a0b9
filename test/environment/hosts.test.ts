// Which addresses are of the public Internet (IANA's registries of special-purpose addresses), and which an operator
// listed.

import { expect, test } from 'bun:test'
import { isPublicAddress, listedHosts } from '../../src/platform/environment/hosts.ts'

test.each([
  ['0.0.0.0', '10.0.0.1', '100.64.0.1', '127.0.0.1', '169.254.169.254', '172.16.0.1', '172.31.255.255', '192.168.1.1'],
  [
    '192.0.0.1',
    '192.0.2.1',
    '192.88.99.1',
    '198.18.0.1',
    '198.51.100.1',
    '203.0.113.1',
    '224.0.0.1',
    '255.255.255.255',
  ],
  ['::', '::1', '::ffff:8.8.8.8', '::ffff:7f00:1', '::127.0.0.1', '64:ff9b::7f00:1', '64:ff9b:1::a00:1', '100::1'],
  [
    'fc00::1',
    'fd12::1',
    'fe80::1',
    'fec0::1',
    'ff02::1',
    '2001::1',
    '2001:db8::1',
    '2002:7f00:1::1',
    '3fff::1',
    '4000::1',
  ],
  ['', 'localhost', '127.1', '2130706433', '0x7f000001', 'fe80::1%eth0', '[::1]'],
])('no address of the public Internet: %s and others', (...addresses) => {
  expect(addresses.filter((each) => isPublicAddress(`${each}`))).toEqual([])
})

test('addresses of the public Internet', () => {
  const addresses = [
    '1.1.1.1',
    '100.128.0.1',
    '172.32.0.1',
    '223.255.255.255',
    '2606:4700::1111',
    '2a00:1450::1',
    '2001:4860::1',
  ]
  expect(addresses.filter((each) => !isPublicAddress(each))).toEqual([])
})

test('an operator lists names, addresses and networks', () => {
  const list = listedHosts(['10.1.2.3', '192.168.0.0/16', 'fd00::/8', 'ID.internal', 'my_service'])
  const listed = ['10.1.2.3', '192.168.9.9', 'fd00::1', 'id.internal', 'id.internal.', 'my_service']
  const others = ['10.1.2.4', '192.169.0.1', 'fe00::1', 'example.com', 'a.id.internal', 'internal', '']
  expect(listed.filter((each) => !list?.has(each))).toEqual([])
  expect(others.filter((each) => list?.has(each))).toEqual([])
  expect([list?.isEmpty, listedHosts([])?.isEmpty]).toEqual([false, true])
  const wrong = [
    '10.0.0.0/33',
    '10.0.0.0/',
    '300.1.1.1',
    '10.1',
    '10.0.0.0/8/8',
    '::/129',
    '[::1]',
    'a:80',
    'https://a',
    'a..b',
  ]
  for (const word of wrong) expect([word, listedHosts([word])]).toEqual([word, null])
})
