// What `audit verify` says of rows that the owner of the database deleted.

import { expect, test } from 'bun:test'
import { NETWORKS_LIST } from '../../db/queries/freezes.ts'
import { createApiKey, revokeApiKey } from '../../src/identity/api-keys/api-keys.ts'
import { removeAllPasskeys } from '../../src/identity/users/passkeys.ts'
import { freeze, type Target, unfreeze } from '../../src/operators/freezes/freeze.ts'
import { createProject } from '../../src/operators/projects.ts'
import { runCli } from '../support/cli.ts'
import { isLong, longTest } from '../support/long.ts'
import { startService } from '../support/service.ts'
import { shared } from '../support/shared.ts'
import { createAuthenticator } from '../users/authenticator.ts'
import { peopleOf } from '../users/people.ts'

const PIN = '493817'
const GONE = 'the audit names it, and it is gone'
const LOCK_GONE = 'the audit names its lock of the user, and it is gone'
const OTHER_LOCKS = 'its seed lock, or the set of its locks, is not as it was made'
const actor = 'operator'

const service = await shared(startService({ rpcUrls: { Ethereum: 'http://127.0.0.1:1' } }))
const { sql } = service.database
// The owner of the database is bound by no reference.
await sql`set session_replication_role = replica`

type Forged = { readonly table: string; readonly id: string; readonly trouble: string }

/** What is named, as `table id: trouble`. */
const named = async (): Promise<readonly string[]> => {
  const { exitCode, output } = await runCli(['audit', 'verify', '--json'], service.variables)
  const { ok, custody, callers } = JSON.parse(output)
  const forged: readonly Forged[] = [...custody.forged, ...callers.forged]
  expect([ok, exitCode]).toEqual(forged.length === 0 ? [true, 0] : [false, 1])
  return forged.map(({ table, id, trouble }) => `${table} ${id}: ${trouble}`).sort()
}

const gone = (table: string, id: string, trouble = GONE) => `${table} ${id}: ${trouble}`

type Deleted = { readonly from: readonly string[]; readonly where: string; readonly names: readonly string[] }

const userWallet = async (): Promise<{ id: string; owner_id: string; address: string }> =>
  service.newWallet({ network: 'Ethereum', pin: PIN })

let common: ReturnType<typeof userWallet> | null = null
/** In the suite one wallet for all cases whose rows do not concern each other. */
const commonWallet = () => {
  if (isLong) return userWallet()
  common ??= userWallet()
  return common
}

const keyringOf = async ({ id }: { readonly id: string }): Promise<string> => {
  const [row] = await sql`select keyring_id from wallets where id = ${id}`
  return String(row?.keyring_id)
}

const passkeyOfUser = async (): Promise<{ id: string; userId: string }> => {
  const people = peopleOf(service)
  const session = await people.anonymous()
  const { publicKey } = (await people.as(session)('/users/passkey/begin-registration')).json
  const authenticator = createAuthenticator({ origin: 'http://localhost:5173' })
  await people.as(session)('/users/passkey/finish-registration', authenticator.create(publicKey))
  const [row] = await sql`select id from passkeys where user_id = ${session.user_id}`
  return { id: String(row?.id), userId: session.user_id }
}

const newApiKey = async (): Promise<string> => {
  const { projectId } = service.project
  return (await createApiKey(service.ctx, { projectId, name: 'x', scopes: ['read'], expiresAt: null, actor })).id
}

const frozen = async (target: Target, id: string): Promise<Deleted> => {
  await freeze(service.ctx, { target, reason: 'a test', actor })
  return { from: ['freeze_lists'], where: `id = '${id}'`, names: [gone('freeze_lists', id, 'it is gone')] }
}

longTest('rows that the service itself ends or deletes are not named', async () => {
  const { id: walletId } = await userWallet()
  const target = { scope: 'wallet', walletId } as const
  await freeze(service.ctx, { target, reason: 'a test', actor })
  await unfreeze(service.ctx, { target, reason: 'a test', actor })
  await revokeApiKey(service.ctx, { id: await newApiKey(), actor })
  const { userId } = await passkeyOfUser()
  await removeAllPasskeys(service.ctx, { projectId: service.project.projectId, userId, actor })
  expect(await named()).toEqual([])
})

/** Each is made, deleted, and put back. */
const CASES: Readonly<Record<string, () => Promise<Deleted>>> = {
  'the sealed key of a wallet': async () => {
    const { id } = await commonWallet()
    return { from: ['wallet_keys'], where: `wallet_id = '${id}'`, names: [gone('wallet_keys', id)] }
  },
  'the developer key of a project': async () => {
    const { projectId: id } = service.project
    return { from: ['developer_keys'], where: `project_id = '${id}'`, names: [gone('developer_keys', id)] }
  },
  'a count of wrong PINs': async () => {
    const { owner_id: id } = await commonWallet()
    return { from: ['pin_guesses'], where: `owner_id = '${id}'`, names: [gone('pin_guesses', id, 'it is gone')] }
  },
  'a count of wrong PINs, and the user key': async () => {
    const { owner_id: id } = await userWallet()
    const from = ['pin_guesses', 'user_keys']
    return { from, where: `owner_id = '${id}'`, names: from.map((table) => gone(table, id)) }
  },
  'a user key': async () => {
    const { owner_id: id } = await userWallet()
    return { from: ['user_keys'], where: `owner_id = '${id}'`, names: [gone('user_keys', id)] }
  },
  'a recovery code': async () => {
    const { owner_id: id, address } = await commonWallet()
    await service.post('/wallets/recovery-code', { network: 'Ethereum', address, user_pin: PIN })
    return {
      from: ['user_key_locks'],
      where: `owner_id = '${id}'`,
      names: [gone('user_key_locks', `${id} recovery_code`)],
    }
  },
  'a keyring': async () => {
    const id = await keyringOf(await commonWallet())
    return { from: ['keyrings'], where: `id = '${id}'`, names: [gone('keyrings', id)] }
  },
  'the lock of a keyring': async () => {
    const id = await keyringOf(await userWallet())
    const troubles = [LOCK_GONE, OTHER_LOCKS]
    return {
      from: ['owner_locks'],
      where: `keyring_id = '${id}'`,
      names: troubles.map((of) => gone('keyrings', id, of)),
    }
  },
  'a version of the key of a project': async () => {
    const { projectId } = service.project
    await service.ctx.vault.rotateProjectKey({ projectId, actor, resume: false })
    return {
      from: ['project_keys'],
      where: `project_id = '${projectId}' and version = 1`,
      names: [gone('project_keys', '1')],
    }
  },
  'a project': async () => {
    const { projectId } = await createProject(service.ctx, { name: 'Other', actor })
    return { from: ['projects'], where: `id = '${projectId}'`, names: [gone('projects', projectId)] }
  },
  'an API key': async () => {
    const id = await newApiKey()
    return { from: ['api_keys'], where: `id = '${id}'`, names: [gone('api_keys', id)] }
  },
  'an API key that was revoked': async () => {
    const id = await newApiKey()
    await revokeApiKey(service.ctx, { id, actor })
    return { from: ['api_keys'], where: `id = '${id}'`, names: [gone('api_keys', id)] }
  },
  'a passkey': async () => {
    const { id } = await passkeyOfUser()
    return { from: ['passkeys'], where: `id = '${id}'`, names: [gone('passkeys', id)] }
  },
  'a user with a passkey': async () => {
    const { userId: id } = await passkeyOfUser()
    return { from: ['users'], where: `id = '${id}'`, names: [gone('users', id)] }
  },
  'a user with a wallet': async () => {
    const people = peopleOf(service)
    const session = await people.anonymous()
    const wallet = { network: 'Ethereum', name: 'Mine', control_mode: 'user', user_pin: PIN }
    await people.as(session)('/wallets', wallet)
    return { from: ['users'], where: `id = '${session.user_id}'`, names: [gone('users', session.user_id)] }
  },
  'the freezes of a project': async () => {
    const { projectId } = service.project
    const { id: walletId } = await commonWallet()
    return frozen({ scope: 'wallet', walletId }, projectId)
  },
  'the frozen networks': () => frozen({ scope: 'network', network: 'Ethereum' }, NETWORKS_LIST),
}

/** Left to the long run: another case has a row of the same table. */
const LEFT = ['a user key', 'an API key', 'a user with a wallet']

const areNamed = async (cases: readonly (() => Promise<Deleted>)[]): Promise<void> => {
  const made: Deleted[] = []
  for (const make of cases) made.push(await make())
  // In the suite the last verification says so too.
  if (isLong) expect(await named()).toEqual([])
  const deleted: (readonly [table: string, row: object])[] = []
  for (const { from, where } of made) {
    for (const table of from) {
      const rows = await sql.unsafe(`delete from ${table} where ${where} returning *`)
      expect([table, rows.length]).toEqual([table, 1])
      deleted.push(...rows.map((row) => [table, row] as const))
    }
  }
  expect(await named()).toEqual(made.flatMap(({ names }) => names).sort())
  for (const [table, row] of deleted) await sql`insert into ${sql(table)} ${sql(row as never)}`
  expect(await named()).toEqual([])
}

if (isLong)
  test.each(Object.entries(CASES))('%s that somebody deleted is named until it is restored', (_, make) =>
    areNamed([make]),
  )
// A verification reads the whole database, so in the suite there are three for all of them.
else
  test('rows that somebody deleted are named, each as what it is, until they are restored', () =>
    areNamed(Object.entries(CASES).flatMap(([what, make]) => (LEFT.includes(what) ? [] : [make]))))
