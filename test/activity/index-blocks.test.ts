import { beforeEach, describe, expect, test } from 'bun:test'
import { type Address, encodeFunctionData, getAddress, parseEther, zeroAddress } from 'viem'
import { indexStep } from '../../src/assets/activity/index-blocks.ts'
import { type Range, readRange } from '../../src/assets/activity/read-range.ts'
import type { BlockRef, Chain } from '../../src/chains/chain.ts'
import { fundedAccount } from '../support/chains.ts'
import { shared } from '../support/shared.ts'
import type { WorkerCtx } from '../support/worker-here.ts'
import { startWorld } from './world.ts'

const outsider = fundedAccount(0)
const alice = fundedAccount(1)
const bob = fundedAccount(2)
const STRANGER: Address = '0x00000000000000000000000000000000DeaDBeef'

const world = await shared(startWorld())
const project = await world.createProject()
await world.watch(project, alice.address)
await world.watch(project, bob.address)
await world.index()

type Row = {
  readonly address: string
  readonly direction: string
  readonly counterparty: string
  readonly standard: string
  readonly contract: string | null
  readonly token: string | null
  readonly amount: string
}

/** The stored movements of a transaction, of any wallet. */
const rowsOf = (hash: string): Promise<Row[]> =>
  world.sql<Row[]>`
    select address, direction, counterparty, standard, contract, token_id::text as token, amount::text
    from movements where transaction_hash = ${hash} order by log_index, item_index, direction, address`

const summary = (rows: readonly Row[]) => rows.map((row) => [row.address, row.direction, row.amount])
const count = async (): Promise<number> =>
  Number((await world.sql<{ count: string }[]>`select count(*) from movements`)[0]?.count)

const duplicates = () => world.sql`
  select from movements group by transaction_hash, log_index, item_index, address, direction having count(*) > 1`

const cursorOf = async (): Promise<{ number: string; hash: string } | undefined> =>
  (
    await world.sql<{ number: string; hash: string }[]>`
    select block_number::text as number, block_hash as hash from cursors where purpose = 'index'`
  )[0]

describe('the native coin', () => {
  test('is received from outside', async () => {
    const { transactionHash } = await world.chain.send({ to: alice.address, value: 5n })
    await world.index()
    expect(await rowsOf(transactionHash)).toEqual([
      {
        address: alice.address,
        direction: 'in',
        counterparty: outsider.address,
        standard: 'native',
        contract: null,
        token: null,
        amount: '5',
      },
    ])
  })

  test('sent between two wallets gives a row for each', async () => {
    const { transactionHash } = await world.chain.send({ account: alice, to: bob.address, value: 7n })
    await world.index()
    expect(summary(await rowsOf(transactionHash))).toEqual([
      [bob.address, 'in', '7'],
      [alice.address, 'out', '7'],
    ])
  })

  test('sent to oneself gives both rows', async () => {
    const { transactionHash } = await world.chain.send({ account: alice, to: alice.address, value: 3n })
    await world.index()
    expect(summary(await rowsOf(transactionHash))).toEqual([
      [alice.address, 'in', '3'],
      [alice.address, 'out', '3'],
    ])
  })

  test('passed on by a contract is stored for the wallets at both ends, but not for the contract', async () => {
    const forwarder = await world.chain.deploy('CoinForwarder')
    const { transactionHash } = await world.chain.write({
      contract: forwarder,
      functionName: 'split',
      args: [[bob.address, STRANGER, bob.address]],
      value: 10n,
      account: alice,
    })
    await world.index()
    expect(summary(await rowsOf(transactionHash)).sort()).toEqual(
      [
        [alice.address, 'out', '10'],
        [bob.address, 'in', '3'],
        [bob.address, 'in', '4'],
      ].sort(),
    )
  })

  test('sent between other addresses is not stored', async () => {
    const { transactionHash } = await world.chain.send({ to: STRANGER, value: 1n })
    await world.index()
    expect(await rowsOf(transactionHash)).toEqual([])
  })

  test('of a failed transaction is not stored', async () => {
    // A token does not accept coins.
    const token = await world.chain.deploy('TestToken', ['Test', 'TST', 6])
    const hash = await world.chain.walletClient.sendTransaction({
      account: alice,
      to: token.address,
      value: parseEther('1'),
      gas: 100_000n,
    })
    expect((await world.chain.receiptOf(hash)).status).toBe('reverted')
    await world.index()
    expect(await rowsOf(hash)).toEqual([])
  })
})

describe('tokens', () => {
  test('of ERC-20 are stored when minted and moved', async () => {
    const token = await world.chain.deploy('TestToken', ['Test', 'TST', 6])
    const minted = await world.chain.write({ contract: token, functionName: 'mint', args: [alice.address, 100n] })
    const moved = await world.chain.write({
      contract: token,
      functionName: 'transfer',
      args: [bob.address, 40n],
      account: alice,
    })
    await world.index()
    expect(await rowsOf(minted.transactionHash)).toEqual([
      {
        address: alice.address,
        direction: 'in',
        counterparty: zeroAddress,
        standard: 'erc20',
        contract: getAddress(token.address),
        token: null,
        amount: '100',
      },
    ])
    expect(summary(await rowsOf(moved.transactionHash))).toEqual([
      [bob.address, 'in', '40'],
      [alice.address, 'out', '40'],
    ])
  })

  test('say who sent the transaction: a transfer of 0 out of a wallet may be a stranger’s', async () => {
    const token = await world.chain.deploy('TestToken', ['Test', 'TST', 6])
    const transfer = { contract: token, functionName: 'transferFrom', args: [alice.address, STRANGER, 0n] }
    const poisoning = await world.chain.write({ ...transfer, account: outsider })
    const own = await world.chain.write({ ...transfer, account: alice })
    await world.index()
    const items = await world.listed(project, alice.address)
    const found = (hash: string) => items.find(({ transaction_hash }) => transaction_hash === hash)
    const ends = { type: 'send_token', from: alice.address, to: STRANGER }
    expect(found(poisoning.transactionHash)).toMatchObject({ ...ends, initiated_by: outsider.address })
    expect(found(own.transactionHash)).toMatchObject({ ...ends, initiated_by: alice.address })
    const events = await world.sql`
      select data ->> 'initiated_by' as sender from events
      where type = 'activity.created' and data ->> 'transaction_hash' = ${poisoning.transactionHash}`
    expect([...events]).toEqual([{ sender: outsider.address }])
  })

  test('of a reverted transfer are not stored', async () => {
    const token = await world.chain.deploy('TestToken', ['Test', 'TST', 6])
    const data = encodeFunctionData({ abi: token.abi, functionName: 'transfer', args: [bob.address, 1n] })
    const hash = await world.chain.walletClient.sendTransaction({
      account: alice,
      to: token.address,
      data,
      gas: 100_000n,
    })
    expect((await world.chain.receiptOf(hash)).status).toBe('reverted')
    await world.index()
    expect(await rowsOf(hash)).toEqual([])
  })

  test('of ERC-721 are stored with their token id', async () => {
    const nfts = await world.chain.deploy('WizardCollection', ['Doors', 'DOOR', outsider.address])
    const { transactionHash } = await world.chain.write({
      contract: nfts,
      functionName: 'safeMint',
      args: [alice.address, 'ipfs://door'],
    })
    await world.index()
    expect(await rowsOf(transactionHash)).toEqual([
      {
        address: alice.address,
        direction: 'in',
        counterparty: zeroAddress,
        standard: 'erc721',
        contract: getAddress(nfts.address),
        token: '0',
        amount: '1',
      },
    ])
  })

  test('of ERC-1155 are stored for each item of a batch', async () => {
    const tokens = await world.chain.deploy('MultiToken', ['https://example.org/{id}', outsider.address])
    const { transactionHash } = await world.chain.write({
      contract: tokens,
      functionName: 'mintBatch',
      args: [alice.address, [7n, 8n], [5n, 6n], '0x'],
    })
    await world.index()
    const rows = await rowsOf(transactionHash)
    expect(rows.map((row) => [row.standard, row.token, row.amount])).toEqual([
      ['erc1155', '7', '5'],
      ['erc1155', '8', '6'],
    ])
  })

  test('have known facts before anybody lists them', async () => {
    const token = await world.chain.deploy('TestToken', ['Known', 'KNW', 9])
    await world.chain.write({ contract: token, functionName: 'mint', args: [alice.address, 1n] })
    await world.index()
    const [facts] =
      await world.sql`select name, symbol, decimals from contract_facts where address = ${getAddress(token.address)}`
    expect(facts).toEqual({ name: 'Known', symbol: 'KNW', decimals: 9 })
  })
})

describe('collections that were created here', () => {
  const ownCollection = async (): Promise<Awaited<ReturnType<typeof world.chain.deploy>>> => {
    const nfts = await world.chain.deploy('WizardCollection', ['Own', 'OWN', outsider.address])
    await world.sql`insert into signers (network, address) values ('Ethereum', ${outsider.address}) on conflict do nothing`
    await world.sql`
      insert into transactions (id, project_id, wallet_id, network, signer_address, kind, nonce, value, input, gas_limit,
        worst_cost, rungs, status, contract_address)
      select gen_random_uuid(), project_id, id, network, ${outsider.address}, 'collection',
        (select count(*) from transactions), 0, '0x', 0, 0, 1, 'success', ${getAddress(nfts.address)}
      from wallets limit 1`
    return nfts
  }
  const mint = async (contract: Awaited<ReturnType<typeof world.chain.deploy>>, to: Address) =>
    (await world.chain.write({ contract, functionName: 'safeMint', args: [to, 'ipfs://x'] })).transactionHash

  test('have all their movements stored, for any holder; the zero address is no holder', async () => {
    const hash = await mint(await ownCollection(), STRANGER)
    await world.index()
    expect(summary(await rowsOf(hash))).toEqual([[STRANGER, 'in', '1']])
  })

  test('are listed from when the address of their holder is a wallet', async () => {
    const { address } = fundedAccount(3)
    const nfts = await ownCollection()
    await mint(nfts, address)
    await world.index()
    await world.own(project, address)
    await world.walkBack(address)
    for (const query of [`wallet_address=${address}`, `contract_address=${nfts.address}`]) {
      const { json } = await world.get(project, `/nfts?network=Ethereum&${query}`)
      expect(json).toMatchObject([{ owner_wallet_address: address, token_id: '0' }])
    }
  })

  test('differ from other collections, whose movements are not stored', async () => {
    const hash = await mint(await world.chain.deploy('WizardCollection', ['No', 'NO', outsider.address]), STRANGER)
    await world.index()
    expect(await rowsOf(hash)).toEqual([])
  })
})

describe('reorganisations', () => {
  test('remove movements of replaced blocks and add those of the new ones', async () => {
    const before = await world.chain.send({ to: alice.address, value: 11n })
    const gone = await world.chain.send({ to: alice.address, value: 12n })
    await world.chain.mine()
    await world.index()
    expect(await rowsOf(gone.transactionHash)).toHaveLength(1)

    await world.chain.reorg({ depth: 2 })
    const instead = await world.chain.send({ to: alice.address, value: 13n })
    await world.index()
    expect(await rowsOf(gone.transactionHash)).toEqual([])
    expect(await rowsOf(before.transactionHash)).toHaveLength(1)
    expect(await rowsOf(instead.transactionHash)).toHaveLength(1)
  })

  test('are detected at the same height, without a further block', async () => {
    const gone = await world.chain.send({ to: alice.address, value: 14n })
    await world.index()
    await world.chain.reorg({ depth: 1 })
    await world.index()
    expect(await rowsOf(gone.transactionHash)).toEqual([])
  })

  test('give an item that is mined again the same uuid', async () => {
    const signed = await world.chain.walletClient.signTransaction({
      ...(await world.chain.walletClient.prepareTransactionRequest({ to: alice.address, value: 15n })),
      account: outsider,
    })
    const hash = await world.chain.publicClient.sendRawTransaction({ serializedTransaction: signed })
    await world.chain.receiptOf(hash)
    await world.index()
    const uuids = () => world.sql`select id, initiated_by from movements where transaction_hash = ${hash}`
    const first = [...(await uuids())]
    await world.chain.reorg({ depth: 1 })
    await world.index()
    expect([...(await uuids())]).toEqual([])
    await world.chain.receiptOf(await world.chain.publicClient.sendRawTransaction({ serializedTransaction: signed }))
    await world.index()
    expect([...(await uuids())]).toEqual(first)
    expect(first).toMatchObject([{ initiated_by: outsider.address }])
  })

  test('are detected if they are deeper than one range', async () => {
    const kept = await world.chain.send({ to: alice.address, value: 16n })
    const gone = await world.chain.send({ to: alice.address, value: 17n })
    for (let step = 0; step < 5; step += 1) {
      await world.chain.mine()
      await world.index()
    }
    await world.chain.reorg({ depth: 6 })
    await world.chain.mine(2)
    await world.index()
    expect(await rowsOf(gone.transactionHash)).toEqual([])
    expect(await rowsOf(kept.transactionHash)).toHaveLength(1)
  })
})

describe('a worker that stops', () => {
  /** Starts from the first block again. */
  const startAnew = () => world.sql`truncate movements, cursors, seen_blocks`

  test('continues from the cursor: no movement is missing or duplicated', async () => {
    await world.index()
    const expected = await count()
    await startAnew()
    // Each step runs in a new process, which knows only what the one before it wrote.
    let steps = 0
    for (let result = ''; result !== 'caught_up'; steps += 1) {
      const ctx = world.open()
      result = await indexStep(ctx, ctx.chains.withNode('Ethereum'))
      await ctx.close({ timeoutSeconds: 1 })
    }
    expect(steps).toBeGreaterThan(3)
    expect(await count()).toBe(expected)
    expect([...(await duplicates())]).toEqual([])
  })

  // One of the two writes of a range fails: the rows, or the move of the cursor.
  test.each([
    ['writes', 'insert on movements'],
    ['moves on', 'update on cursors'],
  ])('while it %s leaves all of a range or nothing', async (_, write) => {
    await world.index()
    const at = await cursorOf()
    await world.sql`
      create function fail_now() returns trigger language plpgsql as $$ begin raise exception 'the disk is full'; end $$`
    await world.sql.unsafe(`create trigger fail_now before ${write} for each row execute function fail_now()`)
    const { transactionHash } = await world.chain.send({ to: alice.address, value: 21n })
    try {
      await expect(world.index()).rejects.toThrow()
      expect(await cursorOf()).toEqual(at)
      expect(await rowsOf(transactionHash)).toEqual([])
    } finally {
      await world.sql`drop function fail_now cascade`
    }
    await world.index()
    expect(await rowsOf(transactionHash)).toHaveLength(1)
  })

  test('adds the missing rows of a range that is partly stored, and goes on', async () => {
    const { transactionHash } = await world.chain.send({ account: alice, to: bob.address, value: 22n })
    await world.index()
    const kept = () =>
      world.sql`select id, direction, at from movements where transaction_hash = ${transactionHash} order by 2`
    const expected = [...(await kept())]
    await world.sql`delete from movements where transaction_hash = ${transactionHash} and direction = 'out'`
    await world.sql`truncate cursors, seen_blocks`
    await world.index()
    expect([...(await kept())]).toEqual(expected)
    expect(expected).toHaveLength(2)
    expect([...(await duplicates())]).toEqual([])
  })

  test('may run twice at once: one step is discarded, and nothing is duplicated', async () => {
    await world.index()
    const expected = await count()
    const workers = [world.open(), world.open(), world.open()]
    let overtaken = 0
    const caughtUp = async (ctx: WorkerCtx): Promise<void> => {
      for (let result = ''; result !== 'caught_up'; ) {
        result = await indexStep(ctx, ctx.chains.withNode('Ethereum'))
        if (result === 'overtaken') overtaken += 1
      }
    }
    // It is unlikely that they never conflict.
    for (let round = 0; round < 20 && overtaken === 0; round += 1) {
      await startAnew()
      await Promise.all(workers.map(caughtUp))
      expect(await count()).toBe(expected)
      expect([...(await duplicates())]).toEqual([])
    }
    expect(overtaken).toBeGreaterThan(0)
  })
})

describe('reading ahead', () => {
  type Asked = { readonly fromBlock: bigint; readonly toBlock: bigint }

  /** The real chain, with a record of the requests to its node. */
  const listen = () => {
    const chain = world.worker.chains.withNode('Ethereum')
    const asked: Asked[] = []
    const movements: Chain['movements'] = (range) => {
      asked.push(range)
      return chain.movements(range)
    }
    return { chain: { ...chain, movements }, asked }
  }

  const genesis = async (chain: Chain) => {
    const block = await chain.block(0n)
    if (block === null) throw new Error('there is no first block')
    return block
  }

  const blocksOf = (range: Range) => (range.kind === 'read' ? range.blocks : [])

  test('requests each block once, and two ranges of final blocks ahead', async () => {
    await world.chain.mine(120)
    const { chain, asked } = listen()
    const head = await chain.head()
    const final = head.finalized?.number ?? 0n
    expect(final).toBeGreaterThan(40n)
    const read: bigint[] = []
    for (let cursor: BlockRef = await genesis(chain); ; ) {
      const blocks = blocksOf(await readRange(chain, { cursor, head }))
      const last = blocks.at(-1)
      if (last === undefined) break
      read.push(...blocks.map(({ number }) => number))
      cursor = last
      const left = asked.filter(({ fromBlock }) => fromBlock > last.number)
      const isEnd = (asked.at(-1)?.toBlock ?? 0n) >= final
      expect(left.length).toBe(isEnd ? Math.min(left.length, 2) : 2)
      expect(left[0]?.fromBlock ?? last.number + 1n).toBe(last.number + 1n)
    }
    expect(read).toEqual(Array.from({ length: Number(head.latest.number) }, (_, index) => BigInt(index + 1)))
    const ahead = asked.slice(1).filter(({ fromBlock }) => fromBlock <= final)
    expect(ahead.length).toBeGreaterThan(1)
    expect(ahead.every(({ toBlock }) => toBlock <= final)).toBe(true)
    expect(asked.reduce((sum, { fromBlock, toBlock }) => sum + toBlock - fromBlock + 1n, 0n)).toBe(head.latest.number)
  })

  test('is discarded if the cursor has moved', async () => {
    const { chain } = listen()
    const head = await chain.head()
    const cursor = await genesis(chain)
    await readRange(chain, { cursor, head })
    expect(blocksOf(await readRange(chain, { cursor, head }))[0]?.number).toBe(1n)
  })

  test('that fails makes the step that needs it fail, and is then repeated', async () => {
    const { chain: listening } = listen()
    let fails = false
    const movements: Chain['movements'] = (range) =>
      fails ? Promise.reject(new Error('the node is away')) : listening.movements(range)
    const chain = { ...listening, movements }
    const head = await chain.head()
    const readAfter = async (cursor: BlockRef) => {
      const last = blocksOf(await readRange(chain, { cursor, head })).at(-1)
      if (last === undefined) throw new Error('expected blocks')
      return last
    }
    const first = await readAfter(await genesis(chain))
    fails = true
    // What was read ahead is there, and what is read ahead now fails.
    const third = await readAfter(await readAfter(first))
    // No step waits for it yet, so nothing is reported.
    await new Promise((resolve) => setImmediate(resolve))
    await expect(readRange(chain, { cursor: third, head })).rejects.toThrow('the node is away')
    fails = false
    expect((await readAfter(third)).number).toBeGreaterThan(third.number)
  })
})

describe('the indexer begins', () => {
  beforeEach(async () => {
    await world.sql`truncate movements, cursors, seen_blocks`
  })

  test('on a devnet at the first block', async () => {
    const { transactionHash } = await world.chain.send({ to: alice.address, value: 31n })
    await world.index()
    expect(await rowsOf(transactionHash)).toHaveLength(1)
  })

  test('elsewhere at the newest block', async () => {
    const ctx = world.open({ devnet: false })
    const before = await world.chain.send({ to: alice.address, value: 32n })
    await world.index(ctx)
    const after = await world.chain.send({ to: alice.address, value: 33n })
    await world.index(ctx)
    expect(await rowsOf(before.transactionHash)).toEqual([])
    expect(await rowsOf(after.transactionHash)).toHaveLength(1)
  })
})
