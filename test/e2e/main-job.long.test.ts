// The main job with real parts: a chain for each EVM network, PostgreSQL, the API over HTTP, and a worker process.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import { encodeFunctionData, getAddress, parseEther } from 'viem'
import { EVM_NETWORKS, type EvmNetwork } from '../../src/platform/networks.ts'
import { fundedAccount, startChain } from '../support/chains.ts'
import { type Service, startService } from '../support/service.ts'

type Chain = Awaited<ReturnType<typeof startChain>>

const SECRET = 'testnet-secret'
const ZERO = '0x0000000000000000000000000000000000000000'
const chains = {} as Record<EvmNetwork, Chain>
let service: Service

beforeAll(async () => {
  const started = await Promise.all(EVM_NETWORKS.map(async (network) => [network, await startChain(network)] as const))
  for (const [network, chain] of started) chains[network] = chain
  service = await startService({
    rpcUrls: Object.fromEntries(EVM_NETWORKS.map((network) => [network, chains[network].rpcUrl])),
  })
  service.startWorker()
})

afterAll(async () => {
  await service.close()
  await Promise.all(Object.values(chains).map((chain) => chain.stop()))
})

const projectWallet = async (network: EvmNetwork) => {
  const { projectId } = service.project
  const found = await service.get('/wallets/get-by-owner-id', { network, ownerID: projectId })
  await chains[network].fund(found.json.address)
  return found.json.address as `0x${string}`
}

/** The activity of an address, once it has the expected number of items. */
const activity = async (network: EvmNetwork, address: string, count: number) => {
  for (let tries = 0; ; tries += 1) {
    const answer = await service.get('/activity', { network, wallet_address: address })
    if (answer.json.length >= count || tries > 200) return answer.json
    await Bun.sleep(50)
  }
}

const balanceOf = (chain: Chain, address: `0x${string}`) => chain.publicClient.getBalance({ address })

describe('wallets', () => {
  test('one owner has the same address on all EVM networks, and other owners have others', async () => {
    const ownerId = randomUUID()
    const made = await Promise.all(
      EVM_NETWORKS.map((network) => service.newWallet({ network, ownerId, pin: '493817' })),
    )
    expect(new Set(made.map((wallet) => wallet.address)).size).toBe(1)
    expect(new Set(made.map((wallet) => wallet.id)).size).toBe(EVM_NETWORKS.length)
    expect((await service.newWallet({ network: 'Ethereum' })).address).not.toBe(made[0]?.address)
  })
})

describe('sign', () => {
  test('a raw transaction is mined when anybody sends it, from the wallet that signed it', async () => {
    for (const network of EVM_NETWORKS) {
      const chain = chains[network]
      const wallet = await service.newWallet({ network })
      await chain.fund(wallet.address)
      const signed = await service.post('/transactions/sign', {
        signer_wallet_address: wallet.address,
        unsigned_transaction: { to: fundedAccount(5).address, value: '12345' },
        developer_secret: SECRET,
      })
      expect(signed.status).toBe(200)
      expect(signed.headers.get('content-type')).toContain('application/json')
      const before = await balanceOf(chain, fundedAccount(5).address)
      const hash = (await chain.rpc('eth_sendRawTransaction', [signed.json])) as `0x${string}`
      const receipt = await chain.publicClient.waitForTransactionReceipt({ hash })
      expect(receipt).toMatchObject({ status: 'success', from: wallet.address.toLowerCase() })
      expect((await balanceOf(chain, fundedAccount(5).address)) - before).toBe(12_345n)
      const status = await service.get('/transactions/status-by-hash', { network, transaction_hash: hash })
      expect(status.json).toEqual({ transaction_hash: hash, network, status: 'success', contract_address: null })
    }
  })

  test('a creation is signed without a destination, and its address is in the status of its hash', async () => {
    const chain = chains.Polygon
    const from = await projectWallet('Polygon')
    const signed = await service.post('/transactions/sign', {
      network: 'Polygon',
      signer_wallet_address: from,
      // Returns one byte of code: PUSH1 01 PUSH1 00 MSTORE8 PUSH1 01 PUSH1 00 RETURN.
      unsigned_transaction: { input: '0x600160005360016000f3' },
      developer_secret: SECRET,
    })
    const hash = (await chain.rpc('eth_sendRawTransaction', [signed.json])) as `0x${string}`
    const { contractAddress } = await chain.publicClient.waitForTransactionReceipt({ hash })
    const status = await service.get('/transactions/status-by-hash', { network: 'Polygon', transaction_hash: hash })
    expect(status.json.contract_address).toBe(getAddress(contractAddress ?? ZERO))
  })
})

describe('sign and send', () => {
  test('goes from submitted to pending to success, and moves the coin once', async () => {
    const chain = chains.Polygon
    const wallet = await service.newWallet({ network: 'Polygon', pin: '493817' })
    await chain.fund(wallet.address)
    const before = await balanceOf(chain, fundedAccount(6).address)
    const sent = await service.post('/transactions/sign-and-send', {
      network: 'Polygon',
      signer_wallet_address: wallet.address,
      unsigned_transaction: { to: fundedAccount(6).address, value: parseEther('1').toString() },
      user_pin: '493817',
    })
    expect(sent.json).toEqual({ transaction_id: expect.any(String), network: 'Polygon', status: 'submitted' })
    const settled = await service.settled(sent.json.transaction_id)
    expect(settled.json).toMatchObject({ status: 'success', network: 'Polygon', contract_address: null })
    expect((await balanceOf(chain, fundedAccount(6).address)) - before).toBe(parseEther('1'))
    const byHash = await service.get('/transactions/status-by-hash', {
      network: 'Polygon',
      transaction_hash: settled.json.transaction_hash,
    })
    expect(byHash.json.status).toBe('success')
  })

  test('twenty at once from one wallet are all mined, without a gap', async () => {
    const chain = chains.Avalanche
    const wallet = await service.newWallet({ network: 'Avalanche' })
    await chain.fund(wallet.address)
    const sent = await Promise.all(
      Array.from({ length: 20 }, () =>
        service.post('/transactions/sign-and-send', {
          network: 'Avalanche',
          signer_wallet_address: wallet.address,
          unsigned_transaction: { to: fundedAccount(7).address, value: '1' },
          developer_secret: SECRET,
        }),
      ),
    )
    const settled = await Promise.all(sent.map((answer) => service.settled(answer.json.transaction_id)))
    expect(settled.map((answer) => answer.json.status)).toEqual(Array(20).fill('success'))
    expect(await chain.publicClient.getTransactionCount({ address: wallet.address })).toBe(20)
    expect(new Set(settled.map((answer) => answer.json.transaction_hash)).size).toBe(20)
  })

  test('a transaction that would revert or cannot be paid is refused before it is recorded', async () => {
    const chain = chains.Ethereum
    const token = await chain.deploy('TestToken', ['Test', 'TST', 18])
    const wallet = await service.newWallet({ network: 'Ethereum' })
    const send = (unsigned_transaction: Record<string, string>) =>
      service.post('/transactions/sign-and-send', {
        network: 'Ethereum',
        signer_wallet_address: wallet.address,
        unsigned_transaction,
        developer_secret: SECRET,
      })
    const poor = await send({ to: fundedAccount(1).address, value: '1' })
    expect(poor.json.code).toBe('balance_insufficient')
    expect(poor.json.error).toContain(wallet.address)
    await chain.fund(wallet.address)
    const input = encodeFunctionData({ abi: token.abi, functionName: 'transfer', args: [fundedAccount(1).address, 5n] })
    const reverted = await send({ to: token.address, input })
    expect(reverted.json.code).toBe('execution_reverted')
    expect(reverted.json.error).toStartWith('execution reverted: ')
    expect((await send({ to: fundedAccount(1).address, nonce: '5' })).json.code).toBe('nonce_gap')
  })

  test('an unknown id and an unknown hash find nothing, and neither does another project', async () => {
    const unknown = await service.get('/transactions/status-by-id', { id: randomUUID() })
    expect({ status: unknown.status, code: unknown.json.code }).toEqual({ status: 404, code: 'transaction_not_found' })
    const hash = `0x${'ab'.repeat(32)}`
    const nowhere = await service.get('/transactions/status-by-hash', { network: 'Ethereum', transaction_hash: hash })
    expect(nowhere.json.code).toBe('transaction_not_found')
  })
})

describe('a collection that was not made here', () => {
  test('can be minted to one wallet and transferred to another, and both wallets list it', async () => {
    const network = 'Ethereum'
    const chain = chains[network]
    const minter = await projectWallet(network)
    const [alice, bob] = await Promise.all([
      service.newWallet({ network }),
      service.newWallet({ network, pin: '604913' }),
    ])
    const collection = await chain.deploy('WizardCollection', ['Test Wizard', 'TWZ', minter])
    await chain.fund(alice.address)

    const minted = await service.post('/nfts/mint', {
      network,
      contract_address: collection.address,
      recipient: alice.address,
      uri: 'ipfs://bafybeigdyrzt5sfp7udm7hu76uh7y26nf3efuylqabf3oclgtqy55fbzdi/1',
      developer_secret: SECRET,
    })
    expect(minted.json).toEqual({ transaction_id: expect.any(String), network, status: 'submitted' })
    const mint = await service.settled(minted.json.transaction_id)
    expect(mint.json.status).toBe('success')

    const [received] = await activity(network, alice.address, 1)
    expect(received).toMatchObject({
      network,
      type: 'receive_nft',
      wallet_address: alice.address,
      transaction_hash: mint.json.transaction_hash,
      token: { network, contract_address: collection.address, decimals: 0, symbol: 'TWZ' },
    })
    const tokenId = received.metadata.token_id
    const ownerOf = () =>
      chain.publicClient.readContract({ ...collection, functionName: 'ownerOf', args: [BigInt(tokenId)] })
    expect(await ownerOf()).toBe(alice.address)

    const moved = await service.post('/nfts/transfer', {
      from: alice.address,
      contract_address: collection.address,
      recipient: bob.address,
      token_id: tokenId,
      developer_secret: SECRET,
    })
    const transfer = await service.settled(moved.json.transaction_id)
    expect(transfer.json.status).toBe('success')
    expect(await ownerOf()).toBe(bob.address)

    const [sentByAlice] = await activity(network, alice.address, 2)
    const [receivedByBob] = await activity(network, bob.address, 1)
    expect(sentByAlice).toMatchObject({ type: 'send_nft', transaction_hash: transfer.json.transaction_hash })
    expect(receivedByBob).toMatchObject({ type: 'receive_nft', metadata: { amount: '1', token_id: tokenId } })
    const held = await service.get('/nfts', { network, wallet_address: bob.address })
    expect(held.json).toEqual([
      { owner_wallet_address: bob.address, contract_address: collection.address, token_id: tokenId, metadata: null },
    ])
    expect((await service.get('/nfts', { network, wallet_address: alice.address })).json).toEqual([])
  })

  test('is refused if we cannot mint in it', async () => {
    const collection = await chains.Ethereum.deploy('WizardCollection', [
      'Test Wizard',
      'TWZ',
      fundedAccount(0).address,
    ])
    await projectWallet('Ethereum')
    const refused = await service.post('/nfts/mint', {
      network: 'Ethereum',
      contract_address: collection.address,
      uri: 'ipfs://x',
      developer_secret: SECRET,
    })
    expect({ status: refused.status, code: refused.json.code }).toEqual({ status: 400, code: 'mint_unauthorized' })
  })
})

describe('a collection of our own', () => {
  test('is created, minted with hosted metadata, and listed with it', async () => {
    const network = 'Base'
    const chain = chains[network]
    await projectWallet(network)
    const wallet = await service.newWallet({ network })
    const created = await service.post('/nfts/collections', {
      network,
      name: 'Doors',
      symbol: 'DOOR',
      image_url: 'https://example.com/doors.png',
      developer_secret: SECRET,
    })
    const creation = await service.settled(created.json.transaction_id)
    expect(creation.json.status).toBe('success')
    const address = creation.json.contract_address as `0x${string}`
    expect(await chain.publicClient.getCode({ address })).toBeDefined()

    const metadata = { name: 'Door #1', description: 'A red door.', image: 'ipfs://door' }
    const minted = await service.post('/nfts/mint', {
      network,
      contract_address: address,
      recipient: wallet.address,
      metadata,
      developer_secret: SECRET,
    })
    expect((await service.settled(minted.json.transaction_id)).json.status).toBe('success')
    const [item] = await activity(network, wallet.address, 1)
    expect(item.token).toMatchObject({ name: 'Doors', symbol: 'DOOR', contract_address: address })
    const held = await service.get('/nfts', { network, wallet_address: wallet.address })
    expect(held.json).toEqual([
      { owner_wallet_address: wallet.address, contract_address: address, token_id: item.metadata.token_id, metadata },
    ])
    const uri = (await chain.publicClient.readContract({
      address,
      abi: [
        {
          type: 'function',
          name: 'tokenURI',
          stateMutability: 'view',
          inputs: [{ type: 'uint256' }],
          outputs: [{ type: 'string' }],
        },
      ],
      functionName: 'tokenURI',
      args: [BigInt(item.metadata.token_id)],
    })) as string
    const hosted = await fetch(service.baseUrl + new URL(uri).pathname)
    expect((await hosted.json()) as unknown).toEqual(metadata)
    expect(hosted.headers.get('cache-control')).toContain('immutable')
  })
})

describe('what comes from outside', () => {
  test('received ERC-20 tokens and coins are listed in the activity', async () => {
    const network = 'Polygon'
    const chain = chains[network]
    const wallet = await service.newWallet({ network })
    const token = await chain.deploy('TestToken', ['Dollars', 'USD', 6])
    await chain.write({ contract: token, functionName: 'mint', args: [wallet.address, 2_500_000n] })
    await chain.send({ to: wallet.address, value: parseEther('0.25') })
    const items = await activity(network, wallet.address, 2)
    expect(items).toHaveLength(2)
    expect(items[0]).toMatchObject({
      type: 'receive_token',
      metadata: { amount: '0.25' },
      token: { contract_address: 'MATIC', symbol: 'POL', decimals: 18 },
    })
    expect(items[1]).toMatchObject({
      type: 'receive_token',
      metadata: { amount: '2.5' },
      token: { contract_address: token.address, symbol: 'USD', decimals: 6 },
    })
    const fields = ['uuid', 'network', 'type', 'timestamp', 'wallet_address', 'transaction_hash', 'metadata', 'token']
    for (const item of items) expect(Object.keys(item).sort()).toEqual([...fields, 'from', 'initiated_by', 'to'].sort())
  })

  test("another project's address is refused like an unknown one", async () => {
    const foreign = await service.get('/activity', { network: 'Polygon', wallet_address: fundedAccount(1).address })
    expect({ status: foreign.status, code: foreign.json.code }).toEqual({ status: 403, code: 'wallet_forbidden' })
  })
})

describe('preview', () => {
  test('shows the decoded call and its asset changes, and sends nothing', async () => {
    const network = 'Ethereum'
    const chain = chains[network]
    const wallet = await service.newWallet({ network })
    const token = await chain.deploy('TestToken', ['Dollars', 'USD', 6])
    await chain.write({ contract: token, functionName: 'mint', args: [wallet.address, 5_000_000n] })
    const recipient = fundedAccount(3).address
    const input = encodeFunctionData({ abi: token.abi, functionName: 'transfer', args: [recipient, 1_500_000n] })
    const preview = await service.post('/transactions/preview', {
      from: wallet.address,
      unsigned_transaction: { to: token.address, input },
    })
    expect(preview.json).toMatchObject({
      network,
      from: wallet.address,
      to: token.address,
      contract: { type: 'token', address: token.address, token: { symbol: 'USD', decimals: 6 }, nft: null },
      function_name: 'transfer',
      arguments: { to: recipient, value: '1500000' },
      simulation: {
        success: true,
        error: null,
        asset_changes: [{ amount: '1.5', raw_amount: '1500000', from: wallet.address, to: recipient, nft: null }],
      },
    })
    expect(await chain.publicClient.getTransactionCount({ address: wallet.address })).toBe(0)
  })

  test('a bundle sees its own effects, and a failed element fails alone', async () => {
    const network = 'Ethereum'
    const chain = chains[network]
    const wallet = await service.newWallet({ network })
    await chain.fund(wallet.address)
    const token = await chain.deploy('TestToken', ['Dollars', 'USD', 6])
    const call = (functionName: string, args: readonly unknown[]) => ({
      to: token.address,
      input: encodeFunctionData({ abi: token.abi, functionName, args }),
    })
    const bundle = await service.post('/transactions/preview-bundle', {
      network,
      from: wallet.address,
      unsigned_transactions: [
        call('transfer', [fundedAccount(3).address, 1n]),
        call('mint', [wallet.address, 7n]),
        call('transfer', [fundedAccount(3).address, 7n]),
        { to: fundedAccount(3).address, value: '9' },
      ],
    })
    expect(bundle.json.map((result: { simulation: { success: boolean } }) => result.simulation.success)).toEqual([
      false,
      true,
      true,
      true,
    ])
    expect(bundle.json[0].simulation.error).toStartWith('execution reverted: ')
    expect(bundle.json[3].simulation.asset_changes).toMatchObject([
      { raw_amount: '9', token: { contract_address: 'ETH' } },
    ])
  })
})
