// The login page and a real OpenID provider, in Chromium.

import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { addIssuer, callbackOf } from '../../src/identity/issuers/issuers.ts'
import { accessibilityProblemsOn, hasChromium } from '../support/chromium.ts'
import { startOpenidProvider } from '../support/openid-provider.ts'
import { startLoginWorld, until } from './login-world.ts'

setDefaultTimeout(30_000)

const SECRET = 'a-secret-of-the-client'

describe.skipIf(!hasChromium())('a login at an issuer of the project', () => {
  let world: Awaited<ReturnType<typeof startLoginWorld>>
  let provider: Awaited<ReturnType<typeof startOpenidProvider>>

  beforeAll(async () => {
    provider = await startOpenidProvider()
    world = await startLoginWorld({ variables: { OUTGOING_ALLOWED_HOSTS: '127.0.0.1' } })
    const { projectId } = world
    const add = (name: string, clientId: string, clientSecret: string | null) =>
      addIssuer(world.service.ctx, {
        ...{
          projectId,
          name,
          issuer: provider.issuer,
          audience: clientId,
          userClaim: 'sub',
          audienceClaim: 'aud',
          actor: 'operator',
        },
        ...{ algorithms: ['RS256'], clientId, clientSecret },
      })
    const callback = (name: string) => callbackOf(world.service.ctx.config, { projectId, name })
    await provider.serve([
      { id: 'secretive', secret: SECRET, callback: callback('acme') },
      { id: 'public', secret: null, callback: callback('acme-public') },
    ])
    await add('acme', 'secretive', SECRET)
    await add('acme-public', 'public', null)
  }, 60_000)
  afterAll(async () => {
    await world?.close()
    await provider?.close()
  })

  const pressIssuer = async (page: Page, name = 'acme') => {
    await page.getByRole('button', { name: `Continue with ${name}`, exact: true }).click()
    await page.waitForURL(`${provider.issuer}/**`)
  }

  const logInAs = async (page: Page, name: string) => {
    await page.getByLabel('Name').fill(name)
    await page.getByRole('button', { name: 'Log in' }).click()
  }

  const userOf = async (name: string) => {
    const { db } = world.service.ctx
    const [user] = await db.prepared<{ id: string }>`select id from public.users where subject = ${`sub:${name}`}`
    return user?.id
  }

  const isOnAccount = async (page: Page) => {
    await page.locator('#account').waitFor()
    expect(new URL(page.url()).hash).toBe('')
  }

  test('leads back to the page, on a phone too, and the page is accessible', async () => {
    const page = await world.newPage({ viewport: { width: 390, height: 844 } })
    const complaints: string[] = []
    await world.openLogin({}, page)
    page.on('console', (message) => complaints.push(message.text()))
    expect(await accessibilityProblemsOn(page)).toEqual([])
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(390)
    if (process.env.SCREENSHOTS) await page.screenshot({ path: `${process.env.SCREENSHOTS}/ways.png`, fullPage: true })
    await pressIssuer(page)
    await logInAs(page, 'ada')
    await isOnAccount(page)
    expect(await world.sessionsOf((await userOf('ada')) ?? '')).toEqual(['issuer null'])
    // The list comes after the page.
    await page.locator('#sessions').getByText('by another account of yours').waitFor()
    expect(await page.evaluate(() => sessionStorage.length)).toBe(0)
    if (process.env.SCREENSHOTS)
      await page.screenshot({ path: `${process.env.SCREENSHOTS}/account.png`, fullPage: true })
    expect(complaints).toEqual([])
  })

  test('goes on to the app with a code, as every other login; the same name is the same user at each client', async () => {
    const page = await world.openLogin({ redirect_uri: `${world.app.origin}/after`, state: 'here' })
    await pressIssuer(page, 'acme-public')
    await logInAs(page, 'ada')
    await page.getByRole('button', { name: 'Not now' }).or(page.locator('#told')).first().click()
    await page.waitForURL(`${world.app.origin}/**`)
    const told = await until('the app to be logged in', async () => (await page.locator('#told').textContent()) || null)
    expect(JSON.parse(told)).toMatchObject({ state: 'here', status: 200, user: await userOf('ada') })
  })

  test('goes on with the device that waits for it', async () => {
    const asker = await world.openLogin()
    await asker.getByRole('button', { name: 'Use another device' }).click()
    const code = await until('the code', async () => (await asker.locator('#device-code').textContent()) || null)
    const page = await world.newPage()
    await page.goto(`${world.addressOf()}#session_challenge_code=${code}`)
    await pressIssuer(page)
    await logInAs(page, 'ben')
    await page.getByRole('button', { name: 'Yes, log it in' }).click()
    await isOnAccount(asker)
  })

  test('that the user cancels leads back to the ways to log in, and says so', async () => {
    const page = await world.openLogin({ redirect_uri: `${world.app.origin}/after` })
    const before = page.url()
    await pressIssuer(page)
    await page.getByRole('link', { name: 'Cancel' }).click()
    await page.locator('#ways').waitFor()
    expect(await page.locator('#problem').textContent()).toBe(
      'The login with acme was cancelled. Try again, or log in in another way.',
    )
    expect(page.url()).toBe(before)
    if (process.env.SCREENSHOTS)
      await page.screenshot({ path: `${process.env.SCREENSHOTS}/cancelled.png`, fullPage: true })
    await pressIssuer(page)
  })

  test('cannot be ended in another browser, nor twice', async () => {
    const page = await world.openLogin()
    await pressIssuer(page)
    const cookies = await page.context().cookies()
    await page.context().clearCookies({ name: /^__Host-strongroom/ })
    await logInAs(page, 'eve')
    await page.getByText('This login cannot go on').waitFor()
    const callback = page.url()
    expect(callback).toContain('/login/oidc/callback/')
    const victim = await world.newPage()
    await victim.goto(callback)
    expect(await victim.locator('h1').textContent()).toBe('This login cannot go on')
    expect(await accessibilityProblemsOn(victim)).toEqual([])
    expect(await userOf('eve')).toBeUndefined()
    await page.context().addCookies(cookies)
    await page.goto(callback)
    await isOnAccount(page)
    await page.goto(callback)
    expect(await page.locator('h1').textContent()).toBe('This login cannot go on')
  })

  test('whose code another tab gets logs nobody in', async () => {
    const page = await world.openLogin()
    let handed = ''
    await pressIssuer(page)
    const [answer] = await Promise.all([
      page.waitForResponse((response) => response.url().includes('/login/oidc/callback/')),
      page.route('**/users/verify-login', (route) => route.abort()),
      logInAs(page, 'fay'),
    ])
    handed = (await answer.headerValue('location')) ?? ''
    expect(handed).toContain('#issuer_code=')
    const tab = await page.context().newPage()
    await tab.goto(`${world.origin}${handed}`)
    await tab.locator('#ways').waitFor()
    expect(await tab.locator('#problem').textContent()).toBe(
      'This login was begun in another window. Log in again here.',
    )
  })
})
