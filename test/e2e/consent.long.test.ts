// The page on which a user agrees to a policy, in real Chromium and with a real chain: the developer uses what was
// allowed.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Page } from 'playwright-core'
import { createProject } from '../../src/operators/projects.ts'
import { fundedAccount, startChain, type TestChain } from '../support/chains.ts'
import { hasChromium } from '../support/chromium.ts'
import {
  bePasswordManager,
  checkLooks,
  giveAuthenticator,
  type LoginWorld,
  newAddress,
  problemOn,
  startLoginWorld,
  until,
} from './login-world.ts'

const isHere = hasChromium()
const network = 'Ethereum'
const PIN = '493817'
const WRONG = '000000'
const FRIEND = fundedAccount(5).address

type Policy = Record<string, unknown>
type ConsentLink = (
  input: Record<'base' | 'projectId' | 'redirectUri' | 'state', string> & { policy: Policy },
) => string

const page = readFileSync(new URL('../../docs/consent.md', import.meta.url), 'utf8')
const blockOf = (language: string) => new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``).exec(page)?.[1] ?? ''
/** The example of the page, as a reader would run it. */
const consentLink: ConsentLink = new Function(`${blockOf('js')}; return consentLink`)()
const rent: Policy = JSON.parse(blockOf('json'))
const users = readFileSync(new URL('../../docs/users.md', import.meta.url), 'utf8')
const [, passkeySnippet = ''] = /```js\n(const passkeySecret [\s\S]*?)```/.exec(users) ?? []

let world: LoginWorld
let chain: TestChain

const press = (on: Page, name: string | RegExp) => on.getByRole('button', { name, exact: true }).click()
const isShown = (on: Page, view: string) => on.locator(`#${view}`).waitFor()
const textOf = async (on: Page, view: string) =>
  (await on.locator(`#${view}`).allInnerTexts()).join().replaceAll(/\s+/g, ' ')

type Person = { readonly email: string; readonly wallet: `0x${string}` }

/** A user with a wallet, before their first login. */
const newPerson = async (): Promise<Person> => {
  const email = newAddress()
  const begun = await world.service.post('/users/login-with-email', { email }, { authorization: undefined })
  const wallet = await world.service.newWallet({ network, pin: PIN, ownerId: begun.json.user_id })
  await chain.fund(wallet.address)
  return { email, wallet: wallet.address }
}

const policyOf = ({ wallet }: Pick<Person, 'wallet'>, rest: Policy = {}): Policy => ({
  ...rent,
  wallet_address: wallet,
  argument_rules: [
    { argument: 'to', operator: 'eq', value: FRIEND },
    { argument: 'value', operator: 'le', value: '50000000000000000' },
  ],
  ...rest,
})

const linkOf = (policy: Policy, redirectUri = `${world.app.origin}/back?x=1`) =>
  consentLink({ base: world.origin, projectId: world.projectId, policy, redirectUri, state: 's&t=1' })

const logIn = async (on: Page, { email }: Pick<Person, 'email'>): Promise<void> => {
  await isShown(on, 'ways')
  await world.logInByCode(on, email)
}

const openAs = async (person: Person, address: string, on?: Page): Promise<Page> => {
  const opened = on ?? (await world.newPage())
  await opened.goto(address)
  await logIn(opened, person)
  return opened
}

const ask = async (person: Person, policy: Policy = policyOf(person), on?: Page): Promise<Page> => {
  const opened = await openAs(person, linkOf(policy), on)
  await isShown(opened, 'consent')
  return opened
}

const allow = async (on: Page, pin = PIN): Promise<void> => {
  await on.getByLabel('PIN of your wallet').locator('visible=true').fill(pin)
  await press(on, 'Allow')
}

/** What the app is told by the address to which the user comes back. */
const answerTo = async (on: Page): Promise<Record<string, string>> => {
  await on.waitForURL(`${world.app.origin}/back**`)
  return Object.fromEntries(new URL(on.url()).searchParams)
}

const policiesOf = async ({ wallet: wallet_address }: Person) =>
  (await world.service.get('/policies', { network, wallet_address })).json

const grant = async (person: Person, rest: Policy = {}): Promise<string> => {
  const body = { ...policyOf(person, rest), user_pin: PIN }
  return (await world.service.post('/policies', body)).json.uuid
}

const newCode = async ({ wallet }: Person): Promise<string> => {
  const body = { network, address: wallet, user_pin: PIN }
  return (await world.service.post('/wallets/recovery-code', body)).json.recovery_code
}

const pinFails = async ({ wallet }: Person) => {
  const { json } = await world.service.post('/wallets/export', { network, address: wallet, user_pin: WRONG })
  expect(json.code).toBe('INVALID_SECRET')
}

const pay = (person: Person, value: string) =>
  world.service.post('/transactions/sign', {
    network,
    signer_wallet_address: person.wallet,
    developer_secret: 'testnet-secret',
    unsigned_transaction: { to: FRIEND, value },
  })

describe.skipIf(!isHere)('the consent page', () => {
  beforeAll(async () => {
    chain = await startChain(network)
    world = await startLoginWorld({ rpcUrls: { [network]: chain.rpcUrl } })
  })
  afterAll(async () => {
    await world?.close()
    await chain?.stop()
  })

  test('says what the developer may do, and the user grants exactly that', async () => {
    const person = await newPerson()
    const on = await world.newPage({ timezoneId: 'Europe/Berlin', locale: 'en-GB' })
    const addresses: string[] = []
    on.on('request', (request) => addresses.push(request.url()))
    await ask(person, policyOf(person), on)
    expect(await on.title()).toBe('Let Test use your wallet?')
    const said = await textOf(on, 'consent')
    for (const words of [
      `Wallet ${person.wallet} on Ethereum`,
      'The app calls it Monthly rent',
      `Only to the account ${FRIEND}.`,
      'Each transaction sends at most 0.05 ETH.',
      'At most 12 times.',
      'Until 31 January 2099 at 13:00 (2099-01-31 12:00 UTC).',
      'What it can cost you: At most 0.52 ETH in all: 0.5 ETH that it sends, and 0.02 ETH for fees.',
    ]) {
      expect(said).toContain(words)
    }
    expect(await on.locator('.warning').count()).toBe(0)
    await on.getByLabel('PIN of your wallet').locator('visible=true').fill(PIN)
    await on.getByRole('button', { name: 'Allow', exact: true }).dblclick()
    const { policy_id, ...rest } = await answerTo(on)
    expect(rest).toEqual({ x: '1', state: 's&t=1' })
    const policies = await policiesOf(person)
    expect(policies).toHaveLength(1)
    expect(policies[0]).toMatchObject({ ...policyOf(person), uuid: policy_id, expires_at: '2099-01-31T12:00:00.000Z' })
    expect((await pay(person, '50000000000000000')).status).toBe(200)
    expect((await pay(person, '50000000000000001')).json.code).toBe('policy_denied')
    expect(addresses.join()).not.toContain(PIN)
    expect(addresses.join()).not.toMatch(/eyJ[A-Za-z0-9_-]+\.eyJ/)
    expect(await world.sessionsOf(await world.userIdOf(person.email))).toEqual(['email_code logout'])
  })

  test('fixes a fee budget that the app left open, and grants the one that it has shown', async () => {
    const person = await newPerson()
    const on = await ask(person, policyOf(person, { max_total_fee: undefined }))
    const [, shown = ''] = /Fees of at most ([0-9.]+) ETH in all/.exec(await textOf(on, 'consent')) ?? []
    // The market moves while the user reads.
    await chain.testClient.setNextBlockBaseFeePerGas({ baseFeePerGas: 500n * 10n ** 9n })
    await chain.mine(3)
    await allow(on)
    await answerTo(on)
    const [policy] = await policiesOf(person)
    const [whole = '', fraction = ''] = shown.split('.')
    expect(policy.max_total_fee).toBe(BigInt(whole + fraction.padEnd(18, '0')).toString())
  })

  test('goes back with an error if the user does not allow it, before or after the login', async () => {
    const person = await newPerson()
    const on = await ask(person)
    await press(on, 'Don’t allow')
    const denied = { x: '1', error: 'access_denied', state: 's&t=1' }
    expect(await answerTo(on)).toEqual(denied)
    await on.goto(linkOf(policyOf(person)))
    await isShown(on, 'ways')
    expect(await textOf(on, 'ways')).toContain(
      'Test asks to use your wallet. Log in to see for what; nothing is allowed by that.',
    )
    await checkLooks(on)
    await press(on, 'Go back')
    expect(await answerTo(on)).toEqual(denied)
    expect(await policiesOf(person)).toEqual([])
    expect(await world.sessionsOf(await world.userIdOf(person.email))).toEqual(['email_code logout'])
  })

  test('counts wrong PINs, reports them at the field, and says when the wallets are locked', async () => {
    const person = await newPerson()
    const on = await ask(person)
    await allow(on, '12')
    expect(await problemOn(on)).toBe('Your PIN has six digits.')
    for (let tries = 1; tries <= 5; tries += 1) {
      const answer = on.waitForResponse('**/policies')
      await allow(on, WRONG)
      expect((await (await answer).json()).code).toBe('INVALID_SECRET')
      await until('the problem', async () => ((await problemOn(on)).includes('wrong') ? true : null))
    }
    const field = on.locator('#consent-pin')
    expect(await field.getAttribute('aria-invalid')).toBe('true')
    expect(await field.getAttribute('aria-describedby')).toBe('problem')
    const answer = on.waitForResponse('**/policies')
    await allow(on)
    await answer
    await on.getByText('Too many wrong PINs were typed: your wallets are locked for 24 hours.').waitFor()
    expect(await field.inputValue()).toBe('')
    expect(await policiesOf(person)).toEqual([])
  })

  test('takes a recovery code in place of the PIN, and tells a typing error from a wrong code', async () => {
    const person = await newPerson()
    const [code, other] = [await newCode(person), await newCode(await newPerson())]
    const on = await ask(person)
    for (let tries = 0; tries < 5; tries += 1) await pinFails(person)
    await press(on, 'Use your recovery code')
    const field = on.getByLabel('Recovery code of your wallet').locator('visible=true')
    expect(await on.evaluate(() => document.activeElement?.id)).toBe('consent-pin')
    await checkLooks(on)
    const allowWith = async (typed: string) => {
      await field.fill(typed)
      await press(on, 'Allow')
    }
    await allowWith(code.slice(1))
    expect(await problemOn(on)).toBe('Your recovery code has 32 letters and digits.')
    const typed = code.replace(/.$/, (last) => (last === 'Q' ? 'P' : 'Q'))
    await allowWith(typed)
    await on.getByText('There is a typing error in the recovery code. Compare it letter by letter.').waitFor()
    expect([await field.inputValue(), await field.getAttribute('aria-invalid')]).toEqual([typed, 'true'])
    await checkLooks(on)
    await allowWith(other)
    await on.getByText('That recovery code is wrong. A newer one may have replaced it.').waitFor()
    expect(await policiesOf(person)).toEqual([])
    await allowWith(code.toLowerCase().replaceAll('-', ' – '))
    const { policy_id } = await answerTo(on)
    expect((await policiesOf(person)).map(({ uuid }: { uuid: string }) => uuid)).toEqual([policy_id])
  })

  test('goes back to the PIN, and nothing of the code is left in the field', async () => {
    const person = await newPerson()
    const on = await ask(person)
    await press(on, 'Use your recovery code')
    await on.getByLabel('Recovery code of your wallet').locator('visible=true').fill('QQQQ')
    await press(on, 'Use the PIN')
    expect(await on.locator('#consent-pin').inputValue()).toBe('')
    expect(await on.locator('#consent-pin').getAttribute('type')).toBe('password')
    await allow(on)
    await answerTo(on)
    expect(await policiesOf(person)).toHaveLength(1)
  })

  test('takes what a passkey computes, if an app has bound that passkey', async () => {
    const person = await newPerson()
    const on = await world.newPage({ viewport: { width: 390, height: 844 } })
    await bePasswordManager(on, 'plain')
    await giveAuthenticator(on, { hasPrf: true })
    await openAs(person, world.addressOf(), on)
    await isShown(on, 'account')
    await press(on, 'Add a passkey')
    await on.getByText('The passkey is added.').waitFor()
    // As an app on a page of that domain does it.
    const bound = await on.evaluate(
      ([code = '', projectId = '']) => new Function(`${code}; return passkeySecret`)()(projectId, 'localhost'),
      [passkeySnippet, world.projectId],
    )
    const openByPasskey = async (address: string, view: string) => {
      await on.goto(address)
      await isShown(on, 'ways')
      await press(on, 'Use a passkey')
      await isShown(on, view)
    }
    await openByPasskey(linkOf(policyOf(person)), 'consent')
    const passkey = on.getByRole('button', { name: 'Use a passkey' }).locator('visible=true')
    await passkey.click()
    await on.getByText('This passkey does not open your wallet. Use the PIN or your recovery code.').waitFor()
    await checkLooks(on)
    const of = { network, address: person.wallet, user_pin: PIN }
    expect((await world.service.post('/wallets/passkey-secret', { ...of, ...bound })).status).toBe(200)
    await passkey.click()
    const { policy_id } = await answerTo(on)
    const [policy] = await policiesOf(person)
    expect(policy.uuid).toBe(policy_id)

    // It also takes the policy back.
    const revocation = new URLSearchParams({ project_id: world.projectId, policy_id: policy_id ?? '' })
    await openByPasskey(`${world.origin}/consent/revoke?${revocation}`, 'revoke')
    await passkey.click()
    await isShown(on, 'done')
    expect(await policiesOf(person)).toEqual([])
  })

  test('says so if a passkey computes no secrets', async () => {
    const person = await newPerson()
    const on = await world.newPage()
    await giveAuthenticator(on)
    await openAs(person, world.addressOf(), on)
    await isShown(on, 'account')
    await press(on, 'Add a passkey')
    await on.getByText('The passkey is added.').waitFor()
    await on.goto(linkOf(policyOf(person)))
    await isShown(on, 'ways')
    await press(on, 'Use a passkey')
    await isShown(on, 'consent')
    await on.getByRole('button', { name: 'Use a passkey' }).locator('visible=true').click()
    expect(await problemOn(on)).toBe('This passkey cannot open wallets. Use the PIN or your recovery code.')
    await allow(on)
    await answerTo(on)
  })

  test('shows the login again when the session has ended, and then continues, also with only the keyboard', async () => {
    const person = await newPerson()
    const on = await ask(person)
    await world.endSessions()
    await allow(on)
    await isShown(on, 'ways')
    expect(await problemOn(on)).toBe('You are logged out. Log in again.')
    await logIn(on, person)
    await isShown(on, 'consent')
    expect(await on.evaluate(() => document.activeElement?.id)).toBe('consent-title')
    for (const key of ['Tab', ...PIN, 'Enter']) await on.keyboard.press(key)
    const { policy_id } = await answerTo(on)
    expect((await policiesOf(person)).map(({ uuid }: { uuid: string }) => uuid)).toEqual([policy_id])
  })

  test('says why it cannot show a policy: another user’s wallet, invalid rules, or no node', async () => {
    const [person, other] = [await newPerson(), await newPerson()]
    const on = await openAs(other, linkOf(policyOf(person)))
    await isShown(on, 'refused')
    expect(await textOf(on, 'refused')).toContain('The app asks for something that is not yours.')
    await checkLooks(on)
    expect(await on.getByRole('button', { name: 'Try again' }).isVisible()).toBe(false)
    await press(on, 'Log in as somebody else')
    await logIn(on, person)
    await isShown(on, 'consent')
    await press(on, 'Don’t allow')
    await answerTo(on)
    await openAs(other, linkOf(policyOf(person)), on)
    await isShown(on, 'refused')
    await press(on, 'Back to Test')
    expect((await answerTo(on)).error).toBe('access_denied')
    const unknown = [{ argument: 'decodedInput.function', operator: 'eq', value: 'nobodyKnowsThis' }]
    await openAs(person, linkOf(policyOf(person, { argument_rules: unknown })), on)
    await isShown(on, 'refused')
    expect(await textOf(on, 'refused')).toContain('For the app’s developers: Field "argument_rules.0.value"')
    await on.route(
      '**/policies/describe',
      (route) => route.fulfill({ status: 503, json: { error: 'x', code: 'node_unavailable' } }),
      { times: 1 },
    )
    await openAs(person, linkOf(policyOf(person)), on)
    await isShown(on, 'refused')
    expect(await textOf(on, 'refused')).toContain('The network does not answer at the moment.')
    await press(on, 'Try again')
    await isShown(on, 'consent')
    // As if it had expired while the user read it.
    const late = { error: 'Field "expires_at" must be a time in the future.', code: 'invalid_input' }
    await on.route('**/policies', (route) => route.fulfill({ status: 400, json: late }), { times: 1 })
    await allow(on)
    await isShown(on, 'refused')
    expect(await textOf(on, 'refused')).toContain('"expires_at" must be a time in the future.')
  })

  test('keeps users on the page if the app gave no address', async () => {
    const person = await newPerson()
    const { searchParams } = new URL(linkOf(policyOf(person)))
    searchParams.delete('redirect_uri')
    const on = await openAs(person, `${world.origin}/consent?${searchParams}`)
    await isShown(on, 'consent')
    await allow(on)
    await isShown(on, 'done')
    expect(await textOf(on, 'done')).toBe('It is allowed You can close this page.')
    await checkLooks(on)
    expect(await policiesOf(person)).toHaveLength(1)
  })

  test("shows strangers' texts as text, shortened and separate from its own words", async () => {
    const person = await newPerson()
    const markup = '<img src=x onerror="document.title=1">'
    const token = await chain.deploy('TestToken', [`\u202eevil ${markup} ${'long '.repeat(60)}`, 'משלום', 6])
    const on = await world.newPage({ viewport: { width: 390, height: 844 } })
    const dialogs: string[] = []
    on.on('console', (message) => dialogs.push(message.text()))
    await ask(
      person,
      policyOf(person, {
        name: `${markup}${'W'.repeat(200)}`,
        argument_rules: [
          { argument: 'to', operator: 'eq', value: token.address },
          { argument: 'decodedInput.function', operator: 'eq', value: 'approve' },
          { argument: 'decodedInput.value', operator: 'le', value: '1500000' },
        ],
        max_total_value: undefined,
        expires_at: undefined,
        max_uses: undefined,
      }),
      on,
    )
    const said = await textOf(on, 'consent')
    expect(said).toContain(`which calls itself “evil <img src=x onerror="document.title…”`)
    expect(said).toContain('Only if the amount (value) is at most 1.5 משלום.')
    expect(await on.locator('.warning li').allInnerTexts()).toEqual([
      'It has no end.',
      'No limit says how much ETH it sends: it can be all that is in this wallet.',
      'It can let anybody take משלום from this wallet, up to the amount above each time, also after this has ended.',
    ])
    expect(await on.locator('main bdi', { hasText: 'משלום' }).count()).toBeGreaterThan(2)
    expect(await on.locator('img').count()).toBe(0)
    expect(await on.title()).toBe('Let Test use your wallet?')
    await checkLooks(on)

    const long = [
      { argument: 'decodedInput.function', operator: 'eq', value: 'safeMint(address,string)' },
      { argument: 'decodedInput.uri', operator: 'eq', value: `</code>\u202e${'x'.repeat(900)}` },
    ]
    await ask(person, policyOf(person, { argument_rules: long }), on)
    expect(await textOf(on, 'consent')).toContain('Only if uri is </code>\\u{202e}xxx')
    expect(dialogs).toEqual([])
    await checkLooks(on)
  })

  test('refuses links with a mistake, names it for developers, and leads nowhere', async () => {
    const person = { wallet: FRIEND } as const
    const good = policyOf(person)
    const evil = 'https://evil.example/'
    const query = (rest: Record<string, string> = {}, policy: Policy = good) => {
      const { searchParams } = new URL(linkOf(policy))
      for (const [name, value] of Object.entries(rest)) searchParams.set(name, value)
      return Object.fromEntries(searchParams)
    }
    const encoded = (text: string) => ({ policy: Buffer.from(text).toString('base64url') })
    const rule = { argument: 'to', operator: 'gt', value: FRIEND }
    for (const [given, sentence] of [
      [query({ redirect_uri: evil }), 'redirect_uri must be a URL without a fragment'],
      [query({ redirect_uri: `${world.app.origin}/#x` }), 'redirect_uri must be a URL without a fragment'],
      [query({ redirect_uri: 'javascript:alert(1)' }), 'redirect_uri must be a URL without a fragment'],
      [query({ redirect_uri: `${world.app.origin}/?policy_id=1` }), 'must not have a parameter policy_id'],
      [query({ state: 'a'.repeat(513) }), 'state must be a text of at most 512'],
      [query({ project_id: '1' }), 'project_id must be the id of a project'],
      [query({ policy: '' }), 'base64url without padding'],
      [query({ policy: 'a b' }), 'base64url without padding'],
      [query({ policy: 'a'.repeat(8_193) }), 'of at most 8192 characters'],
      [query({ policy: '_w' }), 'must be JSON in UTF-8'],
      [query(encoded('{')), 'valid JSON'],
      [query(encoded('[]')), 'must be an object'],
      [query(encoded('{"network":"Ethereum","network":"Base"}')), 'twice'],
      [query({}, { ...good, user_pin: PIN }), '&quot;user_pin&quot; is unknown here'],
      [query({}, { ...good, argument_rules: [] }), '&quot;argument_rules&quot; must be a list of 1 to 50 rules'],
      [query({}, { ...good, argument_rules: [rule] }), 'must be eq or ne'],
      [query({}, { ...good, expires_at: '2020-01-01T00:00:00Z' }), 'must be a time in the future'],
      [query({}, { ...good, network: 'Bitcoin' }), '&quot;network&quot; must be one of'],
      [query({}, { ...good, network: 'Base' }), 'Base is not served'],
      [query({}, { ...good, wallet_address: '0x1' }), 'wallet_address'],
    ] as const) {
      const { status, text, headers } = await world.service.get('/consent', given)
      expect([sentence, status >= 400 && status !== 500, text.includes(sentence)]).toEqual([sentence, true, true])
      expect(text).not.toMatch(/<script|<a |<button|evil/)
      expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'")
    }
    const many = Array(45).fill({ argument: 'value', operator: 'le', value: '1'.padStart(70, '0') })
    const longest = query({}, { ...good, argument_rules: many })
    expect(longest.policy?.length).toBeGreaterThan(7_000)
    expect((await world.service.get('/consent', longest)).status).toBe(200)
    const revoked = await world.service.get('/consent/revoke', { project_id: world.projectId, policy_id: 'x' })
    expect(revoked.text).toContain('policy_id must be the UUID')
    const on = await world.newPage()
    await on.goto(`${world.origin}/consent?${new URLSearchParams(query({ redirect_uri: evil }))}`)
    expect(await on.locator('h1').textContent()).toBe('This link does not work')
    await checkLooks(on)
  })

  test('has the headers of the login page, which allow no frame', async () => {
    const headersOf = async (path: string) => {
      const { headers } = await world.service.get(path, { project_id: world.projectId })
      return ['content-security-policy', 'x-frame-options', 'referrer-policy', 'cache-control'].map((name) =>
        headers.get(name),
      )
    }
    const login = await headersOf('/login')
    expect(login[0]).toContain("frame-ancestors 'none'")
    for (const path of ['/consent', '/consent/granted', '/consent/revoke']) expect(await headersOf(path)).toEqual(login)
  })

  test('shows a project with a hostile name', async () => {
    const name = '<script>document.title=2</script>'
    const { projectId } = await createProject(world.service.ctx, { name, actor: 'operator' })
    const on = await world.newPage()
    await on.goto(`${world.origin}/consent/granted?${new URLSearchParams({ project_id: projectId })}`)
    await isShown(on, 'ways')
    expect(await on.title()).toBe(`What ${name} may do with your wallets`)
    expect(await on.locator('main script').count()).toBe(0)
  })

  describe('for granted policies', () => {
    test('the account lists each one with its use, and revokes it with the PIN', async () => {
      const person = await newPerson()
      const on = await openAs(person, world.addressOf())
      await press(on, /^What Test may do/)
      await isShown(on, 'granted')
      expect(await textOf(on, 'granted')).toContain('Nothing without asking you.')
      await checkLooks(on)
      await press(on, 'Back')
      await isShown(on, 'account')
      await checkLooks(on)

      await grant(person)
      await grant(person, { name: 'Second' })
      expect((await pay(person, '20000000000000000')).status).toBe(200)
      await press(on, /^What Test may do/)
      await on.locator('#granted-list > li').nth(1).waitFor()
      const [first = '', second = ''] = await on.locator('#granted-list > li').allInnerTexts()
      expect(first).toContain('Monthly rent')
      expect(first).toContain('Used once, of at most 12.')
      expect(first).toContain('Sent: 0.02 ETH of 0.5 ETH.')
      expect(second).toContain('Not used yet.')
      await on.locator('summary').first().click()
      expect((await on.locator('#granted-list > li').allInnerTexts())[0]).toContain(`Only to the account ${FRIEND}.`)
      await checkLooks(on)

      await press(on, 'Take back: Monthly rent')
      await isShown(on, 'revoke')
      await checkLooks(on)
      const pin = on.locator('#revoke-pin')
      await pin.fill(WRONG)
      await press(on, 'Take it back')
      expect(await problemOn(on)).toContain('That PIN is wrong.')
      await press(on, 'Keep it')
      await isShown(on, 'granted')
      await press(on, 'Take back: Monthly rent')
      await pin.fill(PIN)
      await press(on, 'Take it back')
      await on.getByText('It is taken back.').waitFor()
      expect(await on.locator('#granted-list > li').count()).toBe(1)
      expect((await policiesOf(person)).map(({ name }: { name: string }) => name)).toEqual(['Second'])
    })

    test('an app can ask the user to revoke one', async () => {
      const person = await newPerson()
      const uuid = await grant(person)
      const address = (policy_id: string) =>
        `${world.origin}/consent/revoke?${new URLSearchParams({ project_id: world.projectId, policy_id, redirect_uri: `${world.app.origin}/back`, state: 's' })}`
      const on = await openAs(person, address(uuid))
      await isShown(on, 'revoke')
      await press(on, 'Keep it')
      expect(await answerTo(on)).toEqual({ error: 'access_denied', state: 's' })
      expect((await pay(person, '1')).status).toBe(200)
      await openAs(person, address(uuid), on)
      await isShown(on, 'revoke')
      await on.locator('#revoke-pin').fill(PIN)
      await press(on, 'Take it back')
      expect(await answerTo(on)).toEqual({ policy_id: uuid, state: 's' })
      expect((await pay(person, '1')).json.code).toBe('credential_required')
      await openAs(person, address(uuid), on)
      await isShown(on, 'refused')
      expect(await textOf(on, 'refused')).toContain('not yours')
    })

    test('the list has an address of its own, and leads back to the app', async () => {
      const person = await newPerson()
      await grant(person)
      const query = { project_id: world.projectId, redirect_uri: `${world.app.origin}/back`, state: 's' }
      const on = await openAs(person, `${world.origin}/consent/granted?${new URLSearchParams(query)}`)
      await isShown(on, 'granted')
      expect(await on.locator('#granted-list > li').count()).toBe(1)
      await press(on, 'Back')
      expect(await answerTo(on)).toEqual({ state: 's' })
    })
  })

  describe('the page of approvals', () => {
    /** A user with a passkey in this page's authenticator, who is logged in. */
    const newApprover = async () => {
      const email = newAddress()
      const page = await world.newPage()
      await bePasswordManager(page, 'prototype')
      const on = await world.openLogin({}, page)
      const authenticator = await giveAuthenticator(on)
      await world.logInByCode(on, email)
      await press(on, 'Add a passkey')
      await on.locator('#passkeys li').waitFor()
      return { on, authenticator, id: await world.userIdOf(email) }
    }

    /** A payment by a project's wallet that waits for one approver. */
    const askFor = async (id: string) => {
      const { post, newWallet } = world.service
      const { address } = await newWallet({ network, ownerId: randomUUID() })
      await chain.fund(address)
      const secret = { developer_secret: 'testnet-secret' }
      const rules = [{ argument: 'to', operator: 'eq', value: FRIEND }]
      const policy = {
        network,
        wallet_address: address,
        argument_rules: rules,
        require_approval: { of: 1, from: [id] },
      }
      await post('/policies', { ...policy, ...secret })
      await post('/wallets/put-under-policies', { network, address, ...secret })
      const unsigned_transaction = { to: FRIEND, value: '1500000000000000000' }
      const send = (rest: object = {}) =>
        post('/transactions/sign-and-send', {
          network,
          signer_wallet_address: address,
          unsigned_transaction,
          ...secret,
          ...rest,
        })
      const { approval_id } = (await send()).json
      return { address, again: async () => (await send({ approval_id })).status }
    }

    const openApprovals = async (on: Page) => {
      await on.goto(`${world.origin}/approve?project_id=${world.projectId}`)
      await press(on, 'Use a passkey')
      await isShown(on, 'approvals')
    }

    test('says what the request would do, and the passkey approves exactly that', async () => {
      const { on, id } = await newApprover()
      const asked = await askFor(id)
      await openApprovals(on)
      const text = await textOf(on, 'approvals')
      expect(text).toContain(`Send a transaction of the wallet ${asked.address} on Ethereum.`)
      expect(text).toContain(`It sends 1.5 ETH to ${FRIEND}.`)
      expect(text).toContain('Approved so far by 0 of 1')
      await checkLooks(on)
      expect(await asked.again()).toBe(202)
      await press(on, /^Approve: send/)
      await on
        .locator('#approvals-list')
        .getByText('You have approved it. You can reject it until it is used.')
        .waitFor()
      expect(await on.getByRole('button', { name: /^Approve: send/ }).count()).toBe(0)
      await checkLooks(on)
      expect(await asked.again()).toBe(200)
      await press(on, 'Look again')
      await on.getByText('Nothing waits for you.').waitFor()
      await checkLooks(on)
    })

    test('whoever has approved can still reject, also after another login', async () => {
      const { on, id } = await newApprover()
      const asked = await askFor(id)
      await openApprovals(on)
      await press(on, /^Approve: send/)
      await on.locator('#approvals-list').getByText('You have approved it.').waitFor()
      await openApprovals(on)
      await press(on, /^Reject: send/)
      await on.getByText('You have rejected it.').waitFor()
      expect(await textOf(on, 'approvals')).toContain('Nothing waits for you.')
      expect(await asked.again()).toBe(409)
    })

    test('a rejection ends it; without the passkey nothing is decided', async () => {
      const { on, id, authenticator } = await newApprover()
      const asked = await askFor(id)
      await openApprovals(on)
      const verifies = (isUserVerified: boolean) =>
        authenticator.session.send('WebAuthn.setUserVerified', { authenticatorId: authenticator.id, isUserVerified })
      await verifies(false)
      await press(on, /^Approve: send/)
      expect(await problemOn(on)).toMatch(/^No passkey was used/)
      expect(await asked.again()).toBe(202)
      await verifies(true)
      await press(on, /^Reject: send/)
      await on.getByText('You have rejected it.').waitFor()
      expect(await asked.again()).toBe(409)
    })

    test('a link without a project says what is wrong', async () => {
      const on = await world.newPage()
      await on.goto(`${world.origin}/approve`)
      expect(await on.locator('main').textContent()).toContain('The parameter project_id must be the id of a project.')
    })
  })
})
