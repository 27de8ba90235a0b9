// What somebody with the worker's login can do to extrinsics: write whatever a worker may write. No call that is signed
// changes.

import { afterAll, beforeAll, expect, test } from 'bun:test'
import { decodeAddress, encodeAddress } from '@polkadot/util-crypto'
import postgres, { type Sql } from 'postgres'
import * as schema from '../../db/schema.ts'
import { TableAccess } from '../../db/tables.ts'
import { FAILURE_CODES, GIVE_UPS, TRANSACTION_STATUSES } from '../../db/words.ts'
import { isLong, someOf } from '../support/long.ts'
import { byTcp } from '../support/postgres.ts'
import { type Service, startService } from '../support/service.ts'
import { devAccount, startSubstrateChain } from '../support/substrate.ts'
import { startWorkerHere } from '../support/worker-here.ts'

const network = 'Polkadot'
const secret = { developer_secret: 'testnet-secret' }
const RICH = 1_000_000n * 10n ** 10n

let chain: Awaited<ReturnType<typeof startSubstrateChain>>
let service: Service
let sql: Sql
let login: Sql
let from: string
let bob: string
let collection: string

class Refusal extends Error {
  constructor(
    readonly code: string,
    text: string,
  ) {
    super(text)
  }
}

const post = async (path: string, body: object) => {
  const { status, json, text } = await service.post(path, { network, ...body, ...secret })
  if (status !== 200) throw new Refusal(json.code, text)
  return json
}

beforeAll(async () => {
  chain = await startSubstrateChain(network)
  service = await startService({ rpcUrls: { [network]: chain.wsUrl } })
  sql = postgres(service.database.url, { max: 1, onnotice: () => {} })
  login = postgres(byTcp(service.database.workerUrl).href, { max: 1, onnotice: () => {} })
  bob = encodeAddress((await devAccount('Bob')).publicKey, 0)
  await chain.fund(bob)
  from = (await service.newWallet({ network })).address
  await chain.fund(from, RICH)
  const worker = await startWorkerHere(service)
  const made = await post('/nfts/collections', {
    from,
    name: 'Doors',
    symbol: 'DOOR',
    image_url: 'https://a.example/d.png',
  })
  collection = (await service.settled(made.transaction_id)).json.contract_address
  const metadata = { name: 'Door #1', description: 'A red door.', image: 'https://example.com/d1.png' }
  for (const _ of [0, 1]) {
    const minted = await post('/nfts/mint', { from, contract_address: collection, recipient: from, metadata })
    await service.settled(minted.transaction_id)
  }
  await worker.stop()
}, 60_000)
afterAll(async () => {
  await Promise.all([login.end(), sql.end()])
  await service.close()
  await chain.stop()
})

const hexOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')
const number = (text: string): string => hexOf(new Uint8Array(Uint32Array.of(Number(text)).buffer))
/** The calls that are asked for, written down by hand. `item` is a number that the service chooses. */
const mintOf = (item: string): string => {
  const [owner, id] = [hexOf(decodeAddress(from)), number(collection)]
  // Utility.batch_all of Uniques.mint and Uniques.set_metadata.
  return `2802083303${id}${item}00${owner}3312${id}${item}`
}
const transferCall = (): string => `0a0300${hexOf(decodeAddress(bob))}14`
const moveCall = (): string => `3305${number(collection)}${number('0')}00${hexOf(decodeAddress(bob))}`

/** One byte below 64, else two (SCALE, compact). */
const NONCE = '(?:[0-9a-f][048c]|[0-9a-f][159d][0-9a-f]{2})'

/** The call behind length, version, signer, a signature by sr25519, era, nonce, no tip and no asset. */
const callIn = (raw: string): string => {
  const signed = `^0x[0-9a-f]{2,4}8400${hexOf(decodeAddress(from))}01[0-9a-f]{128}[0-9a-f]{4}${NONCE}0000(.*)$`
  const [, call] = new RegExp(signed).exec(raw) ?? []
  if (call === undefined) throw new Error(`not an extrinsic of the signer: ${raw}`)
  return call
}

const callSent = async (path: string, body: object): Promise<string> => {
  const { transaction_id: id } = await post(path, body)
  const [attempt] = await sql<{ raw: string }[]>`select raw from tests.attempts where transaction_id = ${id}`
  return callIn(attempt?.raw ?? '')
}

/** Each way to have an extrinsic signed, and whether its call is the one that was asked for. */
const WAYS: Readonly<Record<string, () => Promise<boolean>>> = {
  sign: async () => callIn(await post('/transactions/sign', payment())) === transferCall(),
  'sign and send': async () => (await callSent('/transactions/sign-and-send', payment())) === transferCall(),
  mint: async () => {
    const metadata = { name: 'Door', description: 'A red door.', image: 'https://example.com/d1.png' }
    const call = await callSent('/nfts/mint', { from, contract_address: collection, recipient: from, metadata })
    const item = call.slice(18, 26)
    const uri = /^[0-9a-f]{4}(.*)00$/.exec(call.slice(mintOf(item).length))?.[1] ?? ''
    const isUri = /^http:\/\/localhost:3000\/metadata\/[0-9a-f]{64}\.json$/.test(Buffer.from(uri, 'hex').toString())
    return call.startsWith(mintOf(item)) && isUri
  },
  transfer: async () => {
    const move = { from, contract_address: collection, recipient: bob, token_id: '0' }
    return (await callSent('/nfts/transfer', move)) === moveCall()
  },
}
const payment = () => ({ signer_wallet_address: from, unsigned_transaction: { to: bob, value: '5' } })

/** Tables of which a worker may write something. */
const WRITTEN = Object.values(schema)
  .filter((each) => each instanceof TableAccess)
  .filter(({ rights }) => /insert|update/.test(rights.worker ?? ''))
  .map(({ table }) => table)

/** The only ones of these that are read for an extrinsic. */
const READ = ['signers', 'transactions']

test('an extrinsic is signed without reading other tables that a worker may write', async () => {
  expect(WRITTEN).toEqual(expect.arrayContaining(READ))
  expect(WRITTEN.length).toBeGreaterThan(10)
  // The API notes in some of them what it did.
  for (const table of WRITTEN)
    if (!READ.includes(table)) await sql.unsafe(`revoke select on ${table} from strongroom_api`)
  try {
    for (const [way, isSame] of Object.entries(WAYS)) expect([way, await isSame()]).toEqual([way, true])
    for (const table of READ) {
      await sql.unsafe(`revoke select on ${table} from strongroom_api`)
      await expect(WAYS.mint?.()).rejects.toThrow('internal')
      await sql.unsafe(`grant select on ${table} to strongroom_api`)
    }
  } finally {
    for (const table of WRITTEN) await sql.unsafe(`grant select on ${table} to strongroom_api`)
  }
})

/** Values to write, as SQL. The database refuses those that do not fit the column or the row. */
const VALUES = [
  'null',
  ...['true', 'false', '0', '4000000000', `'epoch'`, `now() + interval '1 day'`, `'1'`, `'0x${'ab'.repeat(32)}'`],
  ...[...TRANSACTION_STATUSES, FAILURE_CODES[0], GIVE_UPS[0]].map((word) => `'${word}'`),
]

const columnsOf = async (table: string): Promise<readonly string[]> => {
  const rows = await sql<{ name: string }[]>`
    select column_name as name from information_schema.column_privileges
    where table_name = ${table} and grantee = 'strongroom_worker' and privilege_type = 'UPDATE'`
  return rows.map(({ name }) => name)
}

/** What comes of each way now, and in the suite of one of them. */
const outcomesOf = async (turn: number): Promise<readonly string[]> => {
  const outcomes: string[] = []
  const ways = Object.entries(WAYS)
  for (const [way, isSame] of isLong ? ways : ways.slice(turn % ways.length).slice(0, 1)) {
    const outcome = await isSame().then(
      (same) => (same ? 'signed' : 'signed another call'),
      (error: unknown) => (error instanceof Refusal ? error.code : Promise.reject(error)),
    )
    outcomes.push(`${way}: ${outcome}`)
  }
  return outcomes
}

/** How many values that fit are written to each column. */
const WRITES_MAX = isLong ? VALUES.length : 1

const KEYS: Readonly<Record<string, string>> = { signers: 'address', transactions: 'id' }

test.each(READ)(
  'nothing that a worker may write to %s changes the call of an extrinsic',
  async (table) => {
    await sql.unsafe(`create table kept_${table} as select * from ${table}`)
    await sql.unsafe(`create table if not exists kept_ids as select id from transactions`)
    const putBack = async (column: string) => {
      await sql`delete from ladders where transaction_id not in (select id from kept_ids)`
      await sql`delete from transactions where id not in (select id from kept_ids)`
      const key = KEYS[table]
      await sql.unsafe(`update ${table} t set ${column} = k.${column} from kept_${table} k where t.${key} = k.${key}`)
    }
    const seen = new Set<string>()
    const never: string[] = []
    for (const [turn, column] of someOf(await columnsOf(table), 3).entries()) {
      let writes = 0
      for (const value of VALUES) {
        if (writes === WRITES_MAX) break
        const { count } = await login.unsafe(`update ${table} set ${column} = ${value}`).catch(() => ({ count: 0 }))
        if (count === 0) continue
        writes += 1
        for (const outcome of await outcomesOf(turn)) seen.add(outcome)
        await putBack(column)
      }
      if (writes === 0) never.push(column)
    }
    expect(never).toEqual([])
    // Not even a refusal: what waits holds back coins and nonces, and there are enough.
    const signed = Object.keys(WAYS).map((way) => `${way}: signed`)
    if (isLong) expect([...seen]).toEqual(signed)
    else expect(signed).toEqual(expect.arrayContaining([...seen]))
    expect(seen.size).toBeGreaterThan(0)
  },
  120_000,
)
