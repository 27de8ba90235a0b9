import { beforeEach, expect, test } from 'bun:test'
import { type Abi, type Address, encodeDeployData, encodeFunctionData, parseEventLogs } from 'viem'
import { createEvmChain } from '../../../../src/chains/evm/chain.ts'
import { editionsAbi as abi, editionsBytecode } from '../../../../src/chains/evm/contracts/editions.generated.ts'
import { evmNetworkRow } from '../../../../src/platform/networks.ts'
import { fundedAccount, startChain } from '../../../support/chains.ts'
import { shared } from '../../../support/shared.ts'
import { createMemory } from '../memory.ts'

const [owner, stranger] = [fundedAccount(0), fundedAccount(1)]
const NEW = 2n ** 256n - 1n
let address: Address

// Of the network with the least gas for a transaction.
const chain = await shared(startChain('Ethereum'))
const row = evmNetworkRow({ network: 'Ethereum', environment: 'testnet', devnet: true })

const deploy = async ({ baseUri = '', royalty = 0n, isSoulbound = false } = {}): Promise<Address> => {
  const args = [
    'Prints',
    'PRT',
    baseUri,
    'ipfs://about',
    owner.address,
    stranger.address,
    royalty,
    isSoulbound,
  ] as const
  const data = encodeDeployData({ abi, bytecode: editionsBytecode, args })
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

test('has the name, symbol, owner, royalty and metadata given to its constructor', async () => {
  address = await deploy({ royalty: 250n })
  expect(await Promise.all(['name', 'symbol', 'owner', 'contractURI'].map((name) => read(name)))).toEqual([
    'Prints',
    'PRT',
    owner.address,
    'ipfs://about',
  ])
  expect(await read('royaltyInfo', [1n, 10_000n])).toEqual([stranger.address, 250n])
})

test('declares ERC-165, ERC-1155 with metadata, ERC-2981 and batches', async () => {
  for (const id of ['0x01ffc9a7', '0xd9b67a26', '0x0e89341c', '0x2a55205a', '0x206a6548']) {
    expect([id, await read('supportsInterface', [id])]).toEqual([id, true])
  }
  expect(await read('supportsInterface', ['0xffffffff'])).toBe(false)
})

test('new tokens have the next ids, and further pieces the same id and URI', async () => {
  address = await deploy({ baseUri: 'https://example.org/t/' })
  await write('mintTo', [stranger.address, NEW, 'ipfs://own', 5n])
  await write('mintTo', [stranger.address, NEW, '', 1n])
  await write('mintTo', [owner.address, 1n, '', 2n])
  expect(await read('totalTokens')).toBe(2n)
  expect([await read('uri', [1n]), await read('uri', [2n])]).toEqual(['ipfs://own', 'https://example.org/t/2'])
  const held = await read('balanceOfBatch', [
    [stranger.address, owner.address, stranger.address],
    [1n, 1n, 2n],
  ])
  expect(held).toEqual([5n, 2n, 1n])
  await write('setTokenURI', [1n, ''])
  expect(await read('uri', [1n])).toBe('https://example.org/t/1')
})

test('refuses unknown tokens, and a URI for an existing one', async () => {
  await write('mintTo', [owner.address, NEW, 'ipfs://own', 1n])
  for (const id of [0n, 2n, NEW - 1n]) {
    await expect(write('mintTo', [owner.address, id, '', 1n])).rejects.toThrow('UnknownToken')
    await expect(read('uri', [id])).rejects.toThrow('UnknownToken')
  }
  await expect(write('mintTo', [owner.address, 1n, 'ipfs://other', 1n])).rejects.toThrow('TokenHasUri')
  await expect(write('mintTo', [address, NEW, '', 1n])).rejects.toThrow('ERC1155InvalidReceiver')
})

/** Every digit, in different places of both halves. */
const DIGEST = `0x${'0123456789abcdef'.repeat(2)}${'fedcba9876543210'.repeat(2)}`
const NONE = `0x${'00'.repeat(32)}`
const each = (to: Address, tokenId: bigint, amount: bigint, digest = NONE) => ({ to, tokenId, amount, digest })

test('a batch makes new tokens with the URIs of their digests, and further pieces of others', async () => {
  address = await deploy({ baseUri: 'https://example.org/t/' })
  await write('mintTo', [owner.address, NEW, 'ipfs://own', 1n])
  const form = ['https://example.com/m/', '.json'] as const
  const mints = [
    each(stranger.address, NEW, 5n, DIGEST),
    each(owner.address, 1n, 2n),
    each(owner.address, NEW, 1n),
    each(owner.address, 2n, 3n),
  ]
  const { logs } = await write('mintToBatch', [mints, ...form])
  const uris = parseEventLogs({ abi, logs, eventName: 'URI' }).map(({ args }) => [args.id, args.value])
  const ofDigest = `https://example.com/m/${DIGEST.slice(2)}.json`
  expect(uris).toEqual([[2n, ofDigest]])
  await write('mintToBatch', [[each(owner.address, NEW, 1n, DIGEST)], 'ipfs://f01551220', ''])
  expect(await Promise.all([1n, 2n, 3n, 4n].map((id) => read('uri', [id])))).toEqual([
    'ipfs://own',
    ofDigest,
    'https://example.org/t/3',
    `ipfs://f01551220${DIGEST.slice(2)}`,
  ])
  const all = [owner.address, stranger.address, owner.address, owner.address]
  expect(await read('balanceOfBatch', [all, [1n, 2n, 2n, 3n]])).toEqual([3n, 5n, 3n, 1n])
  await write('setTokenURI', [2n, 'ipfs://later'])
  expect(await read('uri', [2n])).toBe('ipfs://later')
})

test('a batch is minted whole or not at all', async () => {
  for (const [last, error] of [
    [each(address, NEW, 1n), 'ERC1155InvalidReceiver'],
    [each(owner.address, 9n, 1n), 'UnknownToken'],
    [each(owner.address, 1n, 1n, DIGEST), 'TokenHasUri'],
  ] as const) {
    await expect(write('mintToBatch', [[each(owner.address, NEW, 1n), last], 'a', 'b'])).rejects.toThrow(error)
  }
  expect(await read('totalTokens')).toBe(0n)
})

test('200 new tokens with metadata are sent with the gas that one transaction may have since EIP-7825', async () => {
  const mints = Array.from({ length: 200 }, (_, index) =>
    each(`0x${(index + 1).toString(16).padStart(40, 'a')}`, NEW, 1n, DIGEST),
  )
  const args = [mints, 'https://wallets.example.org/custody/metadata/', '.json']
  const data = encodeFunctionData({ abi: abi as Abi, functionName: 'mintToBatch', args })
  const service = createEvmChain({ row, rpcUrl: chain.rpcUrl, memory: createMemory() })
  const intent = { to: address, value: 0n, input: data }
  const { gasLimit: gas } = (await service.prepare(intent, owner.address, { pending: async () => [] })).unsigned
  expect(gas).toBeLessThanOrEqual(2n ** 24n)
  // The chain refuses a higher one.
  const hash = await chain.walletClient.sendTransaction({ account: owner, to: address, data, gas: gas ?? 0n })
  expect((await chain.receiptOf(hash)).status).toBe('success')
})

test('only the owner mints or changes anything', async () => {
  const calls: readonly (readonly [string, readonly unknown[]])[] = [
    ['mintTo', [stranger.address, NEW, '', 1n]],
    ['mintToBatch', [[], '', '']],
    ['setTokenURI', [1n, 'ipfs://x']],
    ['setContractURI', ['ipfs://x']],
    ['setDefaultRoyalty', [stranger.address, 1n]],
    ['deleteDefaultRoyalty', []],
  ]
  for (const [functionName, args] of calls) {
    await expect(write(functionName, args, stranger)).rejects.toThrow('OwnableUnauthorizedAccount')
  }
})

test('pieces of a soulbound collection stay where they are', async () => {
  address = await deploy({ isSoulbound: true })
  await write('mintTo', [owner.address, NEW, '', 2n])
  const [from, to] = [owner.address, stranger.address]
  await expect(write('safeTransferFrom', [from, to, 1n, 1n, '0x'])).rejects.toThrow('Soulbound')
  await expect(write('safeBatchTransferFrom', [from, to, [1n], [1n], '0x'])).rejects.toThrow('Soulbound')
})
