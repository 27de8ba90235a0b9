// React in real Chromium: the README's examples as pages of an app, the service, a worker and a chain. And what a
// server renders.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { createElement } from 'react'
import { renderToString } from 'react-dom/server'
import { type Address, verifyMessage } from 'viem'
import { Login, StrongroomProvider, useTransaction, useWallets } from '../../client/src/react/index.ts'
import { createUserSession, credentialsUrl } from '../../client/src/session.ts'
import { addReturnAddresses, removeReturnAddresses } from '../../src/identity/projects/settings.ts'
import { giveAuthenticator, type LoginWorld, newAddress, startLoginWorld, until } from '../e2e/login-world.ts'
import { fundedAccount, startChain, type TestChain } from '../support/chains.ts'
import { accessibilityProblemsOn, hasChromium, startChromium } from '../support/chromium.ts'
import { typeErrorsOf } from '../support/document-tools.ts'
import { ROOT } from '../support/imports.ts'
import { isLeftOut, isLong, longTest } from '../support/long.ts'
import { packClient } from '../support/packed-client.ts'
import { startExamplePage } from './example-page.ts'

const [inReact = '', inWagmi = '', ...others] = [
  ...readFileSync(join(ROOT, 'client/README.md'), 'utf8').matchAll(/^```tsx\n([\s\S]*?)^```$/gm),
].map(([, text = '']) => text)

const inLongRun = test.skipIf(isLeftOut('some of what the React package tells when something goes wrong'))

/** A page with two sessions of one project, without React. */
const TWO = `import { createUserSession } from 'strongroom-client/session'
for (const number of [1, 2]) {
  const session = createUserSession({ baseUrl: 'http://localhost:3000', projectId: 'YOUR PROJECT' })
  const [told, logIn, logOut] = ['p', 'button', 'button'].map((tag) => document.body.appendChild(document.createElement(tag)))
  logIn.textContent = 'Log in ' + number
  logOut.textContent = 'Log out ' + number
  logIn.onclick = () => session.logIn()
  logOut.onclick = () => session.logOut()
  session.subscribe(() => {
    const state = session.state()
    const who = { loading: 'loading', logged_out: state.error?.code ?? 'nobody', logged_in: state.user?.email }
    told.textContent = number + ': ' + who[state.status]
  })
  session.start()
}`

const PIN = '604913'
const FRIEND = fundedAccount(1).address

let client: Awaited<ReturnType<typeof packClient>>

// It takes seconds, and the tests of the suite import the sources.
beforeAll(async () => {
  if (isLong) client = await packClient()
})
afterAll(() => client?.remove())

longTest('the examples for React compile with strict options', async () => {
  expect(others).toEqual([])
  expect(await typeErrorsOf(client.folder, { 'react.tsx': inReact, 'wagmi.tsx': inWagmi })).toBe('')
})

test('a server renders that nothing is known yet, without a window', () => {
  const session = createUserSession({ baseUrl: 'https://wallets.example.com', projectId: crypto.randomUUID() })
  const Hooks = () => {
    const { wallets, error } = useWallets({ network: 'Ethereum' })
    return JSON.stringify([wallets, error, useTransaction(crypto.randomUUID())])
  }
  const children = [createElement(Login, { key: 'login' }), createElement(Hooks, { key: 'hooks' })]
  const html = renderToString(createElement(StrongroomProvider, { session, children }))
  expect(html).toContain('One moment…')
  expect(html.replaceAll('&quot;', '"')).toContain('[null,null,{"transaction":null,"error":null,"isSettled":false}]')
  expect('window' in globalThis).toBe(false)
})

test('the login has the words of the app, and needs a provider', () => {
  const session = createUserSession({ baseUrl: 'https://wallets.example.com', projectId: crypto.randomUUID() })
  const login = createElement(Login, { texts: { loading: 'Einen Moment…', logIn: 'Anmelden' }, className: 'login' })
  const html = renderToString(createElement(StrongroomProvider, { session }, login))
  for (const part of ['Einen Moment…', '>Anmelden</button>', 'class="login"']) expect(html).toContain(part)
  expect(() => renderToString(login)).toThrow('There must be a StrongroomProvider')
})

test('the calls of a session that nobody has begun are refused without a request', async () => {
  const session = createUserSession({ baseUrl: 'http://127.0.0.1:1', projectId: crypto.randomUUID() })
  await expect(session.client.wallets.list({ network: 'Ethereum' })).rejects.toMatchObject({ code: 'unauthorized' })
})

test('the address of the page of what opens the wallets has what the app gives, and nothing else', () => {
  const of = { baseUrl: 'https://wallets.example.com/custody/', projectId: 'some-id' }
  const page = 'https://wallets.example.com/custody/credentials?project_id=some-id'
  expect(credentialsUrl(of)).toBe(page)
  const redirectUri = 'https://app.example.com/?a=1&b=2'
  expect(credentialsUrl({ ...of, redirectUri, state: 's&t' })).toBe(
    `${page}&redirect_uri=https%3A%2F%2Fapp.example.com%2F%3Fa%3D1%26b%3D2&state=s%26t`,
  )
})

describe.skipIf(!hasChromium() || isLeftOut('an app with React in Chromium'))('in Chromium', () => {
  let world: LoginWorld
  let chain: TestChain
  let app: Awaited<ReturnType<typeof startExamplePage>>

  beforeAll(async () => {
    chain = await startChain('Ethereum')
    world = await startLoginWorld({ rpcUrls: { Ethereum: chain.rpcUrl } })
    app = await startPage(inReact)
  })
  afterAll(async () => {
    app?.stop()
    await world?.close()
    await chain?.stop()
  })

  const startPage = (text: string, more: Readonly<Record<string, string>> = {}) => {
    const replaced = { 'http://localhost:3000': world.origin, 'YOUR PROJECT': world.projectId, ...more }
    return startExamplePage({ folder: client.folder, text, replaced })
  }

  const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })
  const press = (page: Page, name: string) => button(page, name).click()
  const alertOf = (page: Page) =>
    until('an alert', async () => (await page.getByRole('alert').first().textContent()) || null)

  /** From the app by the login page and back. @returns the user's e-mail address */
  const logIn = async (page: Page, email = newAddress()): Promise<string> => {
    await press(page, 'Log in')
    await page.locator('#ways').waitFor()
    await world.logInByCode(page, email)
    const declined = button(page, 'Not now')
    await declined.or(button(page, 'Log out')).waitFor()
    if (await declined.isVisible()) await declined.click()
    await page.getByText(`You are logged in as ${email}.`).waitFor()
    return email
  }

  /** Nobody is logged in. */
  const isLoggedOut = (page: Page) =>
    page
      .locator('[aria-busy=false]')
      .filter({ has: button(page, 'Log in') })
      .waitFor()

  const openApp = async (at = app, page?: Page): Promise<Page> => {
    const opened = page ?? (await world.newPage())
    await opened.goto(at.origin)
    await isLoggedOut(opened)
    return opened
  }

  const makeWallet = async (page: Page): Promise<Address> => {
    await page.getByLabel('A PIN of six digits').fill(PIN)
    await press(page, 'Make a wallet')
    const address = await page.locator('code').textContent()
    await chain.fund(`0x${address?.slice(2)}`)
    return `0x${address?.slice(2)}`
  }

  const balanceOf = (address: Address) => chain.publicClient.getBalance({ address })

  /** The service is away for this page. */
  const takeServiceAway = async (page: Page) => {
    const path = `${world.origin}/**`
    await page.route(path, (route) => route.abort('connectionrefused'))
    return () => page.unroute(path)
  }

  test('somebody logs in by the keyboard alone, makes a wallet, pays, and sees the payment settled', async () => {
    const page = await world.newPage({ viewport: { width: 390, height: 844 } })
    const complaints: string[] = []
    page.on('console', (message) => complaints.push(message.text()))
    page.on('pageerror', (error) => complaints.push(String(error)))
    await page.goto(`${app.origin}/shop?item=7#details`)
    await isLoggedOut(page)
    expect(await accessibilityProblemsOn(page)).toEqual([])
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await page.locator('#ways').waitFor()
    const email = newAddress()
    await world.logInByCode(page, email)
    await press(page, 'Not now')
    await page.getByText(`You are logged in as ${email}.`).waitFor()
    expect(page.url()).toBe(`${app.origin}/shop?item=7#details`)

    await makeWallet(page)
    const before = await balanceOf(FRIEND)
    await page.getByLabel('To').fill(FRIEND)
    await page.getByLabel('Amount in wei').fill('7')
    await page.getByLabel('Your PIN').fill(PIN)
    await page.keyboard.press('Enter')
    await page.getByText('Payment: success').waitFor()
    expect((await balanceOf(FRIEND)) - before).toBe(7n)
    expect(await accessibilityProblemsOn(page)).toEqual([])
    expect(complaints.filter((text) => !text.includes('React DevTools'))).toEqual([])

    await page.getByLabel('To').fill(FRIEND)
    await page.getByLabel('Amount in wei').fill('7')
    await page.getByLabel('Your PIN').fill('918273')
    await press(page, 'Pay')
    await page.getByText('The credential is wrong.').waitFor()
  })

  test('a login stays over a reload, with no access token in the browser, and ends with its button', async () => {
    const page = await openApp()
    const email = await logIn(page)
    const kept = await page.evaluate(() =>
      JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie]),
    )
    expect(JSON.parse(kept)[0]).toEqual({})
    expect(kept).toContain('refresh_token')
    expect(kept).not.toContain('eyJ')
    await page.reload()
    await page.getByText(`You are logged in as ${email}.`).waitFor()

    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await isLoggedOut(page)
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Log in')
    expect(await page.evaluate(() => JSON.stringify({ ...sessionStorage }))).toBe('{}')
    const user = await world.userIdOf(email)
    const ended = await until('the end of the session', async () => {
      const sessions = await world.sessionsOf(user)
      return sessions.every((each) => each.endsWith('logout')) ? sessions : null
    })
    expect(ended).toEqual(['email_code logout', 'session_challenge logout'])
    await page.reload()
    await isLoggedOut(page)
    expect(await page.getByRole('alert').first().textContent()).toBe('')
  })

  test('an app with several pages says to which one its users come back, and the project lists it', async () => {
    const elsewhere = await startPage(inReact, {
      'YOUR PROJECT': `${world.projectId}', redirectUri: location.origin + '/back`,
    })
    const { projectId } = world
    const addresses = [`${elsewhere.origin}/back`]
    await addReturnAddresses(world.service.ctx, { projectId, addresses })
    try {
      const page = await world.newPage()
      await page.goto(`${elsewhere.origin}/shop?item=1`)
      await logIn(page)
      expect(page.url()).toBe(`${elsewhere.origin}/back`)
      // This app comes back to the page where it was.
      await page.goto(app.origin)
      await press(page, 'Log in')
      await page.getByText('This login link does not work').waitFor()
    } finally {
      await removeReturnAddresses(world.service.ctx, { projectId, addresses })
      elsewhere.stop()
    }
  })

  test('a button leads to the page of what opens the wallets, and back to the same page', async () => {
    const page = await openApp()
    const email = await logIn(page)
    await makeWallet(page)
    const here = page.url()
    await press(page, 'PIN and recovery code')
    await page.locator('#ways').waitFor()
    await world.logInByCode(page, email)
    await page.locator('#credentials').waitFor()
    await press(page, 'Back')
    await page.getByText(`You are logged in as ${email}.`).waitFor()
    expect(page.url()).toBe(here)
  })

  test('a passkey that was made at the login opens the app the next time', async () => {
    const page = await openApp()
    await giveAuthenticator(page)
    await press(page, 'Log in')
    await page.locator('#ways').waitFor()
    const email = newAddress()
    await world.logInByCode(page, email)
    await press(page, 'Add a passkey')
    await page.getByText(`You are logged in as ${email}.`).waitFor()
    await press(page, 'Log out')
    await isLoggedOut(page)
    await press(page, 'Log in')
    await press(page, 'Use a passkey')
    await page.getByText(`You are logged in as ${email}.`).waitFor()
  })

  test("with `keep: 'page'` nothing is kept, and a reload ends the login", async () => {
    const own = await startPage(inReact, { "projectId: '": "keep: 'page', projectId: '" })
    try {
      const page = await openApp(own)
      await logIn(page)
      expect(await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }]))).toBe('[{},{}]')
      await page.reload()
      await isLoggedOut(page)
    } finally {
      own.stop()
    }
  })

  test('two sessions in a page keep a login each, over a reload, and end alone', async () => {
    const two = await startPage(TWO)
    try {
      const page = await world.newPage()
      await page.goto(two.origin)
      const shows = (number: number, text: string) => page.getByText(`${number}: ${text}`, { exact: true }).waitFor()
      const emails = [newAddress(), newAddress()] as const
      for (const [index, email] of emails.entries()) {
        await shows(index + 1, 'nobody')
        await press(page, `Log in ${index + 1}`)
        await page.locator('#ways').waitFor()
        await world.logInByCode(page, email)
        const declined = button(page, 'Not now')
        await declined.or(page.getByText(`${index + 1}: ${email}`, { exact: true })).waitFor()
        if (await declined.isVisible()) await declined.click()
        await shows(index + 1, email)
      }
      await shows(1, emails[0])
      await page.reload()
      for (const [index, email] of emails.entries()) await shows(index + 1, email)
      await press(page, 'Log out 1')
      await shows(1, 'nobody')
      await page.reload()
      await shows(1, 'nobody')
      await shows(2, emails[1])
    } finally {
      two.stop()
    }
  })

  test('a duplicated tab begins logged out, and its original goes on', async () => {
    const page = await openApp()
    const email = await logIn(page)
    const [copy] = await Promise.all([
      page.context().waitForEvent('page'),
      page.evaluate(() => void open(location.href)),
    ])
    expect(await copy.evaluate(() => JSON.stringify({ ...sessionStorage }))).toContain('refresh_token')
    await isLoggedOut(copy)
    await page.reload()
    await page.getByText(`You are logged in as ${email}.`).waitFor()
  })

  test('an access token is renewed before it expires, and when it is refused', async () => {
    const page = await world.newPage()
    await page.clock.install()
    await openApp(app, page)
    await logIn(page)
    await page.getByLabel('A PIN of six digits').waitFor()
    const isRefresh = (request: { url(): string }) => request.url().endsWith('/users/refresh-token')
    await page.clock.fastForward('24:00:00')
    const [refreshed] = await Promise.all([page.waitForRequest(isRefresh), makeWallet(page)])
    expect((await refreshed.response())?.status()).toBe(200)

    let count = 0
    await page.route(`${world.origin}/transactions/**`, (route) => {
      count += 1
      const headers = route.request().headers()
      return route.continue(count === 1 ? { headers: { ...headers, authorization: 'Bearer other' } } : {})
    })
    await page.getByLabel('To').fill(FRIEND)
    await page.getByLabel('Amount in wei').fill('1')
    await page.getByLabel('Your PIN').fill(PIN)
    await Promise.all([page.waitForRequest(isRefresh), press(page, 'Pay')])
    await page.getByText(/^Payment: /).waitFor()
  })

  test('a logout after the access token has expired ends the session', async () => {
    const page = await world.newPage()
    await page.clock.install()
    await openApp(app, page)
    const user = await world.userIdOf(await logIn(page))
    await page.clock.fastForward('24:00:00')
    const [refreshed] = await Promise.all([
      page.waitForResponse((response) => response.url().endsWith('/users/refresh-token')),
      page.waitForResponse((response) => response.url().endsWith('/users/logout')),
      press(page, 'Log out'),
    ])
    expect(refreshed.status()).toBe(200)
    await isLoggedOut(page)
    expect(await page.getByRole('alert').first().textContent()).toBe('')
    expect(await world.sessionsOf(user)).toEqual(['email_code logout', 'session_challenge logout'])
  })

  test('a page from before the login that the browser has kept is logged in, too', async () => {
    const browser = await startChromium({ keepsPages: true })
    try {
      const page = await browser.newPage()
      await openApp(app, page)
      await page.evaluate(() => document.documentElement.setAttribute('data-kept', ''))
      const email = await logIn(page)
      const isKept = () => page.evaluate(() => document.documentElement.hasAttribute('data-kept'))
      for (let steps = 0; !(await isKept()); steps += 1) {
        expect(steps).toBeLessThan(5)
        await page.goBack({ waitUntil: 'commit' })
      }
      await page.getByText(`You are logged in as ${email}.`).waitFor()
    } finally {
      await browser.close()
    }
  })

  describe('tells what went wrong', () => {
    test('if the user comes back without logging in', async () => {
      const page = await openApp()
      await press(page, 'Log in')
      await page.locator('#ways').waitFor()
      await page.goBack()
      expect(await alertOf(page)).toBe('You came back without logging in.')
      expect(await accessibilityProblemsOn(page)).toEqual([])
      await logIn(page)
    })

    inLongRun('if the user comes back to the page as the browser has kept it', async () => {
      const browser = await startChromium({ keepsPages: true })
      try {
        const page = await browser.newPage()
        await openApp(app, page)
        await page.evaluate(() => document.documentElement.setAttribute('data-kept', ''))
        await press(page, 'Log in')
        await page.locator('#ways').waitFor()
        // A page that was kept does not load again.
        await page.goBack({ waitUntil: 'commit' })
        await page.locator('[data-kept]').waitFor()
        expect(await alertOf(page)).toBe('You came back without logging in.')
        await isLoggedOut(page)
      } finally {
        await browser.close()
      }
    })

    inLongRun('if the session has ended, at the next call and after a reload', async () => {
      const page = await openApp()
      await logIn(page)
      await page.getByLabel('A PIN of six digits').waitFor()
      await world.endSessions()
      await page.getByLabel('A PIN of six digits').fill(PIN)
      await press(page, 'Make a wallet')
      expect(await alertOf(page)).toBe('You were logged out. Log in again.')
      await logIn(page)
      await world.endSessions()
      await page.reload()
      expect(await alertOf(page)).toBe('You were logged out. Log in again.')
      await logIn(page)
    })

    test('if the service is away at the login, which is possible once it is back', async () => {
      const page = await openApp()
      const bringBack = await takeServiceAway(page)
      await press(page, 'Log in')
      expect(await alertOf(page)).toBe('The service was not reached. Check your connection, and try again.')
      expect(new URL(page.url()).origin).toBe(app.origin)
      await bringBack()
      await logIn(page)
    })

    inLongRun('if the service is away after a reload, and then continues the session without a login', async () => {
      const page = await openApp()
      const email = await logIn(page)
      const bringBack = await takeServiceAway(page)
      await page.reload()
      expect(await alertOf(page)).toBe('The service was not reached. Check your connection, and try again.')
      await bringBack()
      await press(page, 'Log in')
      await page.getByText(`You are logged in as ${email}.`).waitFor()
    })

    inLongRun('if the service is away at the logout, and the session is forgotten all the same', async () => {
      const page = await openApp()
      await logIn(page)
      const bringBack = await takeServiceAway(page)
      await press(page, 'Log out')
      expect(await alertOf(page)).toBe('The service was not reached. Check your connection, and try again.')
      await bringBack()
      await page.reload()
      await isLoggedOut(page)
    })

    inLongRun('if the service is away while a payment is followed, and then goes on following', async () => {
      const page = await openApp()
      await logIn(page)
      await makeWallet(page)
      await chain.setAutomine(false)
      try {
        await page.getByLabel('To').fill(FRIEND)
        await page.getByLabel('Amount in wei').fill('1')
        await page.getByLabel('Your PIN').fill(PIN)
        await press(page, 'Pay')
        await page.getByText('Payment: pending').waitFor()
        const bringBack = await takeServiceAway(page)
        await page.getByText(/^The service at .* did not answer\.$/).waitFor()
        await bringBack()
      } finally {
        await chain.setAutomine(true)
        await chain.mine()
      }
      await page.getByText('Payment: success').waitFor()
      expect(await page.getByText(/^The service at .* did not answer\.$/).count()).toBe(0)
    })

    test('if somebody else has begun the login, whose code is not used', async () => {
      const stranger = await openApp()
      const answers: string[] = []
      stranger.on('framenavigated', (frame) => answers.push(frame.url()))
      await stranger.route(`${world.origin}/users/verify-login`, (route) =>
        route.request().postData()?.includes('session_challenge_code') ? route.abort() : route.continue(),
      )
      await press(stranger, 'Log in')
      await stranger.locator('#ways').waitFor()
      const email = newAddress()
      await world.logInByCode(stranger, email)
      await press(stranger, 'Not now')
      await alertOf(stranger)
      const link = answers.find((url) => url.includes('session_challenge_code=')) ?? ''

      const page = await openApp()
      await page.goto('about:blank')
      const asked: string[] = []
      page.on('request', (request) => asked.push(request.url()))
      await page.goto(link)
      expect(await alertOf(page)).toBe('This login did not begin here. Log in again.')
      expect(page.url()).not.toContain('session_challenge_code')
      expect(asked.filter((url) => url.endsWith('/users/verify-login'))).toEqual([])
      expect(await world.sessionsOf(await world.userIdOf(email))).toEqual(['email_code logout'])
    })
  })

  test('wagmi pays, calls a contract and signs with a wallet of the user, who types the PIN each time', async () => {
    const token = await chain.deploy('TestToken', ['Test', 'TST', 18])
    const more = {
      'http://localhost:8545': chain.rpcUrl,
      '0x5FbDB2315678afecb367f032d93F642f64180aa3': token.address,
    }
    const wagmi = await startPage(inWagmi, more)
    try {
      const page = await world.newPage({ viewport: { width: 390, height: 844 } })
      await openApp(app, page)
      const email = await logIn(page)
      const wallet = await makeWallet(page)
      await chain.write({ contract: token, functionName: 'mint', args: [wallet, 9n] })
      await openApp(wagmi, page)
      await logIn(page, email)
      await press(page, `Use ${wallet}`)

      const sign = async (name: string) => {
        await press(page, name)
        const dialog = page.getByRole('dialog', { name: 'Sign with your wallet' })
        await dialog.getByLabel('Your PIN').fill(PIN)
        await page.keyboard.press('Enter')
      }
      const before = await balanceOf(FRIEND)
      await sign('Pay 7 wei')
      await page.getByText('success').waitFor()
      expect((await balanceOf(FRIEND)) - before).toBe(7n)

      await sign('Send 5 tokens')
      const tokens = () => chain.publicClient.readContract({ ...token, functionName: 'balanceOf', args: [FRIEND] })
      await until('the tokens', async () => ((await tokens()) === 5n ? 5n : null))

      await sign('Sign hello')
      const signature = await page.getByRole('status').locator('code').textContent()
      expect(await verifyMessage({ address: wallet, message: 'hello', signature: `0x${signature?.slice(2)}` })).toBe(
        true,
      )

      await press(page, 'Sign hello')
      await page.getByRole('dialog').waitFor()
      expect(await accessibilityProblemsOn(page)).toEqual([])
      await page.keyboard.press('Escape')
      await page.getByText('User rejected the request.').waitFor()
      expect(await accessibilityProblemsOn(page)).toEqual([])
    } finally {
      wagmi.stop()
    }
  })
})
