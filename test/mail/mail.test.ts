// A queued mail is sent, refused or expires; in a devnet it is shown.

import { afterEach, describe, expect, test } from 'bun:test'
import { dropOldMails } from '../../db/queries/mails.ts'
import { createApp } from '../../src/api/app.ts'
import { createMailer } from '../../src/identity/mail/mailer.ts'
import { type Mail, queueMail } from '../../src/identity/mail/queue.ts'
import { sendMail } from '../../src/identity/mail/send.ts'
import { createWorkerCtx } from '../../src/main/asking-contexts.ts'
import { readConfig, Secret } from '../../src/platform/config.ts'
import { startService } from '../support/service.ts'
import { afterTests, shared } from '../support/shared.ts'
import { freePort, startSmtp, textOf } from '../support/smtp.ts'
import type { WorkerCtx } from '../support/worker-here.ts'

const smtp = await shared(startSmtp())
const service = await shared(startService())
const { workerUrl } = service.database
const config = readConfig({ ...service.variables, VAULT_SOCKET: '', DATABASE_URL: workerUrl })
const worker = await createWorkerCtx({ config, process: 'test' })
afterTests(() => worker.close({ timeoutSeconds: 5 }))
const { sql } = service.database
afterEach(async () => {
  smtp.mails.length = 0
  await sql`delete from mails`
})

/** A worker that sends mail to a server. */
const workerOf = async (url: string): Promise<WorkerCtx> => {
  const config = { ...worker.config, devnet: false, mailUrl: new Secret(url) }
  return { ...worker, config, mailer: await createMailer(config) }
}
/** The same configuration, with a mail server. */
const sending = await workerOf(smtp.url)

const TEXT = 'Grüße,\n\nyour code is 123456.\n'

/** @returns the queued mail's id. */
const queued = async (mail: Partial<Mail> = {}): Promise<string> => {
  const { projectId } = service.project
  const standard = { projectId, recipient: 'to@example.com', subject: 'Ein Gruß', text: TEXT, lifetimeSeconds: 600 }
  await service.ctx.db.transaction((tx) => queueMail(service.ctx, tx, { ...standard, ...mail }))
  const [row] = await sql`select id from mails order by created_at desc limit 1`
  return row?.id
}
const stateOf = async (id: string) => {
  const [row] = await sql`
    select sealed is not null as kept, sent_at is not null as sent, failure from mails where id = ${id}`
  return row
}
const DONE = { state: 'done' } as const
const SENT = { kept: false, sent: true, failure: null }

describe('a mail', () => {
  test('is sent unchanged to one recipient, and its text is erased', async () => {
    const id = await queued()
    expect(await sendMail(sending, id)).toEqual(DONE)
    const [mail] = smtp.mails
    expect([mail?.from, mail?.to]).toEqual(['no-reply@localhost', ['to@example.com']])
    expect(mail && textOf(mail).replaceAll('\r\n', '\n')).toBe(TEXT)
    expect(mail?.raw).toContain(`Message-ID: <${id}@localhost>`)
    expect(mail?.raw).toContain('Auto-Submitted: auto-generated')
    expect(mail?.raw).toContain('From: Strongroom <no-reply@localhost>')
    expect(await stateOf(id)).toMatchObject(SENT)
    expect(await sendMail(sending, id)).toEqual(DONE)
    expect(smtp.mails).toHaveLength(1)
  })

  test('is sent while no database transaction is open', async () => {
    let open = -1
    smtp.during(async () => {
      const [row] = await sql`
        select count(*)::int as open from pg_stat_activity
        where datname = current_database() and xact_start is not null and pid <> pg_backend_pid()`
      open = row?.open
    })
    await sendMail(sending, await queued())
    expect(open).toBe(0)
  })

  test('is sent again with the same Message-ID if the worker could not record that it was sent', async () => {
    const id = await queued()
    await sql`revoke update on mails from strongroom_worker`
    await expect(sendMail(sending, id)).rejects.toThrow()
    await sql`grant update on mails to strongroom_worker`
    expect(await sendMail(sending, id)).toEqual(DONE)
    expect(smtp.mails.map(({ raw }) => /^Message-ID: (.*)$/m.exec(raw)?.[1]?.trim())).toEqual([
      `<${id}@localhost>`,
      `<${id}@localhost>`,
    ])
    expect(await stateOf(id)).toMatchObject(SENT)
  })

  test('is sent again later if the server refuses it temporarily', async () => {
    const id = await queued()
    smtp.refuseNext({ at: 'RCPT', code: 450, text: '4.2.1 Mailbox busy' })
    expect(await sendMail(sending, id)).toMatchObject({ state: 'again', delaySeconds: 1 })
    smtp.refuseNext({ at: 'DATA', code: 451, text: '4.3.0 Try again' })
    expect(await sendMail(sending, id)).toMatchObject({ state: 'again', delaySeconds: 1 })
    expect(await stateOf(id)).toMatchObject({ kept: true, sent: false, failure: null })
    await sql`update mails set created_at = now() - interval '40 seconds' where id = ${id}`
    smtp.refuseNext({ at: 'RCPT', code: 450, text: '4.2.1 Mailbox busy' })
    const later = await sendMail(sending, id)
    expect(later.state === 'again' && Math.round(later.delaySeconds)).toBe(20)
    expect(await sendMail(sending, id)).toEqual(DONE)
    expect(await stateOf(id)).toMatchObject(SENT)
  })

  test('is sent again later if the server is unreachable, refuses our login, or offers no encryption on another machine', async () => {
    const id = await queued()
    const locked = await startSmtp({ login: { user: 'us@x', password: 'p:w%d' } })
    const lockedUrl = (password: string) =>
      `smtps://us%40x:${encodeURIComponent(password)}@127.0.0.1:${locked.port}?tls.rejectUnauthorized=false`
    for (const url of [`smtp://127.0.0.1:${await freePort()}`, lockedUrl('wrong'), `smtp://0.0.0.0:${smtp.port}`]) {
      expect(await sendMail(await workerOf(url), id)).toMatchObject({ state: 'again' })
      expect(await stateOf(id)).toMatchObject({ kept: true, sent: false })
    }
    expect(smtp.mails).toEqual([])
    expect(await sendMail(await workerOf(lockedUrl('p:w%d')), id)).toEqual(DONE)
    expect(locked.mails).toHaveLength(1)
    await locked.close()
  })

  test("is not sent again after a final refusal; the reason is stored without the server's text", async () => {
    for (const [at, code, failure] of [
      ['RCPT', 550, 'EENVELOPE 550 5.1.1 RCPT TO'],
      ['DATA', 554, 'EMESSAGE 554 5.1.1 DATA'],
    ] as const) {
      const id = await queued()
      smtp.refuseNext({ at, code, text: '5.1.1 <to@example.com> is not here, said 123456' })
      expect(await sendMail(sending, id)).toEqual(DONE)
      expect(await stateOf(id)).toMatchObject({ kept: false, sent: false, failure })
      expect(await sendMail(sending, id)).toEqual(DONE)
      expect(smtp.mails).toEqual([])
    }
  })

  test('is not sent after it has expired', async () => {
    const id = await queued({ lifetimeSeconds: 0 })
    expect(await sendMail(sending, id)).toEqual(DONE)
    expect(await stateOf(id)).toMatchObject({ kept: false, sent: false, failure: 'expired' })
    expect(smtp.mails).toEqual([])
  })

  test('is erased if there is neither a mail server nor a devnet', async () => {
    const id = await queued()
    expect(await sendMail({ ...worker, config: { ...worker.config, devnet: false } }, id)).toEqual(DONE)
    expect(await stateOf(id)).toMatchObject({ kept: false, sent: false, failure: 'no MAIL_URL' })
  })

  test('cannot be queued with a line break in its recipient or subject', async () => {
    for (const mail of [{ recipient: 'a@example.com\r\nBcc: b@example.com' }, { subject: 'x\nBcc: b@example.com' }]) {
      await expect(queued(mail)).rejects.toThrow('one line each')
    }
  })

  test('is deleted: its text an hour after it expired, its recipient after a month', async () => {
    const ids = [await queued(), await queued(), await queued()]
    const [young = '', late = '', old = ''] = ids
    await sql`update mails set expires_at = now() - interval '61 minutes' where id = ${late}`
    await sql`update mails set created_at = now() - interval '31 days' where id = ${old}`
    expect(await dropOldMails(worker.db)).toBe(1)
    expect(await stateOf(young)).toMatchObject({ kept: true, failure: null })
    expect(await stateOf(late)).toMatchObject({ kept: false, failure: 'expired' })
    expect(await stateOf(old)).toBeUndefined()
  })
})

describe('the development mailbox', () => {
  const page = () => service.call('/dev/mailbox', { headers: { authorization: undefined } })
  const list = () => service.call('/dev/mailbox.json', { headers: { authorization: undefined } })

  test('shows the mails, newest first, before and after the worker has handled them', async () => {
    await queued({ recipient: 'first@example.com' })
    const id = await queued({ recipient: 'second@example.com' })
    for (let looks = 0; looks < 2; looks += 1) {
      const answer = await list()
      expect(answer.headers.get('cache-control')).toBe('no-store')
      expect(answer.json.map(({ recipient }: { recipient: string }) => recipient)).toEqual([
        'second@example.com',
        'first@example.com',
      ])
      expect(answer.json[0]).toEqual({
        id,
        recipient: 'second@example.com',
        subject: 'Ein Gruß',
        text: TEXT,
        created_at: expect.any(String),
      })
      expect(await sendMail(worker, id)).toEqual(DONE)
      expect(await stateOf(id)).toMatchObject({ kept: true, sent: true })
    }
    await sql`update mails set expires_at = now() - interval '61 minutes' where id = ${id}`
    expect((await list()).json).toHaveLength(1)
  })

  test('shows mails as text, and makes only links to this service clickable', async () => {
    expect((await page()).text).toContain('No mail yet.')
    const text = [
      '<script>alert(1)</script> & "x"',
      'http://localhost:3000/login?code=a&b=c',
      'http://localhost:3000@evil.example/',
      'http://localhost:30001/',
      'https://evil.example/"onclick="x',
    ].join('\n')
    await queued({ recipient: '<b>@example.com', subject: "<i>'", text })
    const answer = await page()
    expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(answer.headers.get('cache-control')).toBe('no-store')
    expect(answer.headers.get('content-security-policy')).toMatch(
      /^default-src 'none'; script-src 'self'; style-src 'self'; /,
    )
    expect(answer.text).toContain('&lt;script&gt;alert(1)&lt;/script&gt; &amp; &quot;x&quot;')
    expect(answer.text).not.toMatch(/<(?:script|b|i)\b/)
    expect(answer.text.match(/<a [^>]*>/g)).toEqual(['<a href="http://localhost:3000/login?code=a&amp;b=c">'])
  })

  test('does not exist where mails are sent, nor outside of a devnet', async () => {
    const { config } = service.ctx
    for (const changed of [
      { ...config, mailUrl: new Secret(smtp.url) },
      { ...config, devnet: false },
    ]) {
      const app = createApp({ ...service.ctx, config: changed })
      const answerTo = async (path: string) => {
        const answer = await app.fetch(new Request(`http://localhost${path}`))
        return [answer.status, await answer.text()]
      }
      const unknown = await answerTo('/dev/nothing')
      expect(unknown[0]).toBe(404)
      expect(await answerTo('/dev/mailbox')).toEqual(unknown)
      expect(await answerTo('/dev/mailbox.json')).toEqual(unknown)
    }
  })
})
