// The limit on wrong PINs as callers see it: one count per owner, for all endpoints, networks and processes.

import { describe, expect, test } from 'bun:test'
import { randomBytes, randomUUID } from 'node:crypto'
import { generatePrivateKey } from 'viem/accounts'
import { openDb } from '../../db/client.ts'
import { API_KEY_SCOPES } from '../../db/words.ts'
import { createApp } from '../../src/api/app.ts'
import { createApiKey } from '../../src/identity/api-keys/api-keys.ts'
import { createApiCtx } from '../../src/main/contexts.ts'
import { createProject } from '../../src/operators/projects.ts'
import { readConfig } from '../../src/platform/config.ts'
import { openRootKey } from '../../src/vault/rooms/root/root-key.ts'
import { stretchPin } from '../../src/vault/rooms/sealing/stretch.ts'
import { startChain } from '../support/chains.ts'
import { runCli } from '../support/cli.ts'
import { isLong, longTest, someOf } from '../support/long.ts'
import { type Answer, type Service, startService } from '../support/service.ts'
import { afterTests, shared } from '../support/shared.ts'
import { startVault } from '../support/vault.ts'
import { openTestGuesses } from '../vault/support.ts'

const NOWHERE = 'http://127.0.0.1:1'
const PIN = '493817'
const WRONG = '000000'
const ADDRESS = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
const AT_ONCE = isLong ? 200 : 20
/** How many wrong credentials a key may send in the tests of that. */
const KEY_LIMIT = isLong ? 3 : 2

const chain = await shared(startChain('Ethereum'))
const service = await shared(startService({ rpcUrls: { Ethereum: chain.rpcUrl, Polygon: NOWHERE, Base: NOWHERE } }))
const { sql } = service.database
const vaultDb = openDb({ url: service.database.vaultUrl, maxConnections: 1, applicationName: 'guesses' })
afterTests(() => vaultDb.close({ timeoutSeconds: 5 }))

/** An owner with wallets on three networks, all with one PIN. */
const newOwner = async () => {
  const ownerId = randomUUID()
  const [ethereum, base, vara] = [
    await service.newWallet({ network: 'Ethereum', ownerId, pin: PIN }),
    await service.newWallet({ network: 'Base', ownerId, pin: PIN }),
    await service.newWallet({ network: 'Vara', ownerId, pin: PIN }),
  ]
  return { ownerId, ethereum, base, vara }
}
type Owner = Awaited<ReturnType<typeof newOwner>>

const unsigned = {
  to: ADDRESS,
  value: '1',
  gasLimit: '21000',
  nonce: '0',
  maxFeePerGas: '3000000000',
  maxPriorityFeePerGas: '1000000000',
}

const signWith = (network: string, address: string, user_pin: string, by: Pick<Service, 'post'> = service) =>
  by.post('/transactions/sign', { network, signer_wallet_address: address, unsigned_transaction: unsigned, user_pin })

/** Every endpoint that takes a PIN. */
const ENDPOINTS: readonly ((owner: Owner, pin: string) => Promise<Answer>)[] = [
  ({ ethereum }, pin) => signWith('Ethereum', ethereum.address, pin),
  ({ base }, pin) => signWith('Base', base.address, pin),
  ({ ethereum }, user_pin) =>
    service.post('/transactions/sign-and-send', {
      network: 'Ethereum',
      signer_wallet_address: ethereum.address,
      unsigned_transaction: { to: ADDRESS, value: '1' },
      user_pin,
    }),
  ({ vara }, user_pin) => service.post('/wallets/export', { network: 'Vara', address: vara.address, user_pin }),
  ({ ethereum }, old_user_pin) =>
    service.post('/wallets/change-user-pin', {
      network: 'Ethereum',
      address: ethereum.address,
      old_user_pin,
      new_user_pin: '604913',
    }),
  ({ ownerId }, user_pin) =>
    service.post('/wallets', { network: 'Polygon', name: 'P', owner_id: ownerId, control_mode: 'user', user_pin }),
  ({ ownerId }, user_pin) =>
    service.post('/wallets/import', {
      network: 'Polkadot',
      name: 'I',
      owner_id: ownerId,
      control_mode: 'user',
      private_key: generatePrivateKey(),
      user_pin,
    }),
  ({ ethereum: { address } }, user_pin) =>
    service.post('/nfts/mint', {
      network: 'Ethereum',
      from: address,
      contract_address: ADDRESS,
      uri: 'ipfs://x',
      user_pin,
    }),
  ({ ethereum: { address } }, user_pin) =>
    service.post('/nfts/transfer', {
      network: 'Ethereum',
      from: address,
      contract_address: ADDRESS,
      recipient: ADDRESS,
      token_id: '1',
      user_pin,
    }),
  ({ ethereum: { address } }, user_pin) =>
    service.post('/nfts/collections', {
      network: 'Ethereum',
      from: address,
      name: 'C',
      symbol: 'C',
      image_url: 'https://example.com/c.png',
      user_pin,
    }),
]

const counts = async (ownerId: string) => {
  const [row] = await sql`select fails, total, coalesce(locked_until > now(), false) as locked
    from pin_guesses where owner_id = ${ownerId}`
  return { ...row }
}

const lock = async (ownerId: string, row: { fails: number; total: number } = { fails: 5, total: 5 }) => {
  await sql`update pin_guesses set ${sql(row)}, locked_until = case when ${row.fails} = 5 then now() + interval '1 day' end
    where owner_id = ${ownerId}`
  const guesses = await openTestGuesses(vaultDb, () => openRootKey(service.vaultVariables.ROOT_KEY ?? ''))
  await guesses.authenticate(service.project.projectId, ownerId)
}

const tally = (answers: readonly Answer[]) => {
  const found: Record<string, number> = {}
  for (const { status, json } of answers) {
    const key = status === 200 ? 'success' : `${status} ${json.code}`
    found[key] = (found[key] ?? 0) + 1
  }
  return found
}

const at = <Item>(items: readonly Item[], index: number): Item => {
  const item = items[index % items.length]
  if (item === undefined) throw new Error('there are no items')
  return item
}

const unlock = (args: readonly string[]) => runCli(['owner', 'unlock', ...args], service.variables)

describe('wrong PINs', () => {
  test('of many at once over all endpoints and networks of an owner, five are checked', async () => {
    const owner = await newOwner()
    const wrong = Array.from({ length: AT_ONCE }, (_, index) => at(ENDPOINTS, index)(owner, WRONG))
    const answers = await Promise.all(wrong)
    expect(tally(answers)).toEqual({ '403 INVALID_SECRET': 5, '403 TOO_MANY_FAILED_ATTEMPTS': AT_ONCE - 5 })
    expect(await counts(owner.ownerId)).toEqual({ fails: 5, total: 5, locked: true })
  })

  longTest('are counted once at each endpoint', async () => {
    for (const endpoint of ENDPOINTS) {
      const owner = await newOwner()
      const answer = await endpoint(owner, WRONG)
      expect([answer.status, answer.json.code]).toEqual([403, 'INVALID_SECRET'])
      expect(await counts(owner.ownerId)).toEqual({ fails: 1, total: 1, locked: false })
    }
  })

  test('for the wallet of another project are not counted, and answered with 404 as for a missing wallet', async () => {
    const other = service.as(await createProject(service.ctx, { name: 'Other', actor: 'operator' }))
    const theirs = await other.newWallet({ network: 'Ethereum', pin: PIN })
    const nobody = `0x${randomBytes(20).toString('hex')}`
    for (let count = 0; count < (isLong ? 6 : 2); count += 1) {
      const [one, none] = [await signWith('Ethereum', theirs.address, WRONG), await signWith('Ethereum', nobody, WRONG)]
      expect([one.status, none.status, one.text]).toEqual([404, 404, none.text])
    }
    expect(await counts(theirs.owner_id)).toEqual({ fails: 0, total: 0, locked: false })
    expect((await signWith('Ethereum', theirs.address, PIN, other)).status).toBe(200)
  })

  test('are not counted if they are malformed or credentials of the other mode', async () => {
    const { address, owner_id: ownerId } = await service.newWallet({ network: 'Ethereum', pin: PIN })
    const body = { network: 'Ethereum', signer_wallet_address: address, unsigned_transaction: unsigned }
    for (const credential of [{ user_pin: '12345' }, { developer_secret: 'testnet-secret' }, {}]) {
      expect((await service.post('/transactions/sign', { ...body, ...credential })).status).toBe(400)
    }
    expect(await counts(ownerId)).toEqual({ fails: 0, total: 0, locked: false })
  })
})

describe('right PINs', () => {
  longTest(
    'sixty-four at once over endpoints and networks all succeed, although one more failure would lock',
    async () => {
      const owner = await newOwner()
      await chain.fund(owner.ethereum.address)
      await lock(owner.ownerId, { fails: 4, total: 98 })
      const [sign, signOnBase, send, exported] = ENDPOINTS
      if (!sign || !signOnBase || !send || !exported) throw new Error('there are no endpoints')
      const used = [sign, signOnBase, send, exported]
      const right = Array.from({ length: 64 }, (_, index) => at(used, index)(owner, PIN))
      const answers = await Promise.all(right)
      expect(tally(answers)).toEqual({ success: 64 })
      expect(await counts(owner.ownerId)).toEqual({ fails: 0, total: 98, locked: false })
    },
  )
})

describe('a locked owner', () => {
  test('is refused at every endpoint, with the right PIN as with a wrong one, and nothing is done', async () => {
    const owner = await newOwner()
    await lock(owner.ownerId)
    for (const endpoint of ENDPOINTS) {
      for (const pin of [PIN, WRONG]) {
        const answer = await endpoint(owner, pin)
        expect([answer.status, answer.json.code]).toEqual([403, 'TOO_MANY_FAILED_ATTEMPTS'])
        expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(86_000)
      }
    }
    expect(await counts(owner.ownerId)).toEqual({ fails: 5, total: 5, locked: true })
  })

  longTest('gets the same answer in the same time for a right and a wrong PIN, and neither is checked', async () => {
    const owner = await newOwner()
    await lock(owner.ownerId)
    const rowVersion = async () => (await sql`select xmin::text from pin_guesses where owner_id = ${owner.ownerId}`)[0]
    const before = await rowVersion()
    const texts = new Set<string>()
    const headers = new Set<string>()
    const times: Record<string, number[]> = { [PIN]: [], [WRONG]: [] }
    for (let count = 0; count < 120; count += 1) {
      const pin = count % 2 ? PIN : WRONG
      const started = performance.now()
      const answer = await signWith('Ethereum', owner.ethereum.address, pin)
      times[pin]?.push(performance.now() - started)
      texts.add(answer.text)
      headers.add([...answer.headers.keys()].sort().join())
    }
    expect([texts.size, headers.size]).toEqual([1, 1])
    // Checking a PIN changes this row (the lease), and it did not change.
    expect(await rowVersion()).toEqual(before)
    const median = (pin: string) => times[pin]?.sort((a, b) => a - b)[30] ?? Number.NaN
    const started = performance.now()
    for (let count = 0; count < 10; count += 1) await stretchPin({ pin: PIN, salt: new Uint8Array(16) })
    const argon2Ms = (performance.now() - started) / 10
    expect(Math.abs(median(PIN) - median(WRONG))).toBeLessThan(argon2Ms / 2)
  })

  longTest('stays locked after a restart of the service', async () => {
    const owner = await newOwner()
    await lock(owner.ownerId)
    const ctx = await createApiCtx({ config: readConfig(service.variables), process: 'again' })
    const request = new Request('http://localhost/wallets/export', {
      method: 'POST',
      headers: {
        authorization: `Bearer ${service.project.apiKey}`,
        'x-walletkit-project-id': service.project.projectId,
        'content-type': 'application/json',
      },
      body: JSON.stringify({ network: 'Ethereum', address: owner.ethereum.address, user_pin: PIN }),
    })
    const answer = await createApp(ctx).fetch(request)
    await ctx.close({ timeoutSeconds: 5 })
    expect([answer.status, (await answer.json()).code]).toEqual([403, 'TOO_MANY_FAILED_ATTEMPTS'])
  })

  test('is unlocked by an operator, even if blocked for good; the audit names the operator', async () => {
    const locks = [
      { fails: 0, total: 100 },
      { fails: 5, total: 5 },
    ]
    for (const row of someOf(locks, 2)) {
      const { address, owner_id: ownerId } = await service.newWallet({ network: 'Ethereum', pin: PIN })
      await lock(ownerId, row)
      expect((await signWith('Ethereum', address, PIN)).json.code).toBe('TOO_MANY_FAILED_ATTEMPTS')
      const done = await unlock(['--project', service.project.projectId.toUpperCase(), '--owner', ownerId])
      expect(done).toEqual({ exitCode: 0, output: 'The owner is unlocked.\n', errors: '' })
      expect(await counts(ownerId)).toEqual({ fails: 0, total: 0, locked: false })
      expect((await signWith('Ethereum', address, PIN)).status).toBe(200)
      const rows = await sql`select actor, project_id, details from audit
        where action = 'owner_unlocked' and subject = ${ownerId}`
      expect(rows.map((each) => ({ ...each }))).toEqual([
        {
          actor: 'operator',
          project_id: service.project.projectId,
          details: { guesses_revision: expect.stringMatching(/^\d+$/) },
        },
      ])
    }
  })

  longTest(
    'is not unlocked by a command for another owner, another project or an unknown one',
    async () => {
      const owner = await newOwner()
      await lock(owner.ownerId)
      const { projectId } = await createProject(service.ctx, { name: 'Other', actor: 'operator' })
      const refusals = [
        await unlock(['--project', service.project.projectId, '--owner', randomUUID()]),
        await unlock(['--project', projectId, '--owner', owner.ownerId]),
        await unlock(['--project', 'mine', '--owner', owner.ownerId]),
        await unlock(['--owner', owner.ownerId]),
      ]
      // The last two are no proper calls of the command.
      expect(refusals.map(({ exitCode, output }) => [exitCode, output])).toEqual([1, 1, 2, 2].map((code) => [code, '']))
      for (const { errors } of refusals) expect(errors).not.toMatch(/select|update|Failed query/i)
      expect(await counts(owner.ownerId)).toEqual({ fails: 5, total: 5, locked: true })
    },
    20_000,
  )
})

describe('an API key', () => {
  type Ask = (path: string, body: object) => Promise<Response>

  /** An API process of its own on the same database, with the service's first key. */
  const asking =
    (app: ReturnType<typeof createApp>, { project }: Service): Ask =>
    async (path, body) =>
      app.fetch(
        new Request(`http://localhost${path}`, {
          method: 'POST',
          headers: {
            authorization: `Bearer ${project.apiKey}`,
            'x-walletkit-project-id': project.projectId,
            'content-type': 'application/json',
          },
          body: JSON.stringify(body),
        }),
      )

  /** An API and a vault with low limits on the same database, and a second key of its project. */
  const withBudgets = async (
    work: (narrow: Service, second: ReturnType<Service['as']>, inAnotherProcess: Ask) => Promise<void>,
  ) => {
    const changes = {
      ...{ WRONG_PINS_PER_HOUR: String(KEY_LIMIT), WRONG_SECRETS_PER_MINUTE: String(KEY_LIMIT) },
      VAULT_SOCKET: `${service.variables.VAULT_SOCKET}.narrow`,
    }
    const vault = await startVault({ ...service.vaultVariables, ...changes })
    const narrow = await startService({
      database: { ...service.database, close: async () => {} },
      hasVault: false,
      variables: { ...service.variables, ...changes },
    })
    const { projectId } = narrow.project
    const second = { projectId, name: 'second', scopes: API_KEY_SCOPES, expiresAt: null, actor: 'operator' }
    const key = await createApiKey(narrow.ctx, second)
    const ctx = await createApiCtx({ config: readConfig(narrow.variables), process: 'another' })
    try {
      await work(narrow, narrow.as({ projectId, apiKey: key.text }), asking(createApp(ctx), narrow))
    } finally {
      await ctx.close({ timeoutSeconds: 5 })
      await narrow.close()
      await vault.close()
    }
  }

  const throttles = async () =>
    new Map((await sql`select key, tries from throttles`).map((row) => [row.key.toString('hex'), row.tries]))

  test('that tries one PIN on many owners is stopped, while the owners and other keys are not', async () => {
    await withBudgets(async (narrow, second, inAnotherProcess) => {
      const made = Array.from({ length: isLong ? 6 : KEY_LIMIT + 1 }, () =>
        narrow.newWallet({ network: 'Ethereum', pin: PIN }),
      )
      const wallets = await Promise.all(made)
      const before = await throttles()
      const answers: Answer[] = []
      for (const { address } of wallets) answers.push(await signWith('Ethereum', address, WRONG, narrow))
      expect(tally(answers)).toEqual({
        '403 INVALID_SECRET': KEY_LIMIT,
        '429 rate_limited': wallets.length - KEY_LIMIT,
      })
      // The counts of the key, of its project, and of its project at this address.
      const tries = [...(await throttles())].filter(([key]) => !before.has(key)).map(([, count]) => count)
      expect(tries).toEqual([KEY_LIMIT, KEY_LIMIT, KEY_LIMIT])
      const refused = await signWith('Ethereum', wallets[0]?.address ?? '', PIN, narrow)
      expect([refused.status, refused.json.code]).toEqual([429, 'rate_limited'])
      const seconds = Number(refused.headers.get('retry-after'))
      expect(seconds).toBeGreaterThan(3_500)
      expect(seconds).toBeLessThanOrEqual(3_600)
      const elsewhere = await inAnotherProcess('/transactions/sign', {
        network: 'Ethereum',
        signer_wallet_address: wallets[0]?.address,
        unsigned_transaction: unsigned,
        user_pin: PIN,
      })
      expect([elsewhere.status, elsewhere.headers.get('retry-after') !== null]).toEqual([429, true])
      for (const { address } of someOf(wallets, wallets.length)) {
        expect((await signWith('Ethereum', address, PIN, second)).status).toBe(200)
      }
      const byPin = await narrow.post('/wallets', {
        network: 'Ethereum',
        name: 'D',
        control_mode: 'developer',
        developer_secret: 'testnet-secret',
      })
      expect(byPin.status).toBe(200)
    })
  })

  longTest(
    'that tries secrets is stopped and locks nobody: the secret works with another key, and PINs with this one',
    async () => {
      await withBudgets(async (narrow, second) => {
        const theirs = await narrow.newWallet({ network: 'Ethereum' })
        const mine = await narrow.newWallet({ network: 'Ethereum', pin: PIN })
        const signTheirs = (by: Pick<Service, 'post'>, developer_secret: string) =>
          by.post('/transactions/sign', {
            network: 'Ethereum',
            signer_wallet_address: theirs.address,
            unsigned_transaction: unsigned,
            developer_secret,
          })
        for (let count = 0; count < KEY_LIMIT; count += 1) {
          expect((await signTheirs(narrow, 'wrong')).json.code).toBe('INVALID_SECRET')
        }
        const refused = await signTheirs(narrow, 'testnet-secret')
        expect([refused.status, refused.json.code]).toEqual([429, 'rate_limited'])
        expect(Number(refused.headers.get('retry-after'))).toBeLessThanOrEqual(60)
        expect((await signTheirs(second, 'testnet-secret')).status).toBe(200)
        expect((await signWith('Ethereum', mine.address, PIN, narrow)).status).toBe(200)
      })
    },
  )

  test('may send a hundred wrong credentials an hour, and ten thousand in a devnet', () => {
    const { WRONG_PINS_PER_HOUR: _, ...variables } = service.variables
    expect(readConfig(variables).wrongPinsPerHour).toBe(10_000)
    expect(readConfig({ ...variables, DEVNET: 'false' }).wrongPinsPerHour).toBe(100)
    expect(readConfig({ ...variables, DEVNET: 'false' }).wrongSecretsPerMinute).toBe(60)
    expect(readConfig({ ...variables, WRONG_PINS_PER_HOUR: '7' }).wrongPinsPerHour).toBe(7)
    expect(() => readConfig({ ...variables, WRONG_PINS_PER_HOUR: '0' })).toThrow('WRONG_PINS_PER_HOUR must be')
  })
})
