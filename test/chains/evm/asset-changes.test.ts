// The asset changes of a preview, on a node that simulates and on one that only traces. Both give the same result.

import { beforeAll, describe, expect, test } from 'bun:test'
import { encodeDeployData, encodeFunctionData, getAddress, getContractAddress, pad } from 'viem'
import type { Chain, Hex, Intent } from '../../../src/chains/chain.ts'
import { createEvmChain } from '../../../src/chains/evm/chain.ts'
import { createLimits } from '../../../src/chains/evm/limits.ts'
import { previewBundle } from '../../../src/chains/evm/preview.ts'
import { createRpc } from '../../../src/chains/node/rpc.ts'
import { type EvmNetworkRow, evmNetworkRow } from '../../../src/platform/networks.ts'
import { fundedAccount, startChain } from '../../support/chains.ts'
import { testContract } from '../../support/contracts.ts'
import { afterTests, shared } from '../../support/shared.ts'
import { type Behaviour, startFakeNode, withoutIdentity } from './fake-node.ts'
import { createMemory } from './memory.ts'
import { deployOdd } from './odd-contracts.ts'

const row = evmNetworkRow({ network: 'Ethereum', environment: 'testnet', devnet: true })
const rich = fundedAccount(0).address
const other = fundedAccount(1).address
const heir = getAddress('0x00000000000000000000000000000000000abcde')
const zero = '0x0000000000000000000000000000000000000000'

type Deployed = { readonly address: Hex; readonly abi: readonly unknown[] }

const proxies: ReturnType<typeof startFakeNode>[] = []
const chainBehind = (
  behaviour: Behaviour,
  coinContract: EvmNetworkRow['coinContract'] = null,
): { readonly chain: Chain; readonly calls: string[][] } => {
  const proxy = startFakeNode({ behind: node.rpcUrl, behaviour })
  proxies.push(proxy)
  return {
    chain: createEvmChain({ row: { ...row, coinContract }, rpcUrl: proxy.rpcUrl, memory: createMemory() }),
    calls: proxy.calls,
  }
}
const without =
  (...methods: readonly string[]): Behaviour =>
  ({ method }) =>
    methods.includes(method) ? { error: { code: -32601, message: `the method ${method} does not exist` } } : undefined

const call = (contract: Deployed, functionName: string, args: readonly unknown[] = [], value = 0n): Intent => ({
  to: contract.address,
  value,
  input: encodeFunctionData({ abi: contract.abi, functionName, args }),
})
const created = async (name: Parameters<typeof testContract>[0], args: readonly unknown[], value: bigint) => {
  const { abi, bytecode } = await testContract(name)
  return { to: null, value, input: encodeDeployData({ abi, bytecode, args }) } satisfies Intent
}
const brief = async (chain: Chain, intents: readonly Intent[]) =>
  (await chain.preview(rich, intents)).map(({ error, changes }) => {
    if (error !== null) throw new Error(error)
    return changes?.map(({ standard, from, to, tokenId, amount }) => [standard, from, to, tokenId ?? '-', amount])
  })

const node = await shared(startChain('Ethereum'))
const wrapped = await node.deploy('WrappedCoin')
const previewed = await node.deploy('Previewed')
afterTests(async () => {
  for (const proxy of proxies) await proxy.stop()
})

const KINDS = [
  ['a node that simulates', []],
  ['a node that only traces', ['eth_simulateV1']],
] as const

describe.each(KINDS)('%s', (_, missing) => {
  let chain: Chain
  beforeAll(() => {
    chain = chainBehind(without(...missing)).chain
  })

  test('reports payments and events in the order in which they happened', async () => {
    const at = getAddress(previewed.address)
    expect(await brief(chain, [call(previewed, 'turns', [other], 9n)])).toEqual([
      [
        ['native', rich, at, '-', 9n],
        ['erc20', rich, other, '-', 1n],
        ['native', at, other, '-', 2n],
        ['erc20', rich, other, '-', 3n],
        ['native', at, at, '-', 4n],
        ['erc20', at, other, '-', 5n],
        ['native', at, other, '-', 4n],
        ['erc20', rich, other, '-', 6n],
      ],
    ])
  })

  test('leaves out reverted calls: their payments, their inner payments and their events', async () => {
    const at = getAddress(previewed.address)
    expect(await brief(chain, [call(previewed, 'tries', [other], 50n)])).toEqual([
      [
        ['native', rich, at, '-', 50n],
        ['native', at, other, '-', 1n],
        ['erc20', at, other, '-', 5n],
        ['native', at, other, '-', 4n],
      ],
    ])
  })

  test('reports the coins of a creation, and the coins that a self-destruction sends', async () => {
    const nonce = BigInt(await node.publicClient.getTransactionCount({ address: rich }))
    const at = getContractAddress({ from: rich, nonce })
    const short = getContractAddress({ from: at, nonce: 1n })
    const [changes] = await brief(chain, [await created('PaysAtBirth', [other, heir], 10n)])
    expect(changes).toEqual([
      ['native', rich, at, '-', 10n],
      ['native', at, other, '-', 5n],
      ['native', at, short, '-', 5n],
      ['native', short, heir, '-', 5n],
    ])
  })

  test('reports wrapping and unwrapping of the coin as a mint and a burn of the token', async () => {
    const at = getAddress(wrapped.address)
    await node.write({
      contract: { ...wrapped, abi: (await testContract('WrappedCoin')).abi },
      functionName: 'deposit',
      value: 40n,
    })
    const told = await brief(chain, [
      call(wrapped, 'deposit', [], 5n),
      { to: wrapped.address, value: 6n, input: '0x' },
      call(wrapped, 'withdraw', [7n]),
      call(wrapped, 'transfer', [other, 8n]),
      call(wrapped, 'depositLoudly', [], 9n),
      call(wrapped, 'boast', [10n]),
    ])
    expect(told).toEqual([
      [
        ['native', rich, at, '-', 5n],
        ['erc20', zero, rich, '-', 5n],
      ],
      [
        ['native', rich, at, '-', 6n],
        ['erc20', zero, rich, '-', 6n],
      ],
      [
        ['native', at, rich, '-', 7n],
        ['erc20', rich, zero, '-', 7n],
      ],
      [['erc20', rich, other, '-', 8n]],
      [
        ['native', rich, at, '-', 9n],
        ['erc20', zero, rich, '-', 9n],
      ],
      [],
    ])
  })

  test("reports the coin that the network's own contract of it passes on once, as the coin", async () => {
    const coin = await node.deploy('CoinContract')
    const aware = chainBehind(without(...missing), { address: coin.address, movesIn: 'calls' }).chain
    expect(await brief(aware, [call(coin, 'transfer', [other, 3n], 3n)])).toEqual([
      [
        ['native', rich, coin.address, '-', 3n],
        ['native', coin.address, other, '-', 3n],
      ],
    ])
  })

  test('does not report a deposit into a contract that is no token as a wrapped coin', async () => {
    const stake = await node.deploy('Stake')
    expect(await brief(chain, [call(stake, 'deposit', [], 5n)])).toEqual([
      [['native', rich, getAddress(stake.address), '-', 5n]],
    ])
  })

  test('reports the amounts that rebasing tokens and tokens with a fee really moved', async () => {
    const rebasing = await node.deploy('RebasingToken')
    const fee = await deployOdd(node, 'FeeToken')
    const told = await brief(chain, [call(rebasing, 'transfer', [other, 100n]), call(fee, 'transfer', [other, 100n])])
    expect(told).toEqual([
      [['erc20', rich, other, '-', 99n]],
      [
        ['erc20', rich, other, '-', 90n],
        ['erc20', rich, getAddress(fee.address), '-', 10n],
      ],
    ])
  })

  test('reports mints, transfers and burns of tokens and NFTs of every standard', async () => {
    const token = await node.deploy('BurnableToken', [rich])
    const nft = await node.deploy('BurnableNft', [rich])
    const multi = await node.deploy('BurnableMulti', [rich])
    const told = await brief(chain, [
      call(token, 'mint', [rich, 2n]),
      call(token, 'burn', [3n]),
      call(nft, 'mint', [other, 1n]),
      call(nft, 'burn', [0n]),
      call(multi, 'mint', [rich, 7n, 5n]),
      call(multi, 'safeTransferFrom', [rich, other, 1n, 1n, '0x']),
      call(multi, 'burnBatch', [rich, [2n, 1n], [4n, 2n]]),
    ])
    expect(told).toEqual([
      [['erc20', zero, rich, '-', 2n]],
      [['erc20', rich, zero, '-', 3n]],
      [['erc721', zero, other, 1n, 1n]],
      [['erc721', rich, zero, 0n, 1n]],
      [['erc1155', zero, rich, 7n, 5n]],
      [['erc1155', rich, other, 1n, 1n]],
      [
        ['erc1155', rich, zero, 2n, 4n],
        ['erc1155', rich, zero, 1n, 2n],
      ],
    ])
  })
})

test('a self-destruction by itself is reported by a node that traces', async () => {
  const { chain } = chainBehind(without('eth_simulateV1'))
  // CALLDATALOAD(0), SELFDESTRUCT.
  const mortal = getAddress('0x000000000000000000000000000000000000dead')
  await node.rpc('anvil_setCode', [mortal, '0x600035ff'])
  await node.fund(mortal, 6n)
  expect(await brief(chain, [{ to: mortal, value: 1n, input: pad(heir) }])).toEqual([
    [
      ['native', rich, mortal, '-', 1n],
      ['native', mortal, heir, '-', 7n],
    ],
  ])
})

test('a node that only traces runs each element alone, and the error of a failed element says so', async () => {
  const { chain } = chainBehind(without('eth_simulateV1'))
  const token = await node.deploy('BurnableToken', [rich])
  const previews = await chain.preview(rich, [
    call(token, 'approve', [rich, 30n]),
    call(token, 'transferFrom', [rich, other, 30n]),
    call(token, 'transfer', [other, 7n]),
  ])
  expect(previews.map(({ error }) => error)).toEqual([
    null,
    `execution reverted: ERC20InsufficientAllowance(spender: ${rich}, allowance: 0, needed: 30) (elements before it were not taken into account: the node cannot simulate a bundle)`,
    null,
  ])
  expect(previews.map(({ changes }) => changes?.map(({ amount }) => amount))).toEqual([[], [], [7n]])
})

test('a failure of the first element has no such remark', async () => {
  const { chain } = chainBehind(without('eth_simulateV1'))
  const [preview] = await chain.preview(rich, [call(previewed, 'refuse')])
  expect(preview).toMatchObject({ success: false, error: 'execution reverted: refused', changes: [] })
})

test('traces without logs are not used', async () => {
  const { chain, calls } = chainBehind(async (request) => {
    if (request.method === 'eth_simulateV1') return { error: { code: -32601, message: 'Method not found' } }
    if (request.method !== 'debug_traceCall') return undefined
    const [transaction, block] = request.params
    return { result: await node.rpc('debug_traceCall', [transaction, block, { tracer: 'callTracer' }]) }
  })
  const token = await node.deploy('BurnableToken', [rich])
  const transfer = call(token, 'transfer', [other, 7n])
  for (const _ of [1, 2]) {
    expect(await chain.preview(rich, [transfer])).toMatchObject([{ success: true, changes: null }])
  }
  expect(calls.filter((methods) => methods.includes('debug_traceCall'))).toHaveLength(1)
})

test('if tracing fails, is too slow or is unreadable, the result is the same but without changes', async () => {
  const ways: Behaviour[] = [
    () => ({ error: { code: -32000, message: 'header not found' } }),
    () => ({ result: { type: 'CALL', calls: 'many' } }),
    () => new Promise(() => {}),
  ]
  for (const way of ways) {
    const proxy = startFakeNode({
      behind: node.rpcUrl,
      behaviour: (request) =>
        request.method === 'debug_traceCall' ? way(request) : without('eth_simulateV1')(request),
    })
    proxies.push(proxy)
    const chain = createEvmChain({ row, rpcUrl: proxy.rpcUrl, memory: createMemory(), timeoutMs: 500 })
    const [preview] = await chain.preview(rich, [{ to: other, value: 1n, input: '0x' }])
    expect(preview).toMatchObject({ success: true, error: null, changes: null })
  }
})

test('a method that the node lacked is tried again after ten minutes', async () => {
  let missing = ['eth_simulateV1', 'debug_traceCall']
  const proxy = startFakeNode({ behind: node.rpcUrl, behaviour: (request) => without(...missing)(request) })
  proxies.push(proxy)
  let nowMs = 0
  const context = {
    rpc: createRpc({ rpcUrl: proxy.rpcUrl, network: 'Ethereum' }),
    limits: createLimits({ nowMs: () => nowMs }),
    network: 'Ethereum',
    row,
    memory: createMemory(),
    coinContract: null,
    facts: async () => new Map(),
  } as const
  const intents = [{ to: other, value: 1n, input: '0x' }] as const
  const askedFor = async (): Promise<readonly [boolean, readonly string[]]> => {
    const [preview] = await previewBundle(context, { from: rich, intents })
    return [preview?.changes !== null, proxy.calls.splice(0).flat().sort()]
  }
  expect(await askedFor()).toEqual([false, ['debug_traceCall', 'debug_traceCall', 'eth_call', 'eth_simulateV1']])
  // The node is upgraded.
  missing = []
  nowMs = 599_999
  expect(await askedFor()).toEqual([false, ['eth_call']])
  nowMs = 600_000
  expect(await askedFor()).toEqual([true, ['eth_simulateV1']])
})

test('on a developer’s node, payments of inner calls are checked by a trace; on other nodes they are not', async () => {
  const tries = call(previewed, 'tries', [other], 50n)
  const { chain, calls } = chainBehind(() => undefined)
  await chain.preview(rich, [tries])
  calls.length = 0
  await chain.preview(rich, [tries, tries])
  expect(withoutIdentity(calls)).toEqual([
    ['eth_simulateV1'],
    ['web3_clientVersion', 'debug_traceCall', 'debug_traceCall'],
  ])
  const elsewhere = chainBehind(({ method }) =>
    method === 'web3_clientVersion' ? { result: 'Geth/v1.16.4' } : undefined,
  )
  await elsewhere.chain.preview(rich, [tries])
  elsewhere.calls.length = 0
  const [preview] = await elsewhere.chain.preview(rich, [tries])
  expect(withoutIdentity(elsewhere.calls)).toEqual([['eth_simulateV1']])
  // As the node reports it.
  expect(preview?.changes).toHaveLength(7)
})

test('a trace that differs from the simulation is not used', async () => {
  // The second element's path depends on the first, which its trace does not see.
  const { chain } = chainBehind(() => undefined)
  const previews = await chain.preview(rich, [call(previewed, 'keep', [1n]), call(previewed, 'payKept', [other], 8n)])
  expect(previews[1]?.changes?.map(({ to, amount }) => [to, amount])).toEqual([
    [getAddress(previewed.address), 8n],
    [other, 1n],
  ])
})

test('a missing method is forgotten ten minutes after it was first noticed, even if it was noticed again', () => {
  let nowMs = 0
  const limits = createLimits({ nowMs: () => nowMs })
  limits.learn('simulation')
  nowMs = 599_999
  limits.learn('simulation')
  expect([limits.lacks('simulation'), limits.lacks('creations')]).toEqual([true, false])
  nowMs = 600_000
  expect(limits.lacks('simulation')).toBe(false)
})
