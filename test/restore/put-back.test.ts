// Somebody who owns the database writes earlier rows back, whole, with their MACs. The vault's journal knows the later
// ones.

import { describe, expect, test } from 'bun:test'
import { randomBytes, randomUUID } from 'node:crypto'
import { appendFile, readFile } from 'node:fs/promises'
import { freeze, unfreeze } from '../../src/operators/freezes/freeze.ts'
import { connectOperatorVault, operatorSocketOf } from '../../src/vault/client/remote-vault.ts'
import type { OperatorVault } from '../../src/vault/contract/vault.ts'
import { fundedAccount, startChain } from '../support/chains.ts'
import { runCli } from '../support/cli.ts'
import { isLong, longTest } from '../support/long.ts'
import type { Service } from '../support/service.ts'
import { shared } from '../support/shared.ts'
import { until } from '../support/until.ts'
import { startJournaled } from './journaled.ts'

const network = 'Ethereum'
const PIN = '493817'
const SECRET = 'testnet-secret'
const RECIPIENT = fundedAccount(5).address

const chain = await shared(startChain(network))
const world = await shared(startJournaled({ rpcUrls: { [network]: chain.rpcUrl, Base: 'http://127.0.0.1:1' } }))
const service = world.api
const { sql } = service.database

/** What it learned it knows from its journal, and not only while it runs. */
const restartVault = () => world.restartVaults()

type Wallet = Awaited<ReturnType<Service['newWallet']>>

const newWallet = () => service.newWallet({ network, pin: PIN, ownerId: randomUUID() })

const codeOf = ({ status, json }: { readonly status: number; readonly json: { readonly code?: string } }) =>
  status === 200 ? 'done' : json.code

const signMessage = async ({ address }: Wallet, pin: string) =>
  codeOf(
    await service.post('/transactions/sign-message', {
      network,
      signer_wallet_address: address,
      message: 'It is here.',
      user_pin: pin,
    }),
  )

/** @returns puts the rows back as they are now. */
const remember = async (table: string, where: { readonly column: string; readonly value: string }) => {
  const rows = await sql`select * from ${sql(table)} where ${sql(where.column)} = ${where.value}`
  return async () => {
    await sql`delete from ${sql(table)} where ${sql(where.column)} = ${where.value}`
    for (const row of rows) await sql`insert into ${sql(table)} ${sql(row)}`
  }
}

/** The same without deleting, as other rows refer to it. */
const rememberColumns = async (
  table: string,
  where: { readonly column: string; readonly value: string },
  columns: readonly string[],
) => {
  const [row = {}] =
    await sql`select ${sql([...columns])} from ${sql(table)} where ${sql(where.column)} = ${where.value}`
  return () => sql`update ${sql(table)} set ${sql(row)} where ${sql(where.column)} = ${where.value}`
}

const LOCKED = 'TOO_MANY_FAILED_ATTEMPTS'

const journal = async () => JSON.parse((await runCli(['journal', 'show', '--json'], service.variables)).output)[0]

/** What an operator asks of the vault itself, which costs less than a command. */
const asOperator = async <Result>(ask: (vault: OperatorVault) => Promise<Result>): Promise<Result> => {
  const sockets = world.sockets.map(operatorSocketOf)
  const vault = connectOperatorVault({ sockets, name: 'operator', onChange: () => {} })
  try {
    return await ask(vault)
  } finally {
    vault.close()
  }
}

/** Waits until the database is marked to have all that the journal has: then it is not taken for a restored one. */
const marked = () =>
  asOperator(async (vault) => {
    for (;;) {
      const { known, records } = await vault.journalState()
      if (known === records) return
      await Bun.sleep(20)
    }
  })

/** Another wallet of an owner needs no PIN of theirs, and the journal gets the owner's rows as they are. */
const importForOwner = async ({ owner_id }: Wallet) => {
  const private_key = `0x${Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString('hex')}`
  const theirs = { network: 'Base', name: 'I', owner_id, control_mode: 'developer', developer_secret: SECRET }
  expect(codeOf(await service.post('/wallets/import', { ...theirs, private_key }))).toBe('done')
}

/** Without the records of it, it knows what it learned from them. */
const compactJournal = async () => {
  const { exitCode, output } = await runCli(
    ['journal', 'compact', '--before', '2999-01-01T00:00:00Z'],
    service.variables,
  )
  expect([exitCode, output]).toEqual([0, expect.stringMatching(/: [1-9][0-9]* records? left out/)])
  const { first, records } = await journal()
  expect(records - first).toBeLessThan(10)
  await restartVault()
}

describe.each([
  ['while the vault runs', async () => {}],
  ...(isLong
    ? [
        // This restarts it, too.
        ['after its journal was compacted', compactJournal] as const,
        ['after it was restarted', restartVault] as const,
      ]
    : []),
] as const)('%s', (_, between) => {
  test('an earlier list of freezes ends no freeze', async () => {
    const wallet = await newWallet()
    const where = { column: 'id', value: service.project.projectId }
    const putBack = await remember('freeze_lists', where)
    const frozen = { target: { scope: 'wallet', walletId: wallet.id }, reason: 'a test', actor: 'operator' } as const
    await freeze(service.ctx, frozen)
    const asAfter = await remember('freeze_lists', where)
    await marked()
    await putBack()
    await between()
    expect(await signMessage(wallet, PIN)).toBe('internal')
    await asAfter()
    expect(await signMessage(wallet, PIN)).toBe('frozen')
    await unfreeze(service.ctx, frozen)
    expect(await signMessage(wallet, PIN)).toBe('done')
  })

  test('an earlier count of wrong PINs gives no guess back', async () => {
    const wallet = await newWallet()
    expect(await signMessage(wallet, PIN)).toBe('done')
    const putBack = await remember('pin_guesses', { column: 'owner_id', value: wallet.owner_id })
    for (const pin of ['493818', '493819']) expect(await signMessage(wallet, pin)).toBe('INVALID_SECRET')
    await marked()
    await putBack()
    await importForOwner(wallet)
    await between()
    expect(await signMessage(wallet, PIN)).toBe(LOCKED)
    const { projectId } = service.project
    const { forged } = await asOperator((vault) => vault.forgedRows({ projectId }))
    expect(forged).toContainEqual(expect.objectContaining({ table: 'pin_guesses', id: wallet.owner_id }))
    await asOperator((vault) => vault.unlockOwner({ projectId, ownerId: wallet.owner_id, actor: 'operator' }))
    expect(await signMessage(wallet, PIN)).toBe('done')
    expect(await signMessage(wallet, '493818')).toBe('INVALID_SECRET')
    expect(await signMessage(wallet, PIN)).toBe('done')
  })

  test('an old PIN does not come back', async () => {
    const wallet = await newWallet()
    const key = ['salt', 'sealed', 'version']
    const putBack = await rememberColumns('user_keys', { column: 'owner_id', value: wallet.owner_id }, key)
    const changed = await service.post('/wallets/change-user-pin', {
      network,
      address: wallet.address,
      old_user_pin: PIN,
      new_user_pin: '927461',
    })
    expect(codeOf(changed)).toBe('done')
    await marked()
    await putBack()
    await importForOwner(wallet)
    await between()
    expect(await signMessage(wallet, PIN)).toBe(LOCKED)
  })

  longTest('a recovery code that was replaced, and a passkey that was removed, do not come back', async () => {
    const wallet = await newWallet()
    const of = { network, address: wallet.address }
    const post = async (path: string, body: object) => service.post(`/wallets/${path}`, { ...of, ...body })
    const newCode = async (by: object = { user_pin: PIN }) => (await post('recovery-code', by)).json.recovery_code
    const opens = async (user_secret: string) => codeOf(await post('export', { user_secret }))
    const passkey = { passkey_id: 'key-1', passkey_secret: randomBytes(32).toString('base64url') }
    const first = await newCode()
    expect(codeOf(await post('passkey-secret', { ...passkey, user_pin: PIN }))).toBe('done')
    const putBack = await remember('user_key_locks', { column: 'owner_id', value: wallet.owner_id })
    const second = await newCode({ user_secret: first })
    const removal = { passkey_id: passkey.passkey_id, user_secret: second }
    expect(codeOf(await post('passkey-secret/remove', removal))).toBe('done')
    const asAfter = await remember('user_key_locks', { column: 'owner_id', value: wallet.owner_id })
    await marked()
    await putBack()
    await importForOwner(wallet)
    await between()
    for (const secret of [first, passkey.passkey_secret]) expect(await opens(secret)).toBe('INVALID_SECRET')
    await asAfter()
    expect([await opens(second), await opens(first)]).toEqual(['done', 'INVALID_SECRET'])
    // What is made over an earlier row is newer than all that the vault knows.
    await putBack()
    const third = await newCode()
    await marked()
    await between()
    expect([await opens(third), await opens(second)]).toEqual(['done', 'INVALID_SECRET'])
  })

  longTest('control that is shared does not become that of one side again', async () => {
    const wallet = await newWallet()
    const [{ keyring_id: id } = {}] = await sql`select keyring_id from wallets where id = ${wallet.id}`
    const exported = async (credentials: object) =>
      codeOf(await service.post('/wallets/export', { network, address: wallet.address, ...credentials }))
    expect(await exported({ user_pin: PIN })).toBe('done')
    const locks = await remember('owner_locks', { column: 'keyring_id', value: id })
    const seed = await rememberColumns('keyrings', { column: 'id', value: id }, ['sealed'])
    const both = { user_pin: PIN, developer_secret: SECRET }
    const theirs = { owner_id: wallet.owner_id, name: 'D', control_mode: 'developer' }
    expect(codeOf(await service.post('/wallets', { ...theirs, network: 'Vara', ...both }))).toBe('done')
    const sharedLocks = await remember('owner_locks', { column: 'keyring_id', value: id })
    const sharedSeed = await rememberColumns('keyrings', { column: 'id', value: id }, ['sealed'])
    await marked()
    await locks()
    await seed()
    // What is made meanwhile does not let the vault forget it.
    const further = { ...theirs, control_mode: 'user', network: 'Polkadot', user_pin: PIN }
    expect(codeOf(await service.post('/wallets', further))).toBe('done')
    await between()
    expect([await exported({ user_pin: PIN }), await signMessage(wallet, PIN)]).toEqual(['internal', 'internal'])
    await sharedLocks()
    await sharedSeed()
    expect([await exported({ user_pin: PIN }), await exported(both)]).toEqual(['credential_required', 'done'])
  })

  test('a wallet that was put under policies is not taken out', async () => {
    const wallet = await service.newWallet({ network, ownerId: randomUUID() })
    const [{ keyring_id: value } = {}] = await sql`select keyring_id from wallets where id = ${wallet.id}`
    const { address } = wallet
    const use = async (path: string) =>
      codeOf(await service.post(`/wallets/${path}`, { network, address, developer_secret: SECRET }))
    const columns = ['sealed', 'policies_only', 'version']
    const putBack = await rememberColumns('owner_locks', { column: 'keyring_id', value }, columns)
    expect([await use('export'), await use('put-under-policies')]).toEqual(['done', 'done'])
    const asPut = await rememberColumns('owner_locks', { column: 'keyring_id', value }, columns)
    await marked()
    await putBack()
    await between()
    expect(await use('export')).toBe('internal')
    await asPut()
    expect(await use('export')).toBe('under_policies')
  })

  longTest('no further wallet is made from a keyring that was put under policies', async () => {
    const wallet = await service.newWallet({ network, ownerId: randomUUID() })
    const [{ keyring_id: value } = {}] = await sql`select keyring_id from wallets where id = ${wallet.id}`
    const columns = ['sealed', 'policies_only', 'version']
    const putBack = await rememberColumns('owner_locks', { column: 'keyring_id', value }, columns)
    const { address, owner_id } = wallet
    const put = { network, address, developer_secret: SECRET }
    expect(codeOf(await service.post('/wallets/put-under-policies', put))).toBe('done')
    const asPut = await rememberColumns('owner_locks', { column: 'keyring_id', value }, columns)
    const further = async (of: object) =>
      codeOf(await service.post('/wallets', { owner_id, name: 'F', developer_secret: SECRET, ...of }))
    const ofDeveloper = { network: 'Base', control_mode: 'developer' }
    const ofUser = { network: 'Vara', control_mode: 'user', user_pin: PIN }
    await marked()
    await putBack()
    await between()
    expect([await further(ofDeveloper), await further(ofUser)]).toEqual(['internal', 'internal'])
    await asPut()
    expect([await further(ofDeveloper), await further(ofUser)]).toEqual(['under_policies', 'under_policies'])
  })

  longTest('a keyring with shared control cannot be shared again with another PIN', async () => {
    const wallet = await service.newWallet({ network, ownerId: randomUUID() })
    const { owner_id } = wallet
    const [{ keyring_id: id } = {}] = await sql`select keyring_id from wallets where id = ${wallet.id}`
    const locks = await remember('owner_locks', { column: 'keyring_id', value: id })
    const seed = await rememberColumns('keyrings', { column: 'id', value: id }, ['sealed'])
    const share = async (of: object) => {
      const theirs = { owner_id, name: 'U', control_mode: 'user', developer_secret: SECRET, ...of }
      return codeOf(await service.post('/wallets', theirs))
    }
    expect(await share({ network: 'Base', user_pin: PIN })).toBe('done')
    await marked()
    await locks()
    await seed()
    await sql`delete from pin_guesses where owner_id = ${owner_id}`
    await sql`delete from user_keys where owner_id = ${owner_id}`
    await between()
    expect(await share({ network: 'Vara', user_pin: '927461' })).toBe('internal')
  })

  test('what a policy has spent, and a revoked one, do not come back', async () => {
    const wallet = await newWallet()
    await chain.fund(wallet.address)
    const rules = [{ argument: 'to', operator: 'eq', value: RECIPIENT.toLowerCase() }]
    const made = await service.post('/policies', {
      network,
      wallet_address: wallet.address,
      argument_rules: rules,
      rolling_limits: [{ per_seconds: 86_400, max_uses: 100 }],
      developer_secret: SECRET,
      user_pin: PIN,
    })
    const id: string = made.json.uuid
    const pay = async () =>
      codeOf(
        await service.post('/transactions/sign-and-send', {
          network,
          signer_wallet_address: wallet.address,
          unsigned_transaction: { to: RECIPIENT, value: '1' },
          developer_secret: SECRET,
        }),
      )
    expect(await pay()).toBe('done')
    const columns = ['uses', 'spent_value', 'spent_fee', 'limit_counts', 'mac', 'revoked_at']
    const asAfterOne = await rememberColumns('policies', { column: 'id', value: id }, columns)
    const lock = await remember('policy_locks', { column: 'policy_id', value: id })
    expect(await pay()).toBe('done')
    const asAfterTwo = await rememberColumns('policies', { column: 'id', value: id }, columns)
    await marked()
    await asAfterOne()
    await between()
    expect(await pay()).toBe('policy_denied')
    await asAfterTwo()
    expect(await pay()).toBe('done')
    const asAfterThree = await rememberColumns('policies', { column: 'id', value: id }, columns)
    const revoked = await service.post('/policies/revoke', { uuid: id, user_pin: PIN })
    expect(codeOf(revoked)).toBe('done')
    await marked()
    await asAfterThree()
    await lock()
    await between()
    expect(await pay()).toBe('policy_denied')
  })
})

longTest(
  'control that was shared after the state that a restore brought back is shared again by the journal',
  async () => {
    const wallet = await newWallet()
    const [{ keyring_id: id } = {}] = await sql`select keyring_id from wallets where id = ${wallet.id}`
    const exported = async (credentials: object) => {
      const { status, json } = await service.post('/wallets/export', {
        network,
        address: wallet.address,
        ...credentials,
      })
      return status === 200 ? json.mnemonic_phrase : json.code
    }
    const phrase = await exported({ user_pin: PIN })
    await marked()
    const { id: journalId, known } = await journal()
    const seed = await rememberColumns('keyrings', { column: 'id', value: id }, ['sealed'])
    const locks = await remember('owner_locks', { column: 'keyring_id', value: id })
    const keys = await remember('wallet_keys', { column: 'keyring_id', value: id })
    const both = { user_pin: PIN, developer_secret: SECRET }
    const theirs = { owner_id: wallet.owner_id, name: 'D', control_mode: 'developer', network: 'Vara' }
    const made = await service.post('/wallets', { ...theirs, ...both })
    expect(codeOf(made)).toBe('done')
    // As a backup of before would have it.
    await world.stopVaults()
    await sql`delete from wallets where id = ${made.json.id}`
    await keys()
    await locks()
    await seed()
    await sql`update vault_journals set records = ${known} where id = ${journalId}`
    await world.startVaults()
    expect(await exported({ user_pin: PIN })).toBe('unavailable')
    const { exitCode } = await runCli(['restore'], service.variables)
    expect(exitCode).toBe(0)
    expect([await exported({ user_pin: PIN }), await exported(both)]).toEqual(['credential_required', phrase])
    const [back] = await sql`select control_mode from wallets where id = ${made.json.id}`
    expect(back).toEqual({ control_mode: 'developer' })
    const verified = JSON.parse((await runCli(['audit', 'verify', '--json'], service.variables)).output)
    expect(verified.custody.forged.filter((row: { id: string }) => row.id === id)).toEqual([])
  },
)

longTest('a backup from before the journal was compacted cannot be brought to the present', async () => {
  await marked()
  await compactJournal()
  const { id, first } = await journal()
  await world.stopVaults()
  await sql`update vault_journals set records = ${first - 1} where id = ${id}`
  await world.startVaults()
  expect(world.output()[0]).toContain('cli restore')
  const { exitCode, errors } = await runCli(['restore'], service.variables)
  expect([exitCode, errors]).toEqual([1, expect.stringContaining(`begins with record ${first}`)])
  await world.stopVaults()
  await sql`update vault_journals set records = ${first} where id = ${id}`
  await world.startVaults()
  expect(
    codeOf(await service.post('/wallets', { network, name: 'A', control_mode: 'developer', developer_secret: SECRET })),
  ).toBe('done')
})

longTest('the journal of a vault that is gone is asked for, until it is retired', async () => {
  const { id } = await journal()
  await world.stopVaults()
  await world.startVaults({ VAULT_JOURNAL: `${world.journals[0]}.another` })
  const run = async (...command: readonly string[]) => {
    const { exitCode, output, errors } = await runCli(command, service.variables)
    return [exitCode, output + errors]
  }
  expect(await run('restore')).toEqual([1, expect.stringContaining(id)])
  expect(await run('journal', 'show')).toEqual([0, expect.stringContaining(`journal ${id}: of no vault`)])
  const another = await journal()
  expect(await run('journal', 'retire', another.id)).toEqual([1, expect.stringContaining('a vault that runs')])
  expect(await run('journal', 'retire', id)).toEqual([0, expect.stringContaining('is retired')])
  expect(await run('journal', 'retire', id)).toEqual([0, expect.stringContaining('knows no journal')])
  expect(await run('restore')).toEqual([0, expect.stringContaining('The vaults open keys again')])
  // It comes back with its vault.
  await world.stopVaults()
  await world.startVaults()
  expect((await journal()).others).toEqual([another.id])
  expect(await run('journal', 'retire', another.id)).toEqual([0, expect.stringContaining('is retired')])
  expect((await journal()).id).toBe(id)
})

longTest('a vault that cannot write its journal answers nobody, and ends', async () => {
  const create = () =>
    service.post('/wallets', { network, name: 'A', control_mode: 'developer', developer_secret: SECRET })
  expect(codeOf(await create())).toBe('done')
  const [VAULT_JOURNAL = ''] = world.journals
  const before = await readFile(VAULT_JOURNAL)
  await appendFile(VAULT_JOURNAL, 'somebody else')
  expect(codeOf(await create())).toBe('unavailable')
  expect(await world.stopVaults()).toEqual([1])
  await until(() => world.output()[0]?.includes('the journal cannot be written') === true)
  // What somebody else wrote is removed: it follows on nothing.
  await world.startVaults()
  expect(codeOf(await create())).toBe('done')
  expect((await readFile(VAULT_JOURNAL)).subarray(0, before.length).equals(before)).toBe(true)
})

longTest('a vault does not start with an older copy of its journal', async () => {
  const [VAULT_JOURNAL = ''] = world.journals
  const older = await readFile(VAULT_JOURNAL)
  await newWallet()
  await world.stopVaults()
  const newest = await readFile(VAULT_JOURNAL)
  await Bun.write(VAULT_JOURNAL, older)
  await expect(world.startVaults()).rejects.toThrow()
  await Bun.write(VAULT_JOURNAL, newest)
  await world.startVaults()
})
