// Contract wallets on a chain with Safe's own contracts: encoded transactions do there what they should.

import { beforeAll, describe, expect, test } from 'bun:test'
import { predictSafeAddress, SafeProvider } from '@safe-global/protocol-kit'
import {
  type Abi,
  type Address,
  encodeDeployData,
  encodeFunctionData,
  getAddress,
  hashMessage,
  keccak256,
  parseAbi,
  parseEther,
  stringToHex,
  toFunctionSelector,
  toHex,
} from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { deployCanonicalContracts } from '../../../devnet/canonical-contracts.ts'
import type { Chain, Hex, Intent } from '../../../src/chains/chain.ts'
import type { ContractWallet, ContractWallets } from '../../../src/chains/contract-wallets.ts'
import { createEvmChain } from '../../../src/chains/evm/chain.ts'
import { asDeployed, PROXY_CODE, SAFE_ADDRESSES, SLOTS } from '../../../src/chains/evm/safe/settings.ts'
import { isRecord } from '../../../src/chains/node/wire.ts'
import { EVM_NETWORKS, evmNetworkRow } from '../../../src/platform/networks.ts'
import { fundedAccount, startChain, type TestChain } from '../../support/chains.ts'
import { shared } from '../../support/shared.ts'
import { type Behaviour, startFakeNode } from './fake-node.ts'
import { createMemory } from './memory.ts'
import { deployOdd, oddContract } from './odd-contracts.ts'
import { signedBy } from './signing.ts'

const row = evmNetworkRow({ network: 'Base', environment: 'testnet', devnet: true })
const stranger = fundedAccount(0)
const other = fundedAccount(1).address
const SAFE = parseAbi([
  'function swapOwner(address prevOwner, address oldOwner, address newOwner)',
  'function addOwnerWithThreshold(address owner, uint256 threshold)',
  'function removeOwner(address prevOwner, address owner, uint256 threshold)',
  'function enableModule(address module)',
  'function setGuard(address guard)',
  'function setFallbackHandler(address handler)',
  'function nonce() view returns (uint256)',
])

const chainAt = (rpcUrl: string, memory = createMemory()): Chain => createEvmChain({ row, rpcUrl, memory })
const safesOf = (of: Chain): ContractWallets => {
  if (of.contractWallets === null) throw new Error('an EVM network has contract wallets')
  return of.contractWallets
}

type Owned = { readonly wallet: ContractWallet; readonly owner: ReturnType<typeof privateKeyToAccount> }
let owners = 0
/** A wallet with a new owner that can pay gas. */
const createWallet = async (): Promise<Owned> => {
  owners += 1
  const owner = privateKeyToAccount(keccak256(stringToHex(`owner ${owners}`)))
  await node.fund(owner.address, parseEther('1'))
  return { owner, wallet: safes.of(owner.address) }
}

const sendIntent = (account: Parameters<TestChain['send']>[0]['account'], { to, value, input }: Intent) =>
  node.send({ ...(account === undefined ? {} : { account }), to: to as Address, value, data: input })
const deployWallet = async (wallet: ContractWallet) => {
  const { status } = await sendIntent(stranger, safes.deployment(wallet))
  expect(status).toBe('success')
}
const createDeployed = async (): Promise<Owned> => {
  const owned = await createWallet()
  await deployWallet(owned.wallet)
  return owned
}
/** Sent by the owner with plenty of gas, because a node does not estimate a failing transaction. */
const sendFor = async ({ owner, wallet }: Owned, intents: readonly Intent[]) => {
  const { to, input } = safes.execution(wallet, intents)
  const hash = await node.walletClient.sendTransaction({
    ...{ account: owner, to: to as Address, data: input, gas: 3_000_000n },
  })
  await node.receiptOf(hash)
  return chain.status(hash)
}
const tokenCall = (functionName: string, args: readonly unknown[]): Intent => ({
  ...{ to: token.address, value: 0n },
  input: encodeFunctionData({ abi: token.abi, functionName, args }),
})
const balanceOf = (address: string) =>
  node.publicClient.readContract({ ...token, functionName: 'balanceOf', args: [address] })
const innerNonce = ({ wallet: { address } }: Owned) =>
  node.publicClient.readContract({ address: address as Address, abi: SAFE, functionName: 'nonce' })

const node = await shared(startChain('Base'))
await deployCanonicalContracts(node.rpcUrl)
const chain = chainAt(node.rpcUrl)
const safes = safesOf(chain)
const token = await node.deploy('TestToken', ['Test', 'TEST', 6])

describe('the address', () => {
  test('is the one that Safe’s own tools predict, on each network', async () => {
    const accounts = Array.from({ length: 12 }, (_, index) => privateKeyToAccount(toHex(index + 1, { size: 32 })))
    const ids = EVM_NETWORKS.flatMap((network) =>
      (['testnet', 'mainnet'] as const).map((environment) => evmNetworkRow({ network, environment, devnet: true })),
    )
    for (const { chainId } of ids) {
      const request = async ({ method, params }: { readonly method: string; readonly params?: unknown }) =>
        method === 'eth_chainId' ? toHex(chainId) : node.rpc(method, (params ?? []) as readonly unknown[])
      const safeProvider = await SafeProvider.init({ provider: { request }, safeVersion: '1.4.1' })
      for (const { address } of accounts) {
        const predicted = await predictSafeAddress({
          ...{ safeProvider, chainId: BigInt(chainId), isL1SafeSingleton: false },
          safeAccountConfig: { owners: [address], threshold: 1 },
          safeDeploymentConfig: { safeVersion: '1.4.1', saltNonce: '0' },
        })
        expect(safes.of(address)).toEqual({ address: predicted, owner: address })
      }
    }
  })

  test('has code after its deployment, which anybody may send', async () => {
    const { wallet } = await createWallet()
    expect(await safes.state(wallet)).toEqual({ kind: 'undeployed' })
    expect(await safes.isDeployed(wallet)).toBe(false)
    await deployWallet(wallet)
    expect(await node.publicClient.getCode({ address: wallet.address as Address })).toBe(PROXY_CODE)
    expect(await safes.state(wallet)).toEqual({ kind: 'ready' })
    const blockNumber = await node.publicClient.getBlockNumber()
    const { address } = wallet
    expect(await safes.isDeployed({ address })).toBe(true)
    expect(await safes.isDeployed({ address, blockNumber })).toBe(true)
    expect(await safes.isDeployed({ address, blockNumber: blockNumber - 1n })).toBe(false)
    await expect(safes.isDeployed({ address, blockNumber: blockNumber + 9n })).rejects.toMatchObject({
      code: 'node_unavailable',
    })
  })
})

describe('a chain without one of Safe’s own contracts', () => {
  test.each(Object.entries(SAFE_ADDRESSES))('%s: contract wallets are not available', async (_, address) => {
    const { wallet } = await createWallet()
    const proxy = startFakeNode({ behind: node.rpcUrl })
    const proxied = safesOf(chainAt(proxy.rpcUrl))
    let isThere = false
    proxy.behave(({ method, params: [of] }) =>
      method === 'eth_getCode' && of === address && !isThere ? { result: '0x' } : undefined,
    )
    await expect(proxied.state(wallet)).rejects.toMatchObject({
      code: 'not_implemented',
      message: expect.stringContaining(`none at ${address}`),
    })
    isThere = true
    expect(await proxied.state(wallet)).toEqual({ kind: 'undeployed' })
    proxy.stop()
  })
})

describe('an execution', () => {
  test('performs one call, several in order, or a creation', async () => {
    const owned = await createDeployed()
    const { address } = owned.wallet
    const done = { kind: 'mined', success: true, contractAddress: null, executedBy: [address] }
    expect(await sendFor(owned, [tokenCall('mint', [address, 10n])])).toMatchObject(done)
    expect(await balanceOf(address)).toBe(10n)
    await node.fund(address as Address, 7n)
    const [before, pay] = [await node.publicClient.getBalance({ address: other }), { to: other, value: 7n }]
    const approve = tokenCall('approve', [owned.owner.address, 4n])
    const several = [approve, tokenCall('transfer', [other, 3n]), { ...pay, input: '0x' as const }]
    expect(await sendFor(owned, several)).toMatchObject(done)
    const number = await node.publicClient.getBlockNumber({ cacheTime: 0 })
    const [block] = (await chain.movements({ fromBlock: number, toBlock: number })) ?? []
    expect(block?.movements.map(({ from, to, initiatedBy }) => [from, to, initiatedBy])).toEqual([
      [address, other, owned.owner.address],
      [address, other, owned.owner.address],
    ])
    expect(await balanceOf(other)).toBe(3n)
    expect(await node.publicClient.getBalance({ address: other })).toBe(before + 7n)
    const allowance = { functionName: 'allowance', args: [address, owned.owner.address] }
    expect(await node.publicClient.readContract({ ...token, ...allowance })).toBe(4n)
    const { abi, bytecode } = oddContract('Failing')
    const input = encodeDeployData({ abi, bytecode })
    const created = await sendFor(owned, [{ to: null, value: 0n, input }])
    if (created.kind !== 'mined' || created.contractAddress === null) throw new Error('expected a created contract')
    expect(created).toMatchObject({ ...done, contractAddress: created.contractAddress })
    expect(created.contractAddress).toBe(getAddress(created.contractAddress))
    expect(await node.publicClient.getCode({ address: created.contractAddress as Address })).toBeDefined()
  })

  test('is reverted as a whole if one of its calls fails', async () => {
    const owned = await createDeployed()
    const mint = tokenCall('mint', [owned.wallet.address, 10n])
    const undone = { kind: 'mined', success: false, contractAddress: null, executedBy: [] }
    for (const failing of [
      [tokenCall('transfer', [other, 11n])],
      [mint, tokenCall('transfer', [other, 11n])],
      [mint, { to: other, value: 1n, input: '0x' as const }],
      [{ to: null, value: 0n, input: oddContract('RefusingCreation').bytecode }],
    ]) {
      expect(await sendFor(owned, failing)).toMatchObject(undone)
    }
    expect(await balanceOf(owned.wallet.address)).toBe(0n)
    expect(await innerNonce(owned)).toBe(0n)
  })

  test('works only for its owner: the same call data from another sender is refused', async () => {
    const owned = await createDeployed()
    const intent = safes.execution(owned.wallet, [tokenCall('mint', [other, 10n])])
    const before = await balanceOf(other)
    expect(await sendFor(owned, [tokenCall('mint', [other, 10n])])).toMatchObject({ success: true })
    await expect(sendIntent(stranger, intent)).rejects.toThrow('GS025')
    const forced = { account: stranger, to: intent.to as Address, data: intent.input, gas: 500_000n }
    const { status } = await node.receiptOf(await node.walletClient.sendTransaction(forced))
    expect([status, await balanceOf(other)]).toEqual(['reverted', (before as bigint) + 10n])
  })
})

describe('deployment and execution in one', () => {
  const sendRaw = async (intent: Intent, gas = 2_000_000n) => {
    const transaction = { account: stranger, to: intent.to as Address, data: intent.input, gas }
    const hash = await node.walletClient.sendTransaction(transaction)
    await node.receiptOf(hash)
    return chain.status(hash)
  }

  test('does both once, and anybody may send it', async () => {
    const { owner, wallet } = await createWallet()
    const intents = [tokenCall('mint', [wallet.address, 10n]), tokenCall('transfer', [other, 1n])]
    // The gas of the execution and of the deployment. Each inner call gets a 64th less than the gas around it
    // (EIP-150).
    const filled = { nonce: 0, asIfDeployed: wallet }
    const { gasLimit: gas } = await chain.fill(safes.execution(wallet, intents), owner.address, filled)
    const outer = (await chain.fill(safes.deployment(wallet), owner.address, { nonce: 0 })).gasLimit + gas + gas / 16n
    const intent = await signedBy(owner, safes.deployAndExecute(wallet, { intents, gas }))
    const done = { success: true, executedBy: [wallet.address], failedWithin: false }
    expect(await sendRaw(intent, outer)).toMatchObject(done)
    expect(await safes.state(wallet)).toEqual({ kind: 'ready' })
    expect(await balanceOf(wallet.address)).toBe(9n)
    expect(await sendRaw(intent)).toMatchObject({ success: false, executedBy: [] })
    expect(await balanceOf(wallet.address)).toBe(9n)
  })

  test('uses up its signature even if the execution fails', async () => {
    const owned = await createWallet()
    const { owner, wallet } = owned
    const failing = tokenCall('transfer', [other, 5n])
    const intent = await signedBy(owner, safes.deployAndExecute(wallet, { intents: [failing], gas: 300_000n }))
    expect(await sendRaw(intent)).toMatchObject({ success: true, executedBy: [], failedWithin: true })
    expect(await safes.state(wallet)).toEqual({ kind: 'ready' })
    expect(await innerNonce(owned)).toBe(1n)
    // Now it could succeed. This is only the inner call, copied from the call data:
    expect(await sendFor(owned, [tokenCall('mint', [wallet.address, 10n])])).toMatchObject({ success: true })
    const at = intent.input.indexOf('6a761202')
    const inner: Intent = { to: wallet.address, value: 0n, input: `0x${intent.input.slice(at)}` }
    await expect(sendIntent(stranger, inner)).rejects.toThrow('GS026')
    expect(await sendRaw(intent)).toMatchObject({ success: false })
    expect(await balanceOf(wallet.address)).toBe(10n)
  })
})

describe('the state of a wallet that was changed from outside', () => {
  const guard = getAddress(`0x${'9a'.repeat(20)}`)
  const abi: Abi = SAFE
  const told = (functionName: string, args: readonly unknown[]) => encodeFunctionData({ abi, functionName, args })
  const sentinel = '0x0000000000000000000000000000000000000001'
  const storage = (slot: Hex, value: bigint) => (address: string) =>
    node.testClient.setStorageAt({ address: address as Address, index: slot, value: toHex(value, { size: 32 }) })

  const byItself: readonly (readonly [string, (owner: string) => Hex, (owner: string) => string])[] = [
    ['shows another owner', (owner) => told('swapOwner', [sentinel, owner, other]), () => `its owner is ${other}`],
    [
      'shows an additional owner',
      () => told('addOwnerWithThreshold', [other, 1n]),
      (owner) => `its owners are ${other}, ${owner}`,
    ],
    [
      'shows an additional owner if both must sign',
      () => told('addOwnerWithThreshold', [other, 2n]),
      (owner) => `its owners are ${other}, ${owner}`,
    ],
    ['shows a module', () => told('enableModule', [guard]), () => 'a module is enabled'],
    ['shows a guard', () => told('setGuard', [guard]), () => 'a guard is set'],
    [
      'shows another fallback handler',
      () => told('setFallbackHandler', [guard]),
      () => `its fallback handler is ${guard}`,
    ],
  ]
  test.each(byItself)('%s', async (_, inputOf, how) => {
    // Answers every call with true; a guard must do so when it is set.
    await node.testClient.setCode({ address: guard, bytecode: '0x60015f5260205ff3' })
    const owned = await createDeployed()
    const { address, owner } = owned.wallet
    expect(await sendFor(owned, [{ to: address, value: 0n, input: inputOf(owner) }])).toMatchObject({ success: true })
    expect(await safes.state(owned.wallet)).toEqual({ kind: 'changed', how: how(owner) })
  })

  test('shows an additional owner after its own', async () => {
    const owned = await createDeployed()
    const { address: to, owner } = owned.wallet
    const intents = [
      told('addOwnerWithThreshold', [other, 1n]),
      told('removeOwner', [other, owner, 1n]),
      told('addOwnerWithThreshold', [owner, 1n]),
    ].map((input) => ({ to, value: 0n, input }))
    expect(await sendFor(owned, intents)).toMatchObject({ success: true })
    expect(await safes.state(owned.wallet)).toEqual({ kind: 'changed', how: `its owners are ${owner}, ${other}` })
  })

  const byForce: readonly (readonly [string, (address: string) => Promise<void>, string])[] = [
    ['shows another threshold', storage(SLOTS.threshold, 2n), 'its threshold is 2'],
    [
      'shows another implementation',
      storage(SLOTS.singleton, BigInt(SAFE_ADDRESSES.createCall)),
      'its code is another one',
    ],
    [
      'shows another contract',
      (address) => node.testClient.setCode({ address: address as Address, bytecode: '0x60015f5260205ff3' }),
      'its code is another one',
    ],
    ['shows that it does not answer', storage(SLOTS.ownerCount, 2n ** 255n), 'it is no longer a Safe'],
  ]
  test.each(byForce)('%s', async (_, change, how) => {
    const { wallet } = await createDeployed()
    await change(wallet.address)
    expect(await safes.state(wallet)).toEqual({ kind: 'changed', how })
  })

  test('is not read half before and half after its deployment', async () => {
    const { wallet } = await createDeployed()
    const proxy = startFakeNode({ behind: node.rpcUrl })
    // A block comes within the batch.
    proxy.behave(({ method, params }) =>
      method === 'eth_call' && params[1] === 'latest' ? { result: '0x' } : undefined,
    )
    expect(await safesOf(chainAt(proxy.rpcUrl)).state(wallet)).toEqual({ kind: 'ready' })
    proxy.stop()
  })

  test('is read in one round trip, or the node is reported as unavailable', async () => {
    const { wallet } = await createDeployed()
    const proxy = startFakeNode({ behind: node.rpcUrl })
    const proxied = safesOf(chainAt(proxy.rpcUrl))
    const unbounded: unknown[] = []
    proxy.behave(({ method, params: [call] }) => {
      if (method === 'eth_call' && !(isRecord(call) && 'gas' in call)) unbounded.push(call)
      return undefined
    })
    expect(await proxied.state(wallet)).toEqual({ kind: 'ready' })
    expect(unbounded).toEqual([])
    const reads = ['eth_getCode', ...Array(3).fill('eth_getStorageAt'), ...Array(3).fill('eth_call')]
    // The presence of Safe's own contracts is checked once.
    expect(proxy.calls).toEqual([Array(5).fill('eth_getCode'), reads].map((each) => ['eth_chainId', ...each]))
    const refusal = { error: { code: -32005, message: 'rate limit exceeded' } }
    for (const refused of new Set(reads)) {
      proxy.behave(({ method }) => (method === refused ? refusal : undefined))
      await expect(proxied.state(wallet)).rejects.toMatchObject({ code: 'node_unavailable' })
    }
    // A contract with other answers to calls is no Safe; if a slot cannot be read, the node is unavailable.
    proxy.behave(({ method }) => (method === 'eth_call' ? { result: '0x1234' } : undefined))
    expect(await proxied.state(wallet)).toEqual({ kind: 'changed', how: 'it is no longer a Safe' })
    proxy.behave(({ method }) => (method === 'eth_getStorageAt' ? { result: 'zero' } : undefined))
    await expect(proxied.state(wallet)).rejects.toMatchObject({ code: 'node_unavailable' })
    proxy.stop()
  })
})

describe('the reason why an execution would fail', () => {
  const noSimulation: Behaviour = ({ method }) =>
    method === 'eth_simulateV1' ? { error: { code: -32601, message: 'Method not found' } } : undefined
  const pay = (value: bigint): Intent => ({ to: other, value, input: '0x' })
  let owned: Owned
  let wallet: ContractWallet
  let odd: { readonly address: Address; readonly abi: readonly unknown[] }
  const oddCall = (functionName: string, args: readonly unknown[] = []): Intent => ({
    ...{ to: odd.address, value: 0n },
    input: encodeFunctionData({ abi: odd.abi, functionName, args }),
  })
  beforeAll(async () => {
    owned = await createDeployed()
    wallet = owned.wallet
    odd = await deployOdd(node, 'Failing')
  })

  test('is that of the first failing call, as in a preview', async () => {
    const failingCall = (...intents: readonly Intent[]) => safes.failingCall({ address: wallet.address, intents })
    const custom = oddCall('custom')
    const mint = tokenCall('mint', [wallet.address, 5n])
    const overdrawn = tokenCall('transfer', [other, 6n])
    const needs = (balance: bigint) => expect.stringMatching(`balance: ${balance}, needed: 6`)
    for (const failing of [oddCall('text'), oddCall('silent'), oddCall('divide', [0n]), custom]) {
      const [preview] = await chain.preview(wallet.address, [failing])
      const told = { reason: preview?.error ?? '', isUnfunded: false }
      expect(await failingCall(failing)).toEqual({ ...told, index: 0 })
      expect(await failingCall(oddCall('text'), failing)).toMatchObject({ index: 0 })
      expect(await failingCall(mint, { ...pay(0n), gasLimit: 1n }, failing, custom)).toEqual({ ...told, index: 2 })
    }
    expect(await failingCall(overdrawn)).toMatchObject({ reason: needs(0n), index: 0 })
    expect(await failingCall(mint, overdrawn)).toMatchObject({ reason: needs(5n), index: 1 })
    expect(await failingCall(oddCall('text'))).toMatchObject({ reason: 'execution reverted: no way' })
    expect(await failingCall(mint, tokenCall('transfer', [other, 5n]))).toBeNull()
    expect(await failingCall({ to: null, value: 0n, input: oddContract('Failing').bytecode })).toBeNull()
    const refusing: Intent = { to: null, value: 0n, input: oddContract('RefusingCreation').bytecode }
    expect(await failingCall(refusing)).toMatchObject({ reason: expect.stringContaining('execution reverted') })
  })

  test('says if the wallet lacks the coins', async () => {
    const { address } = wallet
    const unfunded = { reason: 'insufficient funds for transfer', isUnfunded: true }
    await node.fund(address as Address, 10n)
    expect(await safes.failingCall({ address, intents: [pay(11n)] })).toEqual({ ...unfunded, index: 0 })
    expect(await safes.failingCall({ address, intents: [pay(6n), pay(5n)] })).toEqual({ ...unfunded, index: 1 })
    expect(await safes.failingCall({ address, intents: [pay(6n), pay(4n)] })).toBeNull()
    await node.mine()
    const blockNumber = await node.publicClient.getBlockNumber()
    expect(await sendFor(owned, [pay(10n)])).toMatchObject({ success: true })
    const back = await safes.failingCall({ address, intents: [pay(6n), pay(5n)], blockNumber })
    expect(back).toEqual({ ...unfunded, index: 1 })
  })

  test('uses the errors that the operator declared', async () => {
    const selector = toFunctionSelector('Told(uint256,address)')
    const inputs = [
      { name: 'number', type: 'uint256' },
      { name: 'who', type: 'address' },
    ]
    const declared = { name: 'Told', inputs, selector, isGeneral: true, addresses: [] }
    const memory = { ...createMemory(), readAbiItems: async () => [declared] }
    const { address } = wallet
    const reason = `execution reverted: Told(number: 7, who: ${address})`
    const told = safesOf(chainAt(node.rpcUrl, memory))
    expect(await told.failingCall({ address, intents: [oddCall('custom')] })).toMatchObject({ reason })
    expect(await told.failingCall({ address, intents: [pay(0n), oddCall('custom')] })).toMatchObject({
      reason,
      index: 1,
    })
  })

  test('can be found for an older block, unless its state was pruned', async () => {
    const { address } = wallet
    await node.write({ contract: { ...odd, abi: odd.abi as Abi }, functionName: 'keep', args: [3n] })
    const blockNumber = await node.publicClient.getBlockNumber()
    await node.write({ contract: { ...odd, abi: odd.abi as Abi }, functionName: 'keep', args: [4n] })
    for (const before of [[], [pay(0n)]]) {
      const intents = [...before, oddCall('need', [4n])]
      const told = { reason: 'execution reverted: kept differs', index: before.length, isUnfunded: false }
      expect(await safes.failingCall({ address, intents, blockNumber })).toEqual(told)
      expect(await safes.failingCall({ address, intents })).toBeNull()
      const pruned = startFakeNode({
        behind: node.rpcUrl,
        behaviour: () => ({
          error: { code: -32000, message: 'missing trie node 12ab (path ) state is not available' },
        }),
      })
      const forgetful = safesOf(chainAt(pruned.rpcUrl))
      expect(await forgetful.failingCall({ address, intents, blockNumber })).toBeNull()
      await expect(forgetful.failingCall({ address, intents })).rejects.toMatchObject({ code: 'node_unavailable' })
      pruned.behave(() => ({ error: { code: -32000, message: 'header not found' } }))
      expect(await forgetful.failingCall({ address, intents, blockNumber })).toBeNull()
      pruned.stop()
    }
  })

  test('is found only for the first call on a node that cannot simulate', async () => {
    const proxy = startFakeNode({ behind: node.rpcUrl, behaviour: noSimulation })
    const { failingCall } = safesOf(chainAt(proxy.rpcUrl))
    const { address } = wallet
    const text = oddCall('text')
    expect(await failingCall({ address, intents: [text, pay(0n)] })).toMatchObject({ index: 0 })
    expect(await failingCall({ address, intents: [pay(0n), text] })).toBeNull()
    // EIP-3607 is about transactions; a node that applies it to eth_call gives no reason.
    proxy.behave(({ method }) =>
      method === 'eth_chainId'
        ? undefined
        : { error: { code: -32000, message: `sender not an eoa: address ${address}, len(code): 171` } },
    )
    expect(await failingCall({ address, intents: [text] })).toBeNull()
    expect(await safesOf(chainAt(proxy.rpcUrl)).failingCall({ address, intents: [text, text] })).toBeNull()
    proxy.stop()
  })
})

describe('a wallet that is not deployed yet', () => {
  test('is simulated with the code and storage that its deployment will set', async () => {
    const { wallet } = await createDeployed()
    const address = wallet.address as Address
    const { code, nonce, stateDiff } = asDeployed(wallet)[address] ?? {}
    expect(await node.publicClient.getCode({ address })).toBe(code)
    expect(await node.publicClient.getTransactionCount({ address })).toBe(nonce ?? 0)
    expect(Object.keys(stateDiff ?? {})).toHaveLength(7)
    for (const [slot, word] of Object.entries(stateDiff ?? {})) {
      expect(await node.publicClient.getStorageAt({ address, slot: slot as Hex })).toBe(word)
    }
  })

  const gasOf = async (asked: Chain, wallet: ContractWallet, intents: readonly Intent[], isDeployed: boolean) => {
    const asIfDeployed = isDeployed ? undefined : wallet
    const intent = safes.execution(wallet, intents)
    const options = { pending: async () => [], asIfDeployed }
    const prepared = (await asked.prepare(intent, wallet.owner, options)).unsigned.gasLimit
    const filled = (await asked.fill(intent, wallet.owner, { nonce: 0, asIfDeployed })).gasLimit
    expect(filled).toBe(prepared)
    return Number(prepared)
  }

  test('is checked as if it were deployed, without eth_simulateV1', async () => {
    const proxy = startFakeNode({ behind: node.rpcUrl })
    const asked = chainAt(proxy.rpcUrl)
    const owned = await createWallet()
    const { wallet } = owned
    const told: readonly (readonly Intent[])[] = [
      [tokenCall('mint', [wallet.address, 10n])],
      [tokenCall('mint', [wallet.address, 10n]), tokenCall('transfer', [other, 3n])],
      [{ to: null, value: 0n, input: oddContract('Failing').bytecode }],
    ]
    const before = []
    for (const intents of told) before.push(await gasOf(asked, wallet, intents, false))
    const failing = safes.execution(wallet, [tokenCall('transfer', [other, 1n])])
    const options = { pending: async () => [], asIfDeployed: wallet }
    for (const refused of [
      () => asked.prepare(failing, wallet.owner, options),
      () => asked.prepare({ ...failing, gasLimit: 500_000n }, wallet.owner, options),
      () => asked.fill(failing, wallet.owner, { nonce: 0, asIfDeployed: wallet }),
    ]) {
      await expect(refused()).rejects.toMatchObject({
        code: 'execution_reverted',
        message: 'execution reverted: GS013',
      })
    }
    const fixed = { ...safes.execution(wallet, [{ to: other, value: 0n, input: '0x' }]), gasLimit: 500_000n }
    expect((await asked.prepare(fixed, wallet.owner, options)).unsigned.gasLimit).toBe(500_000n)
    expect(await safes.state(wallet)).toEqual({ kind: 'undeployed' })
    expect(proxy.calls.flat()).not.toContain('eth_simulateV1')
    await deployWallet(wallet)
    for (const [index, intents] of told.entries()) {
      const after = await gasOf(asked, wallet, intents, true)
      expect(Math.abs(after - (before[index] ?? 0)) / after).toBeLessThan(0.03)
    }
    proxy.stop()
  })

  test('is checked after its deployment and earlier executions', async () => {
    const { wallet } = await createWallet()
    const mint = safes.execution(wallet, [tokenCall('mint', [wallet.address, 10n])])
    const behind = async () => [
      { ...safes.deployment(wallet), from: stranger.address, nonce: Number.MAX_SAFE_INTEGER },
      { ...mint, from: wallet.owner, nonce: 0 },
    ]
    const spend = (amount: bigint) =>
      chain.prepare(safes.execution(wallet, [tokenCall('transfer', [other, amount])]), wallet.owner, {
        ...{ pending: behind, asIfDeployed: wallet },
      })
    expect((await spend(10n)).unsigned.gasLimit).toBeGreaterThan(60_000n)
    await expect(spend(11n)).rejects.toMatchObject({ code: 'execution_reverted', message: 'execution reverted: GS013' })
  })

  test('needs an owner with coins; otherwise the refusal is balance_insufficient', async () => {
    const wallet = safes.of(privateKeyToAccount(keccak256(stringToHex('poor'))).address)
    const intent = safes.execution(wallet, [tokenCall('mint', [other, 1n])])
    const prepared = chain.prepare(intent, wallet.owner, { pending: async () => [], asIfDeployed: wallet })
    await expect(prepared).rejects.toMatchObject({ code: 'balance_insufficient' })
    // A node may require coins before it runs anything; then it is asked again with a balance override.
    const greedy = startFakeNode({
      behind: node.rpcUrl,
      behaviour: ({ method, params: [, , overrides] }) =>
        method === 'eth_estimateGas' && !JSON.stringify(overrides ?? {}).includes('balance')
          ? { error: { code: -32000, message: 'insufficient funds for transfer' } }
          : undefined,
    })
    const options = { nonce: 0, asIfDeployed: wallet }
    const { gasLimit } = await chain.fill(intent, wallet.owner, options)
    expect((await chainAt(greedy.rpcUrl).fill(intent, wallet.owner, options)).gasLimit).toBe(gasLimit)
    greedy.stop()
  })
})

describe('a message signed for a wallet', () => {
  const TEXT = 'Grüße from a Safe'
  const said = async ({ owner, wallet }: Owned, isDeployed: boolean) =>
    signedBy(owner, safes.message(wallet, { message: Buffer.from(TEXT), isDeployed }))
  const byOurs = ({ wallet: { address } }: Owned, message: string, signature: Hex) =>
    chain.verifyMessage({ address, message, signature })
  const byViem = ({ wallet }: Owned, message: string, signature: Hex) =>
    node.publicClient.verifyMessage({ address: wallet.address as Address, message, signature })

  test('is valid before and after the deployment, for this wallet and text only', async () => {
    const owned = await createWallet()
    const stranger = await createDeployed()
    const wrapped = await said(owned, false)
    const bare = await said(owned, true)
    const check = async (signature: Hex, expected: boolean) => {
      expect(await byOurs(owned, TEXT, signature)).toBe(expected ? 'contract' : null)
      expect(await byViem(owned, TEXT, signature)).toBe(expected)
      const address = owned.wallet.address as Address
      expect(await node.publicClient.verifyHash({ address, hash: hashMessage(TEXT), signature })).toBe(expected)
      expect([await byOurs(owned, `${TEXT}!`, signature), await byViem(owned, `${TEXT}!`, signature)]).toEqual([
        null,
        false,
      ])
      expect([await byOurs(stranger, TEXT, signature), await byViem(stranger, TEXT, signature)]).toEqual([null, false])
    }
    await check(wrapped, true)
    await check(bare, false)
    await deployWallet(owned.wallet)
    await check(wrapped, true)
    await check(bare, true)
    // The signature is the Safe's, not the key's own.
    const own = { address: owned.owner.address, message: TEXT, signature: bare }
    expect(await chain.verifyMessage(own)).toBeNull()
  })
})
