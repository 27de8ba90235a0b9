import { beforeAll, describe, expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import { Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { sql } from 'drizzle-orm'
import { getAddress, parseEther } from 'viem'
import type { Tx } from '../../db/client.ts'
import { contractsReceived, holdingsOfAddress, holdingsOfContract, listMovements } from '../../db/queries/movements.ts'
import { WalletActivityItem } from '../../src/assets/activity/schema.ts'
import { nativeToken, tokenOf } from '../../src/signing/token.ts'
import { fundedAccount } from '../support/chains.ts'
import { isLong } from '../support/long.ts'
import { shared } from '../support/shared.ts'
import { startAwkwardNode } from './awkward-node.ts'
import { startWorld } from './world.ts'

const outsider = fundedAccount(0)
const alice = fundedAccount(1)
const bob = fundedAccount(2)
const carol = fundedAccount(3)

const world = await shared(startWorld())
const project = await world.createProject()
const other = await world.createProject()
await world.watch(project, alice.address)
await world.watch(project, bob.address)
await world.watch(other, carol.address)

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
      from: alice.address,
      to: bob.address,
      initiated_by: alice.address,
      metadata: { amount: '1.5' },
      token: nativeToken(world.worker.chains.of('Ethereum')),
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

  test('of a token has the contract’s own name, symbol and decimals, and the amount in whole tokens', async () => {
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

  test('of an NFT has its collection as the token, with decimals 0, and the token id', async () => {
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

  test('of several pieces of one ERC-1155 token has their number', async () => {
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

  test('of a transfer to oneself appears twice', async () => {
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

  test('by page misses nothing while new items arrive; some appear twice', async () => {
    const before = await activity(bob.address, '&page_size=100')
    const seen: string[] = []
    for (let page = 1; ; page += 1) {
      const items = await activity(bob.address, `&page=${page}&page_size=4`)
      seen.push(...items.map(({ uuid }) => uuid))
      if (items.length < 4) break
      if (page % 2 === 1) {
        await world.chain.send({ to: bob.address, value: 1n })
        await world.index()
      }
    }
    expect(before.map(({ uuid }) => uuid).filter((uuid) => !seen.includes(uuid))).toEqual([])
    expect(seen.length).toBeGreaterThan(new Set(seen).size)
  })

  test('after an item returns each item once while new ones arrive', async () => {
    const before = await activity(bob.address, '&page_size=100')
    const seen: Item[] = []
    for (let more = ''; ; more = `&before=${seen.at(-1)?.uuid}`) {
      const items = await activity(bob.address, `&page_size=4${more}`)
      seen.push(...items)
      if (items.length < 4) break
      await world.chain.send({ to: bob.address, value: 1n })
      await world.index()
    }
    expect(seen).toEqual([...before])
    const [first] = before
    const from = `&page_size=2&before=${first?.uuid.toUpperCase()}`
    expect(await activity(bob.address, `${from}&page=2`)).toEqual(before.slice(3, 5))
    expect(await activity(bob.address, `&page_size=1&before=`)).toEqual(
      await activity(bob.address, '&page_size=1&before=null'),
    )
  })

  test('after an unknown item or a malformed id is refused', async () => {
    const [item] = await activity(bob.address)
    for (const [address, before] of [
      [alice.address, item?.uuid],
      [bob.address, randomUUID()],
      [bob.address, '1'],
    ] as const) {
      const answer = await world.get(project, path(address, `&before=${before}`))
      expect([answer.status, answer.json]).toEqual([
        400,
        { error: expect.stringContaining('"before"'), code: 'invalid_input' },
      ])
    }
  })

  test('has 20 items by default, and treats an empty or null value as absent', async () => {
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

  test('have numbers within the first 10,000 items; behind them `before` leads on', async () => {
    const ask = async (more: string) => (await world.get(project, path(bob.address, more))).json
    expect(await ask('&page=500')).toEqual([])
    expect(await ask('&page=100&page_size=100')).toEqual([])
    const refused = { code: 'page_too_deep', error: expect.stringContaining('"before"') }
    expect(await ask('&page=501')).toEqual(refused)
    expect(await ask('&page=101&page_size=100')).toEqual(refused)
  })
})

describe("access to a wallet's activity", () => {
  test("is refused with the same bytes for another project's wallet and for an unknown one", async () => {
    const strangers = await world.get(project, path('0x00000000000000000000000000000000DeaDBeef'))
    const others = await world.get(project, path(carol.address))
    expect(strangers.status).toBe(403)
    expect(strangers.json).toMatchObject({ code: 'wallet_forbidden' })
    expect(others.status).toBe(403)
    expect(others.text).toBe(strangers.text)
    expect((await world.get(other, path(carol.address))).status).toBe(200)
    expect((await world.get(other, path(alice.address))).text).toBe(strangers.text)
  })

  test('is not given by a wallet with the same address on another network', async () => {
    const polygonOnly = fundedAccount(4).address
    await world.watch(project, polygonOnly, 'Polygon')
    expect((await world.get(project, path(polygonOnly))).status).toBe(403)
  })

  test('needs an API key', async () => {
    const headers = { 'x-walletkit-project-id': project.id }
    const none = await world.request(path(alice.address), headers)
    expect([none.status, none.json]).toEqual([401, { error: expect.any(String), code: 'unauthorized' }])
    const wrong = await world.request(path(alice.address), { ...headers, authorization: `Bearer ${other.apiKey}` })
    expect([wrong.status, wrong.json]).toEqual([403, { error: expect.any(String), code: 'project_mismatch' }])
    expect((await world.request(path(alice.address), {})).json).toMatchObject({ code: 'project_required' })
  })
})

describe('parameters', () => {
  test('accept an address in lower case', async () => {
    expect(await activity(bob.address.toLowerCase())).toEqual([...(await activity(bob.address))])
  })

  test.each([
    ['an invalid address', 'network=Ethereum&wallet_address=0x12', 'address_invalid'],
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

  test('answer 501 for a network without a node', async () => {
    const answer = await world.get(project, `/activity?network=Polkadot&wallet_address=${alice.address}`)
    expect([answer.status, answer.json]).toEqual([501, { error: expect.any(String), code: 'not_implemented' }])
  })
})

describe('a node that is away', () => {
  test('does not matter if the tokens are known, and gives 503 if one is not', async () => {
    await world.index()
    const node = startAwkwardNode(world.chain.rpcUrl)
    node.moods.away = true
    const app = world.createTestApp(world.open({ as: 'api', rpcUrl: node.rpcUrl }))
    expect((await world.get(project, path(alice.address), app)).status).toBe(200)
    const contract = '0x00000000000000000000000000000000000000AA'
    await world.sql`
      insert into movements (id, network, address, direction, counterparty, standard, contract, amount, block_number,
        transaction_hash, log_index, item_index, at)
      values (${randomUUID()}, 'Ethereum', ${alice.address}, 'in', 'x', 'erc20', ${contract}, 1, 1, ${randomUUID()}, 0, 0, now())`
    const unknown = await world.get(project, path(alice.address), app)
    expect([unknown.status, unknown.json]).toEqual([503, { error: expect.any(String), code: 'node_unavailable' }])
    await world.sql`delete from movements where contract = ${contract}`
    await node.stop()
  })
})

describe('in a large table', () => {
  const ROWS = isLong ? 2_000_000 : 20_000
  /** In the half of the address that is in it often. */
  const FAR_DOWN = isLong ? 15_000 : 8_000

  /** Fewer than those of any address that is asked for. */
  const EMPTY_PAGES_MAX = 8

  // Both may mislead the query planner: half of all rows, but none of the newest.
  const OFTEN_BUT_LONG_AGO = bob.address
  const SELDOM = alice.address
  const COLLECTOR = carol.address

  beforeAll(async () => {
    // Vacuum marks pages as visible to all (for index-only reads) only after their commits were written to the WAL.
    await world.sql`set synchronous_commit = on`
    await world.sql`
      insert into movements (id, network, address, direction, counterparty, standard, amount, block_number,
        transaction_hash, log_index, item_index, at)
      select gen_random_uuid(), 'Ethereum', case when n <= ${ROWS / 2}::int then ${OFTEN_BUT_LONG_AGO} else 'address ' || n % 5000 end,
        'in', 'x', 'native', n, 1000 + n / 50, 'large ' || n, n % 200, 0, now()
      from generate_series(1, ${ROWS}::int) n`
    await world.sql`
      insert into movements (id, network, address, direction, counterparty, standard, contract, token_id, amount, block_number,
        transaction_hash, log_index, item_index, at)
      select gen_random_uuid(), 'Ethereum', ${COLLECTOR}, 'in', 'x', case when n % 2 = 0 then 'erc20' else 'erc721' end,
        case when n % 2 = 0 then 'coin ' || n / 2 % 3 else 'nft ' || n / 2 % 2 end, case when n % 2 = 1 then 1 + n / 4 end, 1, n,
        'collected ' || n, 0, 0, now()
      from generate_series(0, 9999) n`
    // Rows that an open transaction cannot see yet are not marked; the next vacuum marks them. Empty pages never are.
    const isVisible = async () => {
      await world.sql`vacuum analyze movements, holdings`
      const [table] =
        await world.sql`select relpages - relallvisible < ${EMPTY_PAGES_MAX}::int as visible from pg_class where relname = 'movements'`
      return table?.visible === true
    }
    while (!(await isVisible())) await Bun.sleep(50)
  }, 600_000)

  /** Reads of the tables and their indexes, as PostgreSQL counts them in one transaction. */
  const readsOf = (ask: (tx: Tx) => Promise<unknown>): Promise<Record<string, number>> =>
    world.api.db.transaction(async (tx) => {
      const counts = async () => {
        const { rows } = await tx.execute<{ name: string; scans: number; entries: number; rows: number }>(sql`
          select relname as name, pg_stat_get_xact_numscans(oid)::int as scans,
            pg_stat_get_xact_tuples_returned(oid)::int as entries, pg_stat_get_xact_tuples_fetched(oid)::int as rows
          from pg_class where relname in ('movements', 'holdings') or oid in (
            select indexrelid from pg_index where indrelid in ('movements'::regclass, 'holdings'::regclass))`)
        return rows.flatMap(({ name, ...counted }) =>
          Object.entries(counted).map(([what, count]) => [`${name} ${what}`, count] as const),
        )
      }
      const before = new Map(await counts())
      await ask(tx)
      const changes = (await counts()).map(([name, count]) => [name, count - (before.get(name) ?? 0)] as const)
      return Object.fromEntries(changes.filter(([, change]) => change !== 0))
    })

  const network = 'Ethereum'
  const LIMIT = 3

  test.each([
    ['often, but long ago', OFTEN_BUT_LONG_AGO, 3],
    ['seldom', SELDOM, 3],
    ['often, far down', OFTEN_BUT_LONG_AGO, FAR_DOWN],
  ])('a page of an address that is in it %s is one read of one index, and its own rows', async (_, address, offset) => {
    const reads = await readsOf(async (tx) => {
      expect(await listMovements(tx, { network, address, before: null, limit: LIMIT, offset })).toHaveLength(LIMIT)
    })
    expect(reads).toMatchObject({ 'movements_listed scans': 1, 'movements_listed entries': offset + LIMIT })
    expect(reads['movements_listed rows'] ?? 0).toBeLessThanOrEqual(2 * LIMIT)
    // The planner reads both ends of the primary key.
    expect(reads['movements_pkey rows']).toBeLessThanOrEqual(LIMIT + 4)
    expect(reads).not.toHaveProperty('movements scans')
  })

  test('a page far down needs no more reads than the first one', async () => {
    const list = { network, address: OFTEN_BUT_LONG_AGO, limit: LIMIT } as const
    const [before = null] = await listMovements(world.api.db, { ...list, before: null, offset: FAR_DOWN })
    const reads = await readsOf(async (tx) => {
      const older = await listMovements(tx, { ...list, before, offset: 0 })
      expect(older).toEqual([...(await listMovements(world.api.db, { ...list, before: null, offset: FAR_DOWN + 1 }))])
    })
    expect(reads).toMatchObject({ 'movements_listed scans': 1, 'movements_listed entries': LIMIT })
  })

  test('each contract of received tokens is read once, however many items it has', async () => {
    const reads = await readsOf(async (tx) => {
      const received = await contractsReceived(tx, { network, address: COLLECTOR, limit: 2 })
      expect(received).toEqual(['coin 1', 'coin 0'])
    })
    expect(reads).toEqual({ 'movements_received scans': 4, 'movements_received entries': 3 })
  })

  test('of the NFTs of an address and of a contract those of the page are read, and nothing else', async () => {
    const page = { network, after: null, limit: LIMIT, offset: 0 } as const
    const held = (contract: string) => [1n, 2n, 3n].map((tokenId) => ({ address: COLLECTOR, contract, tokenId }))
    const ofAddress = await readsOf(async (tx) => {
      expect(await holdingsOfAddress(tx, { ...page, address: COLLECTOR })).toEqual(held('nft 0'))
    })
    // With one holder, either index will do.
    expect(Object.entries(ofAddress).filter(([read]) => read.endsWith(' entries'))).toEqual([
      [expect.any(String), LIMIT],
    ])
    const ofContract = await readsOf(async (tx) => {
      const holdings = await holdingsOfContract(tx, { ...page, contract: 'nft 1', projectId: other.id, ownedBy: null })
      expect(holdings).toEqual(held('nft 1'))
    })
    // Or for each wallet, if there are few.
    for (const read of Object.keys(ofContract)) expect(read).toMatch(/^holdings_/)
  })

  test('the query plan uses the indexes', async () => {
    const plan = await world.sql`
      explain select * from movements where network = 'Ethereum' and address = ${OFTEN_BUT_LONG_AGO}
      order by block_number desc, log_index desc, item_index desc, id desc limit 10 offset 10`
    const text = plan.map((line) => line['QUERY PLAN']).join('\n')
    expect(text).toContain('Index Scan Backward using movements_listed')
    expect(text).not.toContain('Sort')
  })
})
