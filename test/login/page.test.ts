// The HTML of the login page: no value may become markup.

import { describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { buildScript, generatedUrl, SCRIPTS } from '../../src/api/build-pages.ts'
import { readProvider } from '../../src/api/login/oauth-page.ts'
import { loginPage, refusedPage } from '../../src/api/login/page.ts'
import { PAGE_HEADERS } from '../../src/platform/pages/page.ts'

const login = {
  root: '/custody',
  projectId: '5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f',
  projectName: 'Shop',
  returnTo: null,
  state: null,
  hasMail: true,
  issuers: ['own'],
  rpId: 'localhost',
  chainIds: [1, 137],
  codeChallenge: null,
  insteadOf: null,
}

describe('the login page', () => {
  test('shows a name, an address and a state as text, even if they contain markup', () => {
    const hostile = `</title><script>alert(1)</script>" onload='alert(2)' & \${x}`
    const escaped = `&lt;/title&gt;&lt;script&gt;alert(1)&lt;/script&gt;&quot; onload=&#39;alert(2)&#39; &amp; \${x}`
    const page = loginPage({ ...login, projectName: hostile, returnTo: hostile, state: hostile })
    expect(page.split(hostile)).toHaveLength(1)
    expect(page).toContain(`data-state="${escaped}"`)
    expect(page).toContain(`data-return-to="${escaped}"`)
    expect(page.match(/<script/g)).toHaveLength(1)
    expect(refusedPage({ title: hostile, advice: hostile, sentence: hostile })).not.toContain('<script')
  })

  test('says that there is no login with Google or Apple only to users who came for one', () => {
    expect(loginPage({ ...login, insteadOf: 'apple' })).toContain('There is no login with Apple here.')
    expect(loginPage(login)).not.toMatch(/There is no login|Google|Apple/)
    for (const text of [undefined, '', 'Google', 'toString', '<b>']) expect(readProvider(text)).toBeNull()
  })

  test('contains no script, style or event handler, and loads nothing from other origins', () => {
    const page = loginPage(login)
    expect(page).not.toMatch(/<style|style=|\son[a-z]+=|https?:\/\//)
    expect([...page.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, address]) => address)).toEqual([
      'data:,',
      '/custody/pages/style.css',
      '/custody/login/client.js',
    ])
  })

  test.each(SCRIPTS)('$what is built from the current sources', (script) => {
    expect(readFileSync(generatedUrl(script), 'utf8') === buildScript(script)).toBe(true)
  })

  test('may not be framed or cached', () => {
    expect(PAGE_HEADERS).toEqual({
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy':
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
      'x-frame-options': 'DENY',
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cross-origin-opener-policy': 'same-origin',
      'cache-control': 'no-store',
    })
  })

  test('offers no e-mail login if the deployment sends no mail', () => {
    expect(loginPage(login)).toContain('email-form')
    expect(loginPage({ ...login, hasMail: false })).not.toContain('email-form')
  })
})
