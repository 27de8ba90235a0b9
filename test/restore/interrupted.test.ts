// What is hard about a restore: one that is killed, requests that were signed and never recorded, repeated requests,
// and a rotation that was killed.

import { expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { type Hex, serializeTransaction, toBytes } from 'viem'
import { openVaultsAsOperator } from '../../src/vault/client/vaults.ts'
import { startChain } from '../support/chains.ts'
import { runCli } from '../support/cli.ts'
import { longTest } from '../support/long.ts'
import { createDatabaseOn, onServer } from '../support/postgres.ts'
import { shared } from '../support/shared.ts'
import { until } from '../support/until.ts'
import { startCopiedPostgres } from './copied-postgres.ts'
import { startJournaled } from './journaled.ts'

const network = 'Ethereum'
const SECRET = 'testnet-secret'

/** PostgreSQL is started anew for it. Then an API looks at what was signed before, and was not recorded. */
const takeBackup = async (): Promise<void> => {
  await server.takeBackup()
  await until(() =>
    state().then(
      ({ is_behind }) => !is_behind,
      () => false,
    ),
  )
}

/** The database is as it was, and the vault knows. */
const goBack = async (): Promise<void> => {
  await server.goBack()
  await world.restartVaults()
  expect(world.output()[0]).toContain('cli restore')
}

const server = await shared(startCopiedPostgres())
const chain = await shared(startChain(network))
const world = await shared(
  startJournaled({ rpcUrls: { [network]: chain.rpcUrl }, database: await createDatabaseOn(server.url) }),
)
const apis = [world.api, await world.startApi()] as const

const count = (table: 'transactions' | 'wallets') =>
  onServer(server.url, async (sql) => (await sql`select count(*)::int as rows from ${sql(table)}`)[0]?.rows as number)

/** The project of `apis[0]`, asked at each of the APIs. */
const clients = () => apis.map((api) => apis[0].as(apis[0].project, api.baseUrl))

const newKey = () => ({ 'idempotency-key': randomUUID() })

const payment = (wallet: string) => ({
  network,
  signer_wallet_address: wallet,
  unsigned_transaction: {
    to: `0x${Buffer.from(crypto.getRandomValues(new Uint8Array(20))).toString('hex')}`,
    value: '7',
  },
  developer_secret: SECRET,
})

const pay = (wallet: string, key: ReturnType<typeof newKey>, body = payment(wallet)) =>
  apis[0].post('/transactions/sign-and-send', body, key)

const fundedWallet = async (): Promise<Hex> => {
  const { address } = await apis[0].newWallet({ network })
  await chain.fund(address)
  return address
}

/** What the API wrote is gone. */
const forget = (id: string, key: ReturnType<typeof newKey>) =>
  onServer(server.url, (sql) =>
    sql.begin(async (tx) => {
      await tx`delete from ladders where transaction_id = ${id}`
      await tx`delete from transactions where id = ${id}`
      await tx`delete from idempotency_keys where key = ${key['idempotency-key']}`
    }),
  )

const restore = async () => {
  const { exitCode, output, errors } = await runCli(['restore', '--json'], apis[0].variables)
  expect([exitCode, errors]).toEqual([0, ''])
  return JSON.parse(output)
}

const state = async () =>
  JSON.parse((await runCli(['journal', 'show', '--json'], apis[0].variables)).output)[0] as {
    known: number
    records: number
    is_behind: boolean
  }

longTest(
  'after a restore that was killed half way the vault still opens no key, and the next one brings in the rest',
  async () => {
    const wallet = await fundedWallet()
    await takeBackup()
    const key = newKey()
    const body = payment(wallet)
    const paid = await pay(wallet, key, body)
    expect(paid.status).toBe(200)
    await goBack()
    // So far it came.
    const operator = openVaultsAsOperator({ config: apis[0].ctx.config, process: 'test' })
    expect((await operator.replayJournal()).rows).toBeGreaterThanOrEqual(0)
    await world.restartVaults()
    expect((await state()).is_behind).toBe(true)
    expect((await pay(wallet, newKey())).status).toBe(503)
    expect(await restore()).toMatchObject({ transactions: 1, skipped: [] })
    const again = await pay(wallet, key, body)
    expect([again.status, again.json.transaction_id]).toEqual([200, paid.json.transaction_id])
  },
  60_000,
)

longTest(
  'a key that was opened before the database was restored signs nothing after',
  async () => {
    const address = await fundedWallet()
    await takeBackup()
    await apis[0].newWallet({ network })
    const [row] = await onServer(server.url, (sql) => sql`select * from wallets where address = ${address}`)
    const wallet = {
      id: row?.id,
      projectId: row?.project_id,
      ownerId: row?.owner_id,
      network,
      keyringId: row?.keyring_id,
      controlMode: row?.control_mode,
      type: row?.type,
      address,
      publicKey: new Uint8Array(row?.public_key),
    } as const
    const operator = openVaultsAsOperator({ config: apis[0].ctx.config, process: 'test' })
    using key = await operator.openKey({ wallet, credentials: { developerSecret: SECRET }, actor: 'operator' })
    await server.goBack()
    while (!(await state()).is_behind) await new Promise((resolve) => setTimeout(resolve, 50))
    const unsigned = toBytes(serializeTransaction({ chainId: 31_337, to: address, gas: 21_000n, type: 'eip1559' }))
    const use = {
      action: 'transaction_signed',
      details: {},
      payloads: [{ kind: 'evm_transaction', unsigned }],
    } as const
    await expect(key.sign(use)).rejects.toThrow('cli restore')
    await restore()
    await expect(key.sign(use)).resolves.toHaveLength(1)
  },
  60_000,
)

longTest(
  'what was signed for a request that another process had answered meanwhile is not sent',
  async () => {
    const wallet = await fundedWallet()
    await takeBackup()
    const before = await count('transactions')
    const PAYMENTS = 8
    for (let paid = 0; paid < PAYMENTS; paid += 1) {
      const [body, key] = [payment(wallet), newKey()]
      const answers = await Promise.all(clients().map((api) => api.post('/transactions/sign-and-send', body, key)))
      expect(new Set(answers.map(({ json }) => json.transaction_id)).size).toBe(1)
    }
    const signed = await onServer(
      server.url,
      (sql) => sql`select details->>'nonce' as nonce from audit where action = 'transaction_submitted'`,
    )
    expect(await count('transactions')).toBe(before + PAYMENTS)
    // Else nothing was signed in vain.
    expect(signed.filter(({ nonce }) => Number(nonce) === PAYMENTS).length).toBe(1)
    await goBack()
    expect(await restore()).toMatchObject({
      transactions: PAYMENTS,
      skipped: [{ why: 'answered', network, hashes: expect.any(Array), on_chain: null }],
    })
    expect(await count('transactions')).toBe(before + PAYMENTS)
  },
  60_000,
)

test('a transaction of which only the API had lost its rows comes back, though no vault noticed', async () => {
  const wallet = await fundedWallet()
  const [body, key] = [payment(wallet), newKey()]
  const { transaction_id: id } = (await pay(wallet, key, body)).json
  await forget(id, key)
  expect((await state()).is_behind).toBe(false)
  expect(await restore()).toMatchObject({ rows: 0, audit: 0, wallets: 0, transactions: 1 })
  expect((await pay(wallet, key, body)).json.transaction_id).toBe(id)
})

longTest('of a transaction that is not recorded again it is said that the chain has it', async () => {
  const wallet = await fundedWallet()
  const [body, key] = [payment(wallet), newKey()]
  const { transaction_id: id } = (await pay(wallet, key, body)).json
  const [sent] = await onServer(
    server.url,
    (sql) =>
      sql<{ raw: Hex; hash: Hex }[]>`select raw, hash from tests.attempts where transaction_id = ${id} and rung = 0`,
  )
  await chain.publicClient.waitForTransactionReceipt({
    hash: await chain.publicClient.sendRawTransaction({ serializedTransaction: sent?.raw ?? '0x' }),
  })
  await forget(id, key)
  // No vault notices this: it is the same server. So it is paid again.
  expect((await pay(wallet, key, body)).json.transaction_id).not.toBe(id)
  const { skipped } = await restore()
  expect(skipped).toContainEqual(expect.objectContaining({ id, why: 'answered', on_chain: sent?.hash }))
})

longTest(
  'a wallet whose creation is repeated after a restore is the same',
  async () => {
    await takeBackup()
    const [key, importing] = [newKey(), newKey()]
    const wanted = { network, name: 'A', owner_id: randomUUID(), control_mode: 'developer', developer_secret: SECRET }
    const private_key = `0x${Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString('hex')}`
    const imported = { ...wanted, owner_id: randomUUID(), private_key }
    const make = async () => [
      await apis[0].post('/wallets', wanted, key),
      await apis[0].post('/wallets/import', imported, importing),
    ]
    const made = await make()
    expect(made.map(({ status }) => status)).toEqual([200, 200])
    await goBack()
    expect(await restore()).toMatchObject({ wallets: 2 })
    // It is as old as the vault says, a moment older than its row was.
    const withoutTime = ({ json: { created_at: _, ...rest } }: (typeof made)[number]) => rest
    expect((await make()).map(withoutTime)).toEqual(made.map(withoutTime))
    expect((await apis[0].post('/wallets', wanted, newKey())).json.code).toBe('wallet_exists')
  },
  60_000,
)

longTest(
  'of wallets that were made for one owner at the same time, the one that was used comes back',
  async () => {
    await takeBackup()
    const owners = Array.from({ length: 4 }, () => randomUUID())
    const used: { id: string; paid: string; body: ReturnType<typeof payment>; key: ReturnType<typeof newKey> }[] = []
    for (const owner_id of owners) {
      const wanted = { network, name: 'A', owner_id, control_mode: 'developer', developer_secret: SECRET }
      const answers = await Promise.all(clients().map((api) => api.post('/wallets', wanted)))
      const { id, address } = answers.find(({ status }) => status === 200)?.json ?? {}
      await chain.fund(address)
      const [body, key] = [payment(address), newKey()]
      used.push({ id, body, key, paid: (await pay(address, key, body)).json.transaction_id })
    }
    const journal = await readFile(world.journals[0] ?? '', 'utf8')
    const notesOf = (owner: string) => journal.split(`"ownerId":"${owner}"`).length - 1
    expect(owners.filter((owner) => notesOf(owner) === 2)).not.toEqual([])
    await goBack()
    expect(await restore()).toMatchObject({ wallets: owners.length, transactions: owners.length })
    for (const { id, body, key, paid } of used) {
      expect((await apis[0].get('/wallets/get-by-id', { network, id })).status).toBe(200)
      expect((await pay(body.signer_wallet_address, key, body)).json.transaction_id).toBe(paid)
    }
  },
  60_000,
)

longTest(
  'wallets that were made after a rotation that the journal lacks come back',
  async () => {
    const { projectId } = apis[0].project
    await takeBackup()
    // By a vault that was killed before its journal had it: here, by one without.
    const rotated = await runCli(['keys', 'rotate-project', projectId], world.first.variables)
    expect(rotated.exitCode).toBe(0)
    const { address } = await apis[0].newWallet({ network })
    await goBack()
    await restore()
    const message = { network, signer_wallet_address: address, message: 'It is here.', developer_secret: SECRET }
    expect((await apis[0].post('/transactions/sign-message', message)).status).toBe(200)
  },
  60_000,
)
