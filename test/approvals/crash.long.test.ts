// The vault is killed before or after it commits the use of an approval, or the API between that and the end of its own
// work. What was approved is signed and recorded at most once, whatever is asked again.

import { expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import { startChain } from '../support/chains.ts'
import { runCli } from '../support/cli.ts'
import { createMortals } from '../support/mortal.ts'
import { connectToMortal } from '../support/mortal-postgres.ts'
import { type Answer, type Service, startService } from '../support/service.ts'
import { afterTests, shared } from '../support/shared.ts'
import type { Moment } from '../support/wire.ts'
import { newApprover } from './approver.ts'

const network = 'Ethereum'
const TO = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
const by = { network, developer_secret: 'testnet-secret' }

let client: ReturnType<Service['as']>

/** Starts what does not run. */
const start = async () => {
  for (const each of [vault, api]) each.spare()
  if (!vault.isAlive()) await vault.start()
  if (!api.isAlive()) client = service.as(service.project, (await api.start())?.[1])
}

const chain = await shared(startChain(network))
const service = await shared(startService({ rpcUrls: { [network]: chain.rpcUrl } }))
const approver = await newApprover(service)
const sql = connectToMortal(service.database.url)
afterTests(() => sql.end())
const { vault, api } = await createMortals(service, chain.rpcUrl)
for (const each of [vault, api]) afterTests(each.stop)
await start()

/** A payment that was approved, of a wallet that pays only so. */
const approvedPayment = async () => {
  const { address } = await service.newWallet({ network, ownerId: randomUUID() })
  await chain.fund(address)
  const argument_rules = [{ argument: 'to', operator: 'eq', value: TO.toLowerCase() }]
  const require_approval = { of: 1, from: [approver.id] }
  const policy = await service.post('/policies', { ...by, wallet_address: address, argument_rules, require_approval })
  expect((await service.post('/wallets/put-under-policies', { ...by, address })).status).toBe(200)
  const body = { ...by, signer_wallet_address: address, unsigned_transaction: { to: TO, value: '1' } }
  const { approval_id } = (await service.post('/transactions/sign-and-send', body)).json
  expect((await approver.decide(approval_id)).status).toBe(200)
  return {
    address,
    policyId: policy.json.uuid as string,
    approvalId: approval_id as string,
    body: { ...body, approval_id },
  }
}

type Payment = Awaited<ReturnType<typeof approvedPayment>>

const told = ({ status, json }: Answer) => [status, json.code ?? json.status]

const stateOf = async ({ address, policyId, approvalId }: Payment) => {
  const [row] = await sql`select
    (select uses::int from policies where id = ${policyId}) as uses,
    (select count(*)::int from used_approvals where approval_id = ${approvalId}) as used,
    (select count(*)::int from audit where details->>'approval' = ${approvalId} and details->>'policy_uses' = '1') as signed,
    (select count(*)::int from transactions where signer_address = ${address}) as recorded`
  return { ...row }
}
const NOTHING = { uses: 0, used: 0, signed: 0, recorded: 0 }
const SIGNED = { uses: 1, used: 1, signed: 1, recorded: 0 }
const WHOLE = { ...SIGNED, recorded: 1 }
const ENDED = [409, 'approval_ended']
const SENT = [200, 'submitted']

type Kill = { readonly process: 'vault' | 'api'; readonly kind: string; readonly moment: Moment }

const KILLS = [
  [{ process: 'vault', kind: 'insert used_approvals', moment: 'before' }, NOTHING, SENT],
  [{ process: 'vault', kind: 'commit (insert audit)', moment: 'before' }, NOTHING, SENT],
  [{ process: 'vault', kind: 'commit (insert audit)', moment: 'after' }, SIGNED, ENDED],
  [{ process: 'api', kind: 'insert attempts', moment: 'before' }, SIGNED, ENDED],
  [{ process: 'api', kind: 'commit (insert idempotency_keys)', moment: 'before' }, SIGNED, ENDED],
  [{ process: 'api', kind: 'commit (insert idempotency_keys)', moment: 'after' }, WHOLE, SENT],
  [{ process: 'api', kind: 'update approvals', moment: 'before' }, WHOLE, SENT],
] as const

test.each(KILLS)('an approved payment is made at most once after a kill at %j', async (at: Kill, left, again) => {
  await start()
  const payment = await approvedPayment()
  const pay = (key: string) => client.post('/transactions/sign-and-send', payment.body, { 'idempotency-key': key })
  const key = randomUUID()
  const mortal = at.process === 'vault' ? vault : api
  mortal.killAt({ ...at, wire: 'db', nth: 1 })
  const answer = pay(key).catch(() => null)
  await mortal.ended()
  expect((await answer)?.status ?? null).toBe(at.process === 'vault' ? 503 : null)
  expect(await stateOf(payment)).toEqual(left)
  await start()
  expect(told(await pay(key))).toEqual([...again])
  const end = again === SENT ? WHOLE : left
  expect(await stateOf(payment)).toEqual(end)
  expect(told(await pay(randomUUID()))).toEqual(ENDED)
  expect(await stateOf(payment)).toEqual(end)
  const verified = await runCli(['audit', 'verify', '--json'], service.variables)
  expect(JSON.parse(verified.output)).toMatchObject({ ok: true })
})
