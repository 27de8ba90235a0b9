// Extrinsics on a real Asset Hub runtime, with a worker: signed, sent, found in blocks, and reported only when final.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { blake2AsHex, decodeAddress, encodeAddress } from '@polkadot/util-crypto'
import type { Sql } from 'postgres'
import postgres from 'postgres'
import { createProject } from '../../src/operators/projects.ts'
import { isLong, longTest, someOf } from '../support/long.ts'
import { type Answer, type Service, startService } from '../support/service.ts'
import { devAccount, startSubstrateChain } from '../support/substrate.ts'
import { startWorkerHere, type WorkerHere } from '../support/worker-here.ts'
import { type FeeAssets, LEAST, startFeeAssets } from './fee-asset-world.ts'

const network = 'Polkadot'
const SECRET = 'testnet-secret'
const UNIT = 10n ** 10n

let chain: Awaited<ReturnType<typeof startSubstrateChain>>
let service: Service
let worker: WorkerHere
let sql: Sql
/** With SS58 prefix 0. */
let bob: string

beforeAll(async () => {
  chain = await startSubstrateChain(network)
  service = await startService({ rpcUrls: { [network]: chain.wsUrl } })
  sql = postgres(service.database.url, { max: 2, onnotice: () => {} })
  worker = await startWorkerHere(service)
  bob = encodeAddress((await devAccount('Bob')).publicKey, 0)
  await chain.fund(bob)
})

afterAll(async () => {
  await sql.end()
  await worker.stop()
  await service.close()
  await chain.stop()
})

/** System.remark("hihi"): pallet 0, call 1 of this runtime. */
const REMARK = '0x00011068696869'
/** More than the deposit of a collection of pallet uniques. */
const RICH = 1_000_000n * UNIT
/** The number of blocks that an extrinsic waits. */
const ERA_BLOCKS = 16

const fundedWallet = async (planck = 1_000n * UNIT): Promise<string> => {
  const { address } = await service.newWallet({ network })
  await chain.fund(address, planck)
  return address
}

const until = async (condition: () => Promise<boolean>): Promise<void> => {
  for (const deadline = Date.now() + 15_000; !(await condition()); await sleep(50)) {
    if (Date.now() > deadline) throw new Error('it did not come about in time')
  }
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
  longTest('is included once, and succeeds when its block is final', async () => {
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
    const unknown = { network, transaction_hash: `0x${'ab'.repeat(32)}` }
    expect((await service.get('/transactions/status-by-hash', unknown)).status).toBe(404)
    const refusals = [2, 4].map(async (nonce) => {
      const { status, json: refused } = await send(from, { to, value: '1', nonce: String(nonce) })
      return [status, refused.code]
    })
    expect(await Promise.all(refusals)).toEqual([
      [400, 'nonce_too_low'],
      [400, 'nonce_gap'],
    ])
  })

  longTest(
    'is pending while its block is not final',
    async () => {
      const from = await fundedWallet()
      await chain.setFinalityLag(3)
      try {
        // Waits until its balance is final.
        await chain.newBlock(3)
        const { json: submitted } = await send(from, { to: bob, value: '9' })
        const [attempt] = await sql<{ raw: string }[]>`
        select raw from tests.attempts where transaction_id = ${submitted.transaction_id}`
        await chain.included(attempt?.raw ?? '')
        await chain.newBlock()
        const status = async () =>
          (await service.get('/transactions/status-by-id', { id: submitted.transaction_id })).json.status
        expect(await status()).toBe('pending')
        await chain.newBlock(2)
        expect((await service.settled(submitted.transaction_id)).json.status).toBe('success')
      } finally {
        await chain.setFinalityLag(0)
      }
    },
    30_000,
  )

  longTest(
    'is refused while finality lags by an era, because no block would take it',
    async () => {
      const from = await fundedWallet()
      await chain.setFinalityLag(16)
      try {
        await chain.newBlock(16)
        const { status, json } = await send(from, { to: bob, value: '9' })
        expect([status, json.code]).toEqual([503, 'node_unavailable'])
        expect(json.error).toStartWith('Polkadot has made 16 blocks since its newest final one')
      } finally {
        await chain.setFinalityLag(0)
      }
      await succeeded(await send(from, { to: bob, value: '9' }))
    },
    30_000,
  )

  test('accepts a tip, and no EVM fields', async () => {
    const from = await fundedWallet()
    await succeeded(await send(from, { to: from, value: '1', maxPriorityFeePerGas: '7' }))
    for (const field of ['gasLimit', 'maxFeePerGas']) {
      const answer = await send(from, { to: from, value: '1', [field]: '1' })
      expect([answer.status, answer.json.code]).toEqual([400, 'invalid_input'])
      expect(answer.json.error).toContain(`unsigned_transaction.${field}`)
    }
    for (const [field, value] of [
      ['gasPrice', '1'],
      ['accessList', []],
      ['type', '2'],
    ] as const) {
      const { status, json } = await send(from, { to: from, value: '1', [field]: value })
      const sentence = `Field "unsigned_transaction.${field}" has no meaning on Polkadot.`
      expect([status, json.code, json.error]).toEqual([400, 'invalid_input', sentence])
    }
  })

  test('lets no account delegate to a contract', async () => {
    const signer_wallet_address = await fundedWallet()
    const authorization = { contract_address: bob, nonce: '0' }
    const body = { ...bodyOf(signer_wallet_address, {}), unsigned_transaction: undefined, authorization }
    const { status, json } = await service.post('/transactions/sign-authorization', body)
    const sentence = 'Accounts of Polkadot cannot delegate to a contract.'
    expect([status, json.code, json.error]).toEqual([501, 'not_implemented', sentence])
  })

  test('is refused if it cannot be paid, or leaves less than the existential deposit on either side', async () => {
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
  longTest('is sent as given', async () => {
    const from = await fundedWallet()
    await succeeded(await send(from, { input: REMARK }))
    const paid = await send(from, { input: REMARK, value: '1' })
    expect([paid.status, paid.json.code]).toEqual([400, 'invalid_input'])
  })

  test('of malformed bytes is bad input', async () => {
    const from = await fundedWallet()
    for (const input of ['0xffff', `${REMARK}00`, REMARK.slice(0, -2)]) {
      const answer = await send(from, { input })
      expect([answer.status, answer.json.code]).toEqual([400, 'invalid_input'])
    }
  })

  longTest('that the runtime cannot decode is bad input, not a fault of the node', async () => {
    const from = await fundedWallet()
    // Uniques.set_metadata of class 1, instance 1, with 300 bytes; at most 128 are allowed.
    const input = `0x33120100000001000000b104${'00'.repeat(300)}00`
    const unsigned_transaction = { input }
    const answers = [
      await service.post('/transactions/preview', { network, from, unsigned_transaction }),
      await service.post('/transactions/sign', bodyOf(from, { input })),
      await send(from, { input }),
    ]
    for (const { status, json } of answers) {
      expect([status, json.code]).toEqual([400, 'invalid_input'])
      expect(json.error).toStartWith('Field "unsigned_transaction.input" must be a call that the runtime can read')
    }
    const honest = await chain.answerWith('state_call', { error: { code: -32000, message: 'busy' } })
    try {
      const busy = await service.post('/transactions/preview', { network, from, unsigned_transaction })
      expect([busy.status, busy.json.code]).toEqual([503, 'node_unavailable'])
    } finally {
      await honest()
    }
  })

  longTest('with a Perbill above 100 % is refused as bad input, alone or within another call', async () => {
    const from = await fundedWallet()
    // System.fill_block of a Perbill, in billionths: pallet 0, call 0, four bytes.
    const fillBlock = (billionths: number) => {
      const ratio = Buffer.alloc(4)
      ratio.writeUInt32LE(billionths)
      return `0000${ratio.toString('hex')}`
    }
    // Utility.batch of one: pallet 40, call 0.
    const batched = (call: string) => `280004${call}`
    const told = async (call: string) => {
      const unsigned_transaction = { input: `0x${call}` }
      const answers = [
        await service.post('/transactions/preview', { network, from, unsigned_transaction }),
        await service.post('/transactions/sign', bodyOf(from, unsigned_transaction)),
        await send(from, unsigned_transaction),
      ]
      return answers.map(({ status, json }) => [status, json.code ?? null])
    }
    const whole = 1_000_000_000
    for (const call of [fillBlock(whole + 1), fillBlock(2 ** 32 - 1), batched(fillBlock(whole + 1))]) {
      expect(await told(call)).toEqual(Array(3).fill([400, 'invalid_input']))
    }
    // The whole call is decoded, even if the signer may not make it.
    expect((await told(fillBlock(whole))).slice(0, 2)).toEqual(Array(2).fill([200, null]))
  })

  test('that fails in its block is reported with the name of the error', async () => {
    const from = await fundedWallet(RICH)
    // Uniques.create of a collection that exists already.
    const create = `0x330007000000${'00'}${Buffer.from(decodeAddress(from)).toString('hex')}`
    await succeeded(await send(from, { input: create }))
    const again = await send(from, { input: create })
    const { json } = await service.settled(again.json.transaction_id)
    expect(json).toMatchObject({ status: 'failed', code: 'execution_reverted' })
    expect(json.error).toContain('Uniques.InUse')
  })
})

describe('NFTs', () => {
  longTest(
    'a collection is created, minted at once into different items, described, and its items are moved',
    async () => {
      const [from, holder] = [await fundedWallet(RICH), await fundedWallet(10n * UNIT)]
      const made = { network, from, name: 'Doors', symbol: 'DOOR', image_url: 'https://example.com/d.png' }
      const post = (path: string, body: object) => service.post(path, { ...body, developer_secret: SECRET })
      const { contract_address: contract } = await succeeded(await post('/nfts/collections', made))
      expect(contract).toMatch(/^[0-9]+$/)
      for (const query of [{ contract_address: contract }, { contract_address: contract, network }]) {
        const { json } = await service.get('/nfts/collection-by-address', query)
        expect(json).toMatchObject({ network, contract_address: contract, name: 'Doors', symbol: 'DOOR' })
      }
      const mint = { network, from, contract_address: contract, recipient: holder }
      const metadata = { name: 'Door #1', description: 'A red door.', image: 'https://example.com/d1.png' }
      const minted = await Promise.all([1, 2].map(() => post('/nfts/mint', { ...mint, metadata })))
      for (const answer of minted) await succeeded(answer)
      for (const token_id of ['0', '1']) {
        const move = { network, from: holder, contract_address: contract, recipient: from, token_id }
        await succeeded(await post('/nfts/transfer', move))
      }
      // The chain stores a URI for it, but no name.
      const items = async () =>
        (await service.get('/activity', { network, wallet_address: holder })).json.filter(
          (item: { metadata: object }) => 'token_id' in item.metadata,
        )
      await until(async () => (await items()).length === 4)
      const names = { name: 'Doors', symbol: 'DOOR' }
      for (const { token } of await items()) expect(token).toMatchObject({ contract_address: contract, ...names })
      const other = service.as(await createProject(service.ctx, { name: 'Another', actor: 'operator' }))
      const seen = await other.get('/addresses/metadata', { network, addresses: contract })
      expect(seen.json[contract]).toMatchObject({ type: 'nft', nft: { contract_address: contract, ...names } })
      const refused = await post('/nfts/mint', { ...mint, from: holder })
      expect([refused.status, refused.json.code]).toEqual([400, 'mint_unauthorized'])
      const poor = await post('/nfts/collections', { ...made, from: holder })
      expect([poor.status, poor.json.code]).toEqual([400, 'balance_insufficient'])
      const elsewhere = await post('/nfts/mint', { ...mint, contract_address: `0x${'ab'.repeat(20)}` })
      expect([elsewhere.status, elsewhere.json.code]).toEqual([400, 'network_mismatch'])
    },
    30_000,
  )
})

test("the audit marks the destination of an extrinsic as the API's statement, signed or sent", async () => {
  const from = await fundedWallet()
  const unsigned = { to: bob, value: '5' }
  expect((await send(from, unsigned)).json).toMatchObject({ status: 'submitted' })
  expect((await service.post('/transactions/sign', bodyOf(from, unsigned))).status).toBe(200)
  const rows = await sql`
    select details from audit where subject = (select id::text from wallets where address = ${from}) and details ? 'hash'
    order by id`
  const said = { network, said_to: bob, said_value: '5' }
  expect(rows.map(({ details }) => details)).toMatchObject([
    { ...said, said_nonce: '0', kind: 'send' },
    { ...said, said_nonce: '1' },
  ])
  for (const { details } of rows) expect(Object.keys(details)).not.toContain('to')
})

describe('a signed extrinsic that is not sent', () => {
  test('is accepted by author_submitExtrinsic', async () => {
    const from = await fundedWallet()
    const { json: raw } = await service.post('/transactions/sign', bodyOf(from, { to: bob, value: '5' }))
    const hash = await chain.rpc('author_submitExtrinsic', [raw])
    expect(hash).toMatch(/^0x[0-9a-f]{64}$/)
    await chain.included(raw)
    // We do not track it, but the chain has it. Another hash is unknown.
    const byHash = (each: unknown) =>
      service.get('/transactions/status-by-hash', { network, transaction_hash: String(each) })
    expect((await byHash(hash)).json).toMatchObject({ transaction_hash: hash, status: 'success' })
    expect((await byHash(`0x${'cd'.repeat(32)}`)).json.code).toBe('transaction_not_found')
  })

  longTest(
    'is pending from its submission until its block is final',
    async () => {
      const from = await fundedWallet()
      await chain.setFinalityLag(3)
      await chain.setMode('manual')
      try {
        await chain.newBlock(3)
        const { json: raw } = await service.post('/transactions/sign', bodyOf(from, { to: bob, value: '5' }))
        const hash = String(await chain.rpc('author_submitExtrinsic', [raw]))
        const status = async () => {
          const answer = await service.get('/transactions/status-by-hash', { network, transaction_hash: hash })
          return answer.json.status ?? answer.json.code
        }
        expect(await status()).toBe('pending')
        for (const block of ['its own', 'one above', 'two above']) {
          await chain.newBlock()
          expect([block, await status()]).toEqual([block, 'pending'])
        }
        await chain.newBlock()
        expect(await status()).toBe('success')
      } finally {
        await chain.setFinalityLag(0)
        await chain.setMode('instant')
      }
    },
    30_000,
  )

  describe('a signed extrinsic for a later nonce', () => {
    const byHash = async (hash: unknown, client: Pick<Service, 'get'> = service) => {
      const { json } = await client.get('/transactions/status-by-hash', { network, transaction_hash: String(hash) })
      return json.status ?? json.code
    }
    const anonymous = async () =>
      (await service.post('/users/login-anonymously', {}, { authorization: undefined })).json
    /** Signs for a nonce and sends it to the node. */
    const pooled = async (from: string, { nonce, era = '64' }: { nonce: number; era?: string }) => {
      const fields = { to: bob, value: '5', era, nonce: String(nonce) }
      const { json: raw } = await service.post('/transactions/sign', bodyOf(from, fields))
      return { raw: String(raw), hash: await chain.rpc('author_submitExtrinsic', [raw]) }
    }

    longTest(
      'is pending while it waits for earlier nonces, and then succeeds',
      async () => {
        const from = await fundedWallet()
        const later = await pooled(from, { nonce: 1 })
        // The node does not list it.
        expect(await chain.rpc('author_pendingExtrinsics', [])).not.toContain(later.raw)
        expect(await byHash(later.hash)).toBe('pending')
        const first = await pooled(from, { nonce: 0 })
        await chain.included(first.raw)
        await chain.included(later.raw)
        expect([await byHash(first.hash), await byHash(later.hash)]).toEqual(['success', 'success'])
      },
      30_000,
    )

    longTest(
      'is unknown once no block can take it: its era is over, or its nonce is used',
      async () => {
        const [mortal, overtaken] = [await fundedWallet(), await fundedWallet()]
        const late = await pooled(mortal, { nonce: 1, era: '16' })
        const other = { nonce: '1', era: '64' }
        const signed = await service.post('/transactions/sign', bodyOf(overtaken, { to: bob, value: '7', ...other }))
        const never = blake2AsHex(String(signed.json), 256)
        expect([await byHash(late.hash), await byHash(never)]).toEqual(['pending', 'pending'])
        await pooled(overtaken, { nonce: 1 })
        const { raw } = await pooled(overtaken, { nonce: 0 })
        await chain.included(raw)
        await chain.newBlock(16)
        const unknown = 'transaction_not_found'
        expect([await byHash(late.hash), await byHash(never)]).toEqual([unknown, unknown])
      },
      30_000,
    )

    longTest('is unknown to other projects and to other users of the project', async () => {
      const from = await fundedWallet()
      const { hash } = await pooled(from, { nonce: 1 })
      const stranger = service.as(await createProject(service.ctx, { name: 'Stranger', actor: 'operator' }))
      const user = service.as({ ...service.project, apiKey: (await anonymous()).access_token })
      expect(await Promise.all([service, stranger, user].map((each) => byHash(hash, each)))).toEqual([
        'pending',
        'transaction_not_found',
        'transaction_not_found',
      ])
    })
  })

  test('is valid for as many blocks as the caller says, only on Substrate networks', async () => {
    const from = await fundedWallet()
    const { json: raw } = await service.post('/transactions/sign', bodyOf(from, { to: bob, value: '5', era: '32' }))
    // 4 bytes of length and version, 33 of the account, 65 of the signature: then the era, 2^(4+1) blocks.
    const bytes = Buffer.from(raw.slice(2), 'hex')
    expect((bytes[2 + 1 + 33 + 65] ?? 0) & 15).toBe(4)
    for (const era of ['5', '65536', '0x']) {
      const answer = await service.post('/transactions/sign', bodyOf(from, { to: bob, value: '5', era }))
      expect([answer.status, answer.json.code]).toEqual([400, 'invalid_input'])
    }
    const { json: sent } = await send(from, { to: bob, value: '5', era: '64' })
    const [row] =
      await sql`select valid_until_block - born_at_block + 1 as blocks from transactions where id = ${sent.transaction_id}`
    expect(Number(row?.blocks)).toBe(64)
  })

  test('is refused, like everything else, if the node is of another chain', async () => {
    const from = await fundedWallet()
    const honest = await chain.answerWith('chain_getBlockHash', `0x${'ab'.repeat(32)}`)
    try {
      // This asks the node now; what is signed would ask within five seconds.
      expect((await service.get('/readyz')).json.networks).toEqual({ [network]: 'wrong_chain' })
      for (const path of ['/transactions/sign', '/transactions/sign-and-send']) {
        const answer = await service.post(path, bodyOf(from, { to: bob, value: '5' }))
        expect([answer.status, answer.json.code]).toEqual([503, 'wrong_chain'])
      }
    } finally {
      await honest()
    }
    expect((await service.get('/readyz')).json.networks).toEqual({ [network]: 'ready' })
  })
})

longTest(
  'is refused without trusted metadata, while everything else works',
  async () => {
    const alone = await startService({ rpcUrls: { [network]: chain.wsUrl }, variables: { POLKADOT_METADATA_PIN: '' } })
    try {
      const { address: from } = await alone.newWallet({ network })
      await chain.fund(from)
      for (const path of ['/transactions/sign', '/transactions/sign-and-send']) {
        const answer = await alone.post(path, bodyOf(from, { to: bob, value: '5' }))
        expect([answer.status, answer.json.code]).toEqual([503, 'metadata_untrusted'])
        expect(answer.json.error).toStartWith(
          'Nothing is signed on Polkadot with the metadata of runtime statemine 900',
        )
      }
      const rows = postgres(alone.database.url, { max: 1, onnotice: () => {} })
      const [recorded] = await rows`
      select (select count(*)::int from transactions) transactions,
        (select count(*)::int from audit where action in ('transaction_signed', 'transaction_submitted')) uses`
      expect(recorded).toEqual({ transactions: 0, uses: 0 })
      await rows.end()
      const unsigned_transaction = { to: bob, value: '5' }
      const preview = await alone.post('/transactions/preview', { network, from, unsigned_transaction })
      expect(preview.json).toMatchObject({ simulation: { success: true } })
    } finally {
      await alone.close()
    }
  },
  30_000,
)

describe('a node that fails', () => {
  longTest('is connected to again after a lost connection', async () => {
    const from = await fundedWallet()
    await chain.dropConnections()
    let answer = await send(from, { to: bob, value: '1' })
    // A request on its way is lost with the connection.
    if (answer.status === 503) answer = await send(from, { to: bob, value: '1' })
    await succeeded(answer)
  })

  longTest(
    'a runtime upgrade between signing and sending ends in failed, and the next one is signed for the new runtime',
    async () => {
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
    },
    60_000,
  )
})

test('a batch is refused, as there are no contract wallets', async () => {
  const from = await fundedWallet()
  const answer = await service.post('/transactions/batch-sign-and-send', {
    network,
    signer_wallet_address: from,
    unsigned_transactions: [{ to: bob, value: '1' }],
    developer_secret: SECRET,
  })
  expect([answer.status, answer.json.code]).toEqual([400, 'batch_unsupported'])
})

describe('a fee in an asset', () => {
  let assets: FeeAssets

  beforeAll(async () => {
    assets = await startFeeAssets({ chain, service, to: bob })
  })

  const told = ({ status, json }: Answer) => [status, json.code ?? null]

  test('is taken only from the asset, and is at most what the preview says', async () => {
    const from = await assets.walletWith({ planck: 10n * UNIT, asset: 10n ** 6n })
    const { json: previewed } = await assets.preview(from)
    expect(previewed.simulation).toMatchObject({
      success: true,
      asset_changes: [{ from, to: bob, raw_amount: '5' }],
      fee: { amount: expect.stringMatching(/^0\.0[0-9]+$/), token: { contract_address: 'asset:1984', symbol: 'USDT' } },
    })
    const before = await assets.held(from)
    const { json } = await assets.send(from)
    expect((await service.settled(json.transaction_id)).json).toMatchObject({ status: 'success' })
    const after = await assets.held(from)
    expect(before[0] - after[0]).toBe(5n)
    const fee = before[1] - after[1]
    expect(fee).toBeGreaterThan(0n)
    expect(fee).toBeLessThanOrEqual(BigInt(previewed.simulation.fee.raw_amount))
    expect((await assets.preview(from, { asset_id: undefined })).json.simulation.fee).toBeUndefined()
  }, 30_000)

  test('is part of what is signed', async () => {
    const from = await assets.walletWith({ planck: UNIT, asset: 0n })
    const { json: raw } = await assets.sign(from, { asset_id: 'asset:1984' })
    // After length and version (3 bytes), account (33) and signature (65): era, nonce and tip, then the id in an
    // Option.
    expect(
      Buffer.from(raw.slice(2), 'hex')
        .subarray(3 + 33 + 65 + 4)
        .toString('hex'),
    ).toStartWith('01c0070000')
  })

  test('may be paid in an asset that is as new as the newest block', async () => {
    const from = await assets.walletWith({ planck: UNIT, asset: 0n })
    // Twice, as the state in which the first signature is filled is kept for a second, and may be replaced in between.
    for (const id of [1985, 1986]) {
      expect((await assets.sign(from, { asset_id: undefined })).status).toBe(200)
      await assets.makeAsset(id)
      expect((await assets.sign(from, { asset_id: String(id) })).status).toBe(200)
    }
  })

  test('is refused if the signer has too little of the asset; the answer says how much is needed', async () => {
    const without = await assets.walletWith({ planck: UNIT, asset: 0n })
    const refused = await assets.send(without)
    expect(told(refused)).toEqual([400, 'balance_insufficient'])
    expect(refused.json.error).toMatch(/ needs 0\.\d+ of asset:1984 .*, and has 0 of asset:1984\.$/)
    const { simulation } = (await assets.preview(without)).json
    expect(simulation).toMatchObject({
      success: false,
      asset_changes: [],
      error: expect.stringMatching(/^balance insuff/),
    })
    // The fee does not kill the asset's account.
    const least = await assets.walletWith({ planck: UNIT, asset: LEAST })
    expect(told(await assets.send(least))).toEqual([400, 'balance_insufficient'])
  })

  test('is refused as bad input for a malformed id', async () => {
    const from = await assets.walletWith({ planck: UNIT, asset: 0n })
    const malformed = [
      '',
      '-1',
      '0x7c0',
      '01984',
      String(2 ** 32),
      '9'.repeat(12),
      'USDT',
      'pool:0',
      'foreign:0x1',
      1984,
    ]
    for (const asset_id of someOf(malformed, 4)) {
      for (const act of [assets.send, assets.sign, assets.preview]) {
        const answer = await act(from, { asset_id })
        expect(told(answer)).toEqual([400, 'invalid_input'])
        expect(answer.json.error).toMatch(/^Field "unsigned_transaction\.asset_id" must be /)
      }
    }
  })
})

describe('calls of the runtime', () => {
  const PIN = '493817'
  /** Balances.transfer_keep_alive of one planck: pallet 10, call 3, MultiAddress::Id, a compact number. */
  const pay = (to: string) => `0a0300${Buffer.from(decodeAddress(to)).toString('hex')}04`
  /** Utility.batch: pallet 40, call 0, a list of one. */
  const batched = (call: string) => `280004${call}`

  test('are previewed with their names, and the preview says what was not simulated', async () => {
    const from = await fundedWallet()
    const answer = await service.post('/transactions/preview', {
      network,
      from,
      unsigned_transaction: { input: `0x${pay(bob)}` },
    })
    expect(answer.json).toMatchObject({
      ...{ from, to: '', contract: null, function_name: 'balances.transfer_keep_alive' },
      arguments: { dest: bob, value: '1' },
      simulation: {
        success: true,
        asset_changes: [{ from, to: bob, raw_amount: '1', token: { contract_address: 'DOT' } }],
        error: expect.stringMatching(/^not simulated: /),
      },
    })
  })

  test('an address is an account with its balance, not a contract', async () => {
    const from = await fundedWallet(7n * UNIT)
    const balances = await service.get(`/tokens/balances?network=${network}&wallet_address=${from}`)
    expect(balances.json).toMatchObject([{ contract_address: 'DOT', raw_balance: (7n * UNIT).toString() }])
    const words = [from, 'asset:99', '99']
    const { json } = await service.get(`/addresses/metadata?network=${network}&addresses=${words.join()}`)
    expect(json).toEqual(Object.fromEntries(words.map((word) => [word, null])))
  })

  test('by a policy pay fees and tips from its budget, and are signed only for the next nonce', async () => {
    const { address, id } = await service.newWallet({ network, pin: PIN, ownerId: crypto.randomUUID() })
    await chain.fund(address, 1_000n * UNIT)
    const policy = async (rest: object = {}): Promise<string> => {
      const { json } = await service.post('/policies', {
        ...{ network, wallet_address: address, ...rest },
        argument_rules: [{ argument: 'value', operator: 'le', value: '5' }],
        ...{ developer_secret: SECRET, user_pin: PIN },
      })
      return json.uuid
    }
    const spent = async (uuid: string) => {
      const [row] = await sql`select spent_fee, max_total_fee from policies where id = ${uuid}`
      return { fee: BigInt(row?.spent_fee), budget: BigInt(row?.max_total_fee) }
    }
    const payment = { to: bob, value: '5' }
    const sign = (more: object = {}) => service.post('/transactions/sign', bodyOf(address, { ...payment, ...more }))
    const told = ({ status, json }: Answer) => [status, json.code ?? null]
    const [DONE, DENIED] = [
      [200, null],
      [403, 'policy_denied'],
    ]
    const first = await policy()
    expect(told(await sign())).toEqual(DONE)
    const { fee, budget } = await spent(first)
    expect(fee).toBeGreaterThan(0n)
    // The fee of 2,500 payments; single payments differ by a few bytes.
    expect(budget / fee).toBeGreaterThan(2_300n)
    expect(budget / fee).toBeLessThan(2_700n)

    // A tip is at most as much as the fee, which the runtime changes a little from block to block.
    const refused = await sign({ maxPriorityFeePerGas: String(2n * fee) })
    expect(told(refused)).toEqual(DENIED)
    const [, tipMax] =
      /"unsigned_transaction.maxPriorityFeePerGas" must be at most ([0-9]+)/.exec(refused.json.error) ?? []
    expect(Number(tipMax) / Number(fee)).toBeCloseTo(1, 1)
    if (isLong)
      expect(told(await send(address, { ...payment, maxPriorityFeePerGas: String(10n * UNIT) }))).toEqual(DENIED)
    expect((await spent(first)).fee).toBe(fee)
    expect(told(await sign({ maxPriorityFeePerGas: String((fee * 9n) / 10n) }))).toEqual(DONE)
    expect(Number((await spent(first)).fee) / Number(fee)).toBeCloseTo(2.9, 1)

    for (const nonce of someOf([1, 2, 20], 3)) {
      const later = await sign({ nonce: String(nonce) })
      expect(told(later)).toEqual(DENIED)
      expect(later.json.error).toContain('only the next nonce can be used, which is 0')
    }
    if (isLong) expect(told(await sign({ nonce: '0' }))).toEqual(DONE)

    // A longer-lived one would outlive the policy.
    for (const act of someOf([sign, (more: object) => send(address, { ...payment, ...more })], 2)) {
      expect(told(await act({ era: '64' }))).toEqual(DENIED)
      const inAsset = await act({ asset_id: '1984' })
      expect(told(inAsset)).toEqual(DENIED)
      expect(inAsset.json.error).toContain('"unsigned_transaction.asset_id" must be absent')
    }

    await service.post('/policies/revoke', { uuid: first, user_pin: PIN })
    // Enough for one payment and not for two, also if the runtime's fee changes a little from block to block.
    const last = await policy({ max_total_fee: String(fee + fee / 2n) })
    const [one, two] = [await send(address, payment), await send(address, payment)]
    expect([told(one), told(two)]).toEqual([DONE, DENIED])
    const paid = (await spent(last)).fee
    expect(paid).toBeGreaterThan((fee * 9n) / 10n)
    expect(paid).toBeLessThan((fee * 11n) / 10n)
    expect(await sql`select from transactions where wallet_id = ${id}`).toHaveLength(1)
  })

  longTest('need a policy that names them, without a limit that cannot count them', async () => {
    const { address } = await service.newWallet({ network, pin: PIN, ownerId: crypto.randomUUID() })
    const policy = (rules: readonly object[], rest: object = {}) =>
      service.post('/policies', {
        ...{ network, wallet_address: address, argument_rules: rules, ...rest },
        ...{ developer_secret: SECRET, user_pin: PIN },
      })
    const rule = (argument: string, operator: string, value: string) => ({ argument, operator, value })
    const named = rule('decodedInput.function', 'eq', 'balances.transfer_keep_alive')
    const told = async (call: string) => {
      const { status, json } = await service.post('/transactions/sign', bodyOf(address, { input: `0x${call}` }))
      return [status, json.code ?? null]
    }
    const DENIED = [403, 'policy_denied']
    await policy([rule('value', 'ge', '0')])
    await policy([named], { max_total_value: '1000' })
    expect(await told(pay(bob))).toEqual(DENIED)
    await policy([named, rule('decodedInput.dest', 'eq', bob)])
    expect(await told(pay(bob))).toEqual([200, null])
    expect(await told(pay(address))).toEqual(DENIED)
    expect(await told(batched(pay(bob)))).toEqual(DENIED)
    const elsewhere = await policy([named, rule('decodedInput.dest', 'ne', encodeAddress(decodeAddress(bob), 42))])
    expect([elsewhere.status, elsewhere.json.code]).toEqual([400, 'network_mismatch'])

    const asked = { network, wallet_address: address, max_total_fee: '10000000000', max_uses: 2 }
    const rules = [named, rule('decodedInput.dest', 'eq', bob), rule('decodedInput.value', 'le', '15000000000')]
    const { words } = (await service.post('/policies/describe', { ...asked, argument_rules: rules })).json
    type Sentence = readonly { readonly text: string }[]
    const textOf = (sentence: Sentence) => sentence.map(({ text }) => text).join('')
    expect(words.may.map(textOf)).toEqual([
      'Call Polkadot itself.',
      'Only by the function balances.transfer_keep_alive.',
      `Only to the account ${bob}.`,
      'Only if the amount (value) is at most 1.5 DOT.',
    ])
    expect(textOf(words.cost)).toBe('At most 4 DOT in all: 3 DOT that it sends, and 1 DOT for fees.')
    expect(words.warnings.map(textOf)).toEqual(['It has no end.'])
  })
})
