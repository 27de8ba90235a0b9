// The provider (EIP-1193) and wagmi's connector, as far as neither the service nor a node is needed.

import { describe, expect, test } from 'bun:test'
import { createServer } from 'node:http'
import * as wagmi from '@wagmi/core'
import { createWalletClient, custom, type EIP1193Provider, UserRejectedRequestError } from 'viem'
import { base, mainnet, sepolia } from 'viem/chains'
import { createClient } from '../../client/src/client.ts'
import { createProvider, type Provider, type ProviderOptions } from '../../client/src/eip1193.ts'
import { strongroom } from '../../client/src/wagmi.ts'

const ADDRESS = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
const OTHER = '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC'
const NOWHERE = 'http://127.0.0.1:1'

const client = createClient({ baseUrl: NOWHERE, projectId: crypto.randomUUID(), apiKey: 'none', retries: 0 })
const chainAt = (network: string) => ({ network, rpcUrl: NOWHERE })
const options = (changes: Partial<ProviderOptions> = {}): ProviderOptions => ({
  client,
  address: ADDRESS,
  credential: { developer_secret: 'testnet-secret' },
  chains: { [sepolia.id]: chainAt('Ethereum') },
  ...changes,
})
const two = { [base.id]: chainAt('Base'), [mainnet.id]: chainAt('Ethereum') }

const ask = (provider: Provider, method: string, ...params: readonly unknown[]) => provider.request({ method, params })
const refusal = (provider: Provider, method: string, ...params: readonly unknown[]) =>
  ask(provider, method, ...params).then(
    (answer) => ({ answer }),
    (error: unknown) => error,
  )

describe('the chain that is selected at the beginning', () => {
  test('is the only one, or the one that the app names', async () => {
    expect(await ask(createProvider(options()), 'eth_chainId')).toBe('0xaa36a7')
    // The lowest number comes first among the keys of an object, however they are written.
    expect(await ask(createProvider(options({ chains: two, initialChainId: base.id })), 'eth_chainId')).toBe('0x2105')
    expect(await ask(createProvider(options({ chains: two, initialChainId: mainnet.id })), 'net_version')).toBe('1')
  })

  test.each([
    ['one of several', { chains: two }, 'Say by initialChainId which of the chains 1, 8453'],
    ['one that is lacking', { chains: two, initialChainId: sepolia.id }, 'must be among them'],
    ['none', { chains: {} }, 'at least one'],
  ])('is never guessed: %s', (_, changes, sentence) => {
    expect(() => createProvider(options(changes))).toThrow(sentence)
    expect(() => strongroom(options(changes))).toThrow(sentence)
  })
})

test('events reach listeners as with the EventEmitter of Node', async () => {
  const provider = createProvider(options({ chains: two, initialChainId: base.id }))
  const heard: string[] = []
  const listeners = ['on', 'once', 'removed', 'off'].map((name) => (id: unknown) => heard.push(`${name} ${id}`))
  const [on = () => {}, once = () => {}, removed = () => {}, off = () => {}] = listeners
  const switchTo = (chain: { readonly id: number }) =>
    ask(provider, 'wallet_switchEthereumChain', { chainId: `0x${chain.id.toString(16)}` })
  provider.on('chainChanged', on)
  provider.once('chainChanged', once)
  for (const each of [removed, off, off]) provider.on('chainChanged', each)
  provider.removeListener('chainChanged', removed)
  provider.off('chainChanged', off)
  await switchTo(mainnet)
  expect(heard.splice(0)).toEqual(['on 0x1', 'once 0x1', 'off 0x1'])
  await switchTo(mainnet)
  await switchTo(base)
  expect(heard.splice(0)).toEqual(['on 0x2105', 'off 0x2105'])
  provider.removeAllListeners('accountsChanged')
  await switchTo(mainnet)
  expect(heard.splice(0)).toHaveLength(2)
  provider.removeAllListeners('chainChanged')
  provider.on('chainChanged', on)
  provider.removeAllListeners()
  await switchTo(base)
  expect(heard).toEqual([])
})

describe('a request', () => {
  const to = OTHER
  const batch = { version: '2.0.0', chainId: '0xaa36a7', calls: [{ to }] }

  // EIP-1193, EIP-1474 and EIP-5792 §error codes.
  test.each<[number, string, ...unknown[]]>([
    [-32602, 'eth_sendTransaction', { to, value: '0x' }],
    [-32602, 'eth_sendTransaction', { to, value: '' }],
    [-32602, 'eth_sendTransaction', { to, value: 'abc' }],
    [-32602, 'eth_sendTransaction', { to, value: '0.1' }],
    [-32602, 'eth_sendTransaction', { to, value: '-1' }],
    [-32602, 'eth_sendTransaction', { to, value: -1 }],
    [-32602, 'eth_sendTransaction', { to, value: 0.5 }],
    [-32602, 'eth_sendTransaction', { to, value: { wei: 1 } }],
    [-32602, 'eth_sendTransaction', { to, gas: 'much' }],
    [-32602, 'eth_sendTransaction', { to, gasLimit: '0x' }],
    [-32602, 'eth_sendTransaction', { to, gas: '0x5208', gasLimit: '0x5209' }],
    [-32602, 'eth_sendTransaction', { to, data: '0x01', input: '0x02' }],
    [-32602, 'eth_sendTransaction', { to, nonce: 'next' }],
    [-32602, 'eth_sendTransaction', { to, type: '0x3' }],
    [-32602, 'eth_sendTransaction', { to, chainId: 'Sepolia' }],
    [-32602, 'eth_sendTransaction', { to, maxFeePerGass: '0x1' }],
    [-32602, 'eth_signTransaction', { to, amount: '0x1' }],
    [-32602, 'eth_sendTransaction'],
    [-32602, 'wallet_switchEthereumChain', {}],
    [-32602, 'wallet_switchEthereumChain', { chainId: 'Sepolia' }],
    [4902, 'wallet_switchEthereumChain', { chainId: '0x1' }],
    [4901, 'eth_sendTransaction', { to, chainId: '0x1' }],
    [4100, 'eth_sendTransaction', { from: OTHER, to }],
    [4100, 'personal_sign', '0x68656c6c6f', OTHER],
    [4100, 'personal_sign', OTHER, '0x68656c6c6f'],
    [4200, 'wallet_addEthereumChain', { chainId: '0x1' }],
    [4200, 'eth_sign', ADDRESS, '0x00'],
    [-32000, 'wallet_sendCalls', { ...batch, version: '3.0.0' }],
    [-32000, 'wallet_sendCalls', { ...batch, version: undefined }],
    [-32602, 'wallet_sendCalls', { ...batch, chainId: undefined }],
    [-32602, 'wallet_sendCalls', { ...batch, calls: [] }],
    [-32602, 'wallet_sendCalls', { ...batch, calls: [{ to, value: '0x' }] }],
    [-32602, 'wallet_sendCalls', { ...batch, calls: [{ to, input: '0x01' }] }],
    [-32602, 'wallet_sendCalls', { ...batch, id: 'x'.repeat(8195) }],
    [-32602, 'wallet_sendCalls', { ...batch, id: 7 }],
    [4100, 'wallet_sendCalls', { ...batch, from: OTHER }],
    [5700, 'wallet_sendCalls', { ...batch, capabilities: { paymasterService: {} } }],
    [5700, 'wallet_sendCalls', { ...batch, calls: [{ to, capabilities: { any: { optional: false } } }] }],
    [5710, 'wallet_sendCalls', { ...batch, chainId: '0x1' }],
    [5740, 'wallet_sendCalls', { ...batch, calls: Array.from({ length: 101 }, () => ({ to })) }],
    [5760, 'wallet_sendCalls', { ...batch, calls: [{ to }, { to }], atomicRequired: true }],
    [5760, 'wallet_sendCalls', { ...batch, calls: [{ to }, { to }] }],
    [5730, 'wallet_getCallsStatus', 'unknown'],
    [5730, 'wallet_getCallsStatus', `1:${crypto.randomUUID()}`],
    [-32602, 'wallet_getCallsStatus', 7],
  ])('is refused with %d: %s (%#)', async (code, method, ...params) => {
    expect(await refusal(createProvider(options()), method, ...params)).toMatchObject({ name: 'ProviderError', code })
  })

  test('of a chain that the provider has is answered, though nothing is added', async () => {
    const provider = createProvider(options())
    expect(await ask(provider, 'wallet_addEthereumChain', { chainId: '0xaa36a7', chainName: 'Sepolia' })).toBeNull()
  })

  test('for the account is answered with the wallet, also for eth_coinbase', async () => {
    expect(await ask(createProvider(options()), 'eth_coinbase')).toBe(ADDRESS)
  })
})

describe('what fails elsewhere', () => {
  const withNode = async (answer: string, use: (rpcUrl: string) => Promise<void>) => {
    const server = createServer((_, response) => response.writeHead(429).end(answer)).listen(0, '127.0.0.1')
    try {
      await new Promise((resolve) => server.once('listening', resolve))
      const address = server.address()
      await use(`http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`)
    } finally {
      server.close()
    }
  }
  const blockNumber = (rpcUrl: string) =>
    refusal(createProvider(options({ chains: { 1: { network: 'Ethereum', rpcUrl } } })), 'eth_blockNumber')

  test('has a number and a sentence: a node that is away, or answers a page', async () => {
    expect(await blockNumber(NOWHERE)).toMatchObject({ code: -32603, message: expect.stringContaining('node') })
    for (const page of ['<html>Too many requests</html>', '[]', '{"jsonrpc":"2.0"}'])
      await withNode(page, async (rpcUrl) =>
        expect(await blockNumber(rpcUrl)).toMatchObject({ code: -32603, message: expect.stringContaining('node') }),
      )
    await withNode('{"jsonrpc":"2.0","error":{"message":"busy"}}', async (rpcUrl) =>
      expect(await blockNumber(rpcUrl)).toMatchObject({ code: -32603, message: 'busy' }),
    )
  })

  test('has a number: the service, and a credential that is not given', async () => {
    const sign = (credential: ProviderOptions['credential']) =>
      refusal(createProvider(options({ credential })), 'personal_sign', '0x00', ADDRESS)
    expect(await sign({ user_pin: '0' })).toMatchObject({ code: 4900, data: { code: 'connection_failed' } })
    const rejecting = (error: unknown) => () => Promise.reject(error)
    expect(await sign(rejecting(new UserRejectedRequestError(new Error('closed'))))).toMatchObject({ code: 4001 })
    expect(await sign(rejecting(new Error('closed')))).toMatchObject({ code: -32603, message: 'closed' })
    // Its own number, 20, is of another list.
    expect(await sign(rejecting(new DOMException('closed', 'AbortError')))).toMatchObject({ code: -32603 })
  })

  // docs/errors.md has the statuses, EIP-1193 and EIP-1474 the numbers.
  test.each([
    [400, 'invalid_input', -32602],
    [400, 'address_invalid', -32602],
    [400, 'network_mismatch', -32602],
    [400, 'nonce_too_low', -32602],
    [400, 'credential_required', 4100],
    [400, 'balance_insufficient', -32000],
    [400, 'execution_reverted', 3],
    [401, 'session_ended', 4100],
    [403, 'INVALID_SECRET', 4100],
    [403, 'frozen', 4100],
    [409, 'nonce_conflict', -32003],
    [429, 'rate_limited', -32005],
    [501, 'not_implemented', 4200],
    [500, 'internal', -32603],
    [400, 'a_code_of_a_later_version', -32602],
  ])("has the number of the standards for the service's %d %s", async (status, code, number) => {
    const answering = async () => Response.json({ error: 'A sentence.', code }, { status })
    const at = { baseUrl: NOWHERE, projectId: crypto.randomUUID(), apiKey: 'none', retries: 0, fetch: answering }
    const provider = createProvider(options({ client: createClient(at) }))
    // A transaction whose answer is lost would be sent again for a minute.
    const refused = await (status === 500
      ? refusal(provider, 'personal_sign', '0x00', ADDRESS)
      : refusal(provider, 'eth_sendTransaction', { to: OTHER }))
    expect(refused).toMatchObject({ code: number, message: 'A sentence.', data: { code } })
  })

  test('is one of the errors of viem', async () => {
    const transport = custom(createProvider(options()) as EIP1193Provider)
    const wallet = createWalletClient({ account: ADDRESS, chain: sepolia, transport })
    const calls = [{ to: OTHER, value: 1n }] as const
    for (const [refused, name] of [
      [() => wallet.sendCalls({ calls: [...calls, ...calls], forceAtomic: true }), 'AtomicityNotSupportedError'],
      [() => wallet.sendCalls({ calls, chain: mainnet }), 'UnsupportedChainIdError'],
      [() => wallet.sendCalls({ calls, capabilities: { any: {} } }), 'UnsupportedNonOptionalCapabilityError'],
      [() => wallet.getCallsStatus({ id: 'unknown' }), 'UnknownBundleIdError'],
      [() => wallet.switchChain({ id: 1 }), 'SwitchChainError'],
    ] as const) {
      const error: unknown = await refused().catch((caught: unknown) => caught)
      const names = []
      for (let each = error; each instanceof Error; each = each.cause) names.push(each.name)
      expect(names).toContain(name)
    }
  })
})

describe('a connector of wagmi', () => {
  const chains = [mainnet, base, sepolia] as const
  const createPage = (kept: Map<string, string>) => {
    const storage = wagmi.createStorage({
      storage: {
        getItem: (name) => kept.get(name) ?? null,
        setItem: (name, value) => void kept.set(name, value),
        removeItem: (name) => void kept.delete(name),
      },
    })
    const connectors = [ADDRESS, OTHER].map((address) =>
      strongroom(options({ address, chains: two, initialChainId: mainnet.id })),
    )
    const transports = {
      [mainnet.id]: wagmi.custom({ request: async () => null }),
      [base.id]: wagmi.http(NOWHERE),
      [sepolia.id]: wagmi.http(NOWHERE),
    }
    const config = wagmi.createConfig({
      chains,
      connectors,
      storage,
      transports,
      multiInjectedProviderDiscovery: false,
    })
    const connectorAt = (index: number) => {
      const connector = config.connectors[index]
      if (connector === undefined) throw new Error('there are two connectors')
      return connector
    }
    const connected = () =>
      wagmi.getConnections(config).map(({ accounts, chainId }) => ({ address: accounts[0], chainId }))
    return { config, connectorAt, connected }
  }

  test('is connected after a reload only if it was before', async () => {
    const kept = new Map<string, string>()
    const first = createPage(kept)
    await wagmi.reconnect(first.config)
    expect([wagmi.getAccount(first.config).status, first.connected()]).toEqual(['disconnected', []])
    await wagmi.connect(first.config, { connector: first.connectorAt(1) })
    await wagmi.reconnect(first.config)
    expect(first.connected()).toEqual([{ address: OTHER, chainId: mainnet.id }])

    const second = createPage(kept)
    await wagmi.reconnect(second.config)
    expect(second.connected()).toEqual([{ address: OTHER, chainId: mainnet.id }])
    await wagmi.disconnect(second.config)

    const third = createPage(kept)
    await wagmi.reconnect(third.config)
    expect([wagmi.getAccount(third.config).status, third.connected()]).toEqual(['disconnected', []])
  })

  test('is on the chain that the user has chosen, also after a reload', async () => {
    const kept = new Map<string, string>()
    const first = createPage(kept)
    await wagmi.connect(first.config, { connector: first.connectorAt(0) })
    await wagmi.switchChain(first.config, { chainId: base.id })
    expect(first.connected()).toEqual([{ address: ADDRESS, chainId: base.id }])
    const second = createPage(kept)
    await wagmi.reconnect(second.config)
    expect(second.connected()).toEqual([{ address: ADDRESS, chainId: base.id }])
    const third = createPage(new Map())
    await wagmi.connect(third.config, { connector: third.connectorAt(0), chainId: base.id })
    expect(third.connected()).toEqual([{ address: ADDRESS, chainId: base.id }])
  })

  test('has one id for each wallet', () => {
    const { config } = createPage(new Map())
    expect(new Set(config.connectors.map(({ id }) => id)).size).toBe(2)
  })

  test("refuses a chain by wagmi's own names, and listens to nothing after a connection that failed", async () => {
    const { config, connectorAt } = createPage(new Map())
    const connector = connectorAt(0)
    const changes: unknown[] = []
    connector.emitter.on('change', (change) => changes.push(change.chainId))
    const refused = await wagmi.connect(config, { connector, chainId: sepolia.id }).catch((error: unknown) => error)
    expect(refused).toMatchObject({ name: 'SwitchChainError', code: 4902 })
    expect(wagmi.getAccount(config).status).toBe('disconnected')
    const provider = (await connector.getProvider()) as Provider
    await ask(provider, 'wallet_switchEthereumChain', { chainId: '0x2105' })
    expect(changes).toEqual([])

    await wagmi.connect(config, { connector })
    const unknown = connector.switchChain?.({ chainId: 7 }).catch((error: unknown) => error)
    expect(await unknown).toMatchObject({
      name: 'SwitchChainError',
      code: 4902,
      cause: { name: 'ChainNotConfiguredError' },
    })
    expect(await connector.switchChain?.({ chainId: sepolia.id }).catch((error: unknown) => error)).toMatchObject({
      name: 'SwitchChainError',
      code: 4902,
    })
    await ask(provider, 'wallet_switchEthereumChain', { chainId: '0x1' })
    expect(changes).toEqual([1])
  })
})
