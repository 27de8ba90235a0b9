// The login page in real Chromium: each login method, and logins that must be refused.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import type { Page } from 'playwright-core'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { addOrigins } from '../../src/identity/projects/settings.ts'
import { handleOf } from '../../src/identity/users/passkey-ceremony.ts'
import { createProject } from '../../src/operators/projects.ts'
import { accessibilityProblemsOn, hasChromium } from '../support/chromium.ts'
import { isLong, longTest } from '../support/long.ts'
import {
  bePasswordManager,
  giveAuthenticator,
  giveWallet,
  interceptProof,
  type LoginWorld,
  newAddress,
  PKCE,
  problemOn,
  startLoginWorld,
  until,
} from './login-world.ts'

const isHere = hasChromium()
let world: LoginWorld

const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click()
const isLoggedIn = (page: Page) => page.locator('#account').waitFor()
const logOut = async (page: Page) => {
  await press(page, 'Log out')
  await page.locator('#ways').waitFor()
}

describe.skipIf(!isHere)('the login page', () => {
  beforeAll(async () => {
    world = await startLoginWorld()
  })
  afterAll(() => world?.close())

  test('has no accessibility problems on a phone at its beginning, and explains that the browser has no wallet', async () => {
    const page = await world.newPage({ viewport: { width: 390, height: 844 }, colorScheme: 'dark' })
    await world.openLogin({}, page)
    expect(await accessibilityProblemsOn(page)).toEqual([])
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(390)
    expect(await page.getByRole('button', { name: 'Use a wallet' }).count()).toBe(0)
    expect(await page.locator('#wallet-none').isVisible()).toBe(true)
  })

  longTest('has no accessibility problems on a phone, in light and dark, in each state', async () => {
    const page = await world.newPage({ viewport: { width: 390, height: 844 }, colorScheme: 'light' })
    const complaints: string[] = []
    page.on('console', (message) => complaints.push(message.text()))
    const check = async () => {
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme })
        expect(await accessibilityProblemsOn(page)).toEqual([])
      }
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(390)
    }
    await world.openLogin({}, page)
    await giveAuthenticator(page)
    await check()
    const code = await world.askForCode(page, newAddress())
    await page.getByLabel('Code', { exact: true }).fill('no digits')
    await press(page, 'Log in')
    expect(await problemOn(page)).toBe('The code has six digits.')
    await check()
    await page.getByLabel('Code', { exact: true }).fill(code)
    await press(page, 'Log in')
    await isLoggedIn(page)
    await press(page, 'Add a passkey')
    await page.getByRole('button', { name: /^Remove the passkey/ }).waitFor()
    await check()
    expect(complaints).toEqual([])
  })

  longTest('keeps tokens only in its memory', async () => {
    const page = await world.openLogin()
    const addresses: string[] = []
    page.on('request', (request) => addresses.push(request.url()))
    await world.logInByCode(page, newAddress())
    await isLoggedIn(page)
    const kept = await page.evaluate(() => [{ ...localStorage }, { ...sessionStorage }, history.state, document.title])
    expect(kept).toEqual([{}, {}, null, 'Log in to Test'])
    expect(await page.context().cookies()).toEqual([])
    expect(addresses.length).toBeGreaterThan(2)
    expect(addresses.join()).not.toMatch(/eyJ|token=|code=/)
    await page.reload()
    await page.locator('#ways').waitFor()
  })

  longTest('shows the login again, with the reason, after the session has ended elsewhere', async () => {
    const page = await world.openLogin()
    await world.logInByCode(page, newAddress())
    await page.locator('#passkeys-none').waitFor()
    await world.endSessions()
    await press(page, 'Add a passkey')
    await page.locator('#ways').waitFor()
    expect(await problemOn(page)).toBe('You are logged out. Log in again.')
  })

  longTest('asks for a fresh login before a login method is added or removed, and then continues', async () => {
    const page = await world.openLogin()
    await giveAuthenticator(page)
    const email = newAddress()
    await world.logInByCode(page, email)
    await isLoggedIn(page)
    const user = await world.userIdOf(email)
    await world.ageLogins(user, 11)
    await press(page, 'Add a passkey')
    await page.locator('#ways').waitFor()
    expect(await problemOn(page)).toBe('This needs a fresh login: log in again, and then repeat it.')
    expect(await world.sessionsOf(user)).toEqual(['email_code logout'])

    await world.logInByCode(page, email)
    await isLoggedIn(page)
    await press(page, 'Add a passkey')
    const remove = page.getByRole('button', { name: /^Remove the passkey/ })
    await remove.waitFor()
    await world.ageLogins(user, 11)
    await remove.click()
    await page.locator('#ways').waitFor()
    await press(page, 'Use a passkey')
    await isLoggedIn(page)
    expect(await remove.count()).toBe(1)
    await remove.click()
    await page.getByText('None yet.').waitFor()
  })

  longTest('lists the sessions of the user, and can end them', async () => {
    const email = newAddress()
    const pages = [await world.openLogin(), await world.openLogin(), await world.openLogin()] as const
    for (const page of pages) {
      await world.logInByCode(page, email)
      await isLoggedIn(page)
    }
    const [, second, third] = pages
    const user = await world.userIdOf(email)
    const items = third.locator('#sessions li')
    await items.nth(2).waitFor()
    const day = new Date().toLocaleDateString('en-US', { dateStyle: 'medium' })
    const other = `Chrome on Linux, since ${day}, by a mailed code, last used ${day}Log out`
    expect(await items.allTextContents()).toEqual([`This one, since ${day}, by a mailed code`, other, other])
    expect(await accessibilityProblemsOn(third)).toEqual([])

    await items.nth(1).getByRole('button').click()
    await third.getByText('That device is logged out.').waitFor()
    expect(await items.count()).toBe(2)
    await press(second, 'Log out everywhere else')
    await second.locator('#ways').waitFor()
    expect(await problemOn(second)).toBe('You are logged out. Log in again.')

    await press(third, 'Log out everywhere else')
    await third.getByText('You are logged out everywhere else.').waitFor()
    expect(await items.count()).toBe(1)
    expect(await third.getByRole('button', { name: 'Log out everywhere else' }).count()).toBe(0)
    expect(await world.sessionsOf(user)).toEqual(['email_code user', 'email_code user', 'email_code null'])
  })

  longTest('shows the name of a project as text', async () => {
    const name = '<img src=x onerror="document.title=1"><script>document.title=2</script>'
    const { projectId } = await createProject(world.service.ctx, { name, actor: 'operator' })
    const page = await world.openLogin({ project_id: projectId, state: '"><script>document.title=3</script>' })
    expect(await page.locator('h1').first().textContent()).toBe(`Log in to ${name}`)
    expect(await page.title()).toBe(`Log in to ${name}`)
    expect(await page.locator('img, main script').count()).toBe(0)
  })

  describe('by e-mail', () => {
    longTest('logs in with the code from the mailbox, by keyboard alone, and out again', async () => {
      const email = newAddress()
      const page = await world.openLogin()
      const { keyboard } = page
      await keyboard.press('Tab')
      await keyboard.type(email)
      await keyboard.press('Enter')
      await page.locator('#code').waitFor()
      expect(await page.evaluate(() => document.activeElement?.id)).toBe('code-field')
      await keyboard.type(await world.codeTo(email))
      await keyboard.press('Enter')
      await isLoggedIn(page)
      expect(await page.evaluate(() => document.activeElement?.id)).toBe('account-title')
      expect(await page.locator('#account').textContent()).toContain(email)
      await page.getByRole('button', { name: 'Log out' }).focus()
      await keyboard.press('Enter')
      await page.locator('#ways').waitFor()
      expect(await page.locator('#status').textContent()).toBe('You are logged out.')
    })

    longTest('shows at the field that a code was wrong, and then accepts the right one', async () => {
      const page = await world.openLogin()
      const code = await world.askForCode(page, newAddress())
      const field = page.getByLabel('Code', { exact: true })
      await field.fill(code === '000000' ? '000001' : '000000')
      await press(page, 'Log in')
      expect(await problemOn(page)).toContain('That did not work')
      expect(await field.getAttribute('aria-invalid')).toBe('true')
      expect(await field.getAttribute('aria-describedby')).toBe('problem')
      expect(await page.evaluate(() => document.activeElement?.id)).toBe('code-field')
      // As the keyboard of another script writes it, with a hyphen and an invisible mark.
      const wide = [...code].map((digit) => String.fromCodePoint(Number(digit) + 0xff10)).join('')
      await field.fill(`${wide.slice(0, 3)} － ${wide.slice(3)}\u200e`)
      await press(page, 'Log in')
      await isLoggedIn(page)
    })

    longTest('logs in by the link from the mailbox, after it was confirmed on our page', async () => {
      const email = newAddress()
      const waiting = await world.openLogin({}, await world.newPage({ userAgent: 'Asker/1.0' }))
      await waiting.getByLabel('E-mail address').fill(email)
      await press(waiting, 'Mail me a link instead')
      const link = await world.mailTo(email, /^(http\S+)$/m)
      // What a mail scanner does.
      expect((await fetch(link)).status).toBe(200)
      const reader = await world.newPage({ viewport: { width: 390, height: 844 } })
      await reader.goto(link)
      const asked = await reader.locator('main').textContent()
      expect(asked).toContain('Asker/1.0')
      expect(asked).toContain('127.0.0.1')
      expect(await accessibilityProblemsOn(reader)).toEqual([])
      expect(await world.nextLook(waiting)).toEqual({ completed: false, expired: false })
      await press(reader, 'Yes, log it in')
      await reader.getByRole('heading', { name: 'The device is logged in' }).waitFor()
      await isLoggedIn(waiting)
      expect(await waiting.locator('#account').textContent()).toContain(email)
      await reader.goto(link)
      expect(await reader.locator('h1').textContent()).toBe('This link was used already')
      expect(await reader.context().cookies()).toEqual([])
    })

    longTest('says how long to wait after too many tries', async () => {
      const page = await world.openLogin()
      await page.route('**/users/login-with-email', (route) =>
        route.fulfill({ status: 429, headers: { 'retry-after': '300' }, json: { error: 'x', code: 'rate_limited' } }),
      )
      await page.getByLabel('E-mail address').fill(newAddress())
      await press(page, 'Mail me a code')
      expect(await problemOn(page)).toBe('This was tried too often. Wait 5 minutes, then try again.')
    })

    const AWAY = 'The service was not reached. Check your connection and try again.'
    longTest('has a sentence for what a gateway answers in place of the service', async () => {
      const page = await world.openLogin()
      const path = '**/users/login-with-email'
      await page.getByLabel('E-mail address').fill(newAddress())
      for (const [answer, sentence] of [
        [{ status: 504, json: { message: 'Endpoint request timed out' } }, AWAY],
        [{ status: 403, json: { error: { code: 403 } } }, AWAY],
        [{ status: 502, json: { status: 'error', code: 502, message: 'Application failed to respond' } }, AWAY],
        [{ status: 502, json: null }, AWAY],
        [{ status: 502, contentType: 'text/html', body: '<h1>Bad Gateway</h1>' }, AWAY],
        [
          { status: 429, headers: { 'retry-after': '7' }, json: { message: 'Too Many Requests' } },
          'This was tried too often. Wait 7 seconds, then try again.',
        ],
      ] as const) {
        await page.route(path, (route) => route.fulfill(answer))
        await press(page, 'Mail me a code')
        expect([answer, await problemOn(page)]).toEqual([answer, sentence])
        await page.unroute(path)
      }
    })
  })

  describe('by passkey', () => {
    /** A logged-in user with an e-mail address and a passkey. */
    const withPasskey = async (opened?: Page): Promise<{ page: Page; email: string }> => {
      const page = await world.openLogin({}, opened)
      await giveAuthenticator(page)
      const email = newAddress()
      await world.logInByCode(page, email)
      await isLoggedIn(page)
      await press(page, 'Add a passkey')
      await page.getByRole('button', { name: /^Remove the passkey/ }).waitFor()
      return { page, email }
    }
    const claimed = async (proof: object, at = world.origin, from = at) =>
      world.service.as({ projectId: world.projectId, apiKey: '' }, at).post('/users/verify-login', proof, {
        authorization: undefined,
        origin: from,
      })

    test('logs in the user who registered it, and nobody after it is removed', async () => {
      const { page, email } = await withPasskey()
      await logOut(page)
      await press(page, 'Use a passkey')
      await isLoggedIn(page)
      expect(await page.locator('#account').textContent()).toContain(email)
      if (isLong) {
        await logOut(page)
        // The browser suggests the passkey in the field for the e-mail address; this one accepts it at once.
        await page.getByLabel('E-mail address').focus()
        await isLoggedIn(page)
      }
      await page.getByRole('button', { name: /^Remove the passkey/ }).click()
      await page.locator('#passkeys-none').waitFor()
      await logOut(page)
      await press(page, 'Use a passkey')
      expect(await problemOn(page)).toContain('That did not work')
    })

    for (const kind of ['plain', 'prototype'] as const)
      longTest(`that a password manager keeps logs in, with ${kind} objects`, async () => {
        const opened = await world.newPage()
        await bePasswordManager(opened, kind)
        const { page, email } = await withPasskey(opened)
        await logOut(page)
        await press(page, 'Use a passkey')
        await isLoggedIn(page)
        await logOut(page)
        await page.getByLabel('E-mail address').focus()
        await isLoggedIn(page)
        expect(await page.locator('#account').textContent()).toContain(email)
      })

    longTest('refuses an assertion with another user’s handle, and a repeated one', async () => {
      const { page } = await withPasskey()
      await logOut(page)
      const proof = await interceptProof(page, () => press(page, 'Use a passkey'))
      const assertion = proof.passkey_credential_assertion_response as { response: { userHandle: string } }
      const other = await world.service.post('/users/login-anonymously', {}, { authorization: undefined })
      const response = { ...assertion.response, userHandle: handleOf(other.json.user_id) }
      const forged = await claimed({ passkey_credential_assertion_response: { ...assertion, response } })
      expect([forged.status, forged.json.code]).toEqual([401, 'login_failed'])
      expect((await claimed(proof)).status).toBe(200)
      const replayed = await claimed(proof)
      expect([replayed.status, replayed.json.code]).toEqual([401, 'login_failed'])
    })

    longTest('refuses an assertion made for a page of another origin with the same domain', async () => {
      const { page } = await withPasskey()
      const strict = await world.startStrict()
      try {
        const ask = (from: string) =>
          world.service
            .as({ projectId: world.projectId, apiKey: '' }, strict.origin)
            .post('/users/login-with-discoverable-passkey', {}, { authorization: undefined, origin: from })
        const assertedHere = async (): Promise<object> => {
          const { publicKey } = (await ask(strict.origin)).json
          const passkey_credential_assertion_response = await page.evaluate(async (json) => {
            const options = { publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(json) }
            const credential = await navigator.credentials.get(options)
            return (credential as PublicKeyCredential).toJSON()
          }, publicKey)
          return { passkey_credential_assertion_response }
        }
        const elsewhere = await claimed(await assertedHere(), strict.origin)
        expect([elsewhere.status, elsewhere.json.code]).toEqual([401, 'login_failed'])
        expect((await ask(world.origin)).json.code).toBe('origin_not_allowed')
        await page.goto(world.addressOf({}, strict.origin))
        // It sends no mail either.
        await page.locator('#ways').waitFor()
        expect(await page.getByLabel('E-mail address').count()).toBe(0)
        expect((await claimed(await assertedHere(), strict.origin)).status).toBe(200)
      } finally {
        await strict.close()
      }
    })
  })

  describe('by wallet', () => {
    longTest('logs in with a message for this page, signed by the browser’s wallet', async () => {
      const account = privateKeyToAccount(generatePrivateKey())
      const page = await world.newPage()
      const signed = await giveWallet(page, account)
      await world.openLogin({}, page)
      await press(page, 'Use a wallet')
      await isLoggedIn(page)
      expect(await page.locator('#account').textContent()).toContain(account.address)
      expect(signed[0]).toStartWith(
        `${new URL(world.origin).host} wants you to sign in with your Ethereum account:\n${account.address}\n\nLog in to Test.\n`,
      )
    })

    longTest('logs in by the one wallet that only announces itself (EIP-6963)', async () => {
      const account = privateKeyToAccount(generatePrivateKey())
      const page = await world.newPage()
      await giveWallet(page, account, { name: 'Lynx' })
      await world.openLogin({}, page)
      expect(await page.locator('#wallet-none').isVisible()).toBe(false)
      await press(page, 'Use a wallet')
      await isLoggedIn(page)
      expect(await page.locator('#account').textContent()).toContain(account.address)
    })

    longTest('lets the user choose among several, and shows their names as text', async () => {
      const hostile = '<img src=x onerror="document.title=1">'
      const [lynx, other, older] = [1, 2, 3].map(() => privateKeyToAccount(generatePrivateKey()))
      if (lynx === undefined || other === undefined || older === undefined) throw new Error('no account')
      const page = await world.newPage({ viewport: { width: 390, height: 844 } })
      const signed = await giveWallet(page, lynx, { name: 'Lynx' })
      await giveWallet(page, other, { name: hostile })
      await giveWallet(page, older)
      await world.openLogin({}, page)
      await press(page, 'Use a wallet')
      const names = page.locator('#wallets button')
      expect(await names.allTextContents()).toEqual(['Lynx', hostile, 'Another wallet of this browser'])
      expect(await page.evaluate(() => document.activeElement?.id)).toBe('wallet-title')
      for (const width of [390, 1_440]) {
        await page.setViewportSize({ width, height: 844 })
        expect(await accessibilityProblemsOn(page)).toEqual([])
        expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(width)
        if (process.env.SCREENSHOTS) await page.screenshot({ path: `${process.env.SCREENSHOTS}/wallets-${width}.png` })
      }
      await press(page, 'Log in another way')
      await press(page, 'Use a wallet')
      await press(page, 'Another wallet of this browser')
      await isLoggedIn(page)
      expect(await page.locator('#account').textContent()).toContain(older.address)
      expect([signed, await page.title(), await page.locator('img').count()]).toEqual([[], 'Log in to Test', 0])
    })
  })

  describe('with another device', () => {
    longTest('logs in by a code that a logged-in user confirms after seeing which device asks', async () => {
      const email = newAddress()
      const mine = await world.openLogin()
      await world.logInByCode(mine, email)
      await isLoggedIn(mine)
      const television = await world.newPage({ userAgent: 'Mozilla/5.0 (X11; Linux) Firefox/150.0' })
      await world.openLogin({}, television)
      await press(television, 'Use another device')
      await television.locator('#device').waitFor()
      // A wait goes on over lost answers.
      const lost: string[] = []
      for (const path of ['**/users/session-challenge?*', '**/users/verify-login'])
        await television.route(
          path,
          (route) => {
            const count = lost.push(path)
            const json = count % 2 === 0 ? { message: 'Bad Gateway' } : { error: 'x', code: 'unavailable' }
            return route.fulfill({ status: 503, json })
          },
          { times: 2 },
        )
      await until('two lost answers', async () => (lost.length === 2 ? true : null))
      const code = (await television.locator('#device-code').textContent()) ?? ''
      await mine.getByLabel('Code that the other device shows').fill('0000')
      await press(mine, 'Who asks?')
      expect(await problemOn(mine)).toContain('There is no such code')
      await mine.getByLabel('Code that the other device shows').fill(code.toLowerCase())
      await press(mine, 'Who asks?')
      await mine.locator('#ask').waitFor()
      const asked = await mine.locator('#ask').textContent()
      expect(asked).toContain('Firefox on Linux')
      expect(asked).toContain('127.0.0.1')
      expect(await accessibilityProblemsOn(mine)).toEqual([])
      expect(await television.locator('#device').isVisible()).toBe(true)
      await press(mine, 'Yes, log it in')
      await isLoggedIn(television)
      expect([await television.locator('#account').textContent(), lost.length]).toEqual([
        expect.stringContaining(email),
        4,
      ])
      expect(await mine.locator('#status').textContent()).toBe(
        'The other device is logged in now. You can go on there.',
      )
    })
  })

  describe('for an app', () => {
    longTest(
      'returns a code in the fragment, which the app exchanges from its own origin; the page keeps no session',
      async () => {
        const state = 'a&b=c d"<'
        const page = await world.openLogin({ redirect_uri: `${world.app.origin}/after?x=1`, state })
        const email = newAddress()
        await world.logInByCode(page, email)
        await press(page, 'Not now')
        await page.waitForURL(`${world.app.origin}/**`)
        const told = await until(
          'the app to be logged in',
          async () => (await page.locator('#told').textContent()) || null,
        )
        const { user, ...rest } = JSON.parse(told)
        expect(rest).toEqual({ state, status: 200, passkeys: [] })
        expect(world.app.addresses).toContain(`${world.app.origin}/after?x=1`)
        expect(world.app.addresses.join()).not.toContain('session_challenge_code')
        const sessions = await world.sessionsOf(user)
        expect(sessions).toEqual(['email_code logout', 'session_challenge null'])
        // A user who declined a passkey is not asked again.
        await world.openLogin({ redirect_uri: `${world.app.origin}/again` }, page)
        await world.logInByCode(page, email)
        await page.waitForURL(`${world.app.origin}/again**`)
      },
    )

    longTest(
      'is the only one that can use the code: whoever reads it on the way does not have the secret',
      async () => {
        const page = await world.openLogin({ redirect_uri: `${world.app.origin}/after` })
        const email = newAddress()
        let proof: Record<string, unknown> = {}
        await page.route('**/users/verify-login', async (route) => {
          const sent = route.request().postDataJSON()
          if (sent.session_challenge_code === undefined) return route.continue()
          proof = sent
          await route.abort()
        })
        await world.logInByCode(page, email)
        await press(page, 'Not now')
        const { session_challenge_code: code } = await until('the app to have the code', async () =>
          proof.session_challenge_code === undefined ? null : proof,
        )
        const visitor = world.service.as({ projectId: world.projectId, apiKey: '' }, world.origin)
        const prove = async (body: object) =>
          (await visitor.post('/users/verify-login', body, { authorization: undefined })).status
        for (const secret of [{}, { code_verifier: 'a'.repeat(43) }, { code_verifier: PKCE.code_challenge }]) {
          expect(await prove({ session_challenge_code: code, ...secret })).toBe(401)
        }
        const user = await world.userIdOf(email)
        expect(await world.sessionsOf(user)).toEqual(['email_code logout'])
        expect(await prove(proof)).toBe(200)
        expect(await prove(proof)).toBe(401)
        expect(await world.sessionsOf(user)).toEqual(['email_code logout', 'session_challenge null'])
      },
    )

    longTest('redirects only to an origin that the project allows', async () => {
      const other = await createProject(world.service.ctx, { name: 'Other', actor: 'operator' })
      await addOrigins(world.service.ctx, { projectId: other.projectId, origins: ['https://other.example'] })
      const statusFor = async (query: Record<string, string>) => (await world.service.get('/login', query)).status
      const after = { redirect_uri: 'https://other.example/after', ...PKCE }
      expect(await statusFor({ project_id: other.projectId, ...after })).toBe(200)
      expect(await statusFor({ project_id: world.projectId, ...after })).toBe(400)
      expect(await statusFor({ project_id: randomUUID() })).toBe(400)
      expect(await statusFor({ project_id: world.projectId, state: 'a'.repeat(513) })).toBe(400)
      expect(await statusFor({})).toBe(400)
      const page = await world.newPage()
      const answer = await page.goto(world.addressOf({ redirect_uri: 'https://evil.example/' }))
      expect(answer?.status()).toBe(400)
      expect(await page.locator('h1').textContent()).toBe('This login link does not work')
      expect(await page.locator('a, button, script').count()).toBe(0)
      expect(await accessibilityProblemsOn(page)).toEqual([])
    })

    test('does not work in a frame', async () => {
      const page = await world.newPage()
      await page.goto(world.app.origin)
      await page.evaluate((address) => {
        const frame = document.createElement('iframe')
        frame.src = address
        document.body.append(frame)
        return new Promise((resolve) => frame.addEventListener('load', resolve))
      }, world.addressOf())
      expect(await page.frames()[1]?.locator('main').count()).toBe(0)
    })
  })

  describe('after Google or Apple sent somebody back', () => {
    const visitor = () => world.service.as({ projectId: world.projectId, apiKey: '' }, world.origin)
    const stateOf = (state: object) => btoa(JSON.stringify(state))
    /** What an app does before it opens Google's page: it has a session challenge, and waits for it. */
    const beginInApp = async () => {
      const { json } = await visitor().post('/users/create-session-challenge', {}, { authorization: undefined })
      const redirect_uri = `${world.origin}/users/oauth/google-callback`
      const state = stateOf({ project_id: world.projectId, session_challenge_code: json.code, redirect_uri })
      return { code: String(json.code), state }
    }
    const addressOf = (query: Record<string, string>) =>
      `${world.origin}/users/oauth/google-callback?${new URLSearchParams(query)}`

    longTest(
      'the page says that this is not offered, and its link leads to a login of the app that began',
      async () => {
        const { code, state } = await beginInApp()
        const page = await world.newPage({ viewport: { width: 390, height: 844 } })
        const answer = await page.goto(addressOf({ state, code: '4/0Ab', scope: 'email', prompt: 'none' }))
        expect(answer?.status()).toBe(501)
        expect(await page.locator('h1').textContent()).toBe('Logging in with Google is not offered here')
        expect(await page.locator('li').allTextContents()).toEqual([
          'a code or a link that we mail you',
          'a passkey',
          'a wallet',
          'another device on which you are logged in',
        ])
        for (const colorScheme of ['light', 'dark'] as const) {
          await page.emulateMedia({ colorScheme })
          expect(await accessibilityProblemsOn(page)).toEqual([])
        }
        await page.getByRole('link', { name: 'Log in another way' }).click()
        await page.locator('#ways').waitFor()
        expect(new URL(page.url()).hash).toBe('')
        expect(await page.locator('#ways .quiet').first().textContent()).toStartWith(
          'There is no login with Google here.',
        )
        expect(await accessibilityProblemsOn(page)).toEqual([])
        const email = newAddress()
        await world.logInByCode(page, email)
        // Whoever made the link may be a stranger, so the user is asked.
        await page.locator('#ask').waitFor()
        const looked = await visitor().get('/users/session-challenge', { code })
        expect(looked.json).toMatchObject({ completed: false })
        await press(page, 'Yes, log it in')
        await page.getByText('The other device is logged in now.').waitFor()
        const session = await visitor().post(
          '/users/verify-login',
          { session_challenge_code: code },
          { authorization: undefined },
        )
        expect([session.status, session.json.user_id]).toEqual([200, await world.userIdOf(email)])
      },
    )

    longTest('a form that Apple posts from its own page gets the same', async () => {
      const { code, state } = await beginInApp()
      const page = await world.newPage()
      await page.goto(world.app.origin)
      await page.evaluate(
        ([action, value]) => {
          const form = document.createElement('form')
          Object.assign(form, { method: 'post', action })
          for (const [name, text] of Object.entries({ state: value, code: 'c1', id_token: 'eyJ.e30.x', user: '{}' })) {
            form.append(Object.assign(document.createElement('input'), { name, value: text }))
          }
          document.body.append(form)
          form.submit()
        },
        [`${world.origin}/users/oauth/apple-callback`, state] as const,
      )
      await page.getByRole('heading', { name: 'Logging in with Apple is not offered here' }).waitFor()
      expect(await page.getByRole('link').getAttribute('href')).toBe(
        `/login?project_id=${world.projectId}&instead_of=apple#session_challenge_code=${code}`,
      )
    })

    test('a state that no app of ours made gets the page without a link', async () => {
      const { code } = await beginInApp()
      const project_id = world.projectId
      const plain = await world.service.call('/users/oauth/google-callback')
      expect(plain.status).toBe(501)
      expect(plain.headers.get('content-security-policy')).toContain("default-src 'none'")
      expect(plain.text).not.toContain('<a ')
      const hostile = '"><script>alert(1)</script>'
      for (const state of [
        hostile,
        '%',
        stateOf({}),
        btoa('[]'),
        btoa('{'),
        stateOf({ project_id, session_challenge_code: 7 }),
        stateOf({ project_id, session_challenge_code: hostile }),
        stateOf({ project_id: hostile, session_challenge_code: code }),
        stateOf({ project_id: randomUUID(), session_challenge_code: code }),
        stateOf({ project_id, session_challenge_code: `${code}#https://evil.example` }),
        stateOf({ project_id, session_challenge_code: code, filler: 'a'.repeat(1_000) }),
      ]) {
        const { text } = await world.service.get('/users/oauth/google-callback', { state })
        expect({ state, text }).toEqual({ state, text: plain.text })
      }
      const elsewhere = stateOf({
        project_id,
        session_challenge_code: code,
        redirect_uri: 'https://evil.example/',
      })
      const { text } = await world.service.get('/users/oauth/google-callback', { state: elsewhere })
      expect(text).toContain('href="/login?')
      expect(text).not.toContain('evil.example')
    })
  })
})
