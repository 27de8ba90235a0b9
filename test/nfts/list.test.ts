import { describe, expect, test } from 'bun:test'
import { type Address, getAddress } from 'viem'
import { readTokenUris } from '../../db/queries/facts.ts'
import { insertMetadataDocuments } from '../../db/queries/metadata.ts'
import { describeMetadata } from '../../src/assets/metadata/host.ts'
import { Secret } from '../../src/platform/config.ts'
import { startAwkwardNode } from '../activity/awkward-node.ts'
import { PUBLIC_BASE_URL, startWorld, type World } from '../activity/world.ts'
import { fundedAccount } from '../support/chains.ts'
import { longTest, someOf } from '../support/long.ts'
import { shared } from '../support/shared.ts'

const outsider = fundedAccount(0)
const alice = fundedAccount(1)
const bob = fundedAccount(2)
const carol = fundedAccount(3)
const DOOR = { name: 'Door #1', description: 'A red door.', image: 'ipfs://door' }

type Contract = Awaited<ReturnType<World['chain']['deploy']>>

const world = await shared(startWorld())
const project = await world.createProject()
const other = await world.createProject()
await world.watch(project, alice.address)
await world.watch(project, bob.address)
await world.watch(other, carol.address)

type Nft = {
  readonly owner_wallet_address: string
  readonly contract_address: string
  readonly token_id: string
  readonly metadata: unknown
}

const path = (query: string) => `/nfts?network=Ethereum&${query}`

const list = async (query: string): Promise<readonly Nft[]> => {
  const answer = await world.get(project, path(query))
  expect(answer.status).toBe(200)
  return answer.json as readonly Nft[]
}

const held = async (wallet: Address, contract: Contract): Promise<readonly string[]> =>
  (await list(`wallet_address=${wallet}&page_size=100`))
    .filter((nft) => nft.contract_address === getAddress(contract.address))
    .map((nft) => nft.token_id)

const deploy = () => world.chain.deploy('WizardCollection', ['Doors', 'DOOR', outsider.address])

const mint = (contract: Contract, to: Address, uri = 'ipfs://x') =>
  world.chain.write({ contract, functionName: 'safeMint', args: [to, uri] })

const transfer = (contract: Contract, from: typeof alice, to: Address, tokenId: bigint) =>
  world.chain.write({
    contract,
    functionName: 'transferFrom',
    args: [from.address, to, tokenId],
    account: from,
  })

describe('the NFTs of a wallet', () => {
  test('are those that came in and have not gone out', async () => {
    const doors = await deploy()
    for (let token = 0; token < 4; token += 1) await mint(doors, alice.address)
    await transfer(doors, alice, bob.address, 1n)
    await transfer(doors, alice, carol.address, 2n)
    await transfer(doors, alice, bob.address, 3n)
    await transfer(doors, bob, alice.address, 3n)
    await transfer(doors, alice, alice.address, 0n)
    await world.index()
    expect(await held(alice.address, doors)).toEqual(['0', '3'])
    expect(await held(bob.address, doors)).toEqual(['1'])
  })

  longTest('agree with the contract after many transfers', async () => {
    const doors = await deploy()
    const people = [alice, bob, carol]
    const random = mulberry(11)
    const owners: (typeof alice)[] = []
    for (let moves = 0; moves < 40; moves += 1) {
      const to = people[Math.floor(random() * 3)] ?? alice
      const token = Math.floor(random() * 8)
      const owner = owners[token]
      if (owner === undefined) {
        owners.push(to)
        await mint(doors, to.address)
      } else {
        owners[token] = to
        await transfer(doors, owner, to.address, BigInt(token))
      }
    }
    await world.index()
    for (const wallet of [alice, bob]) {
      const ids = []
      for (const [token] of owners.entries()) {
        const args = [BigInt(token)]
        const owner = await world.chain.publicClient.readContract({ ...doors, functionName: 'ownerOf', args })
        if (owner === wallet.address) ids.push(String(token))
      }
      expect(await held(wallet.address, doors)).toEqual(ids)
    }
  })

  test('include a multi-token until its last piece has gone', async () => {
    const tokens = await world.chain.deploy('MultiToken', ['', outsider.address])
    const send = (amount: bigint) =>
      world.chain.write({
        contract: tokens,
        functionName: 'safeTransferFrom',
        args: [alice.address, bob.address, 5n, amount, '0x'],
        account: alice,
      })
    await world.chain.write({ contract: tokens, functionName: 'mint', args: [alice.address, 5n, 3n, '0x'] })
    await send(2n)
    await world.index()
    expect(await held(alice.address, tokens)).toEqual(['5'])
    await send(1n)
    await world.index()
    expect(await held(alice.address, tokens)).toEqual([])
    expect(await held(bob.address, tokens)).toEqual(['5'])
  })

  test('follow a reorganisation', async () => {
    const doors = await deploy()
    await mint(doors, alice.address)
    await world.index()
    await transfer(doors, alice, bob.address, 0n)
    await world.index()
    expect(await held(bob.address, doors)).toEqual(['0'])
    await world.chain.reorg({ depth: 1 })
    await world.index()
    expect(await held(alice.address, doors)).toEqual(['0'])
    expect(await held(bob.address, doors)).toEqual([])
  })

  test('come in pages, ordered by contract and by token id as a number', async () => {
    const doors = await deploy()
    for (let token = 0; token < 12; token += 1) await mint(doors, bob.address)
    await world.index()
    const query = `wallet_address=${bob.address}`
    const all = await list(`${query}&page_size=100`)
    const pages = []
    for (let page = 1; page <= all.length / 5 + 1; page += 1)
      pages.push(...(await list(`${query}&page=${page}&page_size=5`)))
    expect(pages).toEqual([...all])
    for (const [index, nft] of someOf([...all.entries()], 4)) {
      const after = `${nft.contract_address}:${nft.token_id}:${nft.owner_wallet_address}`
      expect(await list(`${query}&after=${after}&page=2&page_size=2`)).toEqual(all.slice(index + 3, index + 5))
    }
    expect(await held(bob.address, doors)).toEqual(Array.from({ length: 12 }, (_, token) => String(token)))
  })

  test('are none for a wallet without NFTs', async () => {
    const nobody = fundedAccount(5).address
    await world.watch(project, nobody)
    expect(await list(`wallet_address=${nobody}`)).toEqual([])
  })
})

describe('the holders of a collection', () => {
  test('are only wallets of the project', async () => {
    const doors = await deploy()
    for (const to of [alice.address, bob.address, carol.address, outsider.address]) await mint(doors, to)
    await world.index()
    const contract_address = getAddress(doors.address)
    const mine = await list(`contract_address=${doors.address}`)
    expect(mine.map(({ metadata: _, ...nft }) => nft)).toEqual([
      { owner_wallet_address: alice.address, contract_address, token_id: '0' },
      { owner_wallet_address: bob.address, contract_address, token_id: '1' },
    ])
    const second = `contract_address=${doors.address}&after=${doors.address}:0:${alice.address}`
    expect((await list(second)).map((nft) => nft.token_id)).toEqual(['1'])
    const theirs = await world.get(other, path(`contract_address=${doors.address}`))
    expect(theirs.json).toMatchObject([{ owner_wallet_address: carol.address, token_id: '2' }])
  })

  test('are none if nobody holds anything', async () => {
    expect(await list('contract_address=0x00000000000000000000000000000000DeaDBeef')).toEqual([])
  })
})

describe('an invalid request', () => {
  test.each([
    ['neither parameter', '', 'invalid_input'],
    ['both parameters', `wallet_address=${alice.address}&contract_address=${bob.address}`, 'invalid_input'],
    ['an address that is none', 'wallet_address=0x1', 'address_invalid'],
    ['a contract that is none', 'contract_address=doors', 'address_invalid'],
    ['an unknown parameter', `wallet_address=${alice.address}&owner=x`, 'invalid_input'],
    ['half an NFT to begin after', `wallet_address=${alice.address}&after=${bob.address}:1`, 'invalid_input'],
    ['no address to begin after', `wallet_address=${alice.address}&after=${bob.address}:1:x`, 'address_invalid'],
    ['101 a page', `wallet_address=${alice.address}&page_size=101`, 'invalid_input'],
    ['a page behind the first 2,000', `wallet_address=${alice.address}&page=101`, 'page_too_deep'],
  ])('refuses %s', async (_, query, code) => {
    const answer = await world.get(project, path(query))
    expect([answer.status, answer.json]).toEqual([400, { error: expect.any(String), code }])
  })

  test("for another project's wallet gets the same bytes as for an unknown wallet", async () => {
    const strangers = await world.get(project, path('wallet_address=0x00000000000000000000000000000000DeaDBeef'))
    const others = await world.get(project, path(`wallet_address=${carol.address}`))
    expect([strangers.status, strangers.json]).toEqual([403, { error: expect.any(String), code: 'wallet_forbidden' }])
    expect([others.status, others.text]).toEqual([403, strangers.text])
  })
})

describe('metadata', () => {
  const metadataOf = async (contract: Contract): Promise<unknown> =>
    (await list(`contract_address=${contract.address}`))[0]?.metadata

  test.each([
    ['at our address', null],
    ['pinned', new Secret('http://127.0.0.1:5001')],
  ])('comes from a document hosted here, %s', async (_, ipfsApiUrl) => {
    const document = describeMetadata({ publicBaseUrl: PUBLIC_BASE_URL, ipfsApiUrl }, DOOR)
    await insertMetadataDocuments(world.api.db, [document])
    const doors = await deploy()
    await mint(doors, alice.address, document.uri)
    await world.index()
    expect(await metadataOf(doors)).toEqual(DOOR)
  })

  test('comes from the URI itself', async () => {
    const doors = await deploy()
    await mint(doors, alice.address, `data:application/json,${encodeURIComponent(JSON.stringify(DOOR))}`)
    await world.index()
    expect(await metadataOf(doors)).toEqual(DOOR)
  })

  longTest('is null for any other URI, and nothing is fetched', async () => {
    let requests = 0
    const trap = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      fetch: () => {
        requests += 1
        return Response.json(DOOR)
      },
    })
    for (const uri of [
      `http://127.0.0.1:${trap.port}/1.json`,
      `${PUBLIC_BASE_URL}/metadata/${'0'.repeat(64)}.json`,
      `${PUBLIC_BASE_URL}/metadata/../wallets`,
      `${PUBLIC_BASE_URL}.evil.example/metadata/x.json`,
      'ipfs://x',
      '',
      'data:application/json,{',
      '\u0000',
    ]) {
      const doors = await deploy()
      await mint(doors, alice.address, uri)
      await world.index()
      expect(await metadataOf(doors)).toBeNull()
    }
    await trap.stop(true)
    expect(requests).toBe(0)
  })

  test('of a contract without URIs is null', async () => {
    const tokens = await world.chain.deploy('RevertingCollection')
    await mint(tokens, alice.address)
    await world.index()
    expect(await metadataOf(tokens)).toBeNull()
  })

  test('is read only for the tokens of the page', async () => {
    await world.sql`
      insert into token_uris (network, contract, token_id, uri)
      select 'Ethereum', contract, id, contract || id from unnest(array['a', 'b']) contract, generate_series(1, 2) id`
    const tokens = [
      { contract: 'a', tokenId: 1n },
      { contract: 'b', tokenId: 2n },
      { contract: 'b', tokenId: 2n ** 256n - 1n },
    ]
    const uris = await readTokenUris(world.api.db, { network: 'Ethereum', tokens })
    expect([...uris].sort()).toEqual([
      ['a/1', 'a1'],
      ['b/2', 'b2'],
    ])
  })

  longTest('is cached, so without a node only new tokens have none', async () => {
    const uri = `data:application/json,${encodeURIComponent(JSON.stringify(DOOR))}`
    const known = await deploy()
    await mint(known, alice.address, uri)
    await world.index()
    expect(await metadataOf(known)).toEqual(DOOR)
    await mint(known, alice.address, uri)
    await world.index()

    const node = startAwkwardNode(world.chain.rpcUrl)
    node.moods.away = true
    const app = world.createTestApp(world.open({ as: 'api', rpcUrl: node.rpcUrl }))
    const answer = await world.get(project, path(`contract_address=${known.address}`), app)
    expect([answer.status, answer.json]).toMatchObject([
      200,
      [
        { token_id: '0', metadata: DOOR },
        { token_id: '1', metadata: null },
      ],
    ])
    node.moods.away = false
    const later = await world.get(project, path(`contract_address=${known.address}`), app)
    expect(later.json).toMatchObject([{ metadata: DOOR }, { metadata: DOOR }])
    await node.stop()
  })
})

/** Seeded random numbers: the same transfers in every run. */
const mulberry = (seed: number) => () => {
  seed = (seed + 0x6d2b79f5) | 0
  let mixed = Math.imul(seed ^ (seed >>> 15), 1 | seed)
  mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
  return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
}
