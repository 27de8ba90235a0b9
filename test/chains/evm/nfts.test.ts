import { expect, test } from 'bun:test'
import { encodeFunctionData, getAddress, type Hex, keccak256, stringToHex } from 'viem'
import type { Intent } from '../../../src/chains/chain.ts'
import { createEvmChain } from '../../../src/chains/evm/chain.ts'
import { provided } from '../../../src/chains/provided.ts'
import { evmNetworkRow } from '../../../src/platform/networks.ts'
import { fundedAccount, startChain, type TestChain } from '../../support/chains.ts'
import { shared } from '../../support/shared.ts'
import { startFakeNode, withoutIdentity } from './fake-node.ts'
import { createMemory } from './memory.ts'
import { deployOdd } from './odd-contracts.ts'

const row = evmNetworkRow({ network: 'Polygon', environment: 'testnet', devnet: true })
const rich = fundedAccount(0).address
const other = fundedAccount(1).address
const poor = getAddress('0x00000000000000000000000000000000000abcde')
const zero = '0x0000000000000000000000000000000000000000'
const uri = 'ipfs://bafy/1.json'

const node = await shared(startChain('Polygon'))
const chain = createEvmChain({ row, rpcUrl: node.rpcUrl, memory: createMemory() })

type Deployed = Awaited<ReturnType<TestChain['deploy']>>
const mint = (contract: Deployed, from: string = rich, recipient: string = other) =>
  chain.mintIntent({ contract: getAddress(contract.address), from, recipient, uri })
const sent = ({ to, input, value }: Intent) => node.send({ to: to as Hex, data: input, value })
const changesOf = async (intent: Intent) => (await chain.preview(rich, [intent]))[0]?.changes

test('finds the function by which a collection mints, with a URI if it takes one', async () => {
  const wizard = await node.deploy('WizardCollection', ['Wizards', 'WIZ', rich])
  const mintTo = await node.deploy('MintToCollection', ['MintTo', 'MTO', rich])
  const bare = await node.deploy('BareCollection', ['Bare', 'BAR', rich])
  const named = (contract: Deployed, functionName: string, args: readonly unknown[]): Intent => ({
    to: getAddress(contract.address),
    value: 0n,
    input: encodeFunctionData({ abi: contract.abi, functionName, args }),
  })
  expect(await mint(wizard)).toEqual(named(wizard, 'safeMint', [other, uri]))
  expect(await mint(mintTo)).toEqual(named(mintTo, 'mintTo', [other, uri]))
  expect(await mint(bare)).toEqual(named(bare, 'safeMint', [other]))
  const edition = await node.deploy('EditionCollection')
  expect(await mint(edition)).toEqual(named(edition, 'mintTo', [other, 2n ** 256n - 1n, uri, 1n]))
  expect((await sent(await mint(wizard))).status).toBe('success')
  expect(await chain.tokenUris([{ contract: getAddress(wizard.address), tokenId: 0n }])).toEqual([uri])
})

test('the id of an ERC-1155 token is the hash of its URI', async () => {
  const multi = await node.deploy('MultiToken', ['https://example.org/{id}.json', rich])
  const intent = await mint(multi)
  const tokenId = BigInt(keccak256(stringToHex(uri)))
  expect(await changesOf(intent)).toMatchObject([{ standard: 'erc1155', tokenId, from: zero, to: other, amount: 1n }])
  expect(await chain.tokenUris([{ contract: getAddress(multi.address), tokenId: 10n }])).toEqual([
    `https://example.org/${'a'.padStart(64, '0')}.json`,
  ])
})

test('chooses a unique token id if the collection asks for an id and a URI', async () => {
  const chosen = await node.deploy('ChosenIdCollection')
  const [first, second] = [await mint(chosen), await mint(chosen)]
  const [change] = (await changesOf(first)) ?? []
  expect(change).toMatchObject({ standard: 'erc721', from: zero, to: other })
  expect((await sent(second)).status).toBe('success')
  expect((await sent(first)).status).toBe('success')
  const tokenId = change?.tokenId ?? 0n
  expect(await chain.tokenUris([{ contract: getAddress(chosen.address), tokenId }])).toEqual([uri])
})

test('mints in our own collection', async () => {
  const creation = await provided(chain.collections, 'The chain creates no collections.').creation({
    ...{ name: 'Ours', symbol: 'OUR', baseUri: '', contractUri: 'https://example.org/c.json', owner: rich },
  })
  expect(creation).toMatchObject({ to: null, value: 0n })
  const hash = await node.walletClient.sendTransaction({ data: creation.input })
  const { contractAddress } = await node.receiptOf(hash)
  const contract = getAddress(contractAddress ?? zero)
  expect((await chain.facts([contract])).get(contract)).toMatchObject({
    standard: 'erc721',
    name: 'Ours',
    symbol: 'OUR',
  })
  const intent = await chain.mintIntent({ contract, from: rich, recipient: other, uri })
  expect((await sent(intent)).status).toBe('success')
  expect(await chain.tokenUris([{ contract, tokenId: 1n }])).toEqual([uri])
})

test('a wallet that may not mint is refused with the contract’s reason', async () => {
  const wizard = await node.deploy('WizardCollection', ['Wizards', 'WIZ', rich])
  await expect(mint(wizard, poor)).rejects.toMatchObject({
    code: 'mint_unauthorized',
    message: expect.stringContaining(`execution reverted: OwnableUnauthorizedAccount(account: ${poor})`),
  })
  const mintTo = await node.deploy('MintToCollection', ['MintTo', 'MTO', rich])
  await expect(mint(mintTo, poor)).rejects.toMatchObject({
    code: 'mint_unauthorized',
    message: expect.stringContaining(`AccessControlUnauthorizedAccount(account: ${poor}`),
  })
})

test('a mint that requires a payment is recognised because it succeeds with one, for rich and poor wallets', async () => {
  const paid = await node.deploy('PaidCollection', [''])
  for (const from of [rich, poor]) {
    await expect(mint(paid, from)).rejects.toMatchObject({
      code: 'mint_requires_value',
      message: expect.stringContaining('mint(address): execution reverted: custom error 0x'),
    })
  }
})

test('refuses a contract that mints nothing to the recipient', async () => {
  const faucet = await node.deploy('FaucetToken')
  const yes = await deployOdd(node, 'YesToAll')
  const token = await node.deploy('TestToken', ['Test', 'TST', 6])
  const failing = await deployOdd(node, 'Failing')
  for (const { address } of [yes, token, failing, faucet]) {
    const request = { contract: getAddress(address), from: rich, recipient: other, uri }
    await expect(chain.mintIntent(request)).rejects.toMatchObject({ code: 'mint_unsupported' })
  }
  await expect(chain.mintIntent({ contract: poor, from: rich, recipient: other, uri })).rejects.toMatchObject({
    code: 'mint_unsupported',
    message: expect.stringContaining('no contract'),
  })
})

test('tries all functions in one round trip', async () => {
  const wizard = await node.deploy('WizardCollection', ['Wizards', 'WIZ', rich])
  const counting = startFakeNode({ behind: node.rpcUrl })
  const counted = createEvmChain({ row, rpcUrl: counting.rpcUrl, memory: createMemory() })
  await counted.mintIntent({ contract: getAddress(wizard.address), from: rich, recipient: other, uri })
  counting.stop()
  const asked = withoutIdentity(counting.calls).map((methods) => [...new Set(methods)])
  expect(asked).toEqual([['eth_getCode'], ['eth_simulateV1']])
})

test('finds the same on a node that cannot simulate, and is not fooled by a contract that accepts any call', async () => {
  const old = startFakeNode({
    behind: node.rpcUrl,
    behaviour: ({ method }) =>
      method === 'eth_simulateV1' ? { error: { code: -32601, message: 'Method not found' } } : undefined,
  })
  const oldChain = createEvmChain({ row, rpcUrl: old.rpcUrl, memory: createMemory() })
  const request = (contract: { address: Hex }, from: string = rich) => ({
    ...{ contract: getAddress(contract.address), from, recipient: other, uri },
  })
  const bare = await node.deploy('BareCollection', ['Bare', 'BAR', rich])
  const wizard = await node.deploy('WizardCollection', ['Wizards', 'WIZ', rich])
  expect(await oldChain.mintIntent(request(bare))).toEqual(await mint(bare))
  expect(await oldChain.mintIntent(request(wizard))).toEqual(await mint(wizard))
  await expect(oldChain.mintIntent(request(wizard, poor))).rejects.toMatchObject({
    code: 'mint_unauthorized',
    message: expect.stringContaining('OwnableUnauthorizedAccount'),
  })
  const paid = await node.deploy('PaidCollection', [''])
  await expect(oldChain.mintIntent(request(paid, poor))).rejects.toMatchObject({ code: 'mint_requires_value' })
  for (const greedy of [await deployOdd(node, 'YesToAll'), await node.deploy('TipJar')]) {
    await expect(oldChain.mintIntent(request(greedy))).rejects.toMatchObject({ code: 'mint_unsupported' })
  }
  old.stop()
})

test('with a node that cannot override balances, the refusal only says that no function mints', async () => {
  const plain = startFakeNode({
    behind: node.rpcUrl,
    behaviour: ({ method, params }) => {
      if (method === 'eth_simulateV1') return { error: { code: -32601, message: 'Method not found' } }
      if (method === 'eth_call' && Array.isArray(params) && params.length > 2) {
        return { error: { code: -32602, message: 'too many arguments, want at most 2' } }
      }
      return undefined
    },
  })
  const plainChain = createEvmChain({ row, rpcUrl: plain.rpcUrl, memory: createMemory() })
  const paid = await node.deploy('PaidCollection', [''])
  const request = { contract: getAddress(paid.address), from: rich, recipient: other, uri }
  await expect(plainChain.mintIntent(request)).rejects.toMatchObject({ code: 'mint_unsupported' })
  plain.stop()
})

test('a failing node is not mistaken for a collection that does not mint', async () => {
  const busy = startFakeNode({
    behaviour: ({ method }) =>
      method === 'eth_getCode' ? { result: '0x00' } : { error: { code: -32005, message: 'rate limit exceeded' } },
  })
  const busyChain = createEvmChain({ row, rpcUrl: busy.rpcUrl, memory: createMemory() })
  const request = { contract: poor, from: rich, recipient: other, uri }
  await expect(busyChain.mintIntent(request)).rejects.toMatchObject({ code: 'node_unavailable' })
  busy.stop()
})

test('moves a token by the safe transfer of its standard', async () => {
  const wizard = await node.deploy('WizardCollection', ['Wizards', 'WIZ', rich])
  await sent(await mint(wizard, rich, rich))
  const request = { contract: getAddress(wizard.address), from: rich, recipient: other, tokenId: 0n, amount: 1n }
  const intent = await chain.transferNftIntent(request)
  expect(intent.input.slice(0, 10)).toBe('0x42842e0e')
  expect(await changesOf(intent)).toMatchObject([{ standard: 'erc721', tokenId: 0n, from: rich, to: other }])
  const multi = await node.deploy('MultiToken', ['', rich])
  await node.write({ contract: multi, functionName: 'mint', args: [rich, 7n, 5n, '0x'] })
  const three = await chain.transferNftIntent({
    ...request,
    contract: getAddress(multi.address),
    tokenId: 7n,
    amount: 3n,
  })
  expect(three.input.slice(0, 10)).toBe('0xf242432a')
  expect(await changesOf(three)).toMatchObject([{ standard: 'erc1155', tokenId: 7n, amount: 3n }])
  await expect(chain.transferNftIntent({ ...request, amount: 2n })).rejects.toMatchObject({ code: 'invalid_input' })
})

test('refuses to move tokens of a contract that is no collection', async () => {
  const token = await node.deploy('TestToken', ['Test', 'TST', 6])
  for (const contract of [getAddress(token.address), poor]) {
    const request = { contract, from: rich, recipient: other, tokenId: 0n, amount: 1n }
    await expect(chain.transferNftIntent(request)).rejects.toMatchObject({
      code: 'invalid_input',
      message: expect.stringContaining('contract_address'),
    })
  }
})

test('a token without a URI has none, and does not affect the others', async () => {
  const wizard = await node.deploy('WizardCollection', ['Wizards', 'WIZ', rich])
  await sent(await mint(wizard))
  const contract = getAddress(wizard.address)
  const hostile = getAddress((await deployOdd(node, 'YesToAll')).address)
  expect(
    await chain.tokenUris([
      { contract, tokenId: 99n },
      { contract, tokenId: 0n },
      { contract: poor, tokenId: 0n },
      { contract: hostile, tokenId: 0n },
    ]),
  ).toEqual([null, uri, null, null])
  expect(await chain.tokenUris([])).toEqual([])
})
