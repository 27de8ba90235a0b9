// Somebody else may have IDENTITY_KEY: it is changed, and whoever was logged in logs in again.

import { expect, test } from 'bun:test'
import postgres from 'postgres'
import { refreshTokenOf } from '../../src/identity/users/session.ts'
import { runCli } from '../support/cli.ts'
import { untilWaiting } from '../support/locks.ts'
import { isLong } from '../support/long.ts'
import { peopleOf, statusAndCode } from '../users/people.ts'
import { at, NETWORK, PIN, startWorld } from './keys-world.ts'

test('--leaked ends sessions and access tokens, and leaves API keys, users and wallets', async () => {
  const world = await startWorld('IDENTITY_KEY')
  const sql = postgres(world.service.database.url, { max: 2, onnotice: () => {} })
  try {
    const { service } = world
    const people = peopleOf(service)
    const [session, idle] = [await people.logIn('somebody@example.com'), await people.logIn('idle@example.com')]
    const { address } = await service.newWallet({ network: NETWORK, pin: PIN })
    const refused = await world.asOwner(['keys', 'rotate-identity', '--leaked'], 'nextFirst')
    expect([refused.exitCode, refused.errors]).toEqual([
      2,
      'error: confirm the rotation with --yes, or at a terminal\n',
    ])
    const running = await world.startApi('nextFirst')
    expect(await peopleOf(at(service, running.url)).reach(session)).toBe(200)

    const keysAt = async (url: string) => (await at(service, url).call('/.well-known/jwks.json')).json.keys
    const published = await keysAt(running.url)
    // A session that begins when the earlier ones have ended, and before the earlier key is refused.
    const [held, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const holding = sql.begin(async (tx) => {
      await tx`select pg_advisory_xact_lock(hashtext('token_keys'))`
      held.resolve()
      await release.promise
    })
    await held.promise
    const rotating = world.asOwner(['keys', 'rotate-identity', '--leaked', '--yes'], 'nextFirst')
    await untilWaiting(sql)
    const late = await peopleOf(at(service, running.url)).logIn('late@example.com')
    expect(late.refresh_token).toBeString()
    release.resolve()
    await holding
    const done = await rotating
    expect([done.exitCode, done.errors]).toEqual([0, ''])
    expect(done.output).toMatch(/^The database belongs to key:[0-9a-f]{16} now; \d+ rows changed\.\n/)

    for (const { url } of [running, ...(isLong ? [await world.startApi('next')] : [])]) {
      const there = at(service, url)
      expect((await there.call('/readyz')).status).toBe(200)
      const now = peopleOf(there)
      expect([await now.reach(session), (await now.refresh(late)).status]).toEqual([401, 401])
      // The thief can make the token of each generation.
      for (const generation of [1, 2]) {
        const forged = refreshTokenOf(service.ctx.identity.own, { id: idle.id, generation })
        const answer = await now.refresh({ ...idle, refresh_token: forged })
        expect(statusAndCode(answer)).toEqual([401, 'session_ended'])
      }
      const wallets = (await there.get('/wallets', { network: NETWORK })).json
      expect(wallets.map((wallet: { address: string }) => wallet.address)).toContain(address)
      const { user_id } = (
        await there.post('/users/login-with-email', { email: 'somebody@example.com' }, { authorization: undefined })
      ).json
      const verification_code = await now.codeTo('somebody@example.com')
      const login = await there.post(
        '/users/verify-login',
        { user_id, verification_code },
        { authorization: undefined },
      )
      for (const { kid } of published) {
        expect((await keysAt(url)).map((key: { kid: string }) => key.kid)).not.toContain(kid)
      }
      expect([login.status, login.json.user_id]).toEqual([200, session.user_id])
    }
    const kept = await sql<{ purpose: string }[]>`select purpose from retired_keys order by purpose`
    expect(kept.map(({ purpose }) => purpose)).toEqual(['audit', 'idempotency'])
    const { exitCode, output } = await runCli(['audit', 'verify'], world.sets.next)
    expect([exitCode, output]).toEqual([0, expect.stringContaining('The audit holds')])
  } finally {
    await sql.end()
    await world.close()
  }
}, 60_000)
