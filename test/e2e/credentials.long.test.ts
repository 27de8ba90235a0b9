// The page on which users see and change what opens their wallets, in real Chromium.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { randomBytes, randomUUID } from 'node:crypto'
import type { Page } from 'playwright-core'
import { createProject } from '../../src/operators/projects.ts'
import { startChain, type TestChain } from '../support/chains.ts'
import { hasChromium } from '../support/chromium.ts'
import {
  bePasswordManager,
  checkLooks,
  giveAuthenticator,
  type LoginWorld,
  newAddress,
  startLoginWorld,
} from './login-world.ts'

const network = 'Ethereum'
const PIN = '493817'
const NEW = '604913'
const LATER = '815273'
const WRONG = '000000'

let world: LoginWorld
let chain: TestChain

type Person = { readonly email: string; readonly userId: string; readonly address: string }

const press = (on: Page, name: string | RegExp) =>
  on.getByRole('button', { name, exact: true }).locator('visible=true').click()
const isShown = (on: Page, view: string) => on.locator(`#${view}`).waitFor()
const status = (on: Page, text: string) => on.locator('#status', { hasText: text }).waitFor()
const problem = (on: Page, text: string) => on.locator('#problem', { hasText: text }).waitFor()
const fill = (on: Page, label: string, text: string) =>
  on.getByLabel(label, { exact: true }).locator('visible=true').fill(text)
const waysOn = (on: Page) => on.locator('#secrets li > span').allInnerTexts()

/** A user with a wallet, before their first login. */
const newPerson = async (): Promise<Person> => {
  const email = newAddress()
  const { json } = await world.service.post('/users/login-with-email', { email }, { authorization: undefined })
  const { address } = await world.service.newWallet({ network, pin: PIN, ownerId: json.user_id })
  return { email, userId: json.user_id, address }
}

const addressOf = (query: Readonly<Record<string, string>> = {}) =>
  `${world.origin}/credentials?${new URLSearchParams({ project_id: world.projectId, ...query })}`

const open = async ({ email }: Person, on?: Page, address = addressOf()): Promise<Page> => {
  const opened = on ?? (await world.newPage())
  await opened.goto(address)
  await isShown(opened, 'ways')
  await world.logInByCode(opened, email)
  await isShown(opened, 'credentials')
  return opened
}

const openByPasskey = async (on: Page): Promise<void> => {
  await on.goto(addressOf())
  await isShown(on, 'ways')
  await press(on, 'Use a passkey')
  await isShown(on, 'credentials')
}

const sign = async ({ address }: Person, credential: object): Promise<unknown> => {
  const unsigned_transaction = {
    to: address,
    gasLimit: '21000',
    nonce: '0',
    maxFeePerGas: '1',
    maxPriorityFeePerGas: '0',
  }
  const body = { network, signer_wallet_address: address, unsigned_transaction, ...credential }
  const answer = await world.service.post('/transactions/sign', body)
  return answer.status === 200 ? 200 : answer.json.code
}

const codeOn = async (on: Page) => (await on.locator('#recovery-code').allInnerTexts()).join()

/** Types the two groups that the page asks for. */
const typeGroups = async (on: Page, code: string, change: (groups: string) => string = (groups) => groups) => {
  const label = await on.locator('#code-check-label').allInnerTexts()
  const names = ['first', 'second', 'third', 'fourth', 'fifth', 'sixth', 'seventh', 'eighth']
  const groups = code.split('-').filter((_group, place) => label.join().includes(names[place] ?? ''))
  expect(groups).toHaveLength(2)
  await on.locator('#code-check-field').fill(change(groups.join(' ')))
  await press(on, 'Check it')
}

const makeCode = async (on: Page, button = 'Make a recovery code'): Promise<string> => {
  await press(on, button)
  await fill(on, 'PIN of your wallet', PIN)
  await press(on, 'Make the code')
  await isShown(on, 'code-shown')
  return codeOn(on)
}

const keepCode = async (on: Page, button?: string): Promise<string> => {
  const code = await makeCode(on, button)
  await press(on, 'I have it')
  await typeGroups(on, code)
  await status(on, 'Your recovery code is ready.')
  return code
}

const setPin = async (on: Page, input: { readonly pin: string; readonly again?: string }) => {
  await fill(on, 'New PIN', input.pin)
  await fill(on, 'New PIN again', input.again ?? input.pin)
}

const newCodeOf = async ({ address }: Person): Promise<string> =>
  (await world.service.post('/wallets/recovery-code', { network, address, user_pin: PIN })).json.recovery_code

const secretsOf = async ({ address }: Person): Promise<string[]> =>
  (await world.service.get('/wallets/user-secrets', { network, address })).json.map(
    ({ kind }: { kind: string }) => kind,
  )

/** What is in the page, also in its fields, and what the browser keeps of it. */
const leftIn = (on: Page): Promise<string> =>
  on.evaluate(() => {
    const fields = [...document.querySelectorAll('input, output')].map((field) => Reflect.get(field, 'value'))
    const kept = [localStorage, sessionStorage].map((store) => JSON.stringify(store))
    return [document.documentElement.outerHTML, ...fields, ...kept, location.href, JSON.stringify(history.state)].join(
      '\n',
    )
  })

describe.skipIf(!hasChromium())('the page of what opens the wallets', () => {
  beforeAll(async () => {
    chain = await startChain(network)
    world = await startLoginWorld({ rpcUrls: { [network]: chain.rpcUrl } })
  })
  afterAll(async () => {
    await world?.close()
    await chain?.stop()
  })

  test('a user makes a code, signs with it, changes the PIN, forgets it, and comes back', async () => {
    const person = await newPerson()
    const on = await world.newPage()
    const addresses: string[] = []
    const said: string[] = []
    on.on('request', (request) => addresses.push(request.url()))
    on.on('console', (message) => said.push(message.text()))
    await open(person, on)
    expect(await on.title()).toBe('What opens your wallets at Test')
    expect(await waysOn(on)).toEqual(['Your PIN'])
    await on.getByText('Only the PIN opens your wallets.').waitFor()
    expect(await on.getByRole('button', { name: 'I do not know my PIN' }).isVisible()).toBe(false)
    await checkLooks(on)

    await press(on, 'Make a recovery code')
    await checkLooks(on)
    await press(on, 'Make the code')
    await problem(on, 'Your PIN has six digits.')
    await fill(on, 'PIN of your wallet', WRONG)
    await press(on, 'Make the code')
    await problem(on, 'That PIN is wrong.')
    expect(await secretsOf(person)).toEqual([])
    await press(on, 'Do not change anything')
    const code = await makeCode(on)
    expect(code).toMatch(/^(?:[0-9A-Z]{4}-){7}[0-9A-Z]{4}$/)
    await checkLooks(on)
    await press(on, 'I have it')
    await checkLooks(on)
    // It is not in the page while the user shows that they have kept it.
    expect(await leftIn(on)).not.toContain(code)
    await typeGroups(on, code, (groups) => groups.replace(/.$/, (last) => (last === 'Q' ? 'P' : 'Q')))
    await problem(on, 'These are not the two groups.')
    await press(on, 'Show the code again')
    expect(await codeOn(on)).toBe(code)
    await press(on, 'I have it')
    await typeGroups(on, code, (groups) => groups.toLowerCase())
    await status(on, 'Your recovery code is ready.')
    expect(await waysOn(on)).toEqual(['Your PIN', expect.stringMatching(/^Recovery code, made /)])
    await checkLooks(on)
    expect(await sign(person, { user_secret: code })).toBe(200)

    await press(on, 'Change the PIN')
    await checkLooks(on)
    await setPin(on, { pin: NEW, again: LATER })
    await fill(on, 'PIN until now', PIN)
    await press(on, 'Set the new PIN')
    await problem(on, 'This is not the same PIN as above.')
    expect(await on.evaluate(() => document.activeElement?.id)).toBe('new-pin-again')
    for (const [pin, sentence] of [
      ['12345', 'The new PIN has six digits.'],
      ['111111', 'This PIN is easy to guess. Choose another one.'],
      [PIN, 'This is the PIN that you have now.'],
    ] as const) {
      await setPin(on, { pin })
      await press(on, 'Set the new PIN')
      await problem(on, sentence)
      expect(await on.locator('#new-pin-first').getAttribute('aria-invalid')).toBe('true')
    }
    await checkLooks(on)
    await setPin(on, { pin: NEW })
    await press(on, 'Set the new PIN')
    await status(on, 'The new PIN is set.')
    expect([await sign(person, { user_pin: NEW }), await sign(person, { user_pin: PIN })]).toEqual([
      200,
      'INVALID_SECRET',
    ])

    // Nobody knows the PIN any more, and wrong ones have locked the wallets.
    for (let tries = 0; tries < 4; tries += 1) await sign(person, { user_pin: WRONG })
    expect(await sign(person, { user_pin: NEW })).toBe('TOO_MANY_FAILED_ATTEMPTS')
    await open(person, on)
    await press(on, 'I do not know my PIN')
    await setPin(on, { pin: LATER })
    await fill(on, 'Recovery code of your wallet', code)
    await press(on, 'Set the new PIN')
    await status(on, 'The new PIN is set.')
    expect(await sign(person, { user_pin: LATER })).toBe(200)

    const left = await leftIn(on)
    for (const secret of [code, code.replaceAll('-', ''), PIN, NEW, LATER]) {
      expect([addresses.join(), said.join(), left].filter((text) => text.includes(secret))).toEqual([])
    }
    expect(addresses.filter((address) => !address.startsWith(world.origin))).toEqual([])
    expect(await on.evaluate(() => history.length)).toBeLessThanOrEqual(3)
  })

  test('a passkey is added, opens and sets a new PIN after a reload, and does not remove itself', async () => {
    const person = await newPerson()
    const on = await world.newPage()
    await bePasswordManager(on, 'prototype')
    await giveAuthenticator(on, { hasPrf: true })
    await open(person, on)
    await press(on, 'Let a passkey open them')
    await checkLooks(on)
    await fill(on, 'PIN of your wallet', PIN)
    await press(on, 'Let a passkey open them')
    await status(on, 'The passkey opens your wallets from now on.')
    expect(await waysOn(on)).toEqual(['Your PIN', expect.stringMatching(/^A passkey, since /)])
    await checkLooks(on)
    await openByPasskey(on)
    await press(on, 'I do not know my PIN')
    await setPin(on, { pin: NEW })
    await press(on, 'Use a passkey')
    await status(on, 'The new PIN is set.')
    expect(await sign(person, { user_pin: NEW })).toBe(200)
    await press(on, /^Remove the passkey of /)
    await checkLooks(on)
    await press(on, 'Use a passkey')
    await problem(on, 'The passkey cannot remove itself. Confirm it in another way.')
    expect(await secretsOf(person)).toEqual(['passkey'])
    await fill(on, 'PIN of your wallet', NEW)
    await press(on, 'Remove it')
    await status(on, 'The passkey opens your wallets no more.')
    expect(await secretsOf(person)).toEqual([])
  })

  test('a passkey of somebody else on the same device, or one that computes nothing, is not added', async () => {
    const [person, other] = [await newPerson(), await newPerson()]
    const on = await world.newPage()
    await giveAuthenticator(on, { hasPrf: true })
    await open(other, on)
    await press(on, 'Let a passkey open them')
    await fill(on, 'PIN of your wallet', PIN)
    await press(on, 'Let a passkey open them')
    await status(on, 'The passkey opens')
    // The user has a passkey on another device.
    const elsewhere = await world.newPage()
    await giveAuthenticator(elsewhere)
    await open(person, elsewhere)
    await press(elsewhere, 'Let a passkey open them')
    await fill(elsewhere, 'PIN of your wallet', PIN)
    await press(elsewhere, 'Let a passkey open them')
    await problem(elsewhere, 'This passkey cannot open wallets: this device or this browser does not support it.')
    // Otherwise the browser suggests the other passkey at the e-mail field, and the authenticator confirms it at once.
    await on.evaluate(() => localStorage.clear())
    await open(person, on)
    await press(on, 'Let a passkey open them')
    await fill(on, 'PIN of your wallet', PIN)
    await press(on, 'Let a passkey open them')
    await problem(on, 'That passkey belongs to somebody else’s login. Choose one of yours.')
    expect(await secretsOf(person)).toEqual([])
  })

  test('nobody removes the last way: a code does not remove itself, and the PIN has no button', async () => {
    const person = await newPerson()
    const code = await newCodeOf(person)
    const on = await open(person)
    expect(await on.getByRole('button', { name: /^Remove/ }).count()).toBe(1)
    await press(on, /^Remove the recovery code of /)
    await press(on, 'Use your recovery code')
    await fill(on, 'Recovery code of your wallet', code)
    await press(on, 'Remove it')
    await problem(on, 'The recovery code cannot remove itself. Confirm it in another way.')
    expect(await secretsOf(person)).toEqual(['recovery_code'])
    await press(on, 'Use the PIN')
    await fill(on, 'PIN of your wallet', PIN)
    await press(on, 'Remove it')
    await status(on, 'The recovery code opens your wallets no more.')
    expect(await sign(person, { user_secret: code })).toBe('INVALID_SECRET')
  })

  test('a stolen access token alone adds, removes and changes nothing, however fresh its login is', async () => {
    const person = await newPerson()
    const code = await newCodeOf(person)
    const on = await world.newPage()
    const bearer = on.waitForRequest('**/credentials/wallet')
    await open(person, on)
    const token = ((await (await bearer).headerValue('authorization')) ?? '').replace('Bearer ', '')
    const thief = world.service.as({ projectId: world.projectId, apiKey: token })
    const of = { network, address: person.address }
    const passkey = { passkey_id: 'key-1', passkey_secret: randomBytes(32).toString('base64url') }
    const theirs = await newCodeOf(await newPerson())
    for (const credential of [
      {},
      { user_pin: '' },
      { user_pin: WRONG },
      { user_secret: theirs },
      { developer_secret: 'testnet-secret' },
    ]) {
      for (const [path, body] of [
        ['recovery-code', credential],
        ['recovery-code/remove', credential],
        ['passkey-secret', { ...passkey, ...credential }],
        ['change-user-pin', { new_user_pin: NEW, ...credential }],
      ] as const) {
        const answer = await thief.post(`/wallets/${path}`, { ...of, ...body })
        expect([400, 403]).toContain(answer.status)
      }
    }
    expect(await secretsOf(person)).toEqual(['recovery_code'])
    expect(await sign(person, { user_secret: code })).toBe(200)
    const nobody = await fetch(`${world.origin}/credentials/wallet`, {
      headers: { 'x-walletkit-project-id': world.projectId },
    })
    expect(nobody.status).toBe(401)
    const developer = await world.service.get('/credentials/wallet')
    expect([developer.status, developer.json.code]).toEqual([403, 'user_session_required'])
  })

  test('wrong codes are no guesses at the PIN', async () => {
    const person = await newPerson()
    await newCodeOf(person)
    const wrong = await newCodeOf(await newPerson())
    const on = await open(person)
    await press(on, 'I do not know my PIN')
    for (let tries = 0; tries < 7; tries += 1) {
      await setPin(on, { pin: NEW })
      await fill(on, 'Recovery code of your wallet', wrong)
      const answer = on.waitForResponse('**/wallets/change-user-pin')
      await press(on, 'Set the new PIN')
      expect((await (await answer).json()).code).toBe('INVALID_SECRET')
      await problem(on, 'That recovery code is wrong. A newer one may have replaced it.')
    }
    expect(await sign(person, { user_pin: PIN })).toBe(200)
  })

  test('two windows at once: the second says what happened before, and shows what is there', async () => {
    const person = await newPerson()
    await newCodeOf(person)
    const [first, second] = [await open(person), await open(person)]
    for (const on of [first, second]) {
      await press(on, /^Remove the recovery code of /)
      await fill(on, 'PIN of your wallet', PIN)
    }
    await press(first, 'Remove it')
    await status(first, 'The recovery code opens your wallets no more.')
    await press(second, 'Remove it')
    await problem(second, 'Something else was changed in the meantime, in another window or on another device.')
    expect(await waysOn(second)).toEqual(['Your PIN'])
    await checkLooks(second)

    // A code that another window replaces while the user writes it down.
    const replaced = await makeCode(first)
    const kept = await keepCode(second)
    await press(first, 'I have it')
    await typeGroups(first, replaced)
    await problem(first, 'This code opens nothing any more: it was replaced or removed since.')
    expect([await sign(person, { user_secret: replaced }), await sign(person, { user_secret: kept })]).toEqual([
      'INVALID_SECRET',
      200,
    ])

    // A new PIN ends the other session, and what was typed there is gone.
    await press(second, 'Change the PIN')
    await setPin(second, { pin: LATER })
    await fill(second, 'PIN until now', PIN)
    await press(first, 'Change the PIN')
    await setPin(first, { pin: NEW })
    await fill(first, 'PIN until now', PIN)
    await press(first, 'Set the new PIN')
    await status(first, 'The new PIN is set.')
    await press(second, 'Set the new PIN')
    await isShown(second, 'ways')
    await problem(second, 'You are logged out. Log in again.')
    for (const pin of [PIN, LATER]) expect(await leftIn(second)).not.toContain(pin)
    expect(await sign(person, { user_pin: NEW })).toBe(200)
  })

  test('a page that stayed open asks for a fresh login before a change', async () => {
    const person = await newPerson()
    const on = await world.newPage()
    await on.clock.install()
    await open(person, on)
    await press(on, 'Make a recovery code')
    await fill(on, 'PIN of your wallet', PIN)
    await on.clock.fastForward('10:01')
    await press(on, 'Make the code')
    await isShown(on, 'ways')
    await problem(on, 'This needs a fresh login: log in again, and then repeat it.')
    expect(await leftIn(on)).not.toContain(PIN)
    expect(await secretsOf(person)).toEqual([])
    expect(await world.sessionsOf(person.userId)).toEqual(['email_code logout'])
  })

  test('the keyboard alone is enough', async () => {
    const person = await newPerson()
    const on = await open(person)
    expect(await on.evaluate(() => document.activeElement?.id)).toBe('credentials-title')
    for (const key of ['Tab', 'Enter']) await on.keyboard.press(key)
    await isShown(on, 'prove')
    expect(await on.evaluate(() => document.activeElement?.id)).toBe('prove-title')
    for (const key of ['Tab', ...PIN, 'Enter']) await on.keyboard.press(key)
    await isShown(on, 'code-shown')
    const code = await codeOn(on)
    for (const key of ['Tab', 'Tab', 'Tab', 'Enter']) await on.keyboard.press(key)
    await isShown(on, 'code-check')
    expect(await on.evaluate(() => document.activeElement?.id)).toBe('code-check-field')
    await typeGroups(on, code)
    await status(on, 'Your recovery code is ready.')
  })

  test('leaves nothing behind when the page is left or goes back to the app', async () => {
    const person = await newPerson()
    const on = await open(
      person,
      undefined,
      addressOf({ redirect_uri: `${world.app.origin}/back?x=1`, state: 's&t=1' }),
    )
    const code = await makeCode(on)
    const left = await on.evaluate(() => {
      window.dispatchEvent(new PageTransitionEvent('pagehide'))
      return document.documentElement.outerHTML
    })
    expect(left).not.toContain(code)
    await press(on, 'I have it')
    await typeGroups(on, code)
    await press(on, 'Back')
    await on.waitForURL(`${world.app.origin}/back**`)
    expect(Object.fromEntries(new URL(on.url()).searchParams)).toEqual({ x: '1', state: 's&t=1' })
    expect(world.app.addresses.join()).not.toContain(code)
    expect(await world.sessionsOf(person.userId)).toEqual(['email_code logout'])
    // Who does not log in goes back in the same way, and without a state exactly to the app's address.
    await on.goto(addressOf({ redirect_uri: `${world.app.origin}/other` }))
    await isShown(on, 'ways')
    await press(on, 'Go back')
    await on.waitForURL(`${world.app.origin}/other`)
  })

  test('the login page leads there and back, also for a user without a wallet', async () => {
    const person = await newPerson()
    const on = await world.newPage()
    await world.openLogin({}, on)
    await world.logInByCode(on, person.email)
    await isShown(on, 'account')
    await checkLooks(on)
    await press(on, 'What opens them')
    await isShown(on, 'credentials')
    await press(on, 'Back')
    await isShown(on, 'account')
    await press(on, 'Log out')
    await world.logInByCode(on, newAddress())
    await isShown(on, 'account')
    await press(on, 'What opens them')
    await isShown(on, 'credentials-none')
    await checkLooks(on)
    await press(on, 'Back')
    await isShown(on, 'account')
  })

  test('a project’s name is text, whatever it contains', async () => {
    const markup = `<img src=x onerror="document.title=1">`
    const project = await createProject(world.service.ctx, { name: markup, actor: 'operator' })
    // As it could be named earlier.
    await world.service.database.sql`update projects set name = ${`${markup}\u202e`} where id = ${project.projectId}`
    const name = `${markup}\\u{202e}`
    const on = await world.newPage()
    await on.goto(addressOf({ project_id: project.projectId }))
    await isShown(on, 'ways')
    expect(await on.title()).toBe(`What opens your wallets at ${name}`)
    expect(await on.locator('img').count()).toBe(0)
    expect((await on.locator('#ways bdi').allInnerTexts())[0]).toBe(name)
  })

  test('cannot be framed, also not by the app', async () => {
    const on = await world.newPage()
    await on.goto(`${world.app.origin}/frame`)
    const refused: string[] = []
    on.on('console', (message) => refused.push(message.text()))
    await on.evaluate((src) => {
      const frame = document.createElement('iframe')
      frame.src = src
      document.body.append(frame)
      return new Promise((resolve) => frame.addEventListener('load', resolve))
    }, addressOf())
    expect(refused.join()).toContain("frame-ancestors 'none'")
    expect(await Promise.all(on.frames().map((frame) => frame.locator('#main').count()))).toEqual([0, 0])
  })

  test('a link with a mistake is refused with what is wrong', async () => {
    for (const query of [{ project_id: randomUUID() }, { redirect_uri: 'https://evil.example/' }]) {
      const answer = await fetch(addressOf(query))
      expect(answer.status).toBe(400)
      expect(answer.headers.get('content-security-policy')).toContain("frame-ancestors 'none'")
      expect(await answer.text()).toContain('Nothing was changed; go back to the app.')
    }
  })
})
