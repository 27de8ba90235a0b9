// Who gets into the console, in real Chromium: expired links, passkeys, sessions and their ends. The links of the
// command line, forged forms and many tries are in pages.test.ts.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { operatorTokenMac } from '../../src/identity/auth/row-macs.ts'
import { bePasswordManager, giveAuthenticator } from '../e2e/login-world.ts'
import { accessibilityProblemsOn, hasChromium } from '../support/chromium.ts'
import { type ConsoleWorld, startConsoleWorld } from './console-world.ts'

const isHere = hasChromium()
let world: ConsoleWorld

const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click()
const heading = (page: Page) => page.locator('h1').textContent()
const isIn = (page: Page) => page.getByRole('heading', { name: 'Overview' }).waitFor()

/** Opens a link, and presses its button. */
const use = async (page: Page, link: string): Promise<string | null> => {
  await page.goto(link)
  await press(page, 'Log in')
  await page.getByRole('heading').first().waitFor()
  return page.locator('main').textContent()
}

const REFUSED = 'This link was used, has expired, or is not complete.'

const audited = async (action: string) => [
  ...(await world.sql`select actor, subject, details from audit where action = ${action} order by id`),
]

/** A page whose operator has a passkey. */
const withPasskey = async (name: string): Promise<Page> => {
  const page = await world.logIn(name, 'operator')
  await bePasswordManager(page, 'prototype')
  await giveAuthenticator(page)
  await page.goto(`${world.origin}/account`)
  await press(page, 'Add a passkey')
  await page.getByText('Passkeys1').waitFor()
  return page
}

describe.skipIf(!isHere)('the console lets in', () => {
  beforeAll(async () => {
    world = await startConsoleWorld()
  })
  afterAll(() => world?.close())

  test('nobody with a link that has expired, or that was never made', async () => {
    const link = await world.linkFor('ben', 'viewer')
    await world.sql`update operator_tokens set expires_at = now() where operator_name = 'ben'`
    const page = await world.newPage()
    expect(await use(page, link)).toContain(REFUSED)
    expect(await use(page, `${world.origin}/link?secret=${'A'.repeat(43)}`)).toContain(REFUSED)
    expect(await use(page, `${world.origin}/link`)).toContain(REFUSED)
    await page.goto(world.origin)
    expect(await heading(page)).toBe('Log in to the console')
    expect(await page.context().cookies()).toEqual([])
  })

  test('whoever has a passkey that was added after a link, and only as long as they are an operator', async () => {
    const page = await withPasskey('eve')
    await press(page, 'Log out')
    expect(await heading(page)).toBe('Log in to the console')
    await press(page, 'Use a passkey')
    await isIn(page)
    expect(await page.locator('.who').textContent()).toContain('eve operator')
    expect((await audited('operator_logged_in')).at(-1)).toMatchObject({ details: { by: 'passkey' } })
    const details = { credential_id: expect.stringMatching(/^[\w-]{22,}$/) }
    expect(await audited('operator_passkey_added')).toEqual([{ actor: 'operator:eve', subject: 'eve', details }])

    const listed = await world.cliJson('console', 'operators', 'list')
    expect(listed.find(({ name }: { name: string }) => name === 'eve')).toMatchObject({ passkeys: 1, sessions: 1 })
    const removed = await world.cli('console', 'operators', 'remove', 'eve')
    expect(removed).toMatchObject({ exitCode: 0 })
    await page.reload()
    expect(await heading(page)).toBe('Log in to the console')
    await press(page, 'Use a passkey')
    await page.getByText('That did not work.').waitFor()
    expect((await world.cli('console', 'operators', 'remove', 'eve')).errors).toBe(
      'There is no operator with this name.\n',
    )
  })

  test('nobody who adds a passkey to a session that was begun a while ago', async () => {
    const page = await world.logIn('ned', 'operator')
    await giveAuthenticator(page)
    await page.goto(`${world.origin}/account`)
    // Twenty minutes pass. The page is still open.
    const [session] = await world.sql<{ hash: Buffer; expires_at: Date }[]>`
      select hash, expires_at from operator_tokens where operator_name = 'ned' and kind = 'session'`
    if (session === undefined) throw new Error('no session')
    const row = {
      hash: new Uint8Array(session.hash),
      kind: 'session' as const,
      operatorName: 'ned',
      expiresAt: new Date(session.expires_at.getTime() - 20 * 60_000),
    }
    const mac = Buffer.from(operatorTokenMac(world.service.ctx.identity).of(row))
    await world.sql`
      update operator_tokens set expires_at = ${row.expiresAt}, mac = ${mac} where hash = ${session.hash}`
    await press(page, 'Add a passkey')
    await page.getByText('within ten minutes of a login').waitFor()
    expect(await world.sql`select from operator_passkeys where operator_name = 'ned'`).toHaveLength(0)
    await page.goto(`${world.origin}/account`)
    expect(await page.getByRole('button', { name: 'Add a passkey' }).count()).toBe(0)
  })

  test('nobody by an answer of a passkey that was sent before, or that is for another challenge', async () => {
    const page = await withPasskey('flo')
    await press(page, 'Log out')
    let sent = ''
    await page.route('**/login', (route) => {
      sent = route.request().postData() ?? sent
      return route.continue()
    })
    await press(page, 'Use a passkey')
    await isIn(page)
    const answer = new URLSearchParams(sent).get('answer') ?? ''
    const post = (body: string) =>
      fetch(`${world.origin}/login`, {
        method: 'POST',
        redirect: 'manual',
        headers: { origin: world.origin, 'content-type': 'application/x-www-form-urlencoded' },
        body: new URLSearchParams({ answer: body }).toString(),
      })
    // The passkey's counter would refuse it too.
    await world.sql`update operator_passkeys set sign_count = 0`
    expect((await post(answer)).status).toBe(401)
    const other = JSON.parse(answer)
    const clientData = JSON.parse(Buffer.from(other.response.clientDataJSON, 'base64url').toString())
    clientData.challenge = clientData.challenge.replace(/^./, (first: string) => (first === 'A' ? 'B' : 'A'))
    other.response.clientDataJSON = Buffer.from(JSON.stringify(clientData)).toString('base64url')
    for (const body of [JSON.stringify(other), '{}', 'no JSON', '']) expect((await post(body)).status).toBe(401)
  })

  test('nobody after a logout, after the end of a session, or with a role that the database was given', async () => {
    const page = await world.logIn('gus', 'viewer')
    const cookies = await page.context().cookies()
    await press(page, 'Log out')
    await page.context().addCookies(cookies)
    await page.goto(world.origin)
    expect(await heading(page)).toBe('Log in to the console')

    const late = await world.logIn('hal', 'viewer')
    await world.sql`update operator_tokens set expires_at = expires_at + interval '1 day' where operator_name = 'hal'`
    await late.reload()
    expect(await heading(late)).toBe('Log in to the console')

    const risen = await world.logIn('ida', 'viewer')
    await world.sql`update operators set role = 'operator' where name = 'ida'`
    await risen.reload()
    expect(await heading(risen)).toBe('Log in to the console')
    await world.ours.ctx.securityEvents.flush()
    const [row] = await world.sql`select details->>'table' as forged from audit
      where action = 'row_forged' and subject = 'ida'`
    expect(row).toEqual({ forged: 'operators' })
    const { output, exitCode } = await world.cli('audit', 'verify')
    expect(exitCode).toBe(1)
    expect(output).toContain('FORGED: table operators, row ida: it is not as the service wrote it.')
    expect(output).toContain('FORGED: table operator_tokens, row hal: it is not as the service wrote it.')
  })

  test('an operator whose earlier row somebody put back: the audit names it', async () => {
    const verify = async () => (await world.cli('audit', 'verify')).output
    const page = await withPasskey('mia')
    await world.logIn('ned', 'operator')
    await world.sql`create table kept_operators as table operators`
    await world.sql`create table kept_passkeys as table operator_passkeys`
    try {
      await world.linkFor('ned', 'viewer')
      await world.cli('console', 'operators', 'remove', 'mia')
      expect(await verify()).not.toMatch(/row (mia|ned): the audit/)
      await world.sql`update operators o set role = k.role, mac = k.mac from kept_operators k
        where k.name = o.name and o.name = 'ned'`
      await world.sql`insert into operators select * from kept_operators where name = 'mia'`
      await world.sql`insert into operator_passkeys select * from kept_passkeys where operator_name = 'mia'`
      // The MACs hold, and the audit has the removal.
      await page.goto(`${world.origin}/login`)
      await press(page, 'Use a passkey')
      await page.getByText('That did not work.').waitFor()
      await world.ours.ctx.securityEvents.flush()
      const told = await world.sql`select details->>'table' as forged from audit
        where action = 'row_forged' and subject = 'mia'`
      expect([...told]).toEqual([{ forged: 'operator_passkeys' }])
      const output = await verify()
      expect(output).toContain('FORGED: table operators, row ned: the audit says that its role is viewer.')
      for (const table of ['operators', 'operator_passkeys'])
        expect(output).toContain(
          `FORGED: table ${table}, row mia: the audit says that it was revoked, removed or ended.`,
        )
      // A removed passkey stays removed if the same operator is added again.
      await world.linkFor('mia', 'operator')
      expect(await verify()).toContain('FORGED: table operator_passkeys, row mia: the audit says')
    } finally {
      await world.sql`drop table kept_operators, kept_passkeys`
      for (const name of ['mia', 'ned']) await world.cli('console', 'operators', 'remove', name)
    }
  })

  test('on pages without accessibility problems, wide and narrow, light and dark', async () => {
    const link = await world.linkFor('lea', 'viewer')
    const page = await world.newPage()
    for (const address of [`${world.origin}/login`, link, `${world.origin}/link?secret=x`]) {
      await page.goto(address)
      if (address.endsWith('=x')) await press(page, 'Log in')
      for (const width of [1440, 390]) {
        for (const colorScheme of ['light', 'dark'] as const) {
          await page.setViewportSize({ width, height: 900 })
          await page.emulateMedia({ colorScheme })
          expect([address, await accessibilityProblemsOn(page)]).toEqual([address, []])
        }
      }
    }
  })

  test('a name that the audit can show, and nothing else', async () => {
    for (const name of ['', 'A', 'a b', '<b>', 'a'.repeat(33), '-a']) {
      const { exitCode, errors } = await world.cli('console', 'link', `--name=${name}`, '--role', 'viewer')
      expect([name, exitCode]).toEqual([name, 1])
      expect(errors).toContain('The name must be')
    }
    const { exitCode } = await world.cli('console', 'link', '--name', 'kim', '--role', 'admin')
    expect(exitCode).toBe(2)
  })
})
