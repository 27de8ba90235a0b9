// What a person sees who opens the service's address, and who may read about the calls there.

import { describe, expect, test } from 'bun:test'
import { readFile } from 'node:fs/promises'
import { readConfig } from '../../src/platform/config.ts'
import { accessibilityProblemsOn, hasChromium, startChromium } from '../support/chromium.ts'
import { commonService } from '../support/common-service.ts'
import { isLeftOut } from '../support/long.ts'
import { startService } from '../support/service.ts'
import { shared } from '../support/shared.ts'

const BROWSER = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }

const service = await commonService()
const without = await shared(
  startService({
    database: { ...service.database, close: async () => {} },
    hasVault: false,
    variables: { ...service.variables, API_PAGE: 'false' },
  }),
)

describe('the address of the service', () => {
  test('shows a person a page whose links lead to the documentation', async () => {
    const welcome = await service.call('/', { headers: BROWSER })
    expect(welcome.status).toBe(200)
    expect(welcome.headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(welcome.headers.get('vary')).toContain('Accept')
    const links = [...welcome.text.matchAll(/href="([^":]+)"/g)].map(([, path]) => path ?? '')
    expect(links).toEqual(['./pages/style.css', 'openapi', 'openapi/json'])
    for (const path of links) {
      expect((await fetch(new URL(path, `${service.baseUrl}/`))).status).toBe(200)
    }
  })

  test('answers a program as before', async () => {
    for (const headers of [{}, { accept: 'application/json' }, { accept: '*/*' }]) {
      const answer = await service.call('/', { headers })
      expect({ status: answer.status, code: answer.json.code }).toEqual({ status: 404, code: 'not_found' })
    }
  })
})

test.skipIf(!hasChromium() || isLeftOut('axe on the page of the address'))(
  'the page has no accessibility problems, with and without the page of the API',
  async () => {
    const browser = await startChromium()
    try {
      for (const { baseUrl } of [service, without]) {
        for (const [width, colorScheme] of [
          [1440, 'light'],
          [390, 'dark'],
        ] as const) {
          const page = await browser.newPage({ viewport: { width, height: 900 }, colorScheme })
          await page.goto(baseUrl)
          expect(await page.getByRole('heading', { name: 'Strongroom' }).isVisible()).toBe(true)
          expect({ baseUrl, width, problems: await accessibilityProblemsOn(page) }).toEqual({
            baseUrl,
            width,
            problems: [],
          })
        }
      }
    } finally {
      await browser.close()
    }
  },
)

describe('where the page of the API is off', () => {
  test('nothing of it is served, and the page says so and links to what is served', async () => {
    for (const path of ['/openapi', '/openapi/json']) {
      expect({ path, status: (await without.call(path)).status }).toEqual({ path, status: 404 })
    }
    const welcome = await without.call('/', { headers: BROWSER })
    expect(welcome.text).toContain('API_PAGE=true')
    const links = [...welcome.text.matchAll(/href="([^":]+)"/g)].map(([, path]) => path ?? '')
    expect(links).toEqual(['./pages/style.css', 'docs/api.md'])
    const linked = await without.call('/docs/api.md')
    expect(linked.headers.get('content-type')).toBe('text/plain; charset=utf-8')
    expect(linked.text).toBe(await readFile('docs/api.md', 'utf8'))
  })

  test('it is off on mainnet unless it is switched on, and on elsewhere', () => {
    const mainnet = {
      ...service.variables,
      ENVIRONMENT: 'mainnet',
      DEVNET: 'false',
      PUBLIC_BASE_URL: 'https://custody.example.com',
    }
    expect(readConfig(mainnet).hasApiPage).toBe(false)
    expect(readConfig({ ...mainnet, API_PAGE: 'true' }).hasApiPage).toBe(true)
    expect(service.ctx.config.hasApiPage).toBe(true)
    expect(() => readConfig({ ...mainnet, API_PAGE: 'yes' })).toThrow('API_PAGE')
  })
})
