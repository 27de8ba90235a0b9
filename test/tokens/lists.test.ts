import { beforeAll, describe, expect, test } from 'bun:test'
import type { Pool } from 'pg'
import { encodeFunctionData, getAddress, toHex } from 'viem'
import { createFactsMemory } from '../../src/assets/tokens/facts-memory.ts'
import { importTokenList, removeTokenList } from '../../src/assets/tokens/lists.ts'
import { fundedAccount, type TestChain } from '../support/chains.ts'
import { commonWorld } from '../support/common-service.ts'
import { longTest } from '../support/long.ts'

const network = 'Ethereum'
const from = fundedAccount(0).address
/** A token that everybody knows, on Sepolia. */
const USDC = '0x1c7D4B196Cb0C7B01d743Fbc6116a902379C7238'

type Contract = Awaited<ReturnType<TestChain['deploy']>>

const { chain, service } = await commonWorld()
const { sql } = service.database
const wallet = (await service.newWallet({ network })).address
const coin = await chain.deploy('TestToken', ['Coin', 'COIN', 6])

type Listed = { readonly address: string; readonly logoURI?: string; readonly extensions?: object }

const importList = (name: string, tokens: readonly Listed[]) => {
  const shown = tokens.map((token) => ({ chainId: chain.chainId, name: 'Another', symbol: 'X', decimals: 1, ...token }))
  const text = JSON.stringify({ name, version: { major: 1, minor: 0, patch: 0 }, tokens: shown })
  return importTokenList(service.ctx, { text, actor: 'operator' })
}

/** As the indexer stores received tokens. */
const insertReceived = (contracts: readonly string[], tokenId: string | null = null) => sql`
  insert into movements (id, network, address, direction, counterparty, standard, contract, token_id, amount, block_number,
    transaction_hash, log_index, item_index, at)
  select gen_random_uuid(), 'Ethereum', ${wallet}, 'in', ${from}, ${tokenId === null ? 'erc20' : 'erc721'}, contract, ${tokenId}::numeric, 1, n,
    '0x' || contract, n, 0, now()
  from unnest(${[...contracts]}::text[]) with ordinality as received (contract, n)`

const get = async (path: string) => {
  const answer = await service.get(path, { network, wallet_address: wallet })
  expect(answer.status).toBe(200)
  return answer.json
}

const mint = (contract: Contract, amount = 1n) => ({
  to: contract.address,
  input: encodeFunctionData({ abi: contract.abi, functionName: 'mint', args: [wallet, amount] }),
})

/** The token in every answer that shows it. */
const shownEverywhere = async (contract: Contract) => {
  const at = ({ contract_address }: { contract_address: string }) => contract_address === contract.address
  const preview = await service.post('/transactions/preview', { network, from, unsigned_transaction: mint(contract) })
  const called = preview.json.contract
  expect(called).toMatchObject({ type: 'token', logo_url: called.token.logo_url, name: called.token.name })
  const { raw_balance: _, display_balance: __, ...held } = (await get('/tokens/balances')).find(at)
  const [item] = (await get('/activity')).filter(({ token }: { token: { contract_address: string } }) => at(token))
  return [called.token, preview.json.simulation.asset_changes[0].token, item.token, held]
}

describe('an imported list', () => {
  test('gives tokens their logo and display decimals in every answer, until it is replaced or removed', async () => {
    await chain.write({ contract: coin, functionName: 'mint', args: [wallet, 1n] })
    await insertReceived([coin.address])
    const said = { network, contract_address: coin.address, name: 'Coin', symbol: 'COIN', decimals: 6 }
    const shows = async (looks: { readonly logo_url: string; readonly display_decimals: number }) => {
      const tokens = await shownEverywhere(coin)
      for (const token of tokens) expect(token).toEqual({ uuid: tokens[0].uuid, ...said, ...looks })
    }
    const address = coin.address
    await shows({ logo_url: '', display_decimals: 4 })
    await importList('One', [{ address, logoURI: 'https://one.example/a.png', extensions: { displayDecimals: 2 } }])
    await shows({ logo_url: 'https://one.example/a.png', display_decimals: 2 })
    await importList('One', [{ address, logoURI: 'https://one.example/b.png', extensions: { displayDecimals: 9 } }])
    // At most the token's own decimals.
    await shows({ logo_url: 'https://one.example/b.png', display_decimals: 6 })
    await importList('Two', [{ address, logoURI: 'https://two.example' }])
    await shows({ logo_url: 'https://two.example', display_decimals: 4 })
    await removeTokenList(service.ctx, { name: 'Two', actor: 'operator' })
    await shows({ logo_url: '', display_decimals: 4 })
  })

  test('gives a collection its logo', async () => {
    const doors = await chain.deploy('WizardCollection', ['Doors', 'DOOR', from])
    await insertReceived([doors.address], '7')
    const logoURI = 'https://example.com/doors.png'
    await importList('Doors', [{ address: doors.address, logoURI, extensions: { displayDecimals: 3 } }])
    const preview = await service.post('/transactions/preview', {
      ...{ network, from },
      unsigned_transaction: { to: doors.address, input: '0x' },
    })
    expect(preview.json.contract).toMatchObject({ type: 'nft', logo_url: logoURI, nft: { image_url: logoURI } })
    const [item] = (await get('/activity')).filter(({ type }: { type: string }) => type === 'receive_nft')
    expect(item.token).toMatchObject({ name: 'Doors', logo_url: logoURI, decimals: 0, display_decimals: 0 })
    const collection = await service.get('/nfts/collection-by-address', { network, contract_address: doors.address })
    expect(collection.json).toMatchObject({ image_url: logoURI })
  })
})

test('the network gives its coin and known tokens their logo and display decimals', async () => {
  await chain.rpc('anvil_setCode', [USDC, await chain.publicClient.getCode({ address: coin.address })])
  const said = { isContract: true, standard: 'erc20', name: 'USD Coin', symbol: 'USDC', decimals: 6 } as const
  await createFactsMemory(service.ctx).writeFacts({ network, sure: new Map([[USDC, said]]), unsure: new Map() })
  const usdc = { ...coin, address: getAddress(USDC) }
  await chain.write({ contract: usdc, functionName: 'mint', args: [wallet, 1_000_000n] })
  await insertReceived([USDC])
  for (const token of await shownEverywhere(usdc)) {
    expect(token).toMatchObject({
      symbol: 'USDC',
      logo_url: expect.stringContaining('trustwallet'),
      display_decimals: 2,
    })
  }
  const [ether] = await get('/tokens/balances')
  expect(ether).toMatchObject({ contract_address: 'ETH', logo_url: expect.stringContaining('/ethereum/info/') })
})

describe('logos and display decimals of many tokens', () => {
  const MANY = 100
  const addresses = Array.from({ length: MANY }, (_, at) => getAddress(toHex(0x10_0000 + at, { size: 20 })))

  /** Counts one request's statements about tokens; background work may make others. */
  const statementsOf = async (ask: () => Promise<unknown>): Promise<number> => {
    const pool = (service.ctx.db as unknown as { $client: Pool }).$client
    const query: (...args: unknown[]) => unknown = pool.query.bind(pool)
    let statements = 0
    const counting = (config: { readonly text: string }, ...rest: unknown[]) => {
      if (/contract_facts|listed_tokens|movements/.test(config.text)) statements += 1
      return query(config, ...rest)
    }
    pool.query = counting as unknown as Pool['query']
    try {
      await ask()
      return statements
    } finally {
      pool.query = query as Pool['query']
    }
  }

  beforeAll(async () => {
    const code = await chain.publicClient.getCode({ address: coin.address })
    await Promise.all(addresses.map((address) => chain.rpc('anvil_setCode', [address, code])))
    await sql`delete from movements`
    await insertReceived(addresses)
    await importList(
      'Many',
      addresses.map((address, at) => ({ address, logoURI: `https://example.com/${at}` })),
    )
  })

  longTest('need no more statements than those of one token, and one more to store new facts', async () => {
    const page = (size: number) => async () => {
      const { json } = await service.get('/activity', { network, wallet_address: wallet, page_size: String(size) })
      expect(new Set(json.map(({ token }: { token: { logo_url: string } }) => token.logo_url)).size).toBe(size)
    }
    const bundle = (size: number) => async () => {
      const unsigned_transactions = addresses.slice(0, size).map((address) => mint({ ...coin, address }))
      const { json } = await service.post('/transactions/preview-bundle', { network, from, unsigned_transactions })
      const logos = json.map((each: Awaited<ReturnType<typeof get>>) => each.simulation.asset_changes[0].token.logo_url)
      expect(new Set(logos).size).toBe(size)
    }
    const first = await statementsOf(page(MANY))
    const one = await statementsOf(page(1))
    expect(one).toBeGreaterThan(0)
    expect([first, await statementsOf(page(MANY))]).toEqual([one + 1, one])
    expect(await statementsOf(bundle(50))).toBe(await statementsOf(bundle(1)))
    expect(await statementsOf(() => get('/tokens/balances'))).toBe(4)
  })
})
