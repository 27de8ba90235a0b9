// The console over HTTP, without a browser: whom it lets in, what its pages contain, and forms that it refuses. What
// operators see and do in Chromium is in pages.long.test.ts.

import { describe, expect, test } from 'bun:test'
import { createProject } from '../../src/operators/projects.ts'
import { runCli } from '../support/cli.ts'
import { commonService } from '../support/common-service.ts'
import { startConsole } from '../support/console.ts'
import { shared } from '../support/shared.ts'

const NASTY = '<img src=x onerror="document.title=1"><script>document.title=2</script>"\'&'
/** The beginning of that as a page must contain it. */
const ESCAPED = '&lt;img src=x onerror='
const REFUSED = 'This link was used, has expired, or is not complete.'
const NOBODY_ELSE = { 'sec-fetch-site': 'same-origin' }

const service = await commonService()
const { sql } = service.database
const { projectId } = service.project
const { origin } = await shared(startConsole(service))

type Headers = Readonly<Record<string, string>>

/** What the command prints: a link. */
const linkFor = async (name: string, role: 'viewer' | 'operator'): Promise<string> => {
  const args = ['console', 'link', '--name', name, '--role', role]
  const { exitCode, output, errors } = await runCli(args, { ...service.variables, VAULT_SOCKET: '' })
  if (exitCode !== 0) throw new Error(errors)
  return output.trim().replace('http://localhost:3900', origin)
}

const postForm = (path: string, fields: Headers, headers: Headers) =>
  fetch(`${origin}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
    body: new URLSearchParams(fields).toString(),
    redirect: 'manual',
  })

const useLink = (link: string, headers: Headers = { origin }) =>
  postForm('/link', { secret: new URL(link).searchParams.get('secret') ?? '' }, headers)

const cookieIn = (answer: Response): string => answer.headers.get('set-cookie')?.split(';')[0] ?? ''

const read = async (path: string, cookie: string) => {
  const answer = await fetch(`${origin}${path}`, { headers: { cookie }, redirect: 'manual' })
  const markup = await answer.text()
  return { status: answer.status, markup, main: /<main.*<\/main>/s.exec(markup)?.[0] ?? '' }
}

/** Somebody who has logged in by a link. */
const logIn = async (name: string, role: 'viewer' | 'operator') => {
  const cookie = cookieIn(await useLink(await linkFor(name, role)))
  const open = (path: string) => read(path, cookie)
  /** The token of the forms of a page. */
  const csrfOf = async (path: string) => /name="csrf" value="([^"]+)"/.exec((await open(path)).main)?.[1] ?? ''
  const post = (path: string, fields: Headers, headers: Headers = NOBODY_ELSE) =>
    postForm(path, fields, { cookie, ...headers })
  return { open, csrfOf, post }
}

const operator = await logIn('olga', 'operator')
const viewer = await logIn('vera', 'viewer')

const lastAudited = async (action: string) => {
  const rows = await sql`select actor, subject, details from audit where action = ${action} order by id`
  return rows.at(-1)
}

const frozen = () => sql`select from freeze_lists where id = ${projectId} and freezes <> '[]'`

describe('the console lets in', () => {
  test('whoever has a link of the command line, once, with a session that only its cookie opens', async () => {
    const link = await linkFor('ann', 'operator')
    // What a scanner does.
    expect((await fetch(link)).status).toBe(200)
    const answer = await useLink(link)
    expect([answer.status, answer.headers.get('location')]).toEqual([303, '/'])
    const [cookie = '', ...attributes] = answer.headers.get('set-cookie')?.split('; ') ?? []
    expect(cookie).toStartWith('__Host-strongroom-console=')
    expect(attributes.toSorted()).toEqual(['HttpOnly', 'Max-Age=43200', 'Path=/', 'SameSite=Strict', 'Secure'])
    expect(await read('/', cookie)).toMatchObject({ status: 200, main: expect.stringContaining('Overview') })
    for (const other of ['', `${cookie.slice(0, -1)}_`]) expect((await read('/', other)).status).toBe(303)
    const secret = cookie.replace('__Host-strongroom-console=', '')
    const [row] = await sql`select count(*)::int as rows from operator_tokens
      where encode(hash, 'escape') like ${`%${secret}%`} or hash = decode(${secret}, 'escape')`
    expect(row).toEqual({ rows: 0 })
    const again = await useLink(link)
    expect([again.status, again.headers.get('set-cookie')]).toEqual([401, null])
    expect(await again.text()).toContain(REFUSED)
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

  test('nobody who tries too often', async () => {
    const strict = await startConsole(service, { DEVNET: 'false', LOG_LEVEL: 'silent' })
    try {
      const answers: number[] = []
      for (let tries = 0; tries < 32; tries += 1) {
        const { status } = await fetch(`${strict.origin}/link`, {
          method: 'POST',
          headers: { origin: strict.origin, 'content-type': 'application/x-www-form-urlencoded' },
          body: 'secret=x',
        })
        answers.push(status)
      }
      expect(new Set(answers)).toEqual(new Set([401, 429]))
      expect(answers.at(-1)).toBe(429)
    } finally {
      await strict.close()
    }
  })

  test('no page of another site: neither by a form nor in a frame', async () => {
    const link = await linkFor('jan', 'operator')
    const secret = new URL(link).searchParams.get('secret') ?? ''
    const post = (headers: Readonly<Record<string, string>>) =>
      fetch(`${origin}/link`, {
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
        body: new URLSearchParams({ secret }).toString(),
        redirect: 'manual',
      })
    for (const headers of [{}, { origin: 'https://evil.example' }, { 'sec-fetch-site': 'cross-site' }]) {
      expect((await post(headers)).status).toBe(403)
    }
    const { headers } = await fetch(origin)
    expect(headers.get('content-security-policy')).toMatch(
      /default-src 'none'.*script-src 'self'.*frame-ancestors 'none'/,
    )
    expect(headers.get('x-frame-options')).toBe('DENY')
    // None of them has used the link.
    const own = await post({ origin: origin })
    expect([own.status, own.headers.get('location')]).toEqual([303, '/'])
    expect(own.headers.get('set-cookie')).toStartWith('__Host-strongroom-console=')
  })
})

describe('the pages of the console', () => {
  test('show a viewer everything, and let them do nothing', async () => {
    const { id } = await service.newWallet({ network: 'Ethereum' })
    const rooms = ['/', '/transactions', '/jobs', '/wallets', '/users', '/policies', '/freezes', '/audit', '/account']
    for (const path of rooms) {
      const { status, main } = await viewer.open(path)
      expect([path, status]).toEqual([path, 200])
      expect(main).not.toMatch(/(?:href|action)="\/do\//)
    }
    // An operator's page has what a viewer's lacks.
    expect((await operator.open('/wallets')).main).toMatch(/(?:href|action)="\/do\//)
    expect((await viewer.open(`/do/freeze?scope=wallet&wallet=${id}`)).status).toBe(403)
    const csrf = await viewer.csrfOf('/account')
    expect(csrf).not.toBe('')
    const posted = await viewer.post('/do/freeze', { csrf, scope: 'wallet', wallet: id, reason: 'Because.' })
    expect(posted.status).toBe(403)
    expect(await frozen()).toHaveLength(0)
  })

  test('refuse a form that is not of the session, and one of another site; the own one freezes', async () => {
    const { id } = await service.newWallet({ network: 'Ethereum' })
    const foreign = await viewer.csrfOf('/account')
    const own = await operator.csrfOf(`/do/freeze?scope=wallet&wallet=${id}`)
    const post = (csrf: string, headers: Headers) =>
      operator.post('/do/freeze', { csrf, scope: 'wallet', wallet: id, reason: 'Because.' }, headers)
    for (const [csrf, headers] of [
      ['', NOBODY_ELSE],
      [foreign, NOBODY_ELSE],
      [own, { 'sec-fetch-site': 'cross-site' }],
      [own, { 'sec-fetch-site': 'same-site' }],
      [own, { origin: 'https://evil.example' }],
      [own, {}],
    ] as const) {
      expect([csrf, headers, (await post(csrf, headers)).status]).toEqual([csrf, headers, 403])
    }
    expect(await frozen()).toHaveLength(0)
    const done = await post(own, NOBODY_ELSE)
    expect([done.status, await done.text()]).toEqual([200, expect.stringContaining(`Frozen: the wallet ${id}.`)])
    expect(await frozen()).toHaveLength(1)
    expect(await lastAudited('frozen')).toMatchObject({ actor: 'operator:olga', subject: id })
    expect((await operator.open('/freezes')).main).toContain('Because.')
    // Only a vault writes a list of freezes.
    expect(await runCli(['unfreeze', 'wallet', id], service.variables)).toMatchObject({ exitCode: 0 })
  })

  test('refuse what does not exist, and a character that the database takes in no text', async () => {
    for (const [path, refused] of [
      ['/do/freeze?scope=network&network=Nowhere', 400],
      ['/do/freeze?scope=wallet&wallet=1', 400],
      ['/do/freeze?scope=all', 400],
      ['/do/constructor', 404],
      ['/nowhere', 404],
      ['/transactions/00000000-0000-4000-8000-000000000000', 404],
      ['/wallets?q=%00', 400],
    ] as const) {
      expect([path, (await operator.open(path)).status]).toEqual([path, refused])
    }
    expect((await viewer.open('/wallets?q=%00')).main).toContain('U+0000')
  })

  test('show names as text, whoever chose them', async () => {
    const nasty = await createProject(service.ctx, { name: NASTY, actor: 'operator' })
    const project = nasty.projectId
    await sql`update wallets set name = ${NASTY}, owner_id = ${NASTY} where project_id = ${project}`
    await sql`insert into users (id, project_id, email, mac) values (gen_random_uuid(), ${project}, ${NASTY}, '')`
    await sql`insert into audit (project_id, at, actor, action, subject, details, mac)
      values (${project}, now(), ${NASTY}, 'frozen', ${NASTY}, ${sql.json({ [NASTY]: NASTY })}, '')`
    const freezes = [{ scope: 'project', subject: project, reason: NASTY, at: '2026-01-01T00:00:00.000Z' }]
    await sql`update freeze_lists set freezes = ${sql.json(freezes)} where id = ${project}`
    const paths = [`/wallets?project=${project}`, `/users?project=${project}`, `/audit?project=${project}`, '/freezes']
    for (const path of [...paths, `${paths[0]}&q=${encodeURIComponent(NASTY)}`]) {
      const { markup, main } = await operator.open(path)
      expect(markup).toMatch(/<title>[^<]*Strongroom console<\/title>/)
      expect([path, main.match(/<(?:img|script)/)]).toEqual([path, null])
      expect([path, main.includes(ESCAPED)]).toEqual([path, true])
    }
    await sql`update wallets set name = ${'Main\u202etellaw'} where project_id = ${project}`
    expect((await operator.open(`/wallets?project=${project}`)).main).toContain('Main\\u{202e}tellaw')
    await sql`update freeze_lists set freezes = '[]' where id = ${project}`
  })

  test('list the policies that only a vault may read', async () => {
    const { address } = await service.newWallet({ network: 'Ethereum', ownerId: 'pia', pin: '493817' })
    const made = await service.post('/policies', {
      network: 'Ethereum',
      wallet_address: address,
      name: NASTY,
      argument_rules: [{ argument: 'to', operator: 'eq', value: address }],
      max_uses: 7,
      max_total_fee: '1',
      user_pin: '493817',
    })
    expect(made.status).toBe(200)
    const { main } = await viewer.open(`/policies?project=${projectId}`)
    expect(main).toContain('0 of 7')
    expect(main).toContain(ESCAPED)
    expect(main).not.toContain('<img')
  })
})
