// The HTML of the pages about policies: no value may become markup, and nothing comes from other origins.

import { describe, expect, test } from 'bun:test'
import type { Consent } from '../../src/api/consent/open.ts'
import { consentPage } from '../../src/api/consent/page.ts'

const HOSTILE = `</title><script>alert(1)</script>" onload='alert(2)' & \${x}`

const consent = (rest: Partial<Consent> = {}, name = 'Shop'): Consent => ({
  login: {
    root: '/custody',
    projectId: '5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f',
    projectName: name,
    returnTo: 'https://app.example.com/back',
    state: HOSTILE,
    hasMail: true,
    issuers: [],
    rpId: 'localhost',
    chainIds: [1],
  },
  asks: 'consent',
  proposal: {
    network: 'Ethereum',
    name: HOSTILE,
    wallet_address: HOSTILE,
    argument_rules: [{ argument: 'value', operator: 'le', value: HOSTILE }],
  },
  policyId: null,
  ...rest,
})

describe('the page', () => {
  test('contains what the app asks for as data that browsers treat as text', () => {
    const page = consentPage(consent({}, HOSTILE))
    expect(page.split(HOSTILE)).toHaveLength(1)
    expect(page.match(/<script/g)).toHaveLength(1)
    expect(page).not.toMatch(/<style|style=|\son[a-z]+=['"]/)
    const [, attribute = ''] = /data-proposal="([^"]*)"/.exec(page) ?? []
    const read = attribute
      .replaceAll('&quot;', '"')
      .replaceAll('&#39;', "'")
      .replaceAll('&lt;', '<')
      .replaceAll('&gt;', '>')
    expect(JSON.parse(read.replaceAll('&amp;', '&'))).toEqual(consent().proposal)
  })

  test('loads only its own style and script, below the service’s path', () => {
    const addresses = [...consentPage(consent()).matchAll(/(?:src|href)="([^"]*)"/g)].map(([, address]) => address)
    expect(addresses).toEqual(['data:,', '/custody/pages/style.css', '/custody/login/client.js'])
  })

  test('says before the login what it is for', () => {
    const introOf = (asks: Consent['asks']) =>
      consentPage(consent({ asks, proposal: null })).split('<form id="email-form"')[0]
    expect(introOf('consent')).toContain('<bdi>Shop</bdi> asks to use your wallet.')
    expect(introOf('granted')).toContain('Log in to see what <bdi>Shop</bdi> may do with your wallets.')
    expect(introOf('revoke')).toContain('<title>Take back what Shop may do</title>')
    expect(consentPage(consent({ asks: 'revoke', proposal: null, policyId: 'some-id' }))).toContain(
      'data-policy-id="some-id"',
    )
  })
})
