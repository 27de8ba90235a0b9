// Recovery codes and passkeys over HTTP. The vault's own behaviour is tested in test/vault/user-secrets.test.ts.

import { describe, expect, test } from 'bun:test'
import { randomBytes, randomUUID } from 'node:crypto'
import { startFinishingSecretChanges } from '../../src/identity/users/secret-changes.ts'
import { createProject } from '../../src/operators/projects.ts'
import { startApiProcess } from '../support/api.ts'
import { commonService } from '../support/common-service.ts'
import { holdTable, untilWaiting } from '../support/locks.ts'
import { isLong, longTest } from '../support/long.ts'
import type { Answer, Service } from '../support/service.ts'
import { until } from '../support/until.ts'
import { peopleOf } from '../users/people.ts'

const PIN = '493817'
const NEW = '604913'
const network = 'Ethereum'

const service = await commonService()
const { sql } = service.database

type Wallet = { readonly address: string; readonly owner_id: string }
type Secret = { readonly user_secret: string }
type By = Pick<Service, 'post' | 'get'>

const pin = { user_pin: PIN }
const codeOf = ({ status, json }: Answer): unknown => (status === 200 ? 200 : json.code)

const userWallet = (by: Service | ReturnType<Service['as']> = service): Promise<Wallet> =>
  by.newWallet({ network, pin: PIN, ownerId: randomUUID() })

const at = ({ address }: Wallet) => ({ network, address })
const call = (path: string, wallet: Wallet, body: object, by: By = service) =>
  by.post(`/wallets/${path}`, { ...at(wallet), ...body })

const newCode = async (wallet: Wallet, credential: object = pin): Promise<Secret> => {
  const { status, json } = await call('recovery-code', wallet, credential)
  expect([status, Object.keys(json)]).toEqual([200, ['recovery_code']])
  return { user_secret: json.recovery_code }
}

const newPasskey = async (wallet: Wallet, passkey_id: string, credential: object = pin): Promise<Secret> => {
  const passkey_secret = randomBytes(32).toString('base64url')
  const answer = await call('passkey-secret', wallet, { passkey_id, passkey_secret, ...credential })
  expect([answer.status, answer.json]).toEqual([200, { success: true }])
  return { user_secret: passkey_secret }
}

const sign = ({ address }: Wallet, credential: object, by: By = service) =>
  by.post('/transactions/sign', {
    network,
    signer_wallet_address: address,
    unsigned_transaction: {
      to: address,
      gasLimit: '21000',
      nonce: '0',
      maxFeePerGas: '1000000000',
      maxPriorityFeePerGas: '0',
    },
    ...credential,
  })

const secretsOf = async (wallet: Wallet) =>
  (await service.get('/wallets/user-secrets', at(wallet))).json.map(
    ({ kind, passkey_id }: { kind: string; passkey_id: string | null }) => [kind, passkey_id],
  )

const lockOut = async (wallet: Wallet) => {
  await Promise.all(Array.from({ length: 5 }, () => sign(wallet, { user_pin: '000000' })))
  expect(codeOf(await sign(wallet, pin))).toBe('TOO_MANY_FAILED_ATTEMPTS')
}

/** A wallet that tests only sign with, and its code. */
const known = await userWallet()
const knownCode = await newCode(known)

describe('user_secret', () => {
  test('stands wherever the PIN does', async () => {
    const wallet = await userWallet()
    const { address, owner_id } = wallet
    const secrets = [await newPasskey(wallet, 'key-1'), ...(isLong ? [await newCode(wallet)] : [])]
    for (const secret of secrets) {
      const message = { network, signer_wallet_address: address, message: 'It is here.' }
      const policy = {
        network,
        wallet_address: address,
        argument_rules: [{ argument: 'value', operator: 'le', value: '1' }],
        max_total_fee: '1',
      }
      const signed = [await sign(wallet, secret), await sign(wallet, pin)]
      expect(signed.map(({ status, json }) => [status, json])).toEqual([
        [200, signed[1]?.json],
        [200, signed[0]?.json],
      ])
      const uses = [
        await service.post('/transactions/sign-message', { ...message, ...secret }),
        await call('export', wallet, secret),
      ]
      expect(uses.map(codeOf)).toEqual([200, 200])
      const made = await service.post('/policies', { ...policy, ...secret })
      expect(codeOf(made)).toBe(200)
      expect(codeOf(await service.post('/policies/revoke', { uuid: made.json.uuid, ...secret }))).toBe(200)
      // These get past the credential to what is missing here: a node.
      for (const path of ['sign-and-send', 'batch-sign-and-send']) {
        const unsigned = { to: address, value: '1' }
        const body =
          path === 'sign-and-send' ? { unsigned_transaction: unsigned } : { unsigned_transactions: [unsigned] }
        const answer = await service.post(`/transactions/${path}`, {
          network,
          signer_wallet_address: address,
          ...body,
          ...secret,
        })
        expect(['node_unavailable', 'batch_unsupported']).toContain(answer.json.code)
      }
    }
    const code = await newCode(wallet)
    const further = { network: 'Base', name: 'B', owner_id, control_mode: 'user', ...code }
    expect(codeOf(await service.post('/wallets', further))).toBe(200)
  })

  test('beside a PIN is refused, and so is neither, with the names of the fields', async () => {
    const [wallet, code] = [known, knownCode]
    const both = await sign(wallet, { ...pin, ...code })
    expect([both.status, both.json]).toEqual([
      400,
      { error: 'Only one of the fields "user_pin" and "user_secret" belongs here.', code: 'credential_ambiguous' },
    ])
    const neither = await sign(wallet, {})
    expect(neither.json.error).toBe('Field "user_pin" or "user_secret" is required.')
    const change = (body: object) => call('change-user-pin', wallet, { new_user_pin: NEW, ...body })
    const sentence = 'Exactly one of "old_user_pin" and "user_secret" must be given.'
    const answers = [await change({}), await change({ old_user_pin: PIN, ...code })]
    expect(answers.map(({ status, json }) => [status, json.code, json.error])).toEqual([
      [400, 'invalid_input', sentence],
      [400, 'invalid_input', sentence],
    ])
    expect(codeOf(await sign(wallet, pin))).toBe(200)
  })

  test('of another owner or project is wrong, and counts no guess', async () => {
    const [mine, theirs] = [await userWallet(), known]
    const other = service.as(await createProject(service.ctx, { name: 'Other', actor: 'operator' }))
    const away = await userWallet(other)
    const codes = [knownCode, { user_secret: (await call('recovery-code', away, pin, other)).json.recovery_code }]
    for (const code of codes) expect(codeOf(await sign(mine, code))).toBe('INVALID_SECRET')
    expect(codeOf(await sign(theirs, codes[0] ?? {}))).toBe(200)
    expect(codeOf(await sign(away, codes[1] ?? {}, other))).toBe(200)
    const [row] = await sql`select fails, total from pin_guesses where owner_id = ${mine.owner_id}`
    expect({ ...row }).toEqual({ fails: 0, total: 0 })
    await service.flushRefusals()
    const rows = await sql`select sum((details->>'count')::int)::int as count, min(actor) as actor from audit
      where action = 'wrong_user_secret' and subject = ${mine.owner_id}`
    expect(rows.map((each) => ({ ...each }))).toEqual([{ count: 2, actor: expect.stringMatching(/^api_key:/) }])
  })

  test('with a typing error is told from a wrong one, and repeated nowhere', async () => {
    const [wallet, { user_secret }] = [known, knownCode]
    const typed = user_secret.replace(/.$/, (last) => (last === 'Q' ? 'P' : 'Q'))
    for (const wrong of [typed, user_secret.slice(2), 'a'.repeat(40)]) {
      const answer = await sign(wallet, { user_secret: wrong })
      expect([answer.status, answer.json.code]).toEqual([400, 'invalid_input'])
      expect(answer.json.error).toStartWith('Field "user_secret"')
      expect(answer.text).not.toContain(wrong)
    }
    const written = user_secret.toLowerCase().replaceAll('-', ' ')
    expect(codeOf(await sign(wallet, { user_secret: written }))).toBe(200)
  })

  test('is no part of the fingerprint of a repeated request', async () => {
    const [wallet, code] = [known, knownCode]
    const body = { network: 'Base', name: 'B', owner_id: wallet.owner_id, control_mode: 'user' }
    const headers = { 'idempotency-key': randomUUID() }
    const first = await service.post('/wallets', { ...body, ...code }, headers)
    const second = await service.post('/wallets', { ...body, ...pin }, headers)
    expect([first.status, second.json]).toEqual([200, first.json])
  })
})

describe('a lost PIN', () => {
  test('is replaced with a code after a lockout, for all wallets of the owner', async () => {
    const wallet = await userWallet()
    const code = await newCode(wallet)
    await lockOut(wallet)
    expect(codeOf(await call('change-user-pin', wallet, { new_user_pin: NEW, ...knownCode }))).toBe('INVALID_SECRET')
    const answer = await call('change-user-pin', wallet, { new_user_pin: NEW, ...code })
    expect([answer.status, answer.json]).toEqual([200, { success: true }])
    expect(codeOf(await sign(wallet, { user_pin: NEW }))).toBe(200)
    expect(codeOf(await sign(wallet, pin))).toBe('INVALID_SECRET')
    const more = { network: 'Polygon', name: 'P', owner_id: wallet.owner_id, control_mode: 'user', user_pin: NEW }
    expect(codeOf(await service.post('/wallets', more))).toBe(200)
  })

  longTest('stays lost with a wrong code, and the lockout goes on', async () => {
    const wallet = await userWallet()
    const wrong = await newCode(await userWallet())
    await lockOut(wallet)
    expect(codeOf(await call('change-user-pin', wallet, { new_user_pin: NEW, ...wrong }))).toBe('INVALID_SECRET')
    expect(codeOf(await sign(wallet, { user_pin: NEW }))).toBe('TOO_MANY_FAILED_ATTEMPTS')
  })
})

describe('making and removing', () => {
  test('a code is shown once; another one replaces it; it is listed, without its text', async () => {
    const wallet = await userWallet()
    const first = await newCode(wallet)
    const second = await newCode(wallet, first)
    expect([codeOf(await sign(wallet, first)), codeOf(await sign(wallet, second))]).toEqual(['INVALID_SECRET', 200])
    await newPasskey(wallet, 'key-1', second)
    const listed = await service.get('/wallets/user-secrets', at(wallet))
    expect(listed.json).toEqual([
      { kind: 'passkey', passkey_id: 'key-1', created_at: expect.any(String) },
      { kind: 'recovery_code', passkey_id: null, created_at: expect.any(String) },
    ])
    expect(listed.text).not.toContain(second.user_secret)
  })

  longTest('what was removed opens nothing; nothing is removed with itself, or twice', async () => {
    const wallet = await userWallet()
    const [code, passkey] = [await newCode(wallet), await newPasskey(wallet, 'key-1')]
    const ofPasskey = { passkey_id: 'key-1' }
    expect(codeOf(await call('recovery-code/remove', wallet, code))).toBe('invalid_input')
    expect(codeOf(await call('passkey-secret/remove', wallet, { ...ofPasskey, ...passkey }))).toBe('invalid_input')
    expect(codeOf(await call('passkey-secret/remove', wallet, { passkey_id: 'key-2', ...code }))).toBe('not_found')
    expect(codeOf(await call('passkey-secret/remove', wallet, { ...ofPasskey, ...code }))).toBe(200)
    expect(codeOf(await sign(wallet, passkey))).toBe('INVALID_SECRET')
    expect(codeOf(await call('recovery-code/remove', wallet, pin))).toBe(200)
    expect(codeOf(await sign(wallet, code))).toBe('INVALID_SECRET')
    expect(codeOf(await call('recovery-code/remove', wallet, pin))).toBe('not_found')
    expect(await secretsOf(wallet)).toEqual([])
  })

  test('a stolen session alone does neither, and a stolen API key does not', async () => {
    const people = peopleOf(service)
    const session = await people.anonymous()
    const as = people.as(session)
    const wallet = (await as('/wallets', { network, name: 'Mine', control_mode: 'user', user_pin: PIN })).json
    const passkey = { passkey_id: 'theirs', passkey_secret: randomBytes(32).toString('base64url') }
    const byThief = async (path: string, body: object) => [
      codeOf(await as(`/wallets/${path}`, { ...at(wallet), ...body })),
      codeOf(await call(path, wallet, body)),
    ]
    const without = ['credential_required', 'credential_required']
    expect(await byThief('recovery-code', {})).toEqual(without)
    expect(await byThief('passkey-secret', passkey)).toEqual(without)
    const own = { user_secret: passkey.passkey_secret }
    expect(await byThief('passkey-secret', { ...passkey, ...own })).toEqual(['INVALID_SECRET', 'INVALID_SECRET'])
    expect(codeOf(await as('/wallets/recovery-code', { ...at(wallet), ...pin }))).toBe(200)
    expect(await byThief('recovery-code/remove', {})).toEqual(without)
    expect(await secretsOf(wallet)).toEqual([['recovery_code', null]])
  })

  test('are reported by mail to the owner who is a user, without a code in it', async () => {
    const people = peopleOf(service)
    const email = `${randomUUID()}@example.com`
    const as = people.as(await people.logIn(email))
    const wallet = (await as('/wallets', { network, name: 'Mine', control_mode: 'user', user_pin: PIN })).json
    const code = { user_secret: (await as('/wallets/recovery-code', { ...at(wallet), ...pin })).json.recovery_code }
    expect(codeOf(await as('/wallets/recovery-code', { ...at(wallet), user_pin: '000000' }))).toBe('INVALID_SECRET')
    await newPasskey(wallet, 'key-1')
    await call('change-user-pin', wallet, { new_user_pin: NEW, ...code })
    await call('passkey-secret/remove', wallet, { passkey_id: 'key-1', ...code })
    await call('recovery-code/remove', wallet, { user_pin: NEW })
    const mails = (await people.mailsTo(email)).filter(({ subject }) => !subject.startsWith('Log in'))
    expect(mails.map(({ subject }) => subject).toReversed()).toEqual([
      'A recovery code was made for your wallets at Test',
      'A passkey opens your wallets at Test',
      'The PIN of your wallets at Test was set anew',
      'A passkey no longer opens your wallets at Test',
      'Your recovery code at Test was removed',
    ])
    for (const { text } of mails) {
      expect(text).toMatch(/If it was not you: /)
      expect(text).not.toContain(code.user_secret)
    }
  })

  longTest(
    'are reported by mail once if the API is killed between the change and the mail',
    async () => {
      const people = peopleOf(service)
      const email = `${randomUUID()}@example.com`
      const session = await people.logIn(email)
      const wallet = (await people.as(session)('/wallets', { network, name: 'Mine', control_mode: 'user', ...pin }))
        .json
      const reports = async () =>
        (await people.mailsTo(email)).map(({ subject }) => subject).filter((subject) => !subject.startsWith('Log in'))
      const api = await startApiProcess(service.variables)
      const killed = service.as(service.project, api.url)
      await using release = await holdTable(sql, 'mails')
      const passkey = { passkey_id: 'key-1', passkey_secret: randomBytes(32).toString('base64url') }
      const asked = [
        call('recovery-code', wallet, pin, killed).catch(() => null),
        call('passkey-secret', wallet, { ...passkey, ...pin }, killed).catch(() => null),
      ]
      await untilWaiting(sql, asked.length)
      const stopped = api.kill()
      await release()
      await Promise.all([stopped, ...asked])
      expect(await secretsOf(wallet)).toEqual(
        expect.arrayContaining([
          ['recovery_code', null],
          ['passkey', 'key-1'],
        ]),
      )
      expect(await reports()).toEqual([])
      await sql`update secret_changes set created_at = created_at - interval '2 minutes' where user_id = ${session.user_id}`
      const stop = startFinishingSecretChanges(service.ctx)
      await until(async () => (await sql`select from secret_changes`).length === 0)
      await stop()
      expect((await reports()).toSorted()).toEqual([
        'The recovery code of your wallets at Test may have been changed',
        'Which passkeys open your wallets at Test may have been changed',
      ])
      expect(await people.reach(session)).toBe(200)
    },
    60_000,
  )

  longTest("with a code ends the user's other sessions if it sets a new PIN", async () => {
    const people = peopleOf(service)
    const session = await people.anonymous()
    const as = people.as(session)
    const wallet = (await as('/wallets', { network, name: 'Mine', control_mode: 'user', user_pin: PIN })).json
    const code = await newCode(wallet)
    expect(codeOf(await call('change-user-pin', wallet, { new_user_pin: NEW, ...code }))).toBe(200)
    expect(codeOf(await as('/wallets/recovery-code', { ...at(wallet), user_pin: NEW }))).toBe('session_ended')
  })

  longTest('with a passkey by the user ends their other sessions, and not the calling one', async () => {
    const people = peopleOf(service)
    const email = `${randomUUID()}@example.com`
    const [mine, other] = [await people.logIn(email), await people.logIn(email)]
    const as = people.as(mine)
    const wallet = (await as('/wallets', { network, name: 'Mine', control_mode: 'user', user_pin: PIN })).json
    const passkey = await newPasskey(wallet, 'key-1')
    const wrong = { user_secret: randomBytes(32).toString('base64url') }
    const set = (secret: object) => as('/wallets/change-user-pin', { ...at(wallet), new_user_pin: NEW, ...secret })
    expect(codeOf(await set(wrong))).toBe('INVALID_SECRET')
    expect(await Promise.all([mine, other].map(people.reach))).toEqual([200, 200])
    expect(codeOf(await set(passkey))).toBe(200)
    expect(await Promise.all([mine, other].map(people.reach))).toEqual([200, 401])
    expect(codeOf(await people.refresh(other))).toBe('session_ended')
  })

  test("is refused for a developer's wallet, and for a malformed passkey, without checking anything", async () => {
    const theirs = await service.newWallet({ network })
    for (const path of ['recovery-code', 'recovery-code/remove']) {
      expect(codeOf(await call(path, theirs, pin))).toBe('invalid_input')
    }
    expect(codeOf(await service.get('/wallets/user-secrets', at(theirs)))).toBe('invalid_input')
    const wallet = await userWallet()
    const good = { passkey_id: 'key-1', passkey_secret: randomBytes(32).toString('base64url') }
    const cases = [
      { ...good, passkey_secret: 'A'.repeat(42) },
      { ...good, passkey_secret: `${'A'.repeat(42)}B` },
      { ...good, passkey_secret: '493817' },
      { ...good, passkey_secret: 'A'.repeat(43) },
      { ...good, passkey_secret: Buffer.alloc(32, 'password').toString('base64url') },
      { ...good, passkey_id: '' },
      { ...good, passkey_id: 'key/1' },
      { ...good, passkey_id: 'a'.repeat(1_365) },
      { passkey_id: 'key-1' },
      { ...good, developer_secret: 'testnet-secret' },
    ]
    for (const body of cases) {
      expect(codeOf(await call('passkey-secret', wallet, { ...body, ...pin }))).toBe('invalid_input')
    }
    const longest = { ...good, passkey_id: 'a'.repeat(1_364) }
    expect(codeOf(await call('passkey-secret', wallet, { ...longest, ...pin }))).toBe(200)
  })
})
