import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { type Address, encodeDeployData, parseEventLogs } from 'viem'
import { buildContracts } from '../../../../src/chains/evm/contracts/build.ts'
import { collectionAbi as abi, collectionBytecode } from '../../../../src/chains/evm/contracts/collection.generated.ts'
import { fundedAccount, startChain, type TestChain } from '../../../support/chains.ts'

const FOLDER = new URL('../../../../src/chains/evm/contracts/', import.meta.url)
const owner = fundedAccount(0)
const stranger = fundedAccount(1)
let chain: TestChain
let address: Address

beforeAll(async () => {
  chain = await startChain('Polygon')
})

afterAll(() => chain.stop())

const deploy = async ({ baseUri = '', contractUri = 'ipfs://collection' } = {}): Promise<Address> => {
  const args = ['Doors', 'DOOR', baseUri, contractUri, owner.address] as const
  // Sent by another account: the argument decides who owns the collection.
  const data = encodeDeployData({ abi, bytecode: collectionBytecode, args })
  const receipt = await chain.receiptOf(await chain.walletClient.sendTransaction({ account: stranger, data }))
  if (!receipt.contractAddress) throw new Error('The collection was not deployed.')
  return receipt.contractAddress
}

beforeEach(async () => {
  address = await deploy()
})

const read = (functionName: string, args: readonly unknown[] = []): Promise<unknown> =>
  chain.publicClient.readContract({ address, abi: abi as never, functionName, args })

const write = (functionName: string, args: readonly unknown[], account = owner) =>
  chain.write({ contract: { address, abi }, functionName, args, account })

test('the committed builds of all contracts are made from their sources', () => {
  const files = Object.entries(buildContracts())
  expect(files.length).toBe(3)
  for (const [file, built] of files) expect(built).toBe(readFileSync(new URL(file, FOLDER), 'utf8'))
  const { status } = spawnSync(process.execPath, [fileURLToPath(new URL('build.ts', FOLDER)), '--check'])
  expect(status).toBe(0)
})

test('has the name, symbol, owner and metadata given to its constructor', async () => {
  expect(await read('name')).toBe('Doors')
  expect(await read('symbol')).toBe('DOOR')
  expect(await read('owner')).toBe(owner.address)
  expect(await read('contractURI')).toBe('ipfs://collection')
})

test('declares ERC-165, ERC-721 with metadata, ERC-2981 and ERC-4906', async () => {
  for (const id of ['0x01ffc9a7', '0x80ac58cd', '0x5b5e139f', '0x2a55205a', '0x49064906']) {
    expect([id, await read('supportsInterface', [id])]).toEqual([id, true])
  }
  expect(await read('supportsInterface', ['0xffffffff'])).toBe(false)
})

test('token ids count up from 1', async () => {
  await write('safeMint', [stranger.address, ''])
  await write('safeMint', [stranger.address, ''])
  expect(await read('ownerOf', [1n])).toBe(stranger.address)
  expect(await read('ownerOf', [2n])).toBe(stranger.address)
  expect(await read('totalMinted')).toBe(2n)
  await expect(read('ownerOf', [0n])).rejects.toThrow('ERC721NonexistentToken')
})

test('returns a token’s own URI unchanged, even with a base URI', async () => {
  address = await deploy({ baseUri: 'https://example.org/t/' })
  await write('safeMint', [stranger.address, 'ipfs://own'])
  await write('safeMint', [stranger.address, ''])
  expect(await read('tokenURI', [1n])).toBe('ipfs://own')
  expect(await read('tokenURI', [2n])).toBe('https://example.org/t/2')
  await write('setBaseURI', [''])
  expect(await read('tokenURI', [1n])).toBe('ipfs://own')
  expect(await read('tokenURI', [2n])).toBe('')
  await expect(read('tokenURI', [3n])).rejects.toThrow('ERC721NonexistentToken')
})

test('a change of metadata emits the events of ERC-4906 and ERC-7572', async () => {
  const eventsOf = async (functionName: string, args: readonly unknown[]) => {
    const { logs } = await write(functionName, args)
    return parseEventLogs({ abi, logs }).map(({ eventName, args: values }) => [eventName, values])
  }
  expect(await eventsOf('setBaseURI', ['https://example.org/'])).toEqual([])
  await write('safeMint', [stranger.address, ''])
  await write('safeMint', [stranger.address, ''])
  const range = { _fromTokenId: 1n, _toTokenId: 2n }
  expect(await eventsOf('setBaseURI', ['https://example.org/'])).toEqual([['BatchMetadataUpdate', range]])
  expect(await eventsOf('setTokenURI', [2n, 'ipfs://two'])).toEqual([['MetadataUpdate', { _tokenId: 2n }]])
  expect((await eventsOf('setContractURI', ['ipfs://other']))[0]?.[0]).toBe('ContractURIUpdated')
  expect(await read('tokenURI', [2n])).toBe('ipfs://two')
  expect(await read('contractURI')).toBe('ipfs://other')
})

test('royalties are zero at first, and can be set by the owner', async () => {
  const nobody = '0x0000000000000000000000000000000000000000'
  expect(await read('royaltyInfo', [1n, 10_000n])).toEqual([nobody, 0n])
  await write('setDefaultRoyalty', [stranger.address, 250n])
  expect(await read('royaltyInfo', [1n, 10_000n])).toEqual([stranger.address, 250n])
  await write('deleteDefaultRoyalty', [])
  expect(await read('royaltyInfo', [1n, 10_000n])).toEqual([nobody, 0n])
})

test('only the owner mints or changes anything', async () => {
  const calls: readonly (readonly [string, readonly unknown[]])[] = [
    ['safeMint', [stranger.address, '']],
    ['setTokenURI', [1n, 'ipfs://x']],
    ['setBaseURI', ['ipfs://x']],
    ['setContractURI', ['ipfs://x']],
    ['setDefaultRoyalty', [stranger.address, 1n]],
    ['deleteDefaultRoyalty', []],
  ]
  for (const [functionName, args] of calls) {
    await expect(write(functionName, args, stranger)).rejects.toThrow('OwnableUnauthorizedAccount')
  }
})

test('refuses to mint to a contract that does not accept tokens', async () => {
  await expect(write('safeMint', [address, ''])).rejects.toThrow('ERC721InvalidReceiver')
})
