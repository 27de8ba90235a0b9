// A database that was restored to an earlier time, without a journal: `cli restore check` finds on the chains what wallets have
// done since, freezes these wallets, and releases them when the workers have read the same blocks. Real servers and chains.

import { afterAll, beforeAll, expect, test } from 'bun:test'
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts'
import { deployCanonicalContracts } from '../../devnet/canonical-contracts.ts'
import { fundedAccount, startChain, type TestChain } from '../support/chains.ts'
import { runCli } from '../support/cli.ts'
import { createDatabaseOn } from '../support/postgres.ts'
import { type Service, startService } from '../support/service.ts'
import { startSubstrateChain, type TestSubstrateChain } from '../support/substrate.ts'
import { startWorkerHere, type WorkerHere } from '../support/worker-here.ts'
import { startCopiedPostgres } from './copied-postgres.ts'

const SECRET = { developer_secret: 'testnet-secret' }
const RECIPIENT = fundedAccount(5).address
/** The Substrate development phrase's //Bob, with Polkadot's prefix. */
const BOB = '14E5nqKAp3oAJcmzgZhUD2RcptBeUBScxKHgJKU4HPNcKVf3'

let server: Awaited<ReturnType<typeof startCopiedPostgres>>
let chain: TestChain
let polkadot: TestSubstrateChain
let service: Service
let worker: WorkerHere | null = null

beforeAll(async () => {
  server = await startCopiedPostgres()
  chain = await startChain('Ethereum')
  await deployCanonicalContracts(chain.rpcUrl)
  polkadot = await startSubstrateChain('Polkadot')
  const rpcUrls = { Ethereum: chain.rpcUrl, Polkadot: polkadot.rpcUrl }
  service = await startService({ rpcUrls, database: await createDatabaseOn(server.url) })
}, 120_000)

afterAll(async () => {
  await worker?.stop()
  await service.close()
  await Promise.all([chain.stop(), polkadot.stop()])
  await server.stop()
})

const startWorker = async () => {
  worker = await startWorkerHere(service)
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
  const key = generatePrivateKey()
  await chain.fund(privateKeyToAddress(key))
  const body = { network: 'Ethereum', type: 'contract', name: 'A Safe', private_key: key, control_mode: 'developer' }
  const { json } = await service.post('/wallets/import', { ...body, ...SECRET })
  return json as { id: string; address: `0x${string}` }
}

const send = (network: 'Ethereum' | 'Polkadot', address: string, unsigned: object) =>
  service.post('/transactions/sign-and-send', {
    network,
    signer_wallet_address: address,
    unsigned_transaction: unsigned,
    ...SECRET,
  })

/** Pays, and waits until it is mined. @returns the hash */
const pay = async (network: 'Ethereum' | 'Polkadot', address: string): Promise<string> => {
  const unsigned = network === 'Ethereum' ? { to: RECIPIENT, value: '1' } : { to: BOB, value: '10000000000' }
  const sent = await send(network, address, unsigned)
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

test('what wallets did since the backup is found, and they sign again when the workers know it', async () => {
  await startWorker()
  const [busy, quiet, safe, extrinsic] = [
    await newWallet('Ethereum'),
    await newWallet('Ethereum'),
    await newSafe(),
    await newWallet('Polkadot'),
  ]
  for (const { address } of [busy, quiet, safe]) await chain.fund(address)
  await polkadot.fund(extrinsic.address)
  const before = [await pay('Ethereum', busy.address), await pay('Ethereum', quiet.address)]
  await pay('Ethereum', safe.address)
  await pay('Polkadot', extrinsic.address)
  await stopWorker()
  await server.takeBackup()

  await startWorker()
  const since = [
    await pay('Ethereum', busy.address),
    await pay('Ethereum', busy.address),
    await pay('Ethereum', safe.address),
    await pay('Polkadot', extrinsic.address),
  ]
  await stopWorker()
  await server.goBack()

  const found = await check()
  const hashes = found.unknown.map(({ hash }: { hash: string }) => hash)
  expect(hashes.toSorted()).toEqual(since.toSorted())
  expect(hashes).not.toContain(before[0])
  expect(found.frozen.toSorted()).toEqual([busy.id, safe.id, extrinsic.id].toSorted())
  // A second run finds the same, and freezes nobody again.
  expect(await check()).toMatchObject({ unknown: found.unknown, frozen: [] })

  const payment = { to: RECIPIENT, value: '1' }
  for (const { address } of [busy, safe]) {
    expect((await send('Ethereum', address, payment)).json).toMatchObject({ code: 'frozen' })
  }
  expect((await send('Ethereum', quiet.address, payment)).json).toMatchObject({ status: 'submitted' })

  await startWorker()
  const { released } = await check('--release')
  expect(released.toSorted()).toEqual([busy.id, safe.id, extrinsic.id].toSorted())
  await pay('Ethereum', busy.address)
  await pay('Ethereum', safe.address)
  await pay('Polkadot', extrinsic.address)
  // The workers have read the payments that the database had lost.
  const activity = await service.get('/activity', { network: 'Ethereum', wallet_address: busy.address })
  const shown = JSON.stringify(activity.json)
  for (const hash of since.slice(0, 2)) expect(shown).toContain(hash)
  expect(await check('--release')).toEqual({ released: [] })
}, 240_000)

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
