// Transactions of every type that the service signs, and authorisations (EIP-7702), through viem and ethers on a real
// chain.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { JsonRpcProvider, Transaction, type TransactionRequest } from 'ethers'
import { createWalletClient, getAddress, type Hex, http, zeroAddress } from 'viem'
import { recoverAuthorizationAddress } from 'viem/utils'
import { createClient } from '../../client/src/client.ts'
import { createProvider } from '../../client/src/eip1193.ts'
import { StrongroomSigner } from '../../client/src/ethers.ts'
import type { EvmWallet } from '../../client/src/evm-wallet.ts'
import { toAccount } from '../../client/src/viem.ts'
import { fundedAccount, startChain, type TestChain } from '../support/chains.ts'
import { runCli } from '../support/cli.ts'
import { longTest, someOf } from '../support/long.ts'
import { type Service, startService } from '../support/service.ts'

const network = 'Ethereum'
const credential = { developer_secret: 'testnet-secret' }
const RECIPIENT = fundedAccount(5).address
const SLOT: Hex = `0x${'0'.repeat(63)}1`

let chain: TestChain
let service: Service
let delegate: Hex

beforeAll(async () => {
  chain = await startChain(network)
  service = await startService({ rpcUrls: { [network]: chain.rpcUrl } })
  delegate = (await chain.deploy('TestToken', ['Delegate', 'DLG', 18])).address
  const args = ['project', 'delegates', 'add', service.project.projectId, network, delegate]
  expect(await runCli(args, service.variables)).toMatchObject({ exitCode: 0, errors: '' })
})
afterAll(async () => {
  await service.close()
  await chain.stop()
})

const newWallet = async (): Promise<EvmWallet> => {
  const { projectId, apiKey } = service.project
  const client = createClient({ baseUrl: service.baseUrl, projectId, apiKey })
  const { address } = await service.newWallet({ network })
  await chain.fund(address)
  return { client, network, address, credential }
}

const inBlock = async (hash: Hex) => {
  expect((await chain.receiptOf(hash)).status).toBe('success')
  const { to, accessList, type, value, gasPrice, chainId } = await chain.publicClient.getTransaction({ hash })
  const entries = accessList?.map(({ address, ...entry }) => ({ ...entry, address: getAddress(address) }))
  return { type, to: to && getAddress(to), value, gasPrice, chainId, accessList: entries }
}

const listed = () => [{ address: delegate, storageKeys: [SLOT] }]

describe('an account of viem', () => {
  const clientOf = (wallet: EvmWallet) =>
    createWalletClient({ account: toAccount(wallet), chain: chain.chain, transport: http(chain.rpcUrl) })
  const payment = { to: RECIPIENT, value: 3n } as const

  longTest('sends transactions of the types 0, 1 and 2, with access lists', async () => {
    const client = clientOf(await newWallet())
    const accessList = listed()
    for (const [sent, expected] of [
      [() => client.sendTransaction({ ...payment, type: 'legacy' }), { type: 'legacy' }],
      [
        () => client.sendTransaction({ ...payment, gasPrice: 9_000_000_000n }),
        { type: 'legacy', gasPrice: 9_000_000_000n },
      ],
      [() => client.sendTransaction({ ...payment, type: 'eip2930', accessList }), { type: 'eip2930', accessList }],
      [
        () => client.sendTransaction({ ...payment, type: 'eip2930', accessList: [] }),
        { type: 'eip2930', accessList: [] },
      ],
      [() => client.sendTransaction({ ...payment, type: 'eip2930' }), { type: 'eip2930', accessList: [] }],
      [() => client.sendTransaction({ ...payment, type: 'eip1559' }), { type: 'eip1559', accessList: [] }],
      [() => client.sendTransaction({ ...payment, type: 'eip1559', accessList }), { type: 'eip1559', accessList }],
    ] as const)
      expect(await inBlock(await sent())).toMatchObject({ ...payment, ...expected, chainId: chain.chainId })
  })

  test('signs an authorisation, which another account sends in a transaction of type 4', async () => {
    const wallet = await newWallet()
    const authorization = await clientOf(wallet).signAuthorization({ contractAddress: delegate })
    expect(authorization).toMatchObject({ address: delegate, chainId: chain.chainId, nonce: 0 })
    expect(await recoverAuthorizationAddress({ authorization })).toBe(getAddress(wallet.address))
    const relay = { account: fundedAccount(3), to: fundedAccount(3).address, authorizationList: [authorization] }
    expect(await inBlock(await chain.walletClient.sendTransaction(relay))).toMatchObject({ type: 'eip7702' })
    const code = await chain.publicClient.getCode({ address: getAddress(wallet.address) })
    expect(code).toBe(`0xef0100${delegate.slice(2).toLowerCase()}`)
  })

  test('signs no authorisation of a contract that is not allowed, for another chain, or for all', async () => {
    const client = clientOf(await newWallet())
    const other = client.signAuthorization({ contractAddress: RECIPIENT })
    await expect(other).rejects.toMatchObject({ code: 'delegate_not_allowed' })
    for (const chainId of [0, 1]) {
      const signed = client.signAuthorization({ contractAddress: delegate, chainId })
      await expect(signed).rejects.toMatchObject({ code: 'invalid_input' })
    }
    const ended = await client.signAuthorization({ contractAddress: zeroAddress })
    expect(ended.address).toBe(zeroAddress)
  })

  test('refuses a transaction of type 4 or 3, instead of signing another one', async () => {
    const wallet = await newWallet()
    const account = toAccount(wallet)
    const authorization = await clientOf(wallet).signAuthorization({ address: delegate, executor: 'self' })
    expect(authorization.nonce).toBe(1)
    const request = { chainId: chain.chainId, to: RECIPIENT, gas: 99_000n, nonce: 0 } as const
    const fees = { maxFeePerGas: 9_000_000_000n, maxPriorityFeePerGas: 1n }
    for (const refused of [
      () => account.signTransaction({ ...request, ...fees, type: 'eip7702', authorizationList: [authorization] }),
      () => account.signTransaction({ ...request, ...fees, type: 'eip7702', authorizationList: [] }),
      () =>
        account.signTransaction({
          ...request,
          ...fees,
          type: 'eip4844',
          blobVersionedHashes: [SLOT],
          maxFeePerBlobGas: 1n,
        }),
    ])
      await expect(refused()).rejects.toMatchObject({ code: 'invalid_input' })
  })
})

test('a signer of ethers sends transactions of the types 0, 1 and 2, with access lists, and no others', async () => {
  const provider = new JsonRpcProvider(chain.rpcUrl, chain.chainId, { staticNetwork: true, cacheTimeout: -1 })
  try {
    const signer = new StrongroomSigner(await newWallet(), provider)
    const payment = { to: RECIPIENT, value: 3n }
    const accessList = listed()
    const cases: readonly (readonly [TransactionRequest, object])[] = [
      [{ type: 0 }, { type: 'legacy' }],
      [
        { type: 1, accessList: {} },
        { type: 'eip2930', accessList: [] },
      ],
      [
        { type: 1, accessList },
        { type: 'eip2930', accessList },
      ],
      [{ type: 1 }, { type: 'eip2930', accessList: [] }],
      [{ type: 2 }, { type: 'eip1559', accessList: [] }],
      [
        { type: 2, accessList: { [delegate]: [SLOT] } },
        { type: 'eip1559', accessList },
      ],
    ]
    for (const [request, expected] of someOf(cases, 2)) {
      const { hash } = await signer.sendTransaction({ ...payment, ...request })
      expect(await inBlock(`0x${hash.slice(2)}`)).toMatchObject({ ...payment, ...expected, chainId: chain.chainId })
    }
    // A request that nobody has completed, as by populateTransaction.
    const legacy = { ...payment, type: 1, gasPrice: 9_000_000_000n, gasLimit: 30_000n, nonce: 99 }
    expect(Transaction.from(await signer.signTransaction(legacy))).toMatchObject({ type: 1, accessList: [] })
    for (const other of [{ type: 3, blobVersionedHashes: [SLOT] }, { type: 3 }])
      await expect(signer.signTransaction({ ...payment, ...other })).rejects.toMatchObject({ code: 'invalid_input' })
  } finally {
    provider.destroy()
  }
})

test('a provider sends no authorisations that it would lose', async () => {
  const wallet = await newWallet()
  const chains = { [chain.chainId]: { network, rpcUrl: chain.rpcUrl } }
  const provider = createProvider({ ...wallet, chains })
  const transaction = { from: wallet.address, to: RECIPIENT, type: '0x4', authorizationList: [{ address: delegate }] }
  const sent = provider.request({ method: 'eth_sendTransaction', params: [transaction] })
  await expect(sent).rejects.toMatchObject({ data: { code: 'invalid_input' } })
})
