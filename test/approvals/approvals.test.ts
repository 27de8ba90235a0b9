// Uses of policies that people approve with their passkeys, over HTTP and on a real chain.

import { describe, expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import { parseTransaction } from 'viem'
import { publicKeyToAddress } from 'viem/accounts'
import { deployCanonicalContracts } from '../../devnet/canonical-contracts.ts'
import { createApp } from '../../src/api/app.ts'
import { addOrigins } from '../../src/identity/projects/settings.ts'
import { createApiCtx } from '../../src/main/contexts.ts'
import { readConfig } from '../../src/platform/config.ts'
import { listen } from '../../src/platform/http/listen.ts'
import { fundedAccount, startChain } from '../support/chains.ts'
import { startGate } from '../support/gate.ts'
import { isLong, longTest } from '../support/long.ts'
import { type Answer, startService } from '../support/service.ts'
import { afterTests, shared } from '../support/shared.ts'
import { createAuthenticator, UP } from '../users/authenticator.ts'
import { type Approver, newApprover, PAGE } from './approver.ts'

const network = 'Ethereum'
const PIN = '493817'
const SECRET = 'testnet-secret'
const RECIPIENT = fundedAccount(5).address
const STRANGER = fundedAccount(6).address

const newPerson = (of: Parameters<typeof newApprover>[1] = {}) => newApprover(service, of)

/** Another API process on the same database. */
const startSecond = async () => {
  const ctx = await createApiCtx({ config: readConfig(service.variables), process: 'second-api' })
  const server = listen({ fetch: createApp(ctx).fetch, hostname: '127.0.0.1', port: 0, log: ctx.log })
  const { post } = service.as(service.project, `http://127.0.0.1:${server.port}`)
  const close = async () => {
    await server.stop(true)
    await ctx.close({ timeoutSeconds: 5 })
  }
  return { post, close }
}

const chain = await shared(startChain(network))
await deployCanonicalContracts(chain.rpcUrl)
const gate = startGate(chain.rpcUrl)
afterTests(() => gate.stop())
const service = await shared(startService({ rpcUrls: { [network]: gate.url } }))
const second = await shared(startSecond())
const { sql } = service.database
const people = await Promise.all([newPerson(), newPerson(), newPerson()])

const rule = (argument: string, operator: string, value: string) => ({ argument, operator, value })
const ids = (those: readonly Approver[] = people) => those.map(({ id }) => id)

type Wallet = { readonly address: `0x${string}` }

const newPolicy = async ({ address }: Wallet, body: object) => {
  const rules = [rule('to', 'eq', RECIPIENT.toLowerCase()), rule('value', 'le', '5')]
  const made = await service.post('/policies', { network, wallet_address: address, argument_rules: rules, ...body })
  if (made.status !== 200) throw new Error(made.text)
  return made.json
}

/** A project's wallet under policies, with one whose uses `of` people must approve. */
const newWallet = async (of: number, agreed: object = {}, from = ids()) => {
  const wallet = await service.newWallet({ network, ownerId: randomUUID() })
  await chain.fund(wallet.address)
  const policy = await newPolicy(wallet, { developer_secret: SECRET, require_approval: { of, from }, ...agreed })
  const body = { network, address: wallet.address, developer_secret: SECRET }
  expect((await service.post('/wallets/put-under-policies', body)).status).toBe(200)
  return { ...wallet, policy }
}

const bodyOf = ({ address }: Wallet, rest: object = {}, transaction: object = { to: RECIPIENT, value: '1' }) => ({
  network,
  signer_wallet_address: address,
  unsigned_transaction: transaction,
  developer_secret: SECRET,
  ...rest,
})
const send = (wallet: Wallet, rest: object = {}, transaction?: object) =>
  service.post('/transactions/sign-and-send', bodyOf(wallet, rest, transaction))

/** Asks, and returns the id of the approval that waits. */
const ask = async (wallet: Wallet, transaction?: object): Promise<string> => {
  const answer = await send(wallet, {}, transaction)
  expect([answer.status, answer.json.status]).toEqual([202, 'waiting'])
  return answer.json.approval_id
}

const told = ({ status, json }: Answer) => [status, json?.code ?? json?.status ?? null]
const WAITING = [202, 'waiting']
const SENT = [200, 'submitted']
const DECIDED = [200, null]
const ENDED = [409, 'approval_ended']
const MISMATCH = [409, 'approval_mismatch']
const NOT_FOUND = [404, 'not_found']

const [first, second_, third] = [0, 1, 2].map((at) => () => {
  const person = people[at]
  if (person === undefined) throw new Error('there are three people')
  return person
}) as [() => Approver, () => Approver, () => Approver]

const statusOf = async (id: string) => {
  const { json } = await service.get('/approvals')
  return json.find((each: { approval_id: string }) => each.approval_id === id)
}
const usesOf = async (uuid: string) => Number((await sql`select uses from policies where id = ${uuid}`)[0]?.uses)

describe('a use that needs approvers', () => {
  test('waits until enough approvers have seen and approved it, and the same request then carries it out once', async () => {
    const wallet = await newWallet(2)
    const asked = await send(wallet)
    expect(told(asked)).toEqual(WAITING)
    const { approval_id, expires_at } = asked.json
    expect(Date.parse(expires_at) - Date.now()).toBeGreaterThan(86_000_000)
    // The same request is the same approval.
    expect((await send(wallet)).json).toEqual(asked.json)
    expect(told(await send(wallet, { approval_id }))).toEqual(WAITING)
    const [shown] = await first().waiting()
    expect(shown).toMatchObject({
      approval_id,
      status: 'waiting',
      policy_uuid: wallet.policy.uuid,
      wallet_address: wallet.address,
      action: 'send',
      required: 2,
      decisions: [],
      unsigned_transactions: [{ to: RECIPIENT, value: '1', input: '0x' }],
      previews: [{ simulation: { success: true, asset_changes: [{ to: RECIPIENT, raw_amount: '1' }] } }],
    })
    expect(told(await first().decide(approval_id))).toEqual(DECIDED)
    // Whoever has approved can still reject.
    expect((await first().waiting())[0]).toMatchObject({ approval_id, decisions: [{ decision: 'approve' }] })
    expect(told(await send(wallet, { approval_id }))).toEqual(WAITING)
    expect(told(await second_().decide(approval_id))).toEqual(DECIDED)
    expect(await statusOf(approval_id)).toMatchObject({ status: 'granted' })
    const headers = { 'idempotency-key': randomUUID() }
    const done = await service.post('/transactions/sign-and-send', bodyOf(wallet, { approval_id }), headers)
    expect(told(done)).toEqual(SENT)
    expect((await service.post('/transactions/sign-and-send', bodyOf(wallet, { approval_id }), headers)).json).toEqual(
      done.json,
    )
    expect(told(await send(wallet, { approval_id }))).toEqual(ENDED)
    expect(await statusOf(approval_id)).toMatchObject({ status: 'used', previews: null })
    expect(await usesOf(wallet.policy.uuid)).toBe(1)
  })

  test('refuses a request that differs from the approved one in any byte', async () => {
    const wallet = await newWallet(1)
    const approval_id = await ask(wallet)
    await first().decide(approval_id)
    const other = await newWallet(1)
    expect(told(await send(wallet, { approval_id }, { to: RECIPIENT, value: '2' }))).toEqual(MISMATCH)
    expect(told(await send(wallet, { approval_id }, { to: RECIPIENT, value: '1', gasLimit: '30000' }))).toEqual(
      MISMATCH,
    )
    expect(told(await service.post('/transactions/sign', bodyOf(wallet, { approval_id })))).toEqual(MISMATCH)
    expect(told(await send(other, { approval_id }))).toEqual(NOT_FOUND)
    expect(told(await send(wallet, { approval_id: randomUUID() }))).toEqual(NOT_FOUND)
    // What no policy allows is no matter of approvers.
    expect(told(await send(wallet, { approval_id }, { to: STRANGER, value: '1' }))).toEqual([403, 'policy_denied'])
    expect(told(await send(wallet, {}, { to: STRANGER, value: '1' }))).toEqual([403, 'policy_denied'])
    expect(told(await send(wallet, { approval_id: approval_id.toUpperCase() }))).toEqual(SENT)
  })

  longTest('may fix nonce, gas and fees, and is then sent with these', async () => {
    const wallet = await newWallet(1)
    const { maxFeePerGas, maxPriorityFeePerGas } = await chain.publicClient.estimateFeesPerGas()
    const fees = { maxFeePerGas: String(maxFeePerGas), maxPriorityFeePerGas: String(maxPriorityFeePerGas) }
    const transaction = { to: RECIPIENT, value: '1', nonce: '0', gasLimit: '30000', ...fees }
    const approval_id = await ask(wallet, transaction)
    await first().decide(approval_id)
    expect(told(await send(wallet, { approval_id }, transaction))).toEqual(SENT)
    const [attempt] = await sql`select raw from tests.attempts a join transactions t on t.id = a.transaction_id
      where t.wallet_id = ${wallet.id} and a.kind = 'rung'`
    expect(parseTransaction(attempt?.raw)).toMatchObject({
      ...{ to: RECIPIENT.toLowerCase(), gas: 30_000n, maxFeePerGas, maxPriorityFeePerGas },
    })
  })

  longTest('can be a signature without sending, and can concern a user-controlled wallet', async () => {
    const wallet = await service.newWallet({ network, ownerId: randomUUID(), pin: PIN })
    await chain.fund(wallet.address)
    await newPolicy(wallet, { user_pin: PIN, require_approval: { of: 1, from: ids() } })
    const sign = (rest: object = {}) => service.post('/transactions/sign', bodyOf(wallet, rest))
    const { approval_id } = (await sign()).json
    expect(told(await sign({ user_pin: PIN, developer_secret: undefined }))).toEqual([200, null])
    await third().decide(approval_id)
    const signed = await sign({ approval_id })
    expect(parseTransaction(signed.json)).toMatchObject({ to: RECIPIENT.toLowerCase(), value: 1n, nonce: 0 })
    expect(told(await sign({ approval_id }))).toEqual(ENDED)
  })

  longTest('can be a batch of a contract wallet, in its order, after the deployment', async () => {
    const control = { control_mode: 'user', user_pin: PIN, type: 'contract' }
    const wallet = (await service.post('/wallets', { network, name: 'C', owner_id: randomUUID(), ...control })).json
    const [{ public_key: key } = {}] = await sql`select public_key from wallets where id = ${wallet.id}`
    await chain.fund(publicKeyToAddress(`0x${key.toString('hex')}`))
    await chain.fund(wallet.address)
    const fee = String(10n ** 20n)
    await newPolicy(wallet, { user_pin: PIN, max_total_fee: fee, require_approval: { of: 1, from: ids() } })
    const batch = (values: readonly string[], rest: object = {}) =>
      service.post('/transactions/batch-sign-and-send', {
        network,
        signer_wallet_address: wallet.address,
        unsigned_transactions: values.map((value) => ({ to: RECIPIENT, value })),
        developer_secret: SECRET,
        ...rest,
      })
    const { approval_id } = (await batch(['1', '2'])).json
    expect((await first().waiting())[0]).toMatchObject({
      action: 'batch',
      unsigned_transactions: [{ value: '1' }, { value: '2' }],
    })
    await first().decide(approval_id)
    expect(told(await batch(['2', '1'], { approval_id }))).toEqual(MISMATCH)
    expect(told(await batch(['1', '2'], { approval_id }))).toEqual(SENT)
    expect((await sql`select from transactions where wallet_id = ${wallet.id}`).length).toBe(2)
  })

  longTest('can be a mint or a speed-up', async () => {
    const wallet = await service.newWallet({ network, ownerId: randomUUID(), pin: PIN })
    await chain.fund(wallet.address)
    const { address: contract_address } = await chain.deploy('WizardCollection', ['Doors', 'DOOR', wallet.address])
    const rules = [rule('to', 'eq', contract_address), rule('decodedInput.function', 'eq', 'safeMint(address,string)')]
    await newPolicy(wallet, { user_pin: PIN, argument_rules: rules, require_approval: { of: 1, from: ids() } })
    const mint = (rest: object = {}) =>
      service.post('/nfts/mint', {
        network,
        from: wallet.address,
        contract_address,
        uri: 'ipfs://one',
        developer_secret: SECRET,
        ...rest,
      })
    const approved = async (asked: Answer, shown: object): Promise<string> => {
      expect(told(asked)).toEqual(WAITING)
      expect(await statusOf(asked.json.approval_id)).toMatchObject(shown)
      expect(told(await first().decide(asked.json.approval_id))).toEqual(DECIDED)
      return asked.json.approval_id
    }
    const mints = { action: 'mint', transaction_id: null, signer_nonce: null }
    const minted = await mint({ approval_id: await approved(await mint(), mints) })
    expect(told(minted)).toEqual(SENT)
    const { transaction_id } = minted.json
    const speedUp = (rest: object = {}) =>
      service.post('/transactions/speed-up', { transaction_id, developer_secret: SECRET, ...rest })
    const again = { action: 'speed-up', transaction_id, signer_nonce: '0' }
    expect(told(await speedUp({ approval_id: await approved(await speedUp(), again) }))).toEqual(SENT)
  })

  longTest('of a speed-up does not cover another transaction that does the same', async () => {
    const control = { control_mode: 'user', user_pin: PIN, type: 'contract' }
    const wallet = (await service.post('/wallets', { network, name: 'C', owner_id: randomUUID(), ...control })).json
    const [{ public_key: key } = {}] = await sql`select public_key from wallets where id = ${wallet.id}`
    await chain.fund(publicKeyToAddress(`0x${key.toString('hex')}`))
    await chain.fund(wallet.address)
    const byPin = { user_pin: PIN, developer_secret: undefined }
    const [one, other] = [(await send(wallet, byPin)).json, (await send(wallet, byPin)).json]
    const fee = String(10n ** 20n)
    await newPolicy(wallet, { user_pin: PIN, max_total_fee: fee, require_approval: { of: 1, from: ids() } })
    const speedUp = ({ transaction_id }: { readonly transaction_id: string }, rest: object = {}) =>
      service.post('/transactions/speed-up', { transaction_id, developer_secret: SECRET, ...rest })
    const { approval_id } = (await speedUp(one)).json
    await first().decide(approval_id)
    expect(told(await speedUp(other, { approval_id }))).toEqual(MISMATCH)
    expect(told(await speedUp(one, { approval_id }))).toEqual(SENT)
  })

  longTest('needs no approval if another policy without approvers allows it', async () => {
    const wallet = await service.newWallet({ network, ownerId: randomUUID(), pin: PIN })
    await chain.fund(wallet.address)
    await newPolicy(wallet, { user_pin: PIN, require_approval: { of: 1, from: ids() } })
    expect(told(await send(wallet))).toEqual(WAITING)
    const previewed = async () => {
      const { unsigned_transaction } = bodyOf(wallet)
      const body = { network, from: wallet.address, unsigned_transaction }
      return (await service.post('/transactions/preview', body)).json.policy
    }
    expect(await previewed()).toMatchObject({ allowed: true, needs_approval: true })
    const { uuid } = await newPolicy(wallet, { user_pin: PIN })
    expect(await previewed()).toMatchObject({ allowed: true, needs_approval: false, uuid })
    expect(told(await send(wallet))).toEqual(SENT)
  })

  longTest('creates one approval for simultaneous equal requests, and a policy has at most 100 open ones', async () => {
    const wallet = await newWallet(1)
    const asks = Array.from({ length: 20 }, (_, at) => (at % 2 === 0 ? service.post : second.post))
    const same = await Promise.all(asks.map((post) => post('/transactions/sign-and-send', bodyOf(wallet))))
    expect(same.map(told)).toEqual(same.map(() => WAITING))
    expect(new Set(same.map(({ json }) => json.approval_id)).size).toBe(1)
    const id = same[0]?.json.approval_id
    const { uuid } = wallet.policy
    await sql`insert into approvals
      (id, project_id, wallet_id, policy_id, asked_by, request, required, approver_ids, expires_at)
      select gen_random_uuid(), project_id, wallet_id, policy_id, asked_by, request || n, required, approver_ids, expires_at
      from approvals, generate_series(1, 97) n where id = ${id}`
    const more = await Promise.all(
      asks.map((post, at) =>
        post(
          '/transactions/sign-and-send',
          bodyOf(wallet, {}, { to: RECIPIENT, value: '1', gasLimit: `${30_000 + at}` }),
        ),
      ),
    )
    const BUSY = [503, 'busy']
    expect(more.map(told).sort()).toEqual([WAITING, WAITING, ...Array.from({ length: 18 }, () => BUSY)])
    const [counted] = await sql`select count(*)::int as open from approvals where policy_id = ${uuid}`
    expect(counted).toEqual({ open: 100 })
    await sql`delete from approvals where policy_id = ${uuid}`
  })

  test('is carried out once if two processes get the request at the same time', async () => {
    const wallet = await newWallet(1)
    const approval_id = await ask(wallet)
    await first().decide(approval_id)
    const body = bodyOf(wallet, { approval_id })
    const posts = [service.post, second.post, service.post, second.post]
    const answers = await Promise.all(posts.map((post) => post('/transactions/sign-and-send', body)))
    expect(answers.map(told).sort()).toEqual([SENT, ENDED, ENDED, ENDED])
    expect(await usesOf(wallet.policy.uuid)).toBe(1)
    expect((await sql`select from transactions where wallet_id = ${wallet.id}`).length).toBe(1)
  })
})

describe('an approver', () => {
  test('decides with a verified passkey, which signs only this decision', async () => {
    const wallet = await newWallet(1)
    const id = await ask(wallet)
    const { authenticator, begin, answer, decide } = first()
    const options = (await begin(id, 'reject')).json.publicKey
    expect(options).toMatchObject({ rpId: 'localhost', userVerification: 'required' })
    expect(options.allowCredentials).toEqual([{ type: 'public-key', id: authenticator.id }])
    const invalid = [400, 'invalid_input']
    expect(told(await answer(id, 'approve', authenticator.get(options)))).toEqual(invalid)
    expect(told(await decide(id, 'approve', { flags: UP }))).toEqual(invalid)
    const evil = createAuthenticator({
      origin: 'https://evil.example',
      credentialId: Buffer.from(authenticator.id, 'base64url'),
    })
    expect(told(await answer(id, 'reject', evil.get(options)))).toEqual(invalid)
    // Another approver's passkey.
    expect(told(await answer(id, 'reject', second_().authenticator.get(options)))).toEqual(invalid)
    expect(await statusOf(id)).toMatchObject({ status: 'waiting', decisions: [] })
  })

  longTest('is asked for a passkey that works on the page', async () => {
    const APP = 'https://app.example.com'
    await addOrigins(service.ctx, { projectId: service.project.projectId, origins: [PAGE, APP] })
    const [both, one] = [await newPerson(), await newPerson()]
    const onApp = createAuthenticator({ origin: APP })
    const postOnApp = (person: Approver, path: string, body: unknown = {}) =>
      service.post(path, body, { ...person.headers, origin: APP })
    const { publicKey } = (await postOnApp(both, '/users/passkey/begin-registration')).json
    expect((await postOnApp(both, '/users/passkey/finish-registration', onApp.create(publicKey))).status).toBe(200)
    const approval_id = await ask(await newWallet(1, {}, ids([both, one])))
    const beginOnApp = (person: Approver) => postOnApp(person, '/approvals/begin', { approval_id, decision: 'approve' })
    const here = (await both.begin(approval_id, 'approve')).json.publicKey
    expect([here.rpId, here.allowCredentials.length]).toEqual(['localhost', 1])
    expect(told(await beginOnApp(one))).toEqual([400, 'passkey_domain_required'])
    const options = (await beginOnApp(both)).json.publicKey
    expect([options.rpId, options.allowCredentials]).toEqual([
      'app.example.com',
      [{ type: 'public-key', id: onApp.id }],
    ])
    const passkey_credential_assertion_response = onApp.get(options)
    const body = { approval_id, decision: 'approve', passkey_credential_assertion_response }
    expect(told(await postOnApp(both, '/approvals/decide', body))).toEqual(DECIDED)
  })

  test('must be named by the policy; others do not see the request, and an API key cannot decide', async () => {
    const wallet = await newWallet(1, {}, ids([first()]))
    const id = await ask(wallet)
    for (const person of isLong ? [second_(), await newPerson()] : [second_()]) {
      expect(told(await person.decide(id))).toEqual(NOT_FOUND)
      expect((await person.waiting()).map((each: { approval_id: string }) => each.approval_id)).not.toContain(id)
    }
    const body = { approval_id: id, decision: 'approve' }
    expect(told(await service.post('/approvals/begin', body))).toEqual([403, 'user_session_required'])
    expect(told(await first().decide(randomUUID()))).toEqual(NOT_FOUND)
  })

  longTest('counts once even after several clicks, and several approvers can decide at the same time', async () => {
    const wallet = await newWallet(2)
    const id = await ask(wallet)
    const clicks = await Promise.all([first(), first(), first(), second_(), second_()].map(({ decide }) => decide(id)))
    expect(clicks.map(told)).toEqual(clicks.map(() => DECIDED))
    const shown = await statusOf(id)
    expect([shown.status, shown.decisions.length]).toEqual(['granted', 2])
    const rows = await sql`select actor from audit where action = 'approval_decided' and details->>'approval' = ${id}`
    expect(rows.map(({ actor }) => actor).sort()).toEqual(
      [first(), second_()].map(({ id: user }) => `user:${user}`).sort(),
    )
    expect(told(await send(wallet, { approval_id: id }))).toEqual(SENT)
  })

  longTest('can end it by rejecting, even after it was granted and after approving it themselves', async () => {
    const wallet = await newWallet(1)
    for (const rejecter of [second_(), first()]) {
      const approval_id = await ask(wallet)
      expect(told(await first().decide(approval_id))).toEqual(DECIDED)
      expect(told(await rejecter.decide(approval_id, 'reject'))).toEqual(DECIDED)
      expect(told(await send(wallet, { approval_id }))).toEqual(ENDED)
      expect(told(await third().decide(approval_id))).toEqual(ENDED)
      expect(await statusOf(approval_id)).toMatchObject({ status: 'rejected' })
    }
    expect(await usesOf(wallet.policy.uuid)).toBe(0)
  })

  longTest('can still reject while the transaction is prepared', async () => {
    const wallet = await newWallet(1)
    const approval_id = await ask(wallet)
    await first().decide(approval_id)
    using held = gate.hold('after', 'eth_getTransactionCount')
    const sending = send(wallet, { approval_id })
    await held.reached
    expect(told(await second_().decide(approval_id, 'reject'))).toEqual(DECIDED)
    held.release()
    expect(told(await sending)).toEqual(ENDED)
    expect(await usesOf(wallet.policy.uuid)).toBe(0)
  })

  test('does not count after removing the passkey', async () => {
    const gone = await newPerson()
    const wallet = await newWallet(1, {}, ids([second_(), gone]))
    const approval_id = await ask(wallet)
    await gone.decide(approval_id)
    expect(await statusOf(approval_id)).toMatchObject({ status: 'granted' })
    await sql`delete from passkeys where user_id = ${gone.id}`
    expect(told(await send(wallet, { approval_id }))).toEqual(WAITING)
    await second_().decide(approval_id)
    expect(told(await send(wallet, { approval_id }))).toEqual(SENT)
  })

  test('is too late once it has expired', async () => {
    const wallet = await newWallet(1)
    const approval_id = await ask(wallet)
    await sql`update approvals set expires_at = now() where id = ${approval_id}`
    expect(told(await first().decide(approval_id))).toEqual(ENDED)
    expect(told(await send(wallet, { approval_id }))).toEqual(ENDED)
    expect(await statusOf(approval_id)).toMatchObject({ status: 'expired' })
    expect(await ask(wallet)).not.toBe(approval_id)
  })

  longTest('is too late once the policy was revoked', async () => {
    const wallet = await newWallet(1)
    const another = await ask(wallet)
    await service.post('/policies/revoke', { uuid: wallet.policy.uuid, developer_secret: SECRET })
    expect(told(await first().decide(another))).toEqual(ENDED)
    expect(told(await send(wallet, { approval_id: another }))).toEqual([403, 'policy_denied'])
  })
})

describe('the owner of the database', () => {
  test('can neither approve a request nor extend an approval', async () => {
    const wallet = await newWallet(2)
    const approval_id = await ask(wallet)
    await first().decide(approval_id)
    const columns = sql`approval_id, decision, client_data_json, authenticator_data, signature`
    await sql`insert into approval_decisions (user_id, credential_id, ${columns})
      select p.user_id, p.credential_id, d.approval_id, d.decision, d.client_data_json, d.authenticator_data, d.signature
      from approval_decisions d, passkeys p where d.approval_id = ${approval_id} and p.user_id = ${second_().id}`
    expect(told(await send(wallet, { approval_id }))).toEqual([403, 'policy_denied'])
    await sql`delete from approval_decisions where approval_id = ${approval_id} and user_id = ${second_().id}`
    await sql`update approvals set expires_at = expires_at + interval '1 year' where id = ${approval_id}`
    expect(told(await second_().decide(approval_id))).toEqual(ENDED)
    await sql`update approvals set expires_at = expires_at - interval '1 year' where id = ${approval_id}`
    await second_().decide(approval_id)
    await sql`update approvals set expires_at = expires_at + interval '1 hour' where id = ${approval_id}`
    expect(told(await send(wallet, { approval_id }))).toEqual([403, 'policy_denied'])
    await sql`update approvals set expires_at = expires_at - interval '1 hour' where id = ${approval_id}`
    expect(told(await send(wallet, { approval_id }))).toEqual(SENT)
    // The vault remembers that it was used.
    await sql`update approvals set used_at = null where id = ${approval_id}`
    expect(told(await send(wallet, { approval_id }))).toEqual(ENDED)
  })
})

/** As the policy binds it. */
const passkeyOf = ({ id: user_id, authenticator: { id: credential_id, publicKey: public_key } }: Approver) => ({
  user_id,
  credential_id,
  public_key,
})
const byUser = (passkeys: readonly { readonly user_id: string }[]) =>
  passkeys.toSorted((one, other) => one.user_id.localeCompare(other.user_id))

describe('a policy with approvers', () => {
  test('shows its approvers, and is refused if there are too few', async () => {
    const wallet = await service.newWallet({ network, ownerId: randomUUID() })
    const create = (require_approval: object) =>
      newPolicy(wallet, { developer_secret: SECRET, require_approval }).catch((error) => error.message)
    const { passkeys, ...required } = (await create({ of: 2, from: ids(), expires_in_seconds: 60 })).require_approval
    expect(required).toEqual({ of: 2, from: ids().sort(), expires_in_seconds: 60 })
    expect(byUser(passkeys)).toEqual(byUser(people.map(passkeyOf)))
    const without = await newPerson({ hasPasskey: false })
    expect(await create({ of: 1, from: ids([without]) })).toContain('must name users of the project who have a passkey')
    expect(await create({ of: 4, from: ids() })).toContain('must be at most the number of approvers, which is 3')
    expect((await create({ of: 1 })).require_approval.from).toEqual(expect.arrayContaining(ids()))
  })

  test('is described with the number of approvers, and a mistake is refused before the owner of the wallet reads it', async () => {
    const { address } = await service.newWallet({ network, ownerId: randomUUID(), pin: PIN })
    const proposal = {
      network,
      wallet_address: address,
      argument_rules: [rule('value', 'le', '5')],
      max_total_fee: '1',
    }
    const describes = (require_approval: object) =>
      service.post('/policies/describe', { ...proposal, require_approval })
    const required = { of: 2, from: [...ids(), ...ids()], expires_in_seconds: 60 }
    const { policy, words, approver_passkeys } = (await describes(required)).json
    expect(policy.require_approval).toEqual(required)
    expect(byUser(approver_passkeys)).toEqual(byUser(people.map(passkeyOf)))
    expect(JSON.stringify(words.limits)).toContain("Each time 2 of 3 of the developer's users must approve it first.")
    expect(told(await describes({ of: 4, from: ids() }))).toEqual([400, 'invalid_input'])
  })
})
