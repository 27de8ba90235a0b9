// A worker that starts late, on a real Asset Hub runtime: it finds what was included before its first step, and says
// what it cannot know.

import { afterAll, beforeAll, expect, test } from 'bun:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { decodeAddress, encodeAddress } from '@polkadot/util-crypto'
import type { Sql } from 'postgres'
import postgres from 'postgres'
import { cancelTransaction } from '../../src/signing/transactions/waiting.ts'
import { type Behaviour, startFakeNode } from '../chains/evm/fake-node.ts'
import { runCli } from '../support/cli.ts'
import { type Service, startService } from '../support/service.ts'
import { devAccount, startSubstrateChain } from '../support/substrate.ts'
import { startWorkerHere, type WorkerHere } from '../support/worker-here.ts'

const network = 'Polkadot'
const UNIT = 10n ** 10n
/** The number of blocks that an extrinsic waits. */
const ERA_BLOCKS = 16

let chain: Awaited<ReturnType<typeof startSubstrateChain>>
let service: Service
let worker: WorkerHere
let sql: Sql
/** With SS58 prefix 0. */
let bob: string

const fundedWallet = async (): Promise<string> => {
  const { address } = await service.newWallet({ network })
  await chain.fund(address, 1_000n * UNIT)
  return address
}

const until = async (condition: () => Promise<boolean>): Promise<void> => {
  for (const deadline = Date.now() + 15_000; !(await condition()); await sleep(50)) {
    if (Date.now() > deadline) throw new Error('it did not come about in time')
  }
}

const send = (from: string, unsigned: object) =>
  service.post('/transactions/sign-and-send', {
    network,
    signer_wallet_address: from,
    unsigned_transaction: unsigned,
    developer_secret: 'testnet-secret',
  })

const transferAll = (to: string) => `0x0a0400${Buffer.from(decodeAddress(to)).toString('hex')}00`
const sendAround = async (from: string): Promise<string> => {
  const { json } = await send(from, { to: bob, value: '1' })
  const [attempt] = await sql`select raw from tests.attempts where transaction_id = ${json.transaction_id}`
  await chain.rpc('author_submitExtrinsic', [attempt?.raw])
  await chain.included(attempt?.raw)
  return json.transaction_id
}
const refusalOf = async (id: string): Promise<string> => {
  const [attempt] = await sql`select last_error from tests.attempts where transaction_id = ${id}`
  return attempt?.last_error ?? ''
}

let node: ReturnType<typeof startFakeNode>
let forgotten = new Set<unknown>()
let reaped: string
let early: string
let untold: string
let poor: { readonly address: string; readonly id: string }

beforeAll(async () => {
  chain = await startSubstrateChain(network)
  service = await startService({ rpcUrls: { [network]: chain.wsUrl } })
  sql = postgres(service.database.url, { max: 2, onnotice: () => {} })
  worker = await startWorkerHere(service)
  bob = encodeAddress((await devAccount('Bob')).publicKey, 0)
  await chain.fund(bob)
  reaped = await fundedWallet()
  const { json: sentAll } = await send(reaped, { input: transferAll(bob) })
  expect((await service.settled(sentAll.transaction_id)).json).toMatchObject({ status: 'success' })
  await worker.stop()
  untold = await sendAround(await fundedWallet())
  const hash = await chain.rpc('chain_getBlockHash')
  const { parentHash } = (await chain.rpc('chain_getHeader', [hash])) as { readonly parentHash: string }
  forgotten = new Set([hash, parentHash])
  await chain.newBlock()
  early = await sendAround(await fundedWallet())
  await chain.newBlock(ERA_BLOCKS + 1)
  const address = await fundedWallet()
  poor = { address, id: (await send(address, { to: bob, value: '1' })).json.transaction_id }
  await chain.fund(address, 1n)
  await sql`delete from cursors where purpose = 'track'`
  await sql`delete from seen_blocks where purpose = 'track'`
  const behaviour: Behaviour = ({ method, params }) =>
    method.startsWith('state_') && forgotten.has(params.at(-1))
      ? { error: { code: 4003, message: `Client error: UnknownBlock: State already discarded for ${params.at(-1)}` } }
      : undefined
  node = startFakeNode({ behaviour, behind: chain.rpcUrl })
}, 120_000)

afterAll(async () => {
  await sql.end()
  await worker.stop()
  await service.close()
  await node.stop()
  await chain.stop()
})

test('finds extrinsics that were included before its first step, even after their era', async () => {
  worker = await startWorkerHere(service, { POLKADOT_RPC_URL: node.rpcUrl })
  const { json } = await service.settled(early)
  expect(json).toMatchObject({ status: 'success' })
}, 30_000)

test('does not guess a result if the node has pruned the state, and says so', async () => {
  // The node's last refusal may still be there for a moment.
  await until(async () => {
    const [shown] = await sql`select why from strongroom_views.transactions where id = ${untold}`
    return shown?.why.includes('an archive node has it')
  })
  const { json } = await service.get('/transactions/status-by-id', { id: untold })
  expect(json).toMatchObject({ status: 'pending' })
  forgotten.clear()
  expect((await service.settled(untold)).json).toMatchObject({ status: 'success' })
}, 30_000)

test('the nonces of a reaped account start from 0 again', async () => {
  await chain.fund(reaped)
  const { json } = await send(reaped, { to: bob, value: '1' })
  expect(json).toMatchObject({ status: 'submitted' })
  const [row] = await sql`select nonce from transactions where id = ${json.transaction_id}`
  expect(row?.nonce).toBe('0')
  expect((await service.settled(json.transaction_id)).json).toMatchObject({ status: 'success' })
}, 30_000)

test('a signer that can no longer pay is shown with the missing amount', async () => {
  await until(async () => (await refusalOf(poor.id)).startsWith('insufficient_funds'))
  expect(await refusalOf(poor.id)).toMatch(new RegExp(`^insufficient_funds: ${poor.address} lacks [0-9.]+ DOT `))
  const shown = (await runCli(['tx', 'show', poor.id], { ...service.variables, VAULT_SOCKET: '' })).output
  expect(shown).toContain(`the signer lacks`)
  expect(shown).toMatch(/ [0-9.]+ DOT as far as is known /)
  await expect(cancelTransaction(service.ctx, { id: poor.id, actor: 'operator', reach: null })).rejects.toMatchObject({
    ...{
      code: 'invalid_input',
      message: expect.stringMatching(/^It is mortal: it ends by itself after block [0-9]+\.$/),
    },
  })
  expect(shown).not.toContain('gwei')
}, 30_000)
