// A database that was restored to a point in time, without a journal: `cli restore check` finds on the chains what
// wallets have done since, freezes these wallets, and releases them when the workers have read the same blocks. Real
// servers and chains.

import { expect, test } from 'bun:test'
import { sql as drizzle } from 'drizzle-orm'
import postgres from 'postgres'
import type { Hex } from 'viem'
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts'
import { insertLostTransactions, releaseLost } from '../../db/queries/restore.ts'
import { deployCanonicalContracts } from '../../devnet/canonical-contracts.ts'
import { fundedAccount, startChain } from '../support/chains.ts'
import { runCli } from '../support/cli.ts'
import { isLong, longTest } from '../support/long.ts'
import { createDatabaseOn, onServer } from '../support/postgres.ts'
import { startService } from '../support/service.ts'
import { afterTests, shared } from '../support/shared.ts'
import { startSubstrateChain } from '../support/substrate.ts'
import { startWorkerHere, type WorkerHere } from '../support/worker-here.ts'
import { startArchivedPostgres } from './archived-postgres.ts'

const SECRET = { developer_secret: 'testnet-secret' }
const RECIPIENT = fundedAccount(5).address
/** The Substrate development phrase's //Bob, with Polkadot's prefix. */
const BOB = '14E5nqKAp3oAJcmzgZhUD2RcptBeUBScxKHgJKU4HPNcKVf3'

let worker: WorkerHere | null = null

/** Only the long run restores a database. */
const server = isLong ? await shared(startArchivedPostgres()) : null
const chain = await shared(startChain('Ethereum'))
const polkadot = isLong ? await shared(startSubstrateChain('Polkadot')) : null
const rpcUrls = { Ethereum: chain.rpcUrl, Polkadot: polkadot?.rpcUrl ?? 'http://127.0.0.1:1' }
const service = await shared(
  startService({ rpcUrls, ...(server === null ? {} : { database: await createDatabaseOn(server.url) }) }),
)
afterTests(() => worker?.stop())

const startWorker = async () => {
  worker ??= await startWorkerHere(service)
}
const stopWorker = async () => {
  await worker?.stop()
  worker = null
}

const newWallet = async (network: 'Ethereum' | 'Polkadot') => {
  const { json } = await service.post('/wallets', { network, name: 'A', control_mode: 'developer', ...SECRET })
  return json as { id: string; address: `0x${string}` }
}

/** A contract wallet whose key has coins for fees. */
const newSafe = async () => {
  await deployCanonicalContracts(chain.rpcUrl)
  const key = generatePrivateKey()
  await chain.fund(privateKeyToAddress(key))
  const body = { network: 'Ethereum', type: 'contract', name: 'A Safe', private_key: key, control_mode: 'developer' }
  const { json } = await service.post('/wallets/import', { ...body, ...SECRET })
  return json as { id: string; address: `0x${string}` }
}

const send = (network: 'Ethereum' | 'Polkadot', address: string, unsigned: object, others: object = {}) =>
  service.post('/transactions/sign-and-send', {
    ...others,
    network,
    signer_wallet_address: address,
    unsigned_transaction: unsigned,
    ...SECRET,
  })

const paymentOn = (network: 'Ethereum' | 'Polkadot') =>
  network === 'Ethereum' ? { to: RECIPIENT, value: '1' } : { to: BOB, value: '10000000000' }

/** Pays, and waits until it is mined. @returns the hash */
const pay = async (network: 'Ethereum' | 'Polkadot', address: string, others: object = {}): Promise<string> => {
  const sent = await send(network, address, paymentOn(network), others)
  expect(sent.json).toMatchObject({ status: 'submitted' })
  const { json } = await service.settled(sent.json.transaction_id)
  expect(json.status).toBe('success')
  return json.hash ?? json.transaction_hash
}

const check = async (...options: readonly string[]) => {
  const { exitCode, output, errors } = await runCli(['restore', 'check', '--json', ...options], service.variables)
  if (exitCode !== 0) throw new Error(errors)
  return JSON.parse(output)
}

longTest(
  'what wallets did since the backup is found, and they sign again when the workers know it',
  async () => {
    if (server === null || polkadot === null) throw new Error('the short run has no such server')
    await startWorker()
    const [busy, quiet] = [await newWallet('Ethereum'), await newWallet('Ethereum')]
    const undeployed = await newSafe()
    const more = [
      ['Ethereum', await newSafe()],
      ['Polkadot', await newWallet('Polkadot')],
    ] as const
    for (const { address } of [busy, quiet, undeployed]) await chain.fund(address)
    for (const [network, { address }] of more)
      await (network === 'Polkadot' ? polkadot.fund(address) : chain.fund(address))
    const before = [await pay('Ethereum', busy.address), await pay('Ethereum', quiet.address)]
    for (const [network, { address }] of more) await pay(network, address)
    await stopWorker()
    await server.takeBackup()
    // Something that the backup does not have, and the archive does.
    const archived = await newWallet('Ethereum')
    const time = await server.now()

    await startWorker()
    const since = [
      await pay('Ethereum', busy.address),
      await pay('Ethereum', busy.address),
      // A transaction before it deploys the wallet, and is sent to another contract.
      await pay('Ethereum', undeployed.address),
    ]
    for (const [network, { address }] of more) since.push(await pay(network, address))
    await stopWorker()
    await server.goBackTo(time)
    expect((await service.get('/wallets/get-by-id', { network: 'Ethereum', id: archived.id })).status).toBe(200)

    const found = await check()
    const hashes: string[] = found.unknown.map(({ hash }: { hash: string }) => hash)
    expect(hashes.filter((hash) => since.includes(hash)).toSorted()).toEqual(since.toSorted())
    const others = found.unknown.filter(({ hash }: { hash: string }) => !since.includes(hash))
    expect(others).toEqual([expect.objectContaining({ wallet: undeployed.id })])
    expect(hashes).not.toContain(before[0])
    const theirs = [busy.id, undeployed.id, ...more.map(([, { id }]) => id)].toSorted()
    expect(found.frozen.toSorted()).toEqual(theirs)
    expect(found.unread).toEqual([])
    // A second run finds the same, and freezes nobody again.
    expect(await check()).toMatchObject({ unknown: found.unknown, frozen: [] })

    const payment = { to: RECIPIENT, value: '1' }
    for (const { address } of [busy, undeployed]) {
      expect((await send('Ethereum', address, payment)).json).toMatchObject({ code: 'frozen' })
    }
    expect((await send('Ethereum', quiet.address, payment)).json).toMatchObject({ status: 'submitted' })

    await startWorker()
    const { released } = await check('--release')
    expect(released.toSorted()).toEqual(theirs)
    // An equal payment may be a repeated request, whose first answer is lost.
    for (const [network, { address }] of [['Ethereum', busy], ...more] as const) {
      const repeated = await send(network, address, paymentOn(network))
      expect([repeated.status, repeated.json.code]).toEqual([409, 'repeat_refused'])
      expect(since.some((hash) => repeated.json.error.includes(hash))).toBe(true)
      await pay(network, address, { allow_repeat: true })
    }
    expect((await send('Ethereum', busy.address, { to: RECIPIENT, value: '2' })).json).toMatchObject({
      status: 'submitted',
    })
    // The workers have read the payments that the database had lost.
    const activity = await service.get('/activity', { network: 'Ethereum', wallet_address: busy.address })
    const shown = JSON.stringify(activity.json)
    for (const hash of since.slice(0, 2)) expect(shown).toContain(hash)
    expect(await check('--release')).toEqual({ released: [] })
    await stopWorker()
  },
  240_000,
)

test('a payment that the database lost is found, and its wallet signs again when the workers know it', async () => {
  await startWorker()
  const { id, address } = await newWallet('Ethereum')
  await chain.fund(address)
  await pay('Ethereum', address)
  await stopWorker()
  const before = await onServer(service.database.url, (sql) => sql`select * from cursors where network = 'Ethereum'`)
  await startWorker()
  const hash = await pay('Ethereum', address, { allow_repeat: true })
  await stopWorker()
  await onServer(service.database.url, (sql) =>
    sql.begin(async (tx) => {
      const [{ id: lost } = {}] = await tx`select transaction_id as id from tests.attempts where hash = ${hash}`
      await tx`delete from ladders where transaction_id = ${lost}`
      await tx`delete from transactions where id = ${lost}`
      await tx`delete from movements where transaction_hash = ${hash}`
      await tx`delete from cursors where network = 'Ethereum'`
      await tx`insert into cursors ${tx(before)}`
    }),
  )
  // The command fails where the short run has no Polkadot, whose blocks it cannot read.
  const found = JSON.parse((await runCli(['restore', 'check', '--json'], service.variables)).output)
  expect(found.unknown).toEqual([expect.objectContaining({ wallet: id, hash })])
  expect(found.frozen).toEqual([id])
  expect((await send('Ethereum', address, paymentOn('Ethereum'))).json).toMatchObject({ code: 'frozen' })
  await startWorker()
  expect(await check('--release')).toEqual({ released: [id] })
  const repeated = await send('Ethereum', address, paymentOn('Ethereum'))
  expect([repeated.status, repeated.json.code]).toEqual([409, 'repeat_refused'])
  expect(repeated.json.error).toContain(hash)
  const releasedBefore = (interval: string) =>
    onServer(
      service.database.url,
      (sql) => sql`update lost_transactions set released_at = now() - ${interval}::interval where hash = ${hash}`,
    )
  await releasedBefore('23 hours 59 minutes')
  expect((await send('Ethereum', address, paymentOn('Ethereum'))).json).toMatchObject({ code: 'repeat_refused' })
  await releasedBefore('24 hours 1 minute')
  expect((await send('Ethereum', address, paymentOn('Ethereum'))).json).toMatchObject({ status: 'submitted' })
})

longTest('an equal payment is refused until a day after the release, and then no more', async () => {
  await startWorker()
  const { id: walletId, address } = await newWallet('Ethereum')
  await chain.fund(address)
  const hash = await pay('Ethereum', address)
  const { blockNumber: number } = await chain.publicClient.getTransactionReceipt({ hash: hash as Hex })
  const [block] = await service.ctx.chains.withNode('Ethereum').sendersFrom({ number, limit: 1 })
  const callText = block?.transactions.find((each) => each.hash === hash)?.callText ?? ''
  const { db } = service.ctx
  const payAgain = async (others: object = {}) => {
    const { json } = await send('Ethereum', address, paymentOn('Ethereum'), others)
    return json.status ?? json.code
  }
  const releasedBefore = (interval: string) =>
    db.execute(drizzle`update lost_transactions set released_at = now() - ${interval}::interval where hash = ${hash}`)
  expect(await payAgain()).toBe('submitted')
  await insertLostTransactions(db, [{ walletId, hash, callText }])
  expect(await payAgain()).toBe('repeat_refused')
  await releaseLost(db, walletId)
  expect(await payAgain()).toBe('repeat_refused')
  await releasedBefore('23 hours 59 minutes')
  expect([await payAgain(), await payAgain({ allow_repeat: true })]).toEqual(['repeat_refused', 'submitted'])
  await releasedBefore('24 hours 1 minute')
  expect(await payAgain()).toBe('submitted')
})

test('a freeze of the operator is not released', async () => {
  const { id, address } = await newWallet('Ethereum')
  const freeze = await runCli(['freeze', 'wallet', id, '--reason', 'asked for by its owner'], service.variables)
  expect(freeze.exitCode).toBe(0)
  expect(await check('--release')).toEqual({ released: [] })
  expect((await send('Ethereum', address, { to: RECIPIENT, value: '1' })).json).toMatchObject({ code: 'frozen' })
})

test('a node that does not answer ends the check with a sentence, and nothing is frozen', async () => {
  const { exitCode, errors } = await runCli(['restore', 'check'], {
    ...service.variables,
    ETHEREUM_RPC_URL: 'http://127.0.0.1:1',
  })
  expect({ exitCode, errors }).toEqual({ exitCode: 1, errors: expect.stringMatching(/Ethereum node/) })
})

test('a node that lacks the blocks since the backup ends the check: they were not read', async () => {
  // It would read them before the command does.
  await stopWorker()
  await chain.mine(2)
  // A node that has deleted them answers with null.
  const pruned = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: async (request) => {
      const text = await request.text()
      const answer = await fetch(chain.rpcUrl, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: text,
      })
      const asked: { id: number; method: string; params: unknown[] }[] = [JSON.parse(text)].flat()
      const lacks = new Set(
        asked
          .filter(({ method, params }) => method === 'eth_getBlockByNumber' && params[1] === true)
          .map(({ id }) => id),
      )
      const json = await answer.json()
      const replies = [json].flat().map((reply) => (lacks.has(reply.id) ? { ...reply, result: null } : reply))
      return Response.json(Array.isArray(json) ? replies : replies[0])
    },
  })
  try {
    const variables = { ...service.variables, ETHEREUM_RPC_URL: pruned.url.href }
    const { exitCode, output, errors } = await runCli(['restore', 'check'], variables)
    expect({ exitCode, output }).toEqual({ exitCode: 1, output: '' })
    expect(errors).toMatch(/The Ethereum node does not have block \d+: use one that has all blocks since the backup/)
  } finally {
    await pruned.stop(true)
  }
})

test('networks with wallets that cannot be read are named, and the command fails', async () => {
  await stopWorker()
  const sql = postgres(service.database.url, { max: 1, onnotice: () => {} })
  try {
    await sql`delete from cursors where network = 'Polkadot'`
  } finally {
    await sql.end()
  }
  const { ETHEREUM_RPC_URL: _, ...variables } = service.variables
  const { exitCode, output } = await runCli(['restore', 'check'], variables)
  expect(exitCode).toBe(1)
  expect(output).toContain('Ethereum: NOT READ, although it has wallets: this command has no node of it')
  expect(output).toContain('Polkadot: NOT READ, although it has wallets: no worker had followed it before the backup')
  expect(output).not.toContain('Start the workers')
})
