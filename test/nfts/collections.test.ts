import { afterAll, beforeAll, expect, test } from 'bun:test'
import { createProject } from '../../src/projects/create.ts'
import { fundedAccount, startChain, type TestChain } from '../support/chains.ts'
import { type Service, startService } from '../support/service.ts'

let chain: TestChain
let service: Service

beforeAll(async () => {
  chain = await startChain('Ethereum')
  service = await startService({ rpcUrls: { Ethereum: chain.rpcUrl } })
  service.startWorker()
})
afterAll(async () => {
  await service?.close()
  await chain?.stop()
})

const collections = (wallet: string) =>
  service.get('/nfts/collections', { network: 'Ethereum', wallet_address: wallet })
const at = (query: Record<string, string>, who: Pick<Service, 'get'> = service) =>
  who.get('/nfts/collection-by-address', query)

test('a collection is listed for the wallet that created it, and found by its address', async () => {
  const { address } = await service.newWallet({ network: 'Ethereum' })
  await chain.fund(address)
  expect((await collections(address)).json).toEqual([])
  const secret = { developer_secret: 'testnet-secret' }
  const wanted = { network: 'Ethereum', name: 'Doors', symbol: 'DOOR', image_url: 'https://example.com/d.png' }
  const made = await service.post('/nfts/collections', { ...wanted, from: address, ...secret })
  const settled = await service.settled(made.json.transaction_id)
  expect(settled.json.status).toBe('success')
  const contract_address = settled.json.contract_address
  expect((await collections(address.toLowerCase())).json).toEqual([{ ...wanted, contract_address }])
  expect((await at({ contract_address })).json).toEqual({ ...wanted, contract_address })
  expect((await at({ contract_address, network: 'Ethereum' })).json).toEqual({ ...wanted, contract_address })

  // Of another project it is a collection of the chain's, and no more.
  const stranger = service.as(await createProject(service.ctx, { name: 'Other', actor: 'operator' }))
  expect((await at({ contract_address }, stranger)).status).toBe(404)
  const seen = await at({ contract_address, network: 'Ethereum' }, stranger)
  expect(seen.json).toEqual({ ...wanted, contract_address, image_url: '' })
  const foreign = await stranger.get('/nfts/collections', { network: 'Ethereum', wallet_address: address })
  expect(foreign.json.code).toBe('wallet_forbidden')
}, 60_000)

test('what is no collection is not found', async () => {
  const contract_address = fundedAccount(1).address
  for (const query of [{ contract_address }, { contract_address, network: 'Ethereum' }]) {
    const { status, json } = await at(query)
    expect({ status, code: json.code }).toEqual({ status: 404, code: 'not_found' })
  }
  expect((await at({ contract_address: '0x12' })).json.code).toBe('address_invalid')
  expect((await at({ contract_address, network: 'Vara' })).status).toBe(501)
})
