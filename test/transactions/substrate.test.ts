// Extrinsics on a real Asset Hub runtime, with a worker: signed, sent, found again, and told only when final.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { decodeAddress, encodeAddress } from '@polkadot/util-crypto'
import postgres, { type Sql } from 'postgres'
import { type Answer, type Service, startService } from '../support/service.ts'
import { devAccount, startSubstrateChain } from '../support/substrate.ts'

const network = 'Polkadot'
const SECRET = 'testnet-secret'
const UNIT = 10n ** 10n

let chain: Awaited<ReturnType<typeof startSubstrateChain>>
let service: Service
let sql: Sql
/** With SS58 prefix 0. */
let bob: string

beforeAll(async () => {
  chain = await startSubstrateChain(network)
  service = await startService({ rpcUrls: { [network]: chain.wsUrl } })
  sql = postgres(service.database.url, { max: 2, onnotice: () => {} })
  service.startWorker()
  bob = encodeAddress((await devAccount('Bob')).publicKey, 0)
  await chain.fund(bob)
})

afterAll(async () => {
  await sql.end()
  await service.close()
  await chain.stop()
})

/** System.remark("hihi"): pallet 0, call 1 of this runtime. */
const REMARK = '0x00011068696869'
/** What a collection of pallet uniques takes as its deposit, and more. */
const RICH = 1_000_000n * UNIT
/** So many blocks an extrinsic waits. */
const ERA_BLOCKS = 16

const fundedWallet = async (planck = 1_000n * UNIT): Promise<string> => {
  const { address } = await service.newWallet({ network })
  await chain.fund(address, planck)
  return address
}

const bodyOf = (from: string, unsigned: object) => ({
  network,
  signer_wallet_address: from,
  unsigned_transaction: unsigned,
  developer_secret: SECRET,
})
const send = (from: string, unsigned: object) => service.post('/transactions/sign-and-send', bodyOf(from, unsigned))

const succeeded = async (answer: Answer) => {
  expect(answer.json).toMatchObject({ status: 'submitted' })
  const { json } = await service.settled(answer.json.transaction_id)
  expect(json).toMatchObject({ status: 'success' })
  return json
}

describe('a transfer', () => {
  test('is included once, and a success when its block is final', async () => {
    const from = await fundedWallet()
    const to = bob
    const answers = await Promise.all([1, 2, 3].map((value) => send(from, { to, value: String(value) })))
    const hashes = new Set<string>()
    for (const answer of answers) hashes.add((await succeeded(answer)).transaction_hash)
    expect(hashes.size).toBe(3)
    const { json } = await service.get('/transactions/status-by-hash', {
      network,
      transaction_hash: [...hashes][0] ?? '',
    })
    expect(json).toMatchObject({ status: 'success', contract_address: null })
  })

  test('takes a tip, and no fields of another family', async () => {
    const from = await fundedWallet()
    await succeeded(await send(from, { to: from, value: '1', maxPriorityFeePerGas: '7' }))
    for (const field of ['gasLimit', 'maxFeePerGas']) {
      const answer = await send(from, { to: from, value: '1', [field]: '1' })
      expect([answer.status, answer.json.code]).toEqual([400, 'invalid_input'])
      expect(answer.json.error).toContain(`unsigned_transaction.${field}`)
    }
  })

  test('is refused where it cannot be paid, or would leave too little on either side', async () => {
    const from = await fundedWallet(10n * UNIT)
    const poor = await send(from, { to: bob, value: String(11n * UNIT) })
    expect([poor.status, poor.json.code]).toEqual([400, 'balance_insufficient'])
    expect(poor.json.error).toContain(from)
    const dust = await send(from, { to: (await service.newWallet({ network })).address, value: '1' })
    expect([dust.status, dust.json.code]).toEqual([400, 'execution_reverted'])
    expect(dust.json.error).toStartWith('Token.BelowMinimum')
    const whole = await send(from, { to: bob, value: String(10n * UNIT) })
    expect([whole.status, whole.json.code]).toEqual([400, 'balance_insufficient'])
  })
})

describe('a call', () => {
  test('goes as it stands; one that is none is bad input', async () => {
    const from = await fundedWallet()
    await succeeded(await send(from, { input: REMARK }))
    for (const input of ['0xffff', `${REMARK}00`, REMARK.slice(0, -2)]) {
      const answer = await send(from, { input })
      expect([answer.status, answer.json.code]).toEqual([400, 'invalid_input'])
    }
    const paid = await send(from, { input: REMARK, value: '1' })
    expect([paid.status, paid.json.code]).toEqual([400, 'invalid_input'])
  })

  test('that fails within its block is told with the name of the error', async () => {
    const from = await fundedWallet(RICH)
    // Uniques.create of a collection that is there already.
    const create = `0x330007000000${'00'}${Buffer.from(decodeAddress(from)).toString('hex')}`
    await succeeded(await send(from, { input: create }))
    const again = await send(from, { input: create })
    const { json } = await service.settled(again.json.transaction_id)
    expect(json).toMatchObject({ status: 'failed', code: 'execution_reverted' })
    expect(json.error).toContain('Uniques.InUse')
  })
})

describe('signing alone', () => {
  test('gives what author_submitExtrinsic takes', async () => {
    const from = await fundedWallet()
    const { json: raw } = await service.post('/transactions/sign', bodyOf(from, { to: bob, value: '5' }))
    const hash = await chain.rpc('author_submitExtrinsic', [raw])
    expect(hash).toMatch(/^0x[0-9a-f]{64}$/)
    await chain.included(raw)
  })

  test('and everything else is refused where the node is of another chain', async () => {
    const from = await fundedWallet()
    const honest = await chain.answerWith('chain_getBlockHash', `0x${'ab'.repeat(32)}`)
    try {
      for (const path of ['/transactions/sign', '/transactions/sign-and-send']) {
        const answer = await service.post(path, bodyOf(from, { to: bob, value: '5' }))
        expect([answer.status, answer.json.code]).toEqual([503, 'wrong_chain'])
      }
      expect((await service.get('/readyz')).json.networks).toEqual({ [network]: 'wrong_chain' })
    } finally {
      await honest()
    }
    expect((await service.get('/readyz')).json.networks).toEqual({ [network]: 'ready' })
  })
})

describe('what happens to a node', () => {
  test('a lost connection is made anew', async () => {
    const from = await fundedWallet()
    await chain.dropConnections()
    let answer = await send(from, { to: bob, value: '1' })
    // One that was on its way is lost with the connection.
    if (answer.status === 503) answer = await send(from, { to: bob, value: '1' })
    await succeeded(answer)
  })

  test('a runtime upgrade between signing and sending ends in failed, and the next one is signed for the new runtime', async () => {
    const from = await fundedWallet()
    await chain.setMode('manual')
    const silent = await chain.answerWith('author_submitExtrinsic', { error: { code: -32000, message: 'busy' } })
    const answer = await send(from, { to: bob, value: '1' })
    await chain.upgradeRuntime()
    await silent()
    await chain.newBlock(ERA_BLOCKS + 2)
    const { json } = await service.settled(answer.json.transaction_id, 40_000)
    expect(json).toMatchObject({ status: 'failed', code: 'expired' })
    const [row] =
      await sql`select holds_nonce, valid_until_block from transactions where id = ${answer.json.transaction_id}`
    expect(row).toMatchObject({ holds_nonce: false })
    await chain.setMode('instant')
    await succeeded(await send(from, { to: bob, value: '2' }))
    const versions = await sql`select spec_version from runtime_metadata order by spec_version`
    expect(versions.map(({ spec_version }) => spec_version)).toHaveLength(2)
  }, 60_000)
})

test('a batch is for contract wallets, which there are none of', async () => {
  const from = await fundedWallet()
  const answer = await service.post('/transactions/batch-sign-and-send', {
    network,
    signer_wallet_address: from,
    unsigned_transactions: [{ to: bob, value: '1' }],
    developer_secret: SECRET,
  })
  expect([answer.status, answer.json.code]).toEqual([400, 'batch_unsupported'])
})
