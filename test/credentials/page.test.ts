// The HTML of the page of what opens the wallets: no value may become markup, and nothing secret is in it when it is
// served.

import { expect, test } from 'bun:test'
import { credentialsPage } from '../../src/api/credentials/page.ts'

const HOSTILE = `</title><script>alert(1)</script>" onload='alert(2)' & \${x}`

const page = credentialsPage({
  root: '/custody',
  projectId: '5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f',
  projectName: HOSTILE,
  returnTo: HOSTILE,
  state: HOSTILE,
  hasMail: true,
  issuers: [],
  rpId: 'localhost',
  chainIds: [1],
})

test('the page contains names, addresses and states as text', () => {
  expect(page.split(HOSTILE)).toHaveLength(1)
  expect(page.match(/<script/g)).toHaveLength(1)
  expect(page).not.toMatch(/<style|style=|\son[a-z]+=['"]/)
})

test('the page loads only its own style and script, below the service’s path', () => {
  const addresses = [...page.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, address]) => address)
  expect(addresses).toEqual(['data:,', '/custody/pages/style.css', '/custody/login/client.js'])
})

test('browsers are not asked to keep a PIN or a code, and put none into an address even without the script', () => {
  const fields = [...page.matchAll(/<input[^>]*data-secret[^>]*>/g)].map(([field]) => field)
  expect(fields).toHaveLength(5)
  for (const field of fields) expect(field).toMatch(/autocomplete="(?:one-time-code|off)"/)
  for (const field of fields) expect(field).not.toContain('name=')
})
