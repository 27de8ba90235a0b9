import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import { Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { sql } from 'drizzle-orm'
import { getAddress, parseEther } from 'viem'
import { WalletActivityItem } from '../../src/activity/schema.ts'
import { nativeToken, tokenOf } from '../../src/tokens/token.ts'
import { fundedAccount } from '../support/chains.ts'
import { startAwkwardNode } from './awkward-node.ts'
import { type Project, startWorld, type World } from './world.ts'

const outsider = fundedAccount(0)
const alice = fundedAccount(1)
const bob = fundedAccount(2)
const carol = fundedAccount(3)

let world: World
let project: Project
let other: Project

beforeAll(async () => {
  world = await startWorld()
  project = await world.createProject()
  other = await world.createProject()
  await world.watch(project, alice.address)
  await world.watch(project, bob.address)
  await world.watch(other, carol.address)
})

afterAll(() => world.close())

type Item = WalletActivityItem

const path = (walletAddress: string, more = '') => `/activity?network=Ethereum&wallet_address=${walletAddress}${more}`

const activity = async (walletAddress: string, more = ''): Promise<readonly Item[]> => {
  const answer = await world.get(project, path(walletAddress, more))
  expect(answer.status).toBe(200)
  return Value.Parse(Type.Array(WalletActivityItem), answer.json)
}

describe('an item', () => {
  test('of the native coin has every field, as each wallet sees it', async () => {
    const { transactionHash, blockNumber } = await world.chain.send({
      account: alice,
      to: bob.address,
      value: parseEther('1.5'),
    })
    await world.index()
    const { timestamp } = await world.chain.publicClient.getBlock({ blockNumber })
    const shared = {
      network: 'Ethereum',
      timestamp: new Date(Number(timestamp) * 1000).toISOString(),
      transaction_hash: transactionHash,
      metadata: { amount: '1.5' },
      token: nativeToken('Ethereum'),
    } as const
    const [sent] = await activity(alice.address)
    const [received] = await activity(bob.address)
    expect(sent).toEqual({
      ...shared,
      uuid: expect.any(String),
      type: 'send_token',
      wallet_address: alice.address,
    })
    expect(received).toEqual({
      ...shared,
      uuid: expect.any(String),
      type: 'receive_token',
      wallet_address: bob.address,
    })
    expect(sent?.uuid).not.toBe(received?.uuid)
  })

  test('of a token says what the contract says of itself, and the amount in whole coins', async () => {
    const token = await world.chain.deploy('TestToken', ['Test Coin', 'TST', 6])
    await world.chain.write({ contract: token, functionName: 'mint', args: [alice.address, 1_234_500n] })
    await world.index()
    const [item] = await activity(alice.address)
    const facts = { name: 'Test Coin', symbol: 'TST', decimals: 6 }
    expect(item).toMatchObject({
      type: 'receive_token',
      metadata: { amount: '1.2345' },
      token: tokenOf({ network: 'Ethereum', address: getAddress(token.address), facts }),
    })
    expect(item?.metadata).not.toHaveProperty('token_id')
  })

  test('of an NFT has its collection for a token, with decimals 0, and the token id', async () => {
    const nfts = await world.chain.deploy('WizardCollection', ['Doors', 'DOOR', outsider.address])
    await world.chain.write({ contract: nfts, functionName: 'safeMint', args: [alice.address, 'ipfs://x'] })
    await world.chain.write({
      contract: nfts,
      functionName: 'transferFrom',
      args: [alice.address, bob.address, 0n],
      account: alice,
    })
    await world.index()
    const [sent, minted] = await activity(alice.address)
    const [received] = await activity(bob.address)
    expect([minted?.type, sent?.type, received?.type]).toEqual(['receive_nft', 'send_nft', 'receive_nft'])
    expect(sent?.metadata).toEqual({ amount: '1', token_id: '0' })
    expect(sent?.token).toMatchObject({
      contract_address: getAddress(nfts.address),
      name: 'Doors',
      symbol: 'DOOR',
      decimals: 0,
      display_decimals: 0,
    })
  })

  test('of several pieces of one multi-token says how many', async () => {
    const tokens = await world.chain.deploy('MultiToken', ['', outsider.address])
    await world.chain.write({ contract: tokens, functionName: 'mint', args: [alice.address, 2n ** 255n, 12n, '0x'] })
    await world.index()
    const [item] = await activity(alice.address)
    expect(item).toMatchObject({
      type: 'receive_nft',
      metadata: { amount: '12', token_id: (2n ** 255n).toString() },
      token: { decimals: 0 },
    })
  })

  test('of a transfer to oneself comes twice', async () => {
    const { transactionHash } = await world.chain.send({ account: alice, to: alice.address, value: 1n })
    await world.index()
    const items = (await activity(alice.address)).filter((item) => item.transaction_hash === transactionHash)
    expect(items.map((item) => item.type).sort()).toEqual(['receive_token', 'send_token'])
  })
})

describe('paging', () => {
  test('goes through everything once, newest first', async () => {
    for (let value = 1n; value <= 7n; value += 1n) await world.chain.send({ to: bob.address, value })
    await world.index()
    const all = await activity(bob.address, '&page_size=100')
    const pages = []
    for (let page = 1; page <= Math.ceil(all.length / 3) + 1; page += 1) {
      pages.push(await activity(bob.address, `&page=${page}&page_size=3`))
    }
    expect(pages.flat()).toEqual([...all])
    expect(pages.at(-1)).toEqual([])
    expect(new Set(all.map((item) => item.uuid)).size).toBe(all.length)
    const times = all.map((item) => item.timestamp)
    expect(times).toEqual([...times].sort().reverse())
    expect(all[0]?.metadata.amount).toBe('0.000000000000000007')
  })

  test('misses nothing while new items arrive in front: some come twice', async () => {
    const before = await activity(bob.address, '&page_size=100')
    const seen: string[] = []
    for (let page = 1; ; page += 1) {
      const items = await activity(bob.address, `&page=${page}&page_size=2`)
      seen.push(...items.map(({ uuid }) => uuid))
      if (items.length < 2) break
      if (page % 2 === 1) {
        await world.chain.send({ to: bob.address, value: 1n })
        await world.index()
      }
    }
    expect(before.map(({ uuid }) => uuid).filter((uuid) => !seen.includes(uuid))).toEqual([])
    expect(seen.length).toBeGreaterThan(new Set(seen).size)
  })

  test('has 20 items where nothing is said, and takes an empty or null value for nothing', async () => {
    await world.sql`
      insert into movements (id, network, address, direction, counterparty, standard, amount, block_number,
        transaction_hash, log_index, item_index, at)
      select gen_random_uuid(), 'Ethereum', ${alice.address}, 'in', 'x', 'native', n, 0, 'paging' || n, -1, 0, now()
      from generate_series(1, 30) n`
    for (const more of ['', '&page=&page_size=', '&page=null&page_size=null', '&page=1']) {
      expect(await activity(alice.address, more)).toHaveLength(20)
    }
    await world.sql`delete from movements where transaction_hash like 'paging%'`
  })

  test.each(['page=0', 'page=-1', 'page=1.5', 'page=0x1', 'page=1e3', 'page=%201', 'page_size=0', 'page_size=101'])(
    'refuses %s',
    async (more) => {
      const answer = await world.get(project, path(alice.address, `&${more}`))
      expect(answer.status).toBe(400)
      expect(answer.json).toMatchObject({ code: 'invalid_input' })
    },
  )
})

describe('who may look', () => {
  test("another project's wallet and nobody's are refused in the same bytes", async () => {
    const strangers = await world.get(project, path('0x00000000000000000000000000000000DeaDBeef'))
    const others = await world.get(project, path(carol.address))
    expect(strangers.status).toBe(403)
    expect(strangers.json).toMatchObject({ code: 'wallet_forbidden' })
    expect(others.status).toBe(403)
    expect(others.text).toBe(strangers.text)
    expect((await world.get(other, path(carol.address))).status).toBe(200)
    expect((await world.get(other, path(alice.address))).text).toBe(strangers.text)
  })

  test('a wallet of the same address on another network does not count', async () => {
    const polygonOnly = fundedAccount(4).address
    await world.watch(project, polygonOnly, 'Polygon')
    expect((await world.get(project, path(polygonOnly))).status).toBe(403)
  })

  test('nobody without a key', async () => {
    const headers = { 'x-walletkit-project-id': project.id }
    const none = await world.request(path(alice.address), headers)
    expect([none.status, none.json]).toEqual([401, { error: expect.any(String), code: 'unauthorized' }])
    const wrong = await world.request(path(alice.address), { ...headers, authorization: `Bearer ${other.apiKey}` })
    expect([wrong.status, wrong.json]).toEqual([403, { error: expect.any(String), code: 'project_mismatch' }])
    expect((await world.request(path(alice.address), {})).json).toMatchObject({ code: 'project_required' })
  })
})

describe('what is asked for', () => {
  test('an address is taken in lower case', async () => {
    expect(await activity(bob.address.toLowerCase())).toEqual([...(await activity(bob.address))])
  })

  test.each([
    ['an address that is none', 'network=Ethereum&wallet_address=0x12', 'address_invalid'],
    ['a wrong checksum', `network=Ethereum&wallet_address=${alice.address.replace('C', 'c')}`, 'address_invalid'],
    [
      'an address of another family',
      'network=Ethereum&wallet_address=12sWHXyUMXcPdhENqnxeTPiNCLkUeKgBhMDn6pnZMnnXRFoq',
      'network_mismatch',
    ],
    ['no address', 'network=Ethereum', 'invalid_input'],
    ['an empty address', 'network=Ethereum&wallet_address=', 'invalid_input'],
    ['no network', `wallet_address=${alice.address}`, 'invalid_input'],
    ['a network in other letters', `network=ethereum&wallet_address=${alice.address}`, 'invalid_input'],
    ['an unknown parameter', `network=Ethereum&wallet_address=${alice.address}&limit=1`, 'invalid_input'],
    ['a parameter twice', `network=Ethereum&network=Ethereum&wallet_address=${alice.address}`, 'invalid_input'],
    ['NUL', `network=Ethereum&wallet_address=${alice.address}%00`, 'invalid_input'],
  ])('refuses %s', async (_, query, code) => {
    const answer = await world.get(project, `/activity?${query}`)
    expect([answer.status, answer.json]).toEqual([400, { error: expect.any(String), code }])
  })

  test('a network that is not served is 501', async () => {
    const answer = await world.get(project, `/activity?network=Polkadot&wallet_address=${alice.address}`)
    expect([answer.status, answer.json]).toEqual([501, { error: expect.any(String), code: 'not_implemented' }])
  })
})

describe('a node that is away', () => {
  test('costs nothing where the tokens are known, and is told where one is not', async () => {
    await world.index()
    const node = startAwkwardNode(world.chain.rpcUrl)
    node.moods.away = true
    const app = world.createTestApp(world.open({ as: 'api', rpcUrl: node.rpcUrl }))
    expect((await world.get(project, path(alice.address), app)).status).toBe(200)
    const contract = '0x00000000000000000000000000000000000000AA'
    await world.sql`
      insert into movements (network, address, direction, counterparty, standard, contract, amount, block_number,
        transaction_hash, log_index, item_index, at)
      values ('Ethereum', ${alice.address}, 'in', 'x', 'erc20', ${contract}, 1, 1, ${randomUUID()}, 0, 0, now())`
    const unknown = await world.get(project, path(alice.address), app)
    expect([unknown.status, unknown.json]).toEqual([503, { error: expect.any(String), code: 'node_unavailable' }])
    await world.sql`delete from movements where contract = ${contract}`
    await node.stop()
  })
})

describe('in a large table', () => {
  const ROWS = process.env.STRONGROOM_LONG ? 2_000_000 : 100_000

  // Both are what a planner may take for a reason to read something else: half of all rows, but none of the newest.
  const OFTEN_BUT_LONG_AGO = bob.address
  const SELDOM = alice.address

  beforeAll(async () => {
    await world.sql`
      insert into movements (network, address, direction, counterparty, standard, amount, block_number,
        transaction_hash, log_index, item_index, at)
      select 'Ethereum', case when n <= ${ROWS / 2}::int then ${OFTEN_BUT_LONG_AGO} else 'address ' || n % 5000 end,
        'in', 'x', 'native', n, 1000 + n / 50, 'large ' || n, n % 200, 0, now()
      from generate_series(1, ${ROWS}::int) n`
    await world.sql`vacuum analyze movements`
  })

  test.each([
    ['often, but long ago', OFTEN_BUT_LONG_AGO],
    ['seldom', SELDOM],
  ])('a page of an address that is in it %s is one read of one index', async (_, address) => {
    // One connection, so that it can be told to hand over its statistics at once.
    const api = world.open({ as: 'api', databaseMaxConnections: 1 })
    const app = world.createTestApp(api)
    const reads = async () => {
      await api.db.execute(sql`select pg_stat_force_next_flush()`)
      const [row] = await api.db.execute<{ listed: string; read: string; scans: string; full: string }>(sql`
        select i.idx_scan::text as listed, i.idx_tup_read::text as read, t.idx_scan::text as scans,
          t.seq_scan::text as full
        from pg_stat_user_indexes i join pg_stat_user_tables t on t.relname = i.relname
        where i.indexrelname = 'movements_listed'`)
      if (row === undefined) throw new Error('the index movements_listed is not there')
      return { listed: Number(row.listed), read: Number(row.read), scans: Number(row.scans), full: Number(row.full) }
    }
    const before = await reads()
    const answer = await world.get(project, path(address, '&page=2&page_size=3'), app)
    expect(answer.json).toHaveLength(3)
    const after = await reads()
    expect(after.listed - before.listed).toBe(1)
    expect(after.read - before.read).toBeLessThanOrEqual(6)
    expect(after.scans - before.scans).toBe(1)
    expect(after.full - before.full).toBe(0)
  })

  test('the plan says so', async () => {
    const plan = await world.sql`
      explain select * from movements where network = 'Ethereum' and address = ${OFTEN_BUT_LONG_AGO}
      order by block_number desc, log_index desc, item_index desc, id desc limit 10 offset 10`
    const text = plan.map((line) => line['QUERY PLAN']).join('\n')
    expect(text).toContain('Index Scan Backward using movements_listed')
    expect(text).not.toContain('Sort')
  })
})
