// SERVICE_KEY is changed: mails that were not sent yet are sent, webhooks keep their secrets, audit rows of workers are
// valid, and the earlier key is refused.

import { afterAll, beforeAll, expect, test } from 'bun:test'
import postgres, { type Sql } from 'postgres'
import { openMail } from '../../src/identity/mail/queue.ts'
import { sendMail } from '../../src/identity/mail/send.ts'
import { createWorkerAudit } from '../../src/platform/audit/audit.ts'
import { runCli } from '../support/cli.ts'
import { isLong, longTest } from '../support/long.ts'
import { startWorkerHere } from '../support/worker-here.ts'
import { peopleOf } from '../users/people.ts'
import { startReceiver } from '../webhooks/receiver.ts'
import { at, createTraffic, NETWORK, PIN, startWorld, type World } from './keys-world.ts'

const ROTATE = ['keys', 'rotate-service']
const EMAIL = 'somebody@example.com'

let world: World
let sql: Sql
let receiver: Awaited<ReturnType<typeof startReceiver>>

beforeAll(async () => {
  world = await startWorld('SERVICE_KEY')
  sql = postgres(world.service.database.url, { max: 1, onnotice: () => {} })
}, 60_000)
afterAll(async () => {
  await sql.end()
  await receiver?.close()
  await world.close()
})

const written = async (sealer: World['service']['ctx']['sealer']['own']) => {
  const { db, now } = world.service.ctx
  const audit = createWorkerAudit({ db, now, sealer: { ...world.service.ctx.sealer, ...sealer } })
  await audit.commit({ projectId: null, actor: 'system', action: 'final_blocks_lost', subject: NETWORK, details: {} })
}

const brokenRows = async (): Promise<number> => {
  const { output } = await runCli(['audit', 'verify', '--json'], { ...world.sets.next, VAULT_SOCKET: '' })
  return JSON.parse(output).broken.length
}

test('unsent mails, webhooks, audit rows of workers and all requests go on', async () => {
  const { service } = world
  const { own: present } = service.ctx.sealer
  await written(present)
  const session = await peopleOf(service).logIn(EMAIL)
  const { address } = await service.newWallet({ network: NETWORK, pin: PIN })
  const first = isLong ? await world.startApi('presentFirst') : { url: service.baseUrl, stop: async () => {} }
  const second = await world.startApi('nextFirst')
  const traffic = createTraffic(service, { session, address })
  for (const { url } of [first, second]) await traffic.round(url)
  await at(service, first.url).post(
    '/users/login-with-email',
    { email: 'other@example.com' },
    { authorization: undefined },
  )
  receiver = await startReceiver()
  const hook = await at(service, first.url).post('/webhooks', { url: receiver.url, types: ['wallet.created'] })
  receiver.trust(hook.json.secret)
  // By each of the two keys there are mails.
  expect(await peopleOf(at(service, second.url)).codeTo('other@example.com')).toMatch(/^[0-9]{6}$/)
  await first.stop()

  const done = await world.asOwner(ROTATE, 'nextFirst')
  expect([done.exitCode, done.output]).toEqual([
    0,
    expect.stringMatching(/^The database belongs to key:[0-9a-f]{16} now; mails and webhooks sealed anew: 3\./),
  ])
  expect((await world.asOwner(ROTATE, 'next')).output).toStartWith('The database already belongs to')
  const last = await world.startApi('next')
  for (const { url } of [second, last]) await traffic.round(url)
  expect(traffic.failures).toEqual([])
  expect(await peopleOf(at(service, last.url)).codeTo('other@example.com')).toMatch(/^[0-9]{6}$/)
  const rows = await sql<{ id: string; recipient: string; subject: string; sealed: Buffer }[]>`
    select id, recipient, subject, sealed from mails where sealed is not null`
  expect(rows.map((mail) => openMail(service.ctx.sealer, mail))).toEqual([null, null])
  expect(await brokenRows()).toBe(0)
}, 120_000)

test('a worker that still has the earlier key fails no mail: it says that it must be restarted', async () => {
  const { ctx } = world.service
  const [mail] = await sql<{ id: string }[]>`select id from mails where sealed is not null limit 1`
  await expect(sendMail({ ...ctx, mailer: null }, mail?.id ?? '')).rejects.toThrow(
    'SERVICE_KEY was changed: this process must be restarted with the present one.',
  )
  const [kept] = await sql`select failure, sealed is not null as "isKept" from mails where id = ${mail?.id ?? ''}`
  expect(kept).toEqual({ failure: null, isKept: true })
  expect(await sql`select from audit where action = 'row_forged'`).toHaveLength(0)
})

longTest(
  'a webhook signs with the secret that its receiver has had all the time',
  async () => {
    const { service, sets } = world
    const worker = await startWorkerHere(service, { SERVICE_KEY: sets.next.SERVICE_KEY ?? '' })
    await at(service, (await world.startApi('next')).url).newWallet({ network: NETWORK })
    expect(await receiver.until(1)).toMatchObject([{ payload: { type: 'wallet.created' } }])
    expect(receiver.refused).toEqual([])
    await worker.stop()
  },
  60_000,
)

test('the earlier key is refused for a start, for mails and for rows of the audit', async () => {
  const { service } = world
  const refused = await runCli(['sessions', 'list', '--project', service.project.projectId], world.sets.present)
  expect(refused.exitCode).toBe(0)
  const keyed = await runCli(
    ['api-key', 'create', '--project', service.project.projectId, '--name', 'x'],
    world.sets.present,
  )
  expect([keyed.exitCode, keyed.errors]).toEqual([
    1,
    expect.stringContaining('The service key does not fit this database'),
  ])
  await written(service.ctx.sealer.own)
  expect(await brokenRows()).toBe(1)
  expect((await service.call('/readyz')).status).toBe(503)
}, 60_000)
