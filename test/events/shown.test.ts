// What an event shows of its cause is what the API answers about it.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { randomBytes, randomUUID } from 'node:crypto'
import postgres from 'postgres'
import { getAddress } from 'viem'
import { openDb } from '../../db/client.ts'
import { readEvents } from '../../db/queries/events.ts'
import { importTokenList } from '../../src/assets/tokens/lists.ts'
import { shownEvents } from '../../src/events/shown.ts'
import { commonService } from '../support/common-service.ts'
import type { Service } from '../support/service.ts'

const network = 'Ethereum'

let service: Service
let owner: postgres.Sql
let wallet: string

beforeAll(async () => {
  // Nobody listens there: events ask no node.
  service = await commonService()
  owner = postgres(service.database.url, { max: 2, onnotice: () => {} })
  wallet = (await service.newWallet({ network })).address
})

afterAll(async () => {
  await owner.end()
})

const newContract = () => getAddress(`0x${randomBytes(20).toString('hex')}`)

/** A contract that the indexer or an API has read. */
const readContract = async (standard: string, decimals: number): Promise<string> => {
  const address = newContract()
  await owner`insert into contract_facts (network, address, standard, name, symbol, decimals)
    values (${network}, ${address}, ${standard}, 'Coin', 'COIN', ${decimals})`
  return address
}

type Moved = {
  readonly contract?: string
  readonly tokenId?: string
  readonly amount: string
  readonly direction?: string
  readonly initiatedBy?: string | null
}

/** A movement, as the indexer writes it. @returns the data of its event. */
const move = async ({ contract, tokenId, amount, direction = 'in', initiatedBy = null }: Moved) => {
  const { next } = (await service.get('/events', { limit: '500' })).json
  await owner`
    insert into movements (id, network, address, direction, counterparty, standard, contract, token_id, amount, block_number,
      transaction_hash, log_index, item_index, at, initiated_by)
    values (${randomUUID()}, ${network}, ${wallet}, ${direction}, ${newContract()}, 'erc20', ${contract ?? null}, ${tokenId ?? null},
      ${amount}, 1, ${`0x${randomBytes(32).toString('hex')}`}, 0, 0, now(), ${initiatedBy})`
  const { events } = (await service.get('/events', { after: next, types: 'activity.created' })).json
  expect(events).toHaveLength(1)
  return events[0].data
}

const itemsOf = async () => (await service.get('/activity', { network, wallet_address: wallet })).json
const itemOf = async (uuid: string) => (await itemsOf()).find((item: { uuid: string }) => item.uuid === uuid)

describe('activity.created', () => {
  test('has the item of the activity, of coins, tokens and NFTs, in and out', async () => {
    const listed = await readContract('erc20', 6)
    const tokens = [
      { chainId: 11155111, address: listed, name: 'C', symbol: 'C', decimals: 6, logoURI: 'https://c.example/l.png' },
    ]
    const text = JSON.stringify({ name: 'List', version: { major: 1, minor: 0, patch: 0 }, tokens })
    await importTokenList(service.ctx, { text, actor: 'operator' })
    const moves: readonly Moved[] = [
      { amount: '1500000000000000000', initiatedBy: wallet },
      { amount: '1234500', contract: listed, direction: 'out' },
      { amount: '7', contract: await readContract('erc20', 0) },
      { amount: '1', contract: await readContract('erc721', 18), tokenId: '9' },
      { amount: '3', contract: await readContract('erc1155', 0), tokenId: '0', direction: 'out' },
    ]
    const shown = []
    for (const each of moves) {
      const data = await move(each)
      expect(data).toEqual(await itemOf(data.uuid))
      expect(data.initiated_by).toBe(each.initiatedBy ?? undefined)
      shown.push([data.type, data.metadata.amount, data.token.logo_url])
    }
    expect(shown).toEqual([
      ['receive_token', '1.5', expect.any(String)],
      ['send_token', '1.2345', 'https://c.example/l.png'],
      ['receive_token', '7', ''],
      ['receive_nft', '1', ''],
      ['send_nft', '3', ''],
    ])
  })

  test('of a contract that could not be read yet is in base units, and later as the contract says', async () => {
    const contract = newContract()
    const { uuid, ...first } = await move({ amount: '1234500', contract })
    expect(first).toMatchObject({
      metadata: { amount: '1234500' },
      token: { name: '', symbol: '', decimals: 0, decimals_unknown: true, contract_address: contract },
    })
    await owner`insert into contract_facts (network, address, standard, name, symbol, decimals)
      values (${network}, ${contract}, 'erc20', 'Coin', 'COIN', 6)`
    const { events } = (await service.get('/events', { types: 'activity.created', limit: '500' })).json
    const later = events.find(({ data }: { data: { uuid: string } }) => data.uuid === uuid)
    expect(later.data).toMatchObject({ metadata: { amount: '1.2345' }, token: { symbol: 'COIN', decimals: 6 } })
    expect(later.data.token).not.toHaveProperty('decimals_unknown')
    expect(later.data).toEqual(await itemOf(uuid))
  })

  test('is shown by a worker as by an API', async () => {
    await move({ amount: '1', contract: await readContract('erc20', 2) })
    const { events } = (await service.get('/events', { limit: '500' })).json
    const { projectId } = service.project
    const worker = openDb({ url: service.database.workerUrl, applicationName: 'test', maxConnections: 1 })
    const { rows } = await readEvents(worker, { projectId, after: 0n, types: null, limit: 500 })
    expect(await shownEvents({ ...service.ctx, db: worker }, rows)).toEqual(events)
    await worker.close({ timeoutSeconds: 5 })
  })
})
