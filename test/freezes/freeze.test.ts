// From the next request on, the vault of every process refuses what is frozen, before it checks a credential.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import type { Sql } from 'postgres'
import postgres from 'postgres'
import { listFreezes, NETWORKS_LIST } from '../../db/queries/freezes.ts'
import type { Network } from '../../db/words.ts'
import { createApp } from '../../src/api/app.ts'
import type { ApiCtx } from '../../src/api/ctx.ts'
import { createApiCtx } from '../../src/main/contexts.ts'
import { freeze, type Target, unfreeze } from '../../src/operators/freezes/freeze.ts'
import { createProject } from '../../src/operators/projects.ts'
import { readConfig } from '../../src/platform/config.ts'
import { listen } from '../../src/platform/http/listen.ts'
import { fundedAccount, startChain } from '../support/chains.ts'
import { runCli } from '../support/cli.ts'
import { isLong, longTest, someOf } from '../support/long.ts'
import { type Service, startService } from '../support/service.ts'
import { startWorkerHere } from '../support/worker-here.ts'

const PIN = '493817'
const SECRET = 'testnet-secret'
const REASON = 'a marked reason 9f2c'
const NOBODY = '0x000000000000000000000000000000000000dEaD'

let service: Service
let sql: Sql
/** The context of another API process, and its address. */
let other: { readonly ctx: ApiCtx; readonly url: string; readonly stop: () => Promise<void> }

beforeAll(async () => {
  const nowhere = 'http://127.0.0.1:1'
  service = await startService({ rpcUrls: { Ethereum: nowhere, Polygon: nowhere, Base: nowhere } })
  sql = postgres(service.database.url, { max: 2, onnotice: () => {} })
  const ctx = await createApiCtx({ config: readConfig(service.variables), process: 'other' })
  const server = listen({ fetch: createApp(ctx).fetch, hostname: '127.0.0.1', port: 0, log: ctx.log })
  const stop = async () => {
    await server.stop(true)
    await ctx.close({ timeoutSeconds: 5 })
  }
  other = { ctx, url: `http://127.0.0.1:${server.port}`, stop }
})
afterAll(async () => {
  await sql.end()
  await other.stop()
  await service.close()
})
beforeEach(async () => {
  for (const { scope, projectId, ownerId, walletId, network } of await listFreezes(service.ctx.db)) {
    const targets = {
      project: { projectId },
      owner: { projectId, ownerId },
      wallet: { walletId },
      network: { network },
    }
    await release({ scope, ...targets[scope] } as Target)
  }
})

type Wallet = Awaited<ReturnType<Service['newWallet']>> & { readonly pin?: string }

const userWallet = async (network: Network = 'Ethereum', ownerId: string = randomUUID()): Promise<Wallet> => ({
  ...(await service.newWallet({ network, ownerId, pin: PIN })),
  pin: PIN,
})
const developerWallet = (network: Network = 'Ethereum', ownerId: string = randomUUID()): Promise<Wallet> =>
  service.newWallet({ network, ownerId })

const credentialsOf = (wallet: Wallet, wrong = false) =>
  wallet.pin === undefined ? { developer_secret: SECRET } : { user_pin: wrong ? '000000' : wallet.pin }

const COMPLETE = { gasLimit: '21000', maxFeePerGas: '2', maxPriorityFeePerGas: '1', nonce: '0' }

const signBody = (wallet: Wallet, wrong = false) => ({
  network: wallet.network,
  signer_wallet_address: wallet.address,
  unsigned_transaction: { to: NOBODY, value: '1', ...COMPLETE },
  ...credentialsOf(wallet, wrong),
})

/** Every way to use the vault with an existing wallet. `otherwise` is the answer without a freeze. */
const WAYS: Record<
  string,
  { path: string; body: (wallet: Wallet, wrong?: boolean) => unknown; otherwise: number; userOnly?: true }
> = {
  sign: { path: '/transactions/sign', body: signBody, otherwise: 200 },
  'sign and send': { path: '/transactions/sign-and-send', body: signBody, otherwise: 503 },
  transfer: {
    path: '/nfts/transfer',
    body: (wallet, wrong) => ({
      ...credentialsOf(wallet, wrong),
      network: wallet.network,
      from: wallet.address,
      contract_address: NOBODY,
      recipient: NOBODY,
      token_id: '1',
    }),
    otherwise: 503,
  },
  mint: {
    path: '/nfts/mint',
    body: (wallet, wrong) => ({
      ...credentialsOf(wallet, wrong),
      network: wallet.network,
      from: wallet.address,
      contract_address: NOBODY,
      recipient: NOBODY,
    }),
    otherwise: 503,
  },
  collection: {
    path: '/nfts/collections',
    body: (wallet, wrong) => ({
      ...credentialsOf(wallet, wrong),
      network: wallet.network,
      from: wallet.address,
      name: 'C',
      symbol: 'C',
      image_url: 'https://example.com/c.png',
    }),
    otherwise: 503,
  },
  export: {
    path: '/wallets/export',
    body: (wallet, wrong) => ({ network: wallet.network, address: wallet.address, ...credentialsOf(wallet, wrong) }),
    otherwise: 200,
  },
  'change of the PIN': {
    path: '/wallets/change-user-pin',
    body: (wallet, wrong) => ({
      network: wallet.network,
      address: wallet.address,
      old_user_pin: wrong ? '000000' : PIN,
      new_user_pin: '604913',
    }),
    otherwise: 200,
    userOnly: true,
  },
}

const targetOf = (scope: Target['scope'], wallet: Wallet): Target => {
  const { projectId } = service.project
  switch (scope) {
    case 'project':
      return { scope, projectId }
    case 'owner':
      return { scope, projectId, ownerId: wallet.owner_id }
    case 'wallet':
      return { scope, walletId: wallet.id }
    case 'network':
      return { scope, network: wallet.network }
  }
}

const freezeIt = (target: Target) => freeze(service.ctx, { target, reason: REASON, actor: 'operator' })
const release = (target: Target) => unfreeze(service.ctx, { target, reason: '', actor: 'operator' })

const guesses = async (ownerId: string) => {
  const [row] = await sql`select fails, total from pin_guesses where owner_id = ${ownerId}`
  return row === undefined ? null : { ...row }
}

const frozenAnswer = (scope: string) => ({
  error: `This ${scope} is frozen: nothing of it is signed, made or opened.`,
  code: 'frozen',
})

describe('a frozen thing', () => {
  const SCOPES = ['project', 'owner', 'wallet', 'network'] as const
  const cases = SCOPES.flatMap((scope) =>
    Object.entries(WAYS).flatMap(([name, way]) =>
      (way.userOnly ? (['user'] as const) : (['user', 'developer'] as const)).map((mode) => ({ scope, name, mode })),
    ),
  )
  /** Each way once, and all scopes in turn. */
  const short = Object.keys(WAYS).flatMap((name, index) => {
    const modes = cases.filter((of) => of.name === name && of.scope === SCOPES[index % SCOPES.length])
    return modes.slice(index % modes.length).slice(0, 1)
  })

  test.each(isLong ? cases : short)(
    '$scope refuses $name with $mode control, with right and wrong credentials, until it is released',
    async (of) => {
      const way = WAYS[of.name]
      if (way === undefined) throw new Error('no such way')
      const wallet = of.mode === 'user' ? await userWallet() : await developerWallet()
      const target = targetOf(of.scope, wallet)
      await freezeIt(target)
      for (const wrong of [false, true]) {
        const answer = await service.post(way.path, way.body(wallet, wrong))
        expect({ status: answer.status, json: answer.json }).toEqual({ status: 403, json: frozenAnswer(of.scope) })
      }
      if (of.mode === 'user') expect(await guesses(wallet.owner_id)).toEqual({ fails: 0, total: 0 })
      await release(target)
      expect((await service.post(way.path, way.body(wallet))).status).toBe(way.otherwise)
    },
  )

  test.each(someOf(['owner', 'project', 'network'], 3))('%s refuses new wallets and imports', async (scope) => {
    const wallet = await userWallet('Polygon')
    const target = targetOf(scope, wallet)
    await freezeIt(target)
    const [network, ownerId] = scope === 'network' ? ['Polygon', randomUUID()] : ['Base', wallet.owner_id]
    const body = { network, name: 'w', owner_id: ownerId, control_mode: 'user' }
    const private_key = `0x${'12'.repeat(31)}${Math.floor(Math.random() * 80 + 10)}`
    for (const user_pin of [PIN, '000000']) {
      expect((await service.post('/wallets', { ...body, user_pin })).json).toEqual(frozenAnswer(scope))
      expect((await service.post('/wallets/import', { ...body, user_pin, private_key })).json).toEqual(
        frozenAnswer(scope),
      )
    }
    expect(
      await sql`select from wallets where network = ${String(network)} and owner_id = ${String(ownerId)}`,
    ).toHaveLength(0)
    expect(await guesses(wallet.owner_id)).toEqual({ fails: 0, total: 0 })
    await release(target)
    expect((await service.post('/wallets', { ...body, user_pin: PIN })).status).toBe(200)
  })

  test('is refused by every other process at the next request, and released the same way', async () => {
    const wallet = await developerWallet()
    const sign = async () => {
      const response = await fetch(`${other.url}/transactions/sign`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${service.project.apiKey}`,
          'x-walletkit-project-id': service.project.projectId,
          'content-type': 'application/json',
        },
        body: JSON.stringify(signBody(wallet)),
      })
      await response.text()
      return response.status
    }
    const target = targetOf('wallet', wallet)
    for (let round = 0; round < (isLong ? 5 : 2); round += 1) {
      expect(await sign()).toBe(200)
      await freezeIt(target)
      expect(await sign()).toBe(403)
      await release(target)
    }
    expect(await sign()).toBe(200)
  })

  test('does not affect anything else', async () => {
    const ownerId = randomUUID()
    const wallet = await developerWallet('Ethereum', ownerId)
    const sameOwner = await developerWallet('Polygon', ownerId)
    const sameNetwork = await developerWallet('Ethereum')
    const elsewhere = await createProject(service.ctx, { name: 'Other', actor: 'operator' })
    const theirs = service.as(elsewhere)
    const theirWallet = await theirs.newWallet({ network: 'Ethereum', ownerId })
    const statuses = async () => [
      (await service.post('/transactions/sign', signBody(wallet))).status,
      (await service.post('/transactions/sign', signBody(sameOwner))).status,
      (await service.post('/transactions/sign', signBody(sameNetwork))).status,
      (await theirs.post('/transactions/sign', signBody(theirWallet))).status,
    ]
    const expected = {
      wallet: [403, 200, 200, 200],
      owner: [403, 403, 200, 200],
      network: [403, 200, 403, 403],
      project: [403, 403, 403, 200],
    }
    for (const scope of ['wallet', 'owner', 'network', 'project'] as const) {
      await freezeIt(targetOf(scope, wallet))
      expect({ scope, statuses: await statuses() }).toEqual({ scope, statuses: expected[scope] })
      await release(targetOf(scope, wallet))
    }
    expect(await statuses()).toEqual([200, 200, 200, 200])
  })

  test('reports the widest of several freezes, until all are released', async () => {
    const wallet = await developerWallet()
    const scopes = ['network', 'wallet', 'owner', 'project'] as const
    for (const scope of scopes) await freezeIt(targetOf(scope, wallet))
    const told: string[] = []
    for (const scope of ['project', 'owner', 'wallet', 'network'] as const) {
      told.push((await service.post('/transactions/sign', signBody(wallet))).json.error)
      await release(targetOf(scope, wallet))
    }
    expect(told).toEqual(['project', 'owner', 'wallet', 'network'].map((scope) => frozenAnswer(scope).error))
    expect((await service.post('/transactions/sign', signBody(wallet))).status).toBe(200)
  })

  test('can still be read', async () => {
    const wallet = await developerWallet()
    await freezeIt(targetOf('project', wallet))
    const { network, address, id } = wallet
    expect((await service.get('/wallets/get-by-address', { network, address })).json.id).toBe(id)
    expect((await service.get('/wallets', { network })).status).toBe(200)
  })

  test('does not hide a malformed request or a missing wallet', async () => {
    const wallet = await developerWallet()
    await freezeIt(targetOf('project', wallet))
    expect(
      (await service.post('/transactions/sign', { ...signBody(wallet), developer_secret: undefined })).json.code,
    ).toBe('credential_required')
    const nobody = await service.post('/transactions/sign', { ...signBody(wallet), signer_wallet_address: NOBODY })
    expect(nobody.json.code).toBe('not_found')
  })
})

describe('an operator', () => {
  test('writes audit rows with the reason, which callers never see', async () => {
    const wallet = await developerWallet()
    const [before] = await sql<{ id: string }[]>`select max(id) as id from audit`
    const { projectId } = service.project
    for (const scope of ['project', 'owner', 'wallet', 'network'] as const) {
      await freezeIt(targetOf(scope, wallet))
      await unfreeze(service.ctx, { target: targetOf(scope, wallet), reason: 'it is over', actor: 'operator' })
    }
    const rows =
      await sql`select project_id, actor, action, subject, details from audit where id > ${before?.id ?? 0} order by id`
    const list_version = expect.stringMatching(/^[1-9][0-9]*$/)
    const pair = (project_id: string | null, scope: string, subject: string) => {
      const row = { project_id, actor: 'operator', subject }
      return [
        { ...row, action: 'frozen', details: { scope, reason: REASON, list_version } },
        { ...row, action: 'unfrozen', details: { scope, reason: 'it is over', list_version } },
      ]
    }
    expect([...rows]).toEqual([
      ...pair(projectId, 'project', projectId),
      ...pair(projectId, 'owner', wallet.owner_id),
      ...pair(projectId, 'wallet', wallet.id),
      ...pair(null, 'network', 'Ethereum'),
    ])
  })

  test('changes nothing by freezing or releasing twice', async () => {
    const wallet = await developerWallet()
    const target = targetOf('owner', wallet)
    expect(await release(target)).toBe(false)
    const results = await Promise.all([freezeIt(target), freezeIt(target), freezeIt(target)])
    expect(results.sort()).toEqual([false, false, true])
    const frozen = await sql`select from audit where action = 'frozen' and subject = ${wallet.owner_id}`
    expect(frozen).toHaveLength(1)
    const releases = await Promise.all([release(target), release(target)])
    expect(releases.sort()).toEqual([false, true])
  })

  test('cannot freeze what does not exist, or freeze without a reason', async () => {
    const { projectId } = service.project
    const wallet = await developerWallet()
    for (const target of [
      { scope: 'project', projectId: randomUUID() },
      { scope: 'owner', projectId, ownerId: 'nobody' },
      { scope: 'owner', projectId: randomUUID(), ownerId: wallet.owner_id },
      { scope: 'wallet', walletId: randomUUID() },
    ] as const) {
      expect(freezeIt(target)).rejects.toMatchObject({ code: 'not_found' })
      expect(release(target)).rejects.toMatchObject({ code: 'not_found' })
    }
    for (const reason of ['', ' ', 'x'.repeat(1_001)]) {
      const attempt = freeze(service.ctx, { target: targetOf('wallet', wallet), reason, actor: 'operator' })
      expect(attempt).rejects.toMatchObject({ code: 'invalid_input' })
    }
    expect(await listFreezes(service.ctx.db)).toEqual([])
  })
})

describe('a list of freezes that the owner of the database changed', () => {
  const signed = async (wallet: Wallet): Promise<string> => {
    const { status, json } = await service.post('/transactions/sign', signBody(wallet))
    return status === 200 ? 'signed' : json.code
  }
  const forged = async () => {
    const { output } = await runCli(['audit', 'verify', '--json'], service.variables)
    const rows: readonly { table: string; id: string; trouble: string }[] = JSON.parse(output).custody.forged
    return rows.map(({ table, id, trouble }) => [table, id, trouble])
  }
  const listOf = ({ scope }: Target) => (scope === 'network' ? NETWORKS_LIST : service.project.projectId)

  const forgery = () => sql`freezes = '[]', mac = sha256('forged')`
  const EDITS: Readonly<Record<string, (id: string) => PromiseLike<unknown>>> = {
    'has lost the freeze': (id) => sql`update freeze_lists set ${forgery()} where id = ${id}`,
    'is gone': (id) => sql`delete from freeze_lists where id = ${id}`,
    'has a high version': (id) => sql`update freeze_lists set version = 2147483647, ${forgery()} where id = ${id}`,
  }
  const cases = (['wallet', 'network'] as const).flatMap((scope) =>
    Object.entries(EDITS).map(([name, edit]) => ({ scope, name, edit })),
  )

  test.each(someOf(cases, cases.length))(
    'and that $name opens nothing, with a frozen $scope, and is named',
    async ({ scope, edit }) => {
      const [wallet, other] = [await developerWallet(), await developerWallet()]
      const target = targetOf(scope, wallet)
      await freezeIt(target)
      await edit(listOf(target))
      expect([await signed(wallet), await signed(other)]).toEqual(['internal', 'internal'])
      await expect(release(target)).rejects.toMatchObject({ code: 'invalid_input' })
      expect((await forged()).map(([table, id]) => [table, id])).toContainEqual(['freeze_lists', listOf(target)])
      // A freeze works at once. What else the list had is not known, so all of it is frozen.
      expect(await freezeIt(targetOf(scope, other))).toBe(true)
      expect([await signed(wallet), await signed(other)]).toEqual(['frozen', 'frozen'])
      if (isLong) expect(await forged()).toEqual([])
    },
  )

  test('and that is hidden from the vault opens nothing', async () => {
    const wallet = await developerWallet()
    await freezeIt(targetOf('wallet', wallet))
    await sql`alter table freeze_lists enable row level security`
    try {
      expect(await signed(wallet)).toBe('internal')
    } finally {
      await sql`alter table freeze_lists disable row level security`
    }
    expect(await signed(wallet)).toBe('frozen')
  })

  longTest('and whose writes are undone is told to the operator', async () => {
    const wallet = await developerWallet()
    const undo = async (when: string, body: string) => {
      await sql.unsafe(`create or replace function undo() returns trigger security definer language plpgsql as
        $$ begin ${body} end $$; create trigger undo ${when} update on freeze_lists for each row execute function undo()`)
      await expect(freezeIt(targetOf('wallet', wallet))).rejects.toMatchObject({
        code: expect.stringMatching(/busy|internal/),
      })
      await sql`drop trigger undo on freeze_lists`
    }
    await undo('before', 'return old;')
    await undo('before', 'return null;')
    await undo(
      'after',
      `if pg_trigger_depth() = 1 then update freeze_lists set freezes = old.freezes, version = old.version, mac = old.mac
        where id = old.id; end if; return new;`,
    )
    expect(await freezeIt(targetOf('wallet', wallet))).toBe(true)
    expect(await signed(wallet)).toBe('frozen')
  })

  longTest('and that has an earlier state is named', async () => {
    const wallet = await developerWallet()
    const [before] = await sql`select freezes, version, mac from freeze_lists where id = ${service.project.projectId}`
    await freezeIt(targetOf('wallet', wallet))
    const [now] = await sql`select freezes, version, mac from freeze_lists where id = ${service.project.projectId}`
    const write = (row = {}) => sql`update freeze_lists set ${sql(row)} where id = ${service.project.projectId}`
    await write(before)
    const later = 'the audit has a later version of it'
    expect(await forged()).toEqual([['freeze_lists', service.project.projectId, later]])
    await write(now)
    expect(await forged()).toEqual([])
  })

  longTest('none of many freezes at the same moment is lost', async () => {
    const wallets = await Promise.all(Array.from({ length: 8 }, () => developerWallet()))
    await Promise.all(wallets.map((wallet) => freezeIt(targetOf('wallet', wallet))))
    for (const wallet of wallets) expect(await signed(wallet)).toBe('frozen')
  })
})

longTest(
  'a transaction that was recorded before the freeze is still sent',
  async () => {
    const chain = await startChain('Ethereum')
    const real = await startService({ rpcUrls: { Ethereum: chain.rpcUrl } })
    try {
      const wallet = await real.newWallet({ network: 'Ethereum' })
      await chain.fund(wallet.address)
      const send = () =>
        real.post('/transactions/sign-and-send', {
          network: 'Ethereum',
          signer_wallet_address: wallet.address,
          unsigned_transaction: { to: fundedAccount(5).address, value: '12345' },
          developer_secret: SECRET,
        })
      const recorded = await send()
      expect(recorded.status).toBe(200)
      const target = { scope: 'project', projectId: real.project.projectId } as const
      await freeze(real.ctx, { target, reason: REASON, actor: 'operator' })
      expect((await send()).json.code).toBe('frozen')
      const worker = await startWorkerHere(real)
      expect((await real.settled(recorded.json.transaction_id)).json.status).toBe('success')
      await worker.stop()
    } finally {
      await real.close()
      await chain.stop()
    }
  },
  40_000,
)
