// The pages of the console in real Chromium, with the service, workers and a chain: what they show, and what they do.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { createEndpoint } from '../../src/events/webhooks/create.ts'
import { createProject } from '../../src/operators/projects.ts'
import { accessibilityProblemsOn, hasChromium } from '../support/chromium.ts'
import { runCli } from '../support/cli.ts'
import { type ConsoleWorld, startConsoleWorld } from './console-world.ts'

const isHere = hasChromium()
const NASTY = '<img src=x onerror="document.title=1"><script>document.title=2</script>"\'&'

let world: ConsoleWorld
let operator: Page
let viewer: Page

const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click()
const follow = (page: Page, name: string) => page.getByRole('link', { name, exact: true }).first().click()
const open = async (page: Page, path: string) => (await page.goto(`${world.origin}${path}`))?.status()
const textOf = async (page: Page) => (await page.locator('main').textContent()) ?? ''

const audited = async (action: string) => [
  ...(await world.sql`select actor, subject from audit where action = ${action} order by id`),
]

const lastAudited = async (action: string) => {
  const rows = await world.sql`select actor, subject, details from audit where action = ${action} order by id`
  return rows.at(-1)
}

/** Only a vault writes a list of freezes. */
const release = async (...what: readonly string[]) =>
  expect(await runCli(['unfreeze', ...what], world.service.variables)).toMatchObject({ exitCode: 0 })

const ROOMS = [
  '/',
  '/?range=24h&network=Ethereum',
  '/transactions',
  '/jobs',
  '/wallets',
  '/users',
  '/policies',
  '/approvals',
  '/webhooks',
  '/webhooks?show=troubled',
  '/freezes',
  '/audit',
  '/audit?only=security',
  '/audit/check',
  '/networks',
  '/networks?range=1h&network=Ethereum',
  '/nodes',
  '/doctor',
  '/operators',
  '/account',
] as const

beforeAll(async () => {
  if (isHere) world = await startConsoleWorld()
})
afterAll(() => world?.close())

const REFUSED = 'This link was used, has expired, or is not complete.'

/** Opens a link, and presses its button. */
const use = async (page: Page, link: string): Promise<string | null> => {
  await page.goto(link)
  await press(page, 'Log in')
  await page.getByRole('heading').first().waitFor()
  return page.locator('main').textContent()
}

/** Passkeys, and the ends of links and sessions, are in login.long.test.ts; forged forms are in pages.test.ts. */
describe.skipIf(!isHere)('the console lets in', () => {
  test('whoever has a link of the command line, once, with a session that only its cookie opens', async () => {
    const link = await world.linkFor('ann', 'operator')
    // What a scanner does.
    expect((await fetch(link)).status).toBe(200)
    const page = await world.newPage()
    await use(page, link)
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    expect(new URL(page.url()).pathname).toBe('/')
    const [cookie, ...others] = await page.context().cookies()
    expect(others).toEqual([])
    expect(cookie).toMatchObject({
      name: '__Host-strongroom-console',
      path: '/',
      httpOnly: true,
      secure: true,
      sameSite: 'Strict',
    })
    const [row] = await world.sql`select count(*)::int as rows from operator_tokens
      where encode(hash, 'escape') like ${`%${cookie?.value}%`} or hash = decode(${cookie?.value ?? ''}, 'escape')`
    expect(row).toEqual({ rows: 0 })
    expect(await use(await world.newPage(), link)).toContain(REFUSED)
    expect(await lastAudited('operator_invited')).toEqual({
      actor: 'operator',
      subject: 'ann',
      details: { role: 'operator' },
    })
    expect(await lastAudited('operator_logged_in')).toEqual({
      actor: 'operator:ann',
      subject: 'ann',
      details: { by: 'link' },
    })
  })
})

describe.skipIf(!isHere)('the pages of the console', () => {
  beforeAll(async () => {
    operator = await world.logIn('olga', 'operator')
    viewer = await world.logIn('vera', 'viewer')
  })

  test('lead from what is late to its transaction, which is retried and then given up', async () => {
    const wallet = await world.wallet()
    await world.chain.setAutomine(false)
    const id = await world.send(wallet)
    await world.startWorker()
    await world.becomes(id, 'in_pool')
    await world.sql`update transactions set created_at = created_at - interval '5 minutes' where id = ${id}`
    await open(operator, '/')
    expect(await operator.locator('#late').textContent()).toContain('in pool')
    await operator.locator(`#late a[href="/transactions/${id}"]`).click()
    expect(await textOf(operator)).toContain("in the node's pool for")
    expect(await operator.locator('table').first().locator('tbody tr').count()).toBe(7)
    expect(await operator.locator('table').first().textContent()).toContain(' gwei')

    await follow(operator, 'Send again…')
    expect(await textOf(operator)).toContain(`The attempt that is chosen now of transaction ${id} is sent`)
    expect(await audited('transaction_retried')).toEqual([])
    await press(operator, 'Send it now')
    expect(await textOf(operator)).toContain('A job sends it now')
    expect(await audited('transaction_retried')).toEqual([{ actor: 'operator:olga', subject: id }])

    await follow(operator, 'Go on')
    await follow(operator, 'Give up…')
    await press(operator, 'Give it up')
    expect(await audited('transaction_cancelled')).toEqual([{ actor: 'operator:olga', subject: id }])
    expect(await world.whyOf(id)).toMatchObject({ cancelling: true })
    await world.until(
      () => world.whyOf(id),
      ({ why }) => why?.startsWith('given up; in the node') === true,
    )
    await world.chain.mine(4)
    await world.until(
      () => world.whyOf(id),
      ({ status }) => status === 'failed',
    )
    await world.chain.setAutomine(true)
    await open(operator, `/transactions/${id}`)
    expect(await textOf(operator)).toContain('expired')
    expect(await operator.getByRole('link', { name: 'Send again…' }).count()).toBe(0)
  })

  test('run a failed job again', async () => {
    await world.stopWorkers()
    await world.sql`select graphile_worker.add_job('reconcile', '{"again":false}', job_key := 'once', run_at := now() + interval '1 day')`
    await world.sql`update graphile_worker._private_jobs set last_error = 'It failed.', attempts = 3 where key = 'once'`
    await open(operator, '/jobs?failed=yes')
    expect(await textOf(operator)).toContain('It failed.')
    await follow(operator, 'Run now…')
    await press(operator, 'Run it now')
    expect(await textOf(operator)).toContain('(reconcile) runs again now')
    expect((await audited('job_retried')).at(-1)).toMatchObject({ actor: 'operator:olga' })
    const [job] =
      await world.sql`select attempts, run_at <= now() as due from graphile_worker._private_jobs where key = 'once'`
    expect(job).toEqual({ attempts: 0, due: true })
    await world.startWorker()
  })

  test('freeze a wallet, whose requests are refused until it is released', async () => {
    const { id, address } = await world.service.newWallet({ network: 'Ethereum' })
    const sign = async () =>
      (
        await world.service.post('/transactions/sign-message', {
          ...{ network: 'Ethereum', signer_wallet_address: address, message: 'x', developer_secret: 'testnet-secret' },
        })
      ).status
    await open(operator, `/wallets?q=${address}`)
    await follow(operator, 'Freeze…')
    expect(await textOf(operator)).toContain('Transactions that are already recorded are still sent.')
    await operator.getByLabel('Why?').fill('A stranger has the secret.')
    await press(operator, 'Freeze')
    expect(await textOf(operator)).toContain(`Frozen: the wallet ${id}.`)
    expect(await sign()).toBe(403)
    await open(operator, '/freezes')
    expect(await textOf(operator)).toContain('A stranger has the secret.')
    await follow(operator, 'Release…')
    await operator.getByLabel('Why?').fill('It was changed.')
    await press(operator, 'Release')
    expect(await sign()).toBe(200)
    expect(await audited('frozen')).toEqual([{ actor: 'operator:olga', subject: id }])
    expect(await audited('unfrozen')).toEqual([{ actor: 'operator:olga', subject: id }])
  })

  test('freeze what the form names, and refuse what does not exist', async () => {
    await open(operator, '/freezes')
    await operator.locator('select[name=scope]').selectOption('network')
    await operator.locator('select[name=network]').selectOption('Base')
    await press(operator, 'Freeze…')
    await operator.getByLabel('Why?').fill('A fork.')
    await press(operator, 'Freeze')
    expect(await textOf(operator)).toContain('Frozen: the network Base, for all projects.')
    expect(await open(operator, '/do/freeze?scope=network&network=Nowhere')).toBe(400)
    expect(await open(operator, '/do/freeze?scope=wallet&wallet=1')).toBe(400)
    expect(await open(operator, '/do/freeze?scope=all')).toBe(400)
    expect(await open(operator, '/do/constructor')).toBe(404)
    expect(await open(operator, '/nowhere')).toBe(404)
    expect(await open(operator, '/transactions/00000000-0000-4000-8000-000000000000')).toBe(404)
    await release('network', 'Base')
  })

  test('show a viewer everything, and let them do nothing', async () => {
    const { id } = await world.service.newWallet({ network: 'Ethereum' })
    for (const path of ROOMS) expect([path, await open(viewer, path)]).toEqual([path, 200])
    for (const path of ['/wallets', '/jobs', '/freezes', '/audit']) {
      await open(viewer, path)
      expect(await viewer.locator('main a[href^="/do/"], main form[action^="/do/"]').count()).toBe(0)
    }
    expect(await open(viewer, `/do/freeze?scope=wallet&wallet=${id}`)).toBe(403)
    await open(viewer, '/account')
    const status = await viewer.evaluate(async (wallet) => {
      const csrf = document.querySelector<HTMLInputElement>('input[name=csrf]')?.value ?? ''
      const body = new URLSearchParams({ csrf, scope: 'wallet', wallet, reason: 'Because.' })
      return (await fetch('/do/freeze', { method: 'POST', body })).status
    }, id)
    expect(status).toBe(403)
    expect(await world.sql`select from freeze_lists where freezes <> '[]'`).toHaveLength(0)
  })

  test('refuse a form that is not of the session, and one of another site', async () => {
    const { id } = await world.service.newWallet({ network: 'Ethereum' })
    await open(viewer, '/account')
    const foreign = await viewer.locator('input[name=csrf]').first().inputValue()
    await open(operator, `/do/freeze?scope=wallet&wallet=${id}`)
    const own = await operator.locator('main input[name=csrf]').inputValue()
    const cookies = await operator.context().cookies()
    const post = async (csrf: string, headers: Readonly<Record<string, string>>) => {
      const answer = await fetch(`${world.origin}/do/freeze`, {
        method: 'POST',
        headers: {
          'content-type': 'application/x-www-form-urlencoded',
          cookie: cookies.map(({ name, value }) => `${name}=${value}`).join('; '),
          ...headers,
        },
        body: new URLSearchParams({ csrf, scope: 'wallet', wallet: id, reason: 'Because.' }).toString(),
      })
      return answer.status
    }
    const ours = { 'sec-fetch-site': 'same-origin' }
    expect(await post('', ours)).toBe(403)
    expect(await post(foreign, ours)).toBe(403)
    expect(await post(own, { 'sec-fetch-site': 'cross-site' })).toBe(403)
    expect(await post(own, { 'sec-fetch-site': 'same-site' })).toBe(403)
    expect(await post(own, { origin: 'https://evil.example' })).toBe(403)
    expect(await post(own, {})).toBe(403)
    expect(await world.sql`select from freeze_lists where freezes <> '[]'`).toHaveLength(0)
    expect(await post(own, ours)).toBe(200)
    await release('wallet', id)
  })

  test('show names as text, whoever chose them', async () => {
    const { projectId } = await createProject(world.service.ctx, { name: NASTY, actor: 'operator' })
    await world.sql`update wallets set name = ${NASTY}, owner_id = ${NASTY} where project_id = ${projectId}`
    await world.sql`insert into users (id, project_id, email, mac) values (gen_random_uuid(), ${projectId}, ${NASTY}, '')`
    await world.sql`insert into audit (project_id, at, actor, action, subject, details, mac)
      values (${projectId}, now(), ${NASTY}, 'frozen', ${NASTY}, ${world.sql.json({ [NASTY]: NASTY })}, '')`
    const frozen = [{ scope: 'project', subject: projectId, reason: NASTY, at: '2026-01-01T00:00:00.000Z' }]
    await world.sql`update freeze_lists set freezes = ${world.sql.json(frozen)} where id = ${projectId}`
    await world.sql`select graphile_worker.add_job('reconcile', '{"again":false}', job_key := 'nasty', run_at := now() + interval '1 day')`
    await world.sql`update graphile_worker._private_jobs set last_error = ${NASTY}, attempts = 1 where key = 'nasty'`
    const dialogs: string[] = []
    operator.on('console', (message) => dialogs.push(message.text()))
    const paths = [
      `/wallets?project=${projectId}`,
      `/users?project=${projectId}`,
      `/audit?project=${projectId}`,
      '/freezes',
      '/jobs',
      `/wallets?project=${projectId}&q=${encodeURIComponent(NASTY)}`,
      `/transactions/find?q=${encodeURIComponent(NASTY)}`,
    ]
    for (const path of paths) {
      await open(operator, path)
      expect(await operator.title()).toEndWith('Strongroom console')
      expect(await operator.locator('main img, main script').count()).toBe(0)
      if (!path.includes('find')) expect(await textOf(operator)).toContain(NASTY.slice(0, 40))
    }
    await world.sql`update wallets set name = ${'Main\u202etellaw'} where project_id = ${projectId}`
    await open(operator, `/wallets?project=${projectId}`)
    expect(await textOf(operator)).toContain('Main\\u{202e}tellaw')
    expect(dialogs.filter((text) => !text.includes('status of 400'))).toEqual([])
    await world.sql`update freeze_lists set freezes = '[]' where id = ${projectId}`
  })

  test('say that a project is empty, and not that a search found nothing', async () => {
    const { projectId } = await createProject(world.service.ctx, { name: 'Empty', actor: 'operator' })
    await open(operator, `/users?project=${projectId}`)
    expect(await textOf(operator)).toContain('This project has no users.')
    await open(operator, `/users?project=${projectId}&q=nobody`)
    expect(await textOf(operator)).toContain('There is no such user.')
    await open(operator, `/wallets?project=${projectId}&q=nothing`)
    expect(await textOf(operator)).toContain('There is no such wallet.')
    await open(operator, `/transactions?project=${projectId}`)
    expect(await textOf(operator)).toContain('There are no transactions here.')
  })

  test('refuse a character that the database takes in no text', async () => {
    for (const path of ['/wallets?q=%00', '/users?q=a%00b', '/audit?project=%00']) {
      expect([path, await open(viewer, path)]).toEqual([path, 400])
      expect(await textOf(viewer)).toContain('U+0000')
    }
  })

  test('list the policies that only a vault may read', async () => {
    const { address } = await world.service.newWallet({ network: 'Ethereum', ownerId: 'pia', pin: '493817' })
    const made = await world.service.post('/policies', {
      network: 'Ethereum',
      wallet_address: address,
      name: NASTY,
      argument_rules: [{ argument: 'to', operator: 'eq', value: address }],
      max_uses: 7,
      user_pin: '493817',
    })
    expect(made.status).toBe(200)
    await open(viewer, '/policies')
    expect(await viewer.locator('tbody tr').count()).toBe(1)
    expect(await textOf(viewer)).toContain('0 of 7')
    expect(await textOf(viewer)).toContain(NASTY)
    expect(await viewer.locator('main img').count()).toBe(0)
  })

  test('show what waits for a webhook and why, and disable, enable and send again', async () => {
    const { projectId } = world.service.project
    const url = 'https://hooks.invalid/orders'
    const hook = { projectId, actor: 'operator', url, eventTypes: [], email: null, order: 'wallet' } as const
    const { id } = await createEndpoint(world.service.ctx, hook)
    const [failed, waiting] = [crypto.randomUUID(), crypto.randomUUID()]
    await world.sql`update webhook_endpoints
      set failures = 3, last_failure = 'status', last_failure_at = now(), last_success_at = now() - interval '1 hour' where id = ${id}`
    await world.sql`insert into webhook_deliveries
      (id, project_id, endpoint_id, number, lane, state, attempts, ended_at, created_at, status, failure, excerpt, next_at) values
      (${failed}, ${projectId}, ${id}, 900001, ${NASTY}, 'failed', 11, now(), now() - interval '3 days', 500, 'status', ${NASTY}, now()),
      (${waiting}, ${projectId}, ${id}, 900002, ${NASTY}, 'waiting', 0, null, now() - interval '2 hours', null, null, null, now() + interval '1 day')`

    await open(viewer, '/webhooks?show=troubled')
    expect(await textOf(viewer)).toContain('it answered with an error')
    await viewer.getByRole('link', { name: url }).click()
    const shown = await textOf(viewer)
    expect(shown).toContain('1, the oldest for 2 h')
    expect(shown).toContain('it answered with status 500')
    expect(shown).toContain(NASTY)
    expect(await viewer.locator('main img, main a[href^="/do/"]').count()).toBe(0)
    await open(viewer, `/webhooks/${id}?show=failed`)
    expect(await viewer.locator('tbody tr').count()).toBe(1)
    expect(await open(viewer, `/do/webhook-disable?id=${id}`)).toBe(403)

    const act = async (link: string, button: string) => {
      await open(operator, `/webhooks/${id}`)
      await follow(operator, link)
      await press(operator, button)
      return textOf(operator)
    }
    expect(await act('Send failed again…', 'Send them again')).toContain('sends again now: 1.')
    expect(await act('Send again…', 'Send it again')).toContain('A worker sends it now.')
    expect(await act('Disable…', 'Disable it')).toContain('It is disabled.')
    await open(operator, '/webhooks')
    expect(await textOf(operator)).toContain('operator:olga disabled it.')
    expect(await open(operator, `/do/webhook-disable?id=${crypto.randomUUID()}`)).toBe(200)
    await press(operator, 'Disable it')
    expect(await textOf(operator)).toContain('There is no webhook with this id.')
    expect(await act('Enable…', 'Enable it')).toContain('It is enabled.')
    for (const action of ['webhook_disabled', 'webhook_enabled', 'webhook_replayed']) {
      expect((await audited(action)).at(-1)).toEqual({ actor: 'operator:olga', subject: id })
    }
  })

  test('page through transactions, each once', async () => {
    const [one] = await world.sql`select * from transactions limit 1`
    // Many of the same moment.
    const rows = Array.from({ length: 120 }, (_, index) => ({
      ...one,
      id: crypto.randomUUID(),
      nonce: 1_000 + index,
      final: true,
      status: 'success',
      error_code: null,
      error: null,
      created_at: new Date(Date.UTC(2026, 0, 1, 0, 0, Math.floor(index / 40))),
    }))
    await world.sql`insert into transactions ${world.sql(rows)}`
    const [{ count } = { count: 0 }] = await world.sql`select count(*)::int from transactions`
    await open(operator, '/transactions')
    const seen: (string | null)[] = []
    for (let pages = 1; ; pages += 1) {
      const links = await operator.locator('tbody a').all()
      seen.push(...(await Promise.all(links.map((link) => link.getAttribute('href')))))
      if ((await operator.getByRole('link', { name: 'Next page' }).count()) === 0) break
      await follow(operator, 'Next page')
      expect(pages).toBeLessThan(10)
    }
    expect(seen).toHaveLength(count)
    expect(new Set(seen).size).toBe(count)
  })

  test('show the head of a network and how far it was behind, as a worker notes it each minute', async () => {
    await world.startWorker()
    const note = () => world.sql`select graphile_worker.add_job('note_heads', '{}', job_key := 'note')`
    const noted = async (isRight: (row: Readonly<Record<string, unknown>>) => boolean) => {
      await world.until(async () => {
        await note()
        const [row] = await world.sql`select head, tracked, indexed from heads order by at desc limit 1`
        return row ?? {}
      }, isRight)
    }
    await noted(({ head, tracked, indexed }) => Number(head) > 0 && head === tracked && head === indexed)
    world.gate.setAway(true)
    await noted(({ head, tracked }) => head === null && Number(tracked) > 0)
    world.gate.setAway(false)
    await world.sql`insert into heads select 'Ethereum', date_trunc('minute', now()) - make_interval(mins => ago), head, tracked, indexed
      from (values (5, 700, 699, 695), (4, 712, 702, 652), (1560, 1, 1, 1)) given (ago, head, tracked, indexed)`
    await noted(({ head }) => head !== null)
    // The note that was seen may be of a job that began before the old row was there.
    await world.until(
      async () => {
        await note()
        return (await world.sql`select from heads where at < now() - interval '25 hours'`).length
      },
      (left) => left === 0,
    )
    await open(viewer, '/networks?range=1h&network=Ethereum')
    const rowsOf = async (figure: number) =>
      (await viewer.locator('figure').nth(figure).locator('tbody tr').all()).map((row) =>
        row.locator('td').allTextContents(),
      )
    const lags = await Promise.all(await rowsOf(0))
    expect(lags.slice(-2).map(([, ...numbers]) => numbers)).toEqual([
      ['712', '10', '60'],
      ['700', '1', '5'],
    ])
    expect(lags[0]?.slice(2)).toEqual(['0', '0'])
    const made = await Promise.all(await rowsOf(1))
    expect(made.slice(-2).map(([, ...numbers]) => numbers)).toEqual([
      ['712', '12'],
      ['700', '–'],
    ])
    expect(await viewer.locator('figure').first().locator('path.line').count()).toBe(2)
  })

  test('say how the installation is', async () => {
    await open(viewer, '/doctor')
    const text = await textOf(viewer)
    expect(text).toContain('has the role strongroom_console')
    expect(text).toContain('environment, networks and keys belong to this database')
    expect(text).toContain('it has the root key')
    expect(text).toContain('return addresses')
    expect(text).not.toContain('cannot be')
  })

  test('check the audit, and say what is not as it was written, and what was not checked', async () => {
    // Some rows are in an archive.
    await world.sql`insert into audit_checkpoints (chain, position, from_position, before, head, lines_hash, kept_hash, signature)
      values ('deployment', 1, 1, now(), '', '', '', '')`
    await open(operator, '/audit')
    await follow(operator, 'Check the audit…')
    await press(operator, 'Check it')
    await follow(operator, 'Go on')
    await world.until(
      async () => {
        await open(operator, '/audit/check')
        return textOf(operator)
      },
      (text) => text.includes('The audit does not hold.'),
    )
    const text = await textOf(operator)
    // The row of the test before.
    expect(text).toMatch(/BROKEN: chain .*its audit row is not as it was written/)
    expect(text).toContain('were not checked: that needs the login of the API')
    expect(text).toContain('The archive was not checked: that needs the folder with its files')
    expect(text).toContain('by operator:olga')
  })

  test('can be read without JavaScript', async () => {
    const page = await world.logIn('nora', 'viewer', { javaScriptEnabled: false })
    for (const path of ROOMS) {
      expect([path, await open(page, path)]).toEqual([path, 200])
      expect((await textOf(page)).length).toBeGreaterThan(60)
    }
    await open(page, '/')
    expect(await page.locator('svg rect').count()).toBeGreaterThan(0)
    expect(await page.locator('figure table').first().textContent()).toContain('recorded')
    await page.context().clearCookies()
    await open(page, '/')
    expect(await textOf(page)).toContain('A link works without it.')
  })

  test('have no accessibility problems, wide and light, narrow and dark, and no script or style within', async () => {
    const [{ id } = { id: '' }] = await world.sql`select id from transactions order by created_at desc limit 1`
    const complaints: string[] = []
    operator.on('console', (message) => complaints.push(message.text()))
    const { projectId } = world.service.project
    const url = 'https://hooks.invalid/looked-at'
    const asked = { projectId, actor: 'operator', url, eventTypes: [], email: null, order: 'wallet' } as const
    const hook = await createEndpoint(world.service.ctx, asked)
    const ofHook = [`/webhooks/${hook.id}`, `/do/webhook-disable?id=${hook.id}`]
    const paths = [...ROOMS, ...ofHook, `/transactions/${id}`, `/do/transaction-cancel?id=${id}`]
    for (const path of paths) {
      await open(operator, path)
      const inline = await operator.evaluate(
        () =>
          [...document.querySelectorAll('*')].filter(
            (each) =>
              each.matches('style, [style], script:not([src="/console.js"])') ||
              each.getAttributeNames().some((name) => name.startsWith('on')),
          ).length,
      )
      expect([path, inline]).toEqual([path, 0])
      for (const width of [1440, 390]) {
        await operator.setViewportSize({ width, height: 900 })
        for (const colorScheme of ['light', 'dark'] as const) {
          await operator.emulateMedia({ colorScheme })
          expect([path, width, await accessibilityProblemsOn(operator)]).toEqual([path, width, []])
        }
        expect([path, await operator.evaluate(() => document.documentElement.scrollWidth)]).toEqual([path, width])
      }
    }
    expect(complaints).toEqual([])
  })
})
