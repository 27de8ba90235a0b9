// viem, ethers and wagmi with wallets of the service, on a real chain: a transfer, a contract call and a signature
// each; transactions of every type.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import * as wagmi from '@wagmi/core'
import { Contract, JsonRpcProvider, parseUnits, Transaction, type TransactionRequest, verifyMessage } from 'ethers'
import {
  BaseError,
  ContractFunctionRevertedError,
  createPublicClient,
  createWalletClient,
  custom,
  encodeFunctionData,
  getAddress,
  type Hex,
  http,
  numberToHex,
  parseAbi,
  parseEther,
  parseEventLogs,
  stringToHex,
  zeroAddress,
} from 'viem'
import { recoverAuthorizationAddress } from 'viem/utils'
import { createClient } from '../../client/src/client.ts'
import { createProvider, type ProviderOptions } from '../../client/src/eip1193.ts'
import { StrongroomSigner } from '../../client/src/ethers.ts'
import type { EvmWallet } from '../../client/src/evm-wallet.ts'
import { toAccount } from '../../client/src/viem.ts'
import { strongroom } from '../../client/src/wagmi.ts'
import { deployCanonicalContracts } from '../../devnet/canonical-contracts.ts'
import { fundedAccount, startChain, type TestChain } from '../support/chains.ts'
import { runCli } from '../support/cli.ts'
import { longTest, someOf } from '../support/long.ts'
import { type Service, startService } from '../support/service.ts'
import { startWorkerHere, type WorkerHere } from '../support/worker-here.ts'

const network = 'Ethereum'
const PIN = '604913'
const credential = { user_pin: PIN }
const RECIPIENT = fundedAccount(5).address

let chain: TestChain
let service: Service
let worker: WorkerHere
let token: Awaited<ReturnType<TestChain['deploy']>>
let eoa: EvmWallet
let contract: EvmWallet

const newWallet = async (type: 'eoa' | 'contract'): Promise<EvmWallet> => {
  const { projectId, apiKey } = service.project
  const client = createClient({ baseUrl: service.baseUrl, projectId, apiKey })
  const owner = { owner_id: crypto.randomUUID(), name: type, control_mode: 'user', ...credential } as const
  const { address } = await client.wallets.create({ network, type, ...owner })
  // The owner's key, which pays for a contract wallet, is a wallet of type eoa on another network.
  const key = await client.wallets.create({ network: 'Polygon', ...owner })
  await chain.fund(getAddress(address))
  await chain.fund(getAddress(key.address))
  return { client, network, address, credential }
}

beforeAll(async () => {
  chain = await startChain(network)
  await deployCanonicalContracts(chain.rpcUrl)
  service = await startService({ rpcUrls: { [network]: chain.rpcUrl, Polygon: 'http://127.0.0.1:1' } })
  worker = await startWorkerHere(service)
  token = await chain.deploy('TestToken', ['Test', 'TST', 18])
  eoa = await newWallet('eoa')
  contract = await newWallet('contract')
})
afterAll(async () => {
  await worker.stop()
  await service.close()
  await chain.stop()
})

const balanceOf = (address: string) => chain.publicClient.getBalance({ address: getAddress(address) })
const tokensOf = (address: string) =>
  chain.publicClient.readContract({ ...token, functionName: 'balanceOf', args: [getAddress(address)] })
const mint = (to: string, amount: bigint): Hex =>
  encodeFunctionData({ abi: token.abi, functionName: 'mint', args: [getAddress(to), amount] })
const hexOf = (text: string): Hex => `0x${text.slice(2)}`

const MAIL = {
  domain: { name: 'Mail', version: '1', verifyingContract: getAddress(RECIPIENT) },
  types: {
    Mail: [
      { name: 'to', type: 'address' },
      { name: 'amount', type: 'uint256' },
      { name: 'text', type: 'string' },
    ],
  },
  primaryType: 'Mail',
  message: { to: getAddress(RECIPIENT), amount: 2n ** 200n, text: 'Grüße' },
} as const
const mailFor = (chainId: number) => ({ ...MAIL, domain: { ...MAIL.domain, chainId } })
const hasSignedMail = async ({ address }: EvmWallet, signature: Hex) =>
  chain.publicClient.verifyTypedData({ address: getAddress(address), ...mailFor(chain.chainId), signature })

const isSignedBy = ({ address }: EvmWallet, signed: { message: string; signature: Hex }) =>
  chain.publicClient.verifyMessage({ address: getAddress(address), ...signed })

describe('an account of viem', () => {
  const walletClient = (chainOfViem = chain.chain) =>
    createWalletClient({ account: toAccount(eoa), chain: chainOfViem, transport: http(chain.rpcUrl) })

  test('sends a coin, calls a contract and signs a message', async () => {
    const client = walletClient()
    const before = await balanceOf(RECIPIENT)
    await chain.receiptOf(await client.sendTransaction({ to: RECIPIENT, value: 7n }))
    expect((await balanceOf(RECIPIENT)) - before).toBe(7n)

    const args = [getAddress(eoa.address), 11n] as const
    const hash = await client.writeContract({ ...token, functionName: 'mint', args })
    expect((await chain.receiptOf(hash)).status).toBe('success')
    expect(await tokensOf(eoa.address)).toBe(11n)

    const message = 'Grüße'
    expect(await isSignedBy(eoa, { message, signature: await client.signMessage({ message }) })).toBe(true)
    const raw = { raw: Uint8Array.of(1, 2, 3) }
    const signature = await client.signMessage({ message: raw })
    expect(await chain.publicClient.verifyMessage({ address: getAddress(eoa.address), message: raw, signature })).toBe(
      true,
    )
  })

  test('signs typed data, and not for another chain', async () => {
    const signature = await walletClient().signTypedData(mailFor(chain.chainId))
    expect(await hasSignedMail(eoa, signature)).toBe(true)
    await expect(walletClient().signTypedData(mailFor(chain.chainId + 1))).rejects.toMatchObject({
      code: 'invalid_input',
    })
  })

  test('refuses a transaction for another chain than that of its network', async () => {
    const request = { to: RECIPIENT, value: 1n, gas: 21_000n, maxFeePerGas: 9n, maxPriorityFeePerGas: 1n, nonce: 99 }
    const signed = toAccount(eoa).signTransaction({ ...request, type: 'eip1559', chainId: 1 })
    await expect(signed).rejects.toMatchObject({ code: 'network_mismatch' })
  })
})

describe('a signer of ethers', () => {
  longTest('sends a coin, calls a contract and signs a message', async () => {
    const provider = new JsonRpcProvider(chain.rpcUrl, chain.chainId, { staticNetwork: true, cacheTimeout: -1 })
    try {
      const wallet = await newWallet('eoa')
      // ethers gives addresses with their checksum, however they were written.
      const signer = new StrongroomSigner({ ...wallet, address: wallet.address.toLowerCase() }, provider)
      expect(await signer.getAddress()).toBe(getAddress(wallet.address))
      const before = await balanceOf(RECIPIENT)
      const from = wallet.address.toLowerCase()
      const sent = await signer.sendTransaction({ from, to: RECIPIENT, value: parseUnits('5', 'wei') })
      await sent.wait()
      expect((await balanceOf(RECIPIENT)) - before).toBe(5n)

      const contractOfEthers = new Contract(token.address, ['function mint(address to, uint256 value)'], signer)
      const called = await contractOfEthers.getFunction('mint')(wallet.address, 13n)
      expect((await called.wait()).status).toBe(1)
      expect(await tokensOf(wallet.address)).toBe(13n)

      const { domain, types, message } = mailFor(chain.chainId)
      const mail = await signer.signTypedData(domain, { Mail: [...types.Mail] }, message)
      expect(await hasSignedMail(wallet, hexOf(mail))).toBe(true)
      const signature = await signer.signMessage('hello')
      expect(verifyMessage('hello', signature)).toBe(getAddress(wallet.address))
      await expect(signer.sendTransaction({ from: RECIPIENT, to: RECIPIENT })).rejects.toThrow('from')
    } finally {
      provider.destroy()
    }
  })
})

const optionsOf = (wallet: EvmWallet, type: 'eoa' | 'contract' = 'eoa'): ProviderOptions => ({
  ...{ client: wallet.client, address: wallet.address, credential, type },
  chains: { [chain.chainId]: { network, rpcUrl: chain.rpcUrl } },
})

describe('a provider (EIP-1193)', () => {
  const providerOf = (wallet: EvmWallet, type: 'eoa' | 'contract' = 'eoa') => createProvider(optionsOf(wallet, type))
  const clientOf = (wallet: EvmWallet, type: 'eoa' | 'contract' = 'eoa') =>
    createWalletClient({
      account: getAddress(wallet.address),
      chain: chain.chain,
      transport: custom(providerOf(wallet, type)),
      pollingInterval: 20,
    })

  test.each(someOf(['eoa', 'contract'], 2))(
    'sends a coin, calls a contract and signs a message for type %s',
    async (type) => {
      const wallet = type === 'eoa' ? eoa : contract
      const client = clientOf(wallet, type)
      const [before, tokensBefore] = [await balanceOf(RECIPIENT), await tokensOf(wallet.address)]
      await chain.receiptOf(await client.sendTransaction({ to: RECIPIENT, value: 3n }))
      expect((await balanceOf(RECIPIENT)) - before).toBe(3n)

      const args = [getAddress(wallet.address), 17n] as const
      await chain.receiptOf(await client.writeContract({ ...token, functionName: 'mint', args }))
      expect(await tokensOf(wallet.address)).toBe(BigInt(String(tokensBefore)) + 17n)

      const message = 'hello'
      expect(await isSignedBy(wallet, { message, signature: await client.signMessage({ message }) })).toBe(true)
      expect(await hasSignedMail(wallet, await client.signTypedData(mailFor(chain.chainId)))).toBe(true)
    },
  )

  test('sends several calls at once by a contract wallet (EIP-5792)', async () => {
    const client = clientOf(contract, 'contract')
    const capabilities = await client.getCapabilities({ chainId: chain.chainId })
    expect(capabilities).toMatchObject({ atomic: { status: 'supported' } })
    const [before, tokensBefore] = [await balanceOf(RECIPIENT), await tokensOf(contract.address)]
    const calls = [
      { to: RECIPIENT, value: 21n },
      { to: token.address, data: mint(contract.address, 23n) },
    ]
    const { id } = await client.sendCalls({ calls, id: 'my calls', forceAtomic: true })
    expect(id).toBe('my calls')
    const done = await client.waitForCallsStatus({ id })
    expect(done).toMatchObject({ status: 'success', statusCode: 200, atomic: true, chainId: chain.chainId })
    expect(done.receipts?.map(({ status }) => status)).toEqual(['success'])
    expect((await balanceOf(RECIPIENT)) - before).toBe(21n)
    expect(await tokensOf(contract.address)).toBe(BigInt(String(tokensBefore)) + 23n)
    await expect(client.sendCalls({ calls, id })).rejects.toThrow('There is already a bundle submitted with this ID')
  })

  longTest('says what became of calls to a provider that did not send them', async () => {
    const { id } = await clientOf(contract, 'contract').sendCalls({ calls: [{ to: RECIPIENT, value: 1n }] })
    const done = await clientOf(contract, 'contract').waitForCallsStatus({ id })
    expect(done.status).toBe('success')
  })

  longTest('runs several calls of an eoa one after the other, and knows an id of the app after a reload', async () => {
    const kept = new Map<string, string>()
    const storage = {
      getItem: (name: string) => kept.get(name) ?? null,
      setItem: (name: string, value: string) => void kept.set(name, value),
    }
    const page = (changes: Partial<ProviderOptions> = {}) => {
      const provider = createProvider({ ...optionsOf(eoa), storage, ...changes })
      const transport = custom(provider)
      return createWalletClient({
        account: getAddress(eoa.address),
        chain: chain.chain,
        transport,
        pollingInterval: 20,
      })
    }
    const before = await balanceOf(RECIPIENT)
    const calls = [
      { to: RECIPIENT, value: 31n },
      { to: token.address, data: mint(eoa.address, 5n) },
    ]
    // 4096 bytes, with characters that no header can have.
    const id = `${'заказ\n'.repeat(372)}7777`
    expect(new TextEncoder().encode(id).length).toBe(4096)
    expect((await page().sendCalls({ calls, id })).id).toBe(id)
    const done = await page().waitForCallsStatus({ id })
    expect(done).toMatchObject({ status: 'success', statusCode: 200, atomic: false, chainId: chain.chainId })
    expect(done.receipts?.map(({ status }) => status)).toEqual(['success', 'success'])
    expect((await balanceOf(RECIPIENT)) - before).toBe(31n)

    const used = { name: 'TransactionExecutionError', message: expect.stringContaining('already a bundle submitted') }
    await expect(page().sendCalls({ calls, id })).rejects.toMatchObject(used)
    // Where the browser has forgotten it, the service has not: other calls are refused, and the same ones are not sent
    // again.
    const elsewhere = () => page({ storage: { getItem: () => null, setItem: () => {} } })
    await expect(elsewhere().sendCalls({ calls: [{ to: RECIPIENT }], id })).rejects.toMatchObject(used)
    expect((await elsewhere().sendCalls({ calls, id })).id).toBe(id)
    expect((await balanceOf(RECIPIENT)) - before).toBe(31n)
    // Ids are unique for each sender.
    const other = page({ ...optionsOf(contract, 'contract') })
    const sent = await other.sendCalls({ account: getAddress(contract.address), calls: [{ to: RECIPIENT }], id })
    expect(sent.id).toBe(id)
  })

  longTest('says of a batch that stopped in the middle that a part of it was done', async () => {
    const provider = providerOf(eoa)
    const calls = [{ to: RECIPIENT, value: '0x1' }, { to: token.address, data: '0xdeadbeef' }, { to: RECIPIENT }]
    const batch = { version: '2.0.0', chainId: `0x${chain.chainId.toString(16)}`, calls, atomicRequired: false }
    const { id } = (await provider.request({ method: 'wallet_sendCalls', params: [batch] })) as { id: string }
    const done = await clientOf(eoa).waitForCallsStatus({ id })
    expect(done).toMatchObject({ status: 'failure', statusCode: 600, atomic: false })
    expect(done.receipts).toHaveLength(1)
    const refused = provider.request({ method: 'wallet_sendCalls', params: [{ ...batch, calls: calls.slice(1) }] })
    await expect(refused).rejects.toMatchObject({ code: 3 })
  })

  test.each(someOf(['eoa', 'contract'], 2))(
    'makes a contract by a call without an address, for type %s',
    async (type) => {
      const wallet = type === 'eoa' ? eoa : contract
      // PUSH1 1, PUSH1 0, MSTORE8, PUSH1 1, PUSH1 0, RETURN: a contract whose code is the byte 1.
      const batch = {
        version: '2.0.0',
        chainId: numberToHex(chain.chainId),
        calls: [{ data: '0x600160005360016000f3' }],
      }
      const { id } = Object(await providerOf(wallet, type).request({ method: 'wallet_sendCalls', params: [batch] }))
      const done = await clientOf(wallet, type).waitForCallsStatus({ id })
      expect(done.statusCode).toBe(200)
      const [hash = '0x'] = done.receipts?.map(({ transactionHash }) => transactionHash) ?? []
      const { contractAddress, logs } = await chain.receiptOf(hash)
      // CreateCall of Safe makes it for a contract wallet.
      const [made] = parseEventLogs({ abi: parseAbi(['event ContractCreation(address indexed newContract)']), logs })
      const address = contractAddress ?? made?.args.newContract ?? '0x'
      expect(await chain.publicClient.getCode({ address })).toBe('0x01')
    },
  )

  longTest('keeps the bytes of a custom error, so that viem decodes it', async () => {
    const args = [RECIPIENT, 10n ** 30n] as const
    for (const [wallet, type] of [[eoa, 'eoa'] as const, [contract, 'contract'] as const]) {
      const client = clientOf(wallet, type)
      const held = await tokensOf(wallet.address)
      for (const refused of [
        () => client.writeContract({ ...token, functionName: 'transfer', args }),
        () =>
          createPublicClient({ transport: custom(providerOf(wallet, type)) }).simulateContract({
            ...{ ...token, functionName: 'transfer', args, account: getAddress(wallet.address) },
          }),
      ]) {
        const error: unknown = await refused().catch((caught: unknown) => caught)
        const reverted =
          error instanceof BaseError ? error.walk((each) => each instanceof ContractFunctionRevertedError) : null
        expect(reverted).toMatchObject({
          data: { errorName: 'ERC20InsufficientBalance', args: [getAddress(wallet.address), held, args[1]] },
        })
      }
    }
  })

  longTest('takes gasLimit for gas, and the parameters of personal_sign in either order', async () => {
    const provider = providerOf(eoa)
    const hash = await provider.request({
      method: 'eth_sendTransaction',
      params: [{ from: eoa.address, to: RECIPIENT, input: '0x', gasLimit: '0x7530' }],
    })
    const sent = await chain.receiptOf(hexOf(String(hash)))
    expect((await chain.publicClient.getTransaction({ hash: sent.transactionHash })).gas).toBe(30_000n)
    for (const params of [
      [stringToHex('hello'), eoa.address],
      [eoa.address.toLowerCase(), stringToHex('hello')],
    ]) {
      const signature = hexOf(String(await provider.request({ method: 'personal_sign', params })))
      expect(await isSignedBy(eoa, { message: 'hello', signature })).toBe(true)
    }
  })

  longTest('sends what was refused for its gas limit with the limit of the second try', async () => {
    const provider = providerOf(eoa)
    const pay = (gas: string) =>
      provider.request({ method: 'eth_sendTransaction', params: [{ from: eoa.address, to: RECIPIENT, gas }] })
    await expect(pay('0x1')).rejects.toMatchObject({ code: -32602 })
    const sent = await chain.receiptOf(hexOf(String(await pay('0x7530'))))
    expect((await chain.publicClient.getTransaction({ hash: sent.transactionHash })).gas).toBe(30_000n)
  })

  test('refuses what cannot be paid, and a wrong PIN', async () => {
    const value = `0x${parseEther('1000000').toString(16)}`
    const poor = providerOf(eoa).request({ method: 'eth_sendTransaction', params: [{ to: RECIPIENT, value }] })
    await expect(poor).rejects.toMatchObject({ code: -32000 })
    const blocked = createProvider({ ...optionsOf(eoa), credential: { user_pin: '918273' } })
    const wrong = blocked.request({ method: 'personal_sign', params: [stringToHex('x'), eoa.address] })
    await expect(wrong).rejects.toMatchObject({ code: 4100, data: { code: 'INVALID_SECRET' } })
  })
})

longTest('a connector of wagmi connects, sends a coin, calls a contract and signs a message', async () => {
  const wallet = await newWallet('eoa')
  const config = wagmi.createConfig({
    chains: [chain.chain],
    connectors: [strongroom(optionsOf(wallet))],
    transports: { [chain.chainId]: http(chain.rpcUrl) },
    storage: null,
  })
  const [connector] = config.connectors
  if (connector === undefined) throw new Error('there is one connector')
  const connected = await wagmi.connect(config, { connector })
  expect(connected).toMatchObject({ accounts: [wallet.address], chainId: chain.chainId })

  const before = await balanceOf(RECIPIENT)
  await chain.receiptOf(await wagmi.sendTransaction(config, { to: RECIPIENT, value: 9n }))
  expect((await balanceOf(RECIPIENT)) - before).toBe(9n)
  const args = [getAddress(wallet.address), 19n] as const
  await chain.receiptOf(await wagmi.writeContract(config, { ...token, functionName: 'mint', args }))
  expect(await tokensOf(wallet.address)).toBe(19n)
  const signature = await wagmi.signMessage(config, { message: 'hello' })
  expect(await isSignedBy(wallet, { message: 'hello', signature })).toBe(true)
  await wagmi.disconnect(config)
  expect(wagmi.getAccount(config).status).toBe('disconnected')
})

/** Transactions of every type that the service signs, and authorisations (EIP-7702). */
describe('of every type', () => {
  const credential = { developer_secret: 'testnet-secret' }
  const SLOT: Hex = `0x${'0'.repeat(63)}1`

  let delegate: Hex

  beforeAll(async () => {
    delegate = (await chain.deploy('TestToken', ['Delegate', 'DLG', 18])).address
    const args = ['project', 'delegates', 'add', service.project.projectId, network, delegate]
    expect(await runCli(args, service.variables)).toMatchObject({ exitCode: 0, errors: '' })
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
})
