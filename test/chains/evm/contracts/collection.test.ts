import { beforeEach, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { type Abi, type Address, encodeDeployData, encodeFunctionData, parseEventLogs } from 'viem'
import { createEvmChain } from '../../../../src/chains/evm/chain.ts'
import { buildContracts } from '../../../../src/chains/evm/contracts/build.ts'
import { collectionAbi as abi, collectionBytecode } from '../../../../src/chains/evm/contracts/collection.generated.ts'
import { evmNetworkRow } from '../../../../src/platform/networks.ts'
import { fundedAccount, startChain } from '../../../support/chains.ts'
import { longTest } from '../../../support/long.ts'
import { shared } from '../../../support/shared.ts'
import { createMemory } from '../memory.ts'

const FOLDER = new URL('../../../../src/chains/evm/contracts/', import.meta.url)
const owner = fundedAccount(0)
const stranger = fundedAccount(1)
let address: Address

// Of the network with the least gas for a transaction.
const chain = await shared(startChain('Ethereum'))
const row = evmNetworkRow({ network: 'Ethereum', environment: 'testnet', devnet: true })

const deploy = async ({
  baseUri = '',
  contractUri = 'ipfs://collection',
  royalty = 0n,
  isSoulbound = false,
} = {}): Promise<Address> => {
  const args = ['Doors', 'DOOR', baseUri, contractUri, owner.address, stranger.address, royalty, isSoulbound] as const
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

longTest('the committed builds of all contracts are made from their sources', () => {
  const files = Object.entries(buildContracts())
  expect(files.length).toBe(4)
  for (const [file, built] of files) expect(built).toBe(readFileSync(new URL(file, FOLDER), 'utf8'))
})

test('has the name, symbol, owner and metadata given to its constructor', async () => {
  expect(await read('name')).toBe('Doors')
  expect(await read('symbol')).toBe('DOOR')
  expect(await read('owner')).toBe(owner.address)
  expect(await read('contractURI')).toBe('ipfs://collection')
})

test('declares ERC-165, ERC-721 with metadata, ERC-2981, ERC-4906, ERC-5192 and batches', async () => {
  for (const id of ['0x01ffc9a7', '0x80ac58cd', '0x5b5e139f', '0x2a55205a', '0x49064906', '0xb45a3c0e', '0x93fe996c']) {
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

const DIGESTS = [`0x${'ab'.repeat(32)}`, `0x${'00'.repeat(32)}`, `0x0${'c'.repeat(63)}`] as const

test('a batch has the next ids, and URIs of digests in the form of their batch', async () => {
  address = await deploy({ baseUri: 'https://example.org/t/' })
  await write('safeMint', [stranger.address, 'ipfs://own'])
  const three = [stranger.address, owner.address, stranger.address]
  const form = ['https://example.com/m/', '.json'] as const
  expect(await read('totalMinted')).toBe(1n)
  await write('safeMintBatch', [three, DIGESTS, ...form])
  await write('safeMintBatch', [[owner.address], [DIGESTS[0]], ...form])
  await write('safeMintBatch', [[owner.address], [DIGESTS[0]], 'ipfs://f01551220', ''])
  await write('safeMint', [stranger.address, ''])
  const uris = await Promise.all([1n, 2n, 3n, 4n, 5n, 6n, 7n].map((id) => read('tokenURI', [id])))
  expect(uris).toEqual([
    'ipfs://own',
    `https://example.com/m/${'ab'.repeat(32)}.json`,
    'https://example.org/t/3',
    `https://example.com/m/0${'c'.repeat(63)}.json`,
    `https://example.com/m/${'ab'.repeat(32)}.json`,
    `ipfs://f01551220${'ab'.repeat(32)}`,
    'https://example.org/t/7',
  ])
  expect([await read('ownerOf', [2n]), await read('ownerOf', [3n])]).toEqual([stranger.address, owner.address])
  await write('setTokenURI', [2n, 'ipfs://later'])
  expect(await read('tokenURI', [2n])).toBe('ipfs://later')
  await expect(read('tokenURI', [8n])).rejects.toThrow('ERC721NonexistentToken')
})

test('a batch is minted whole or not at all, and by the owner alone', async () => {
  const two = [stranger.address, address]
  await expect(write('safeMintBatch', [two, DIGESTS.slice(0, 2), 'a', 'b'])).rejects.toThrow('ERC721InvalidReceiver')
  await expect(write('safeMintBatch', [two, DIGESTS, 'a', 'b'])).rejects.toThrow('BatchLengthMismatch')
  const one = [[stranger.address], [DIGESTS[0]], 'a', 'b']
  await expect(write('safeMintBatch', one, stranger)).rejects.toThrow('OwnableUnauthorizedAccount')
  expect(await read('totalMinted')).toBe(0n)
})

test('200 mints with metadata are sent with the gas that one transaction may have since EIP-7825', async () => {
  const recipients = Array.from({ length: 200 }, (_, index) => `0x${(index + 1).toString(16).padStart(40, 'a')}`)
  const args = [recipients, recipients.map(() => DIGESTS[0]), 'https://a/', '.json']
  const data = encodeFunctionData({ abi: abi as Abi, functionName: 'safeMintBatch', args })
  const service = createEvmChain({ row, rpcUrl: chain.rpcUrl, memory: createMemory() })
  const intent = { to: address, value: 0n, input: data }
  const { gasLimit: gas } = (await service.prepare(intent, owner.address, { pending: async () => [] })).unsigned
  expect(gas).toBeLessThanOrEqual(2n ** 24n)
  // The chain refuses a higher one.
  const hash = await chain.walletClient.sendTransaction({ account: owner, to: address, data, gas: gas ?? 0n })
  expect((await chain.receiptOf(hash)).status).toBe('success')
})

test('a royalty can be set at creation', async () => {
  address = await deploy({ royalty: 250n })
  expect(await read('royaltyInfo', [1n, 10_000n])).toEqual([stranger.address, 250n])
  await expect(deploy({ royalty: 10_001n })).rejects.toThrow()
})

test('tokens of a soulbound collection stay where they are', async () => {
  address = await deploy({ isSoulbound: true })
  const { logs } = await write('safeMint', [owner.address, ''])
  expect(parseEventLogs({ abi, logs }).map(({ eventName }) => eventName)).toEqual(['Transfer', 'Locked'])
  expect(await read('locked', [1n])).toBe(true)
  await expect(read('locked', [2n])).rejects.toThrow('ERC721NonexistentToken')
  for (const functionName of ['transferFrom', 'safeTransferFrom']) {
    await expect(write(functionName, [owner.address, stranger.address, 1n])).rejects.toThrow('Soulbound')
  }
  address = await deploy()
  await write('safeMint', [owner.address, ''])
  expect(await read('locked', [1n])).toBe(false)
})
