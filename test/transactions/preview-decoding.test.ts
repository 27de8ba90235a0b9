// Decoded calls and errors in previews, by the built-in declarations and by ABIs that an operator adds to the running
// service.

import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import { encodeErrorResult, encodeFunctionData, getAddress, type Hex, pad, parseAbi, toHex } from 'viem'
import { listAbis } from '../../db/queries/abis.ts'
import { addAbi, removeAbi } from '../../src/assets/abis/added.ts'
import { startFakeNode, withoutIdentity } from '../chains/evm/fake-node.ts'
import { fundedAccount, startChain, type TestChain } from '../support/chains.ts'
import { longTest } from '../support/long.ts'
import { type Service, startService } from '../support/service.ts'

const network = 'Ethereum'
const FROM = fundedAccount(0).address
const BOB = fundedAccount(5).address
const PERMIT2 = '0x000000000022D473030F116dDEE9F6B43aC78BA3'

/** Code of two contracts: one does nothing, the other reverts with its call data. */
const ACCEPTS: Hex = '0x00'
const ECHOES: Hex = '0x365f5f37365ffd'

/** CODECOPY and REVERT of the bytes that follow. */
const alwaysFailsWith = (data: Hex): Hex => {
  const size = toHex((data.length - 2) / 2).slice(2)
  return `0x60${size}600a5f3960${size}5ffd${data.slice(2)}`
}

const SLOTS = {
  implementation: '0x360894a13ba1a3210667c828492db98dca3e2076cc3735a920a3ca505d382bbc',
  beacon: '0xa3f0ad74e5423aebfd80d3ef4346578335a9a72aeaee59ff6cb3582b35133d50',
  zeppelinos: '0x7050c9e0f4ca769c69bd3a8ef740bc37934f8e2c036e5a723fd8ee048ed3f8c3',
} as const

let chain: TestChain
let node: ReturnType<typeof startFakeNode>
let service: Service
let contracts = 0xc0de0000

beforeAll(async () => {
  chain = await startChain(network)
  node = startFakeNode({ behind: chain.rpcUrl })
  service = await startService({ rpcUrls: { [network]: node.rpcUrl } })
})
afterAll(async () => {
  await service.close()
  node.stop()
  await chain.stop()
})
afterEach(async () => {
  for (const { name } of await listAbis(service.ctx.db)) await removeAbi(service.ctx, { name, actor: 'operator' })
})

const place = async (code: Hex) => {
  contracts += 1
  const address = getAddress(pad(toHex(contracts), { size: 20 }))
  await chain.testClient.setCode({ address, bytecode: code })
  return address
}

const store = (address: Hex, slot: Hex, value: Hex) =>
  chain.testClient.setStorageAt({ address, index: slot, value: pad(value, { size: 32 }) })

const preview = async (to: string, input: Hex) => {
  const answer = await service.post('/transactions/preview', {
    network,
    from: FROM,
    unsigned_transaction: { to, input },
  })
  expect(answer.status).toBe(200)
  return answer.json
}

const decoded = async (to: string, input: Hex) => {
  const { function_name, arguments: values } = await preview(to, input)
  return [function_name, values]
}

const errorOf = async (to: string, input: Hex) => (await preview(to, input)).simulation.error

type Adding = { readonly name: string; readonly address?: string; readonly on?: 'Ethereum' | 'Polygon' }

const add = (abi: unknown, { name, address, on = network }: Adding) => {
  const binding = address === undefined ? null : { network: on, address }
  return addAbi(service.ctx, { text: JSON.stringify(abi), name, fallbackName: 'x', binding, actor: 'operator' })
}

const DOOR = parseAbi([
  'struct Door { uint64 id; bytes4[] keys; }',
  'function open(Door[] _doors, bool, (int8 x, string y) how)',
  'error Locked(uint64 id, address by)',
])
const OPEN = encodeFunctionData({
  abi: DOOR,
  functionName: 'open',
  args: [[{ id: 7n, keys: ['0xaabbccdd'] }], true, { x: -3, y: 'so\u0000\u202e' }],
})
const OPENED = ['open', { doors: [{ id: '7', keys: ['0xaabbccdd'] }], 1: true, how: { x: '-3', y: 'so\u0000\u202e' } }]
const LOCKED = encodeErrorResult({ abi: DOOR, errorName: 'Locked', args: [7n, BOB] })
const NOTHING = [null, null]

describe('the built-in declarations', () => {
  test('decode a permit of Permit2 with its nested fields', async () => {
    const abi = parseAbi([
      'struct PermitDetails { address token; uint160 amount; uint48 expiration; uint48 nonce; }',
      'struct PermitSingle { PermitDetails details; address spender; uint256 sigDeadline; }',
      'function permit(address owner, PermitSingle permitSingle, bytes signature)',
    ])
    const details = { token: BOB, amount: 2n ** 160n - 1n, expiration: 1_900_000_000, nonce: 4 }
    const single = { details, spender: PERMIT2 as Hex, sigDeadline: 5n }
    const input = encodeFunctionData({ abi, functionName: 'permit', args: [FROM, single, '0xabcd'] })
    expect(await decoded(await place(ACCEPTS), input)).toEqual([
      'permit',
      {
        owner: FROM,
        permitSingle: {
          details: { token: BOB, amount: String(2n ** 160n - 1n), expiration: '1900000000', nonce: '4' },
          spender: PERMIT2,
          sigDeadline: '5',
        },
        signature: '0xabcd',
      },
    ])
    const data = `${input}${'00'.repeat(32)}` as const
    expect(await decoded(await place(ACCEPTS), data)).toEqual(NOTHING)
  })

  test('show custom errors with parameters, panics in words, texts on one line, and unknown errors by selector', async () => {
    const to = await place(ECHOES)
    const abi = parseAbi([
      'error ERC20InsufficientBalance(address sender, uint256 balance, uint256 needed)',
      'error AllowanceExpired(uint256 deadline)',
      'error Error(string text)',
      'error Panic(uint256 code)',
    ])
    const balance = encodeErrorResult({ abi, errorName: 'ERC20InsufficientBalance', args: [FROM, 1n, 2n] })
    expect(await errorOf(to, balance)).toBe(
      `execution reverted: ERC20InsufficientBalance(sender: ${FROM}, balance: 1, needed: 2)`,
    )
    const expired = encodeErrorResult({ abi, errorName: 'AllowanceExpired', args: [9n] })
    expect(await errorOf(to, expired)).toBe('execution reverted: AllowanceExpired(deadline: 9)')
    const panic = encodeErrorResult({ abi, errorName: 'Panic', args: [0x11n] })
    expect(await errorOf(to, panic)).toBe('execution reverted: panic: arithmetic overflow or underflow (0x11)')
    const hostile = encodeErrorResult({ abi, errorName: 'Error', args: [`a\nb\u0000\u202e${'x'.repeat(1_000)}`] })
    expect(await errorOf(to, hostile)).toBe(`execution reverted: a b${'x'.repeat(297)}`)
    expect(await errorOf(to, LOCKED)).toBe(`execution reverted: custom error ${LOCKED.slice(0, 10)}`)
  })
})

describe('an ABI that an operator adds', () => {
  test('is used from the next preview on, for every contract and element, until it is removed', async () => {
    const [contract, echo] = [await place(ACCEPTS), await place(ECHOES)]
    expect(await decoded(contract, OPEN)).toEqual(NOTHING)
    await add(DOOR, { name: 'doors' })
    expect(await decoded(contract, OPEN)).toEqual(OPENED)
    const bundle = await service.post('/transactions/preview-bundle', {
      network,
      from: FROM,
      unsigned_transactions: [
        { to: echo, input: LOCKED },
        { to: contract, input: OPEN },
        { to: echo, input: OPEN },
      ],
    })
    expect(bundle.json.map((each: { function_name: string }) => each.function_name)).toEqual([null, 'open', 'open'])
    expect(bundle.json.map((each: { simulation: { error: string } }) => each.simulation.error)).toEqual([
      `execution reverted: Locked(id: 7, by: ${BOB})`,
      null,
      `execution reverted: custom error ${OPEN.slice(0, 10)}`,
    ])
    await removeAbi(service.ctx, { name: 'doors', actor: 'operator' })
    expect(await decoded(contract, OPEN)).toEqual(NOTHING)
  })

  test('does not add a round trip to the node', async () => {
    const contract = await place(ACCEPTS)
    await add(DOOR, { name: 'doors' })
    await preview(contract, OPEN)
    node.calls.length = 0
    expect(await decoded(contract, OPEN)).toEqual(OPENED)
    expect(withoutIdentity(node.calls)).toEqual([['eth_simulateV1']])
  })

  test('that is bound to a contract is used only for it, before the built-in declarations', async () => {
    const [mine, other] = [await place(ACCEPTS), await place(ACCEPTS)]
    const abi = parseAbi(['function transfer(address winner, uint256 points)'])
    const input = encodeFunctionData({ abi, functionName: 'transfer', args: [BOB, 5n] })
    await add(abi, { name: 'game', address: mine.toLowerCase() })
    expect(await decoded(mine, input)).toEqual(['transfer', { winner: BOB, points: '5' }])
    expect(await decoded(other, input)).toEqual(['transfer', { to: BOB, value: '5' }])
    await add(abi, { name: 'the same on Polygon', address: other, on: 'Polygon' })
    expect(await decoded(other, input)).toEqual(['transfer', { to: BOB, value: '5' }])
  })

  test('also decodes errors of contracts called within', async () => {
    const [echo, elsewhere] = [await place(ECHOES), await place(ACCEPTS)]
    await add(DOOR, { name: 'doors', address: elsewhere })
    expect(await errorOf(echo, LOCKED)).toBe(`execution reverted: Locked(id: 7, by: ${BOB})`)
    expect(await decoded(echo, OPEN)).toEqual(NOTHING)
  })

  longTest('also decodes errors for requests to sign, send and mint', async () => {
    const { address } = await service.newWallet({ network })
    const [echo, locked] = [await place(ECHOES), await place(alwaysFailsWith(LOCKED))]
    const credential = { network, developer_secret: 'testnet-secret' }
    const signing = { ...credential, signer_wallet_address: address }
    const told = async () => {
      const answers = [
        await service.post('/transactions/sign', { ...signing, unsigned_transaction: { to: echo, input: LOCKED } }),
        await service.post('/transactions/sign-and-send', {
          ...{ ...signing, unsigned_transaction: { to: echo, input: LOCKED } },
        }),
        await service.post('/transactions/sign-and-send', {
          ...{ ...signing, unsigned_transaction: { to: echo, input: LOCKED, gasLimit: '100000' } },
        }),
        await service.post('/nfts/mint', {
          ...{ ...credential, contract_address: locked, recipient: BOB, uri: 'ipfs://x' },
        }),
      ]
      return answers.map(({ status, json }) => [status, json.error])
    }
    const unnamed = `custom error ${LOCKED.slice(0, 10)}`
    const named = `Locked(id: 7, by: ${BOB})`
    const allOf = (reason: string) => [
      ...[1, 2, 3].map(() => [400, `execution reverted: ${reason}`]),
      [400, `This wallet cannot mint from contract_address: execution reverted: ${reason}.`],
    ]
    expect(await told()).toEqual(allOf(unnamed))
    await add(DOOR, { name: 'doors' })
    expect(await told()).toEqual(allOf(named))
  })

  test('gives no name to a call that fits it and another function with the same selector', async () => {
    const contract = await place(ACCEPTS)
    // Has the selector of burn(uint256).
    const clash = [{ type: 'function', name: 'collate_propagate_storage', inputs: [{ name: 'data', type: 'bytes16' }] }]
    await add(clash, { name: 'clash' })
    const five = `0x42966c68${'5'.padStart(64, '0')}` as const
    const zero = `0x42966c68${'0'.padStart(64, '0')}` as const
    expect(await decoded(contract, five)).toEqual(['burn', { value: '5' }])
    expect(await decoded(contract, zero)).toEqual(NOTHING)
    await add(clash, { name: 'bound', address: contract })
    expect(await decoded(contract, zero)).toEqual(['collate_propagate_storage', { data: `0x${'00'.repeat(16)}` }])
    expect(await decoded(contract, five)).toEqual(NOTHING)
  })
})

describe('an ABI that is bound to an implementation', () => {
  const proxies: readonly (readonly [string, (implementation: Hex) => Promise<Hex>])[] = [
    [
      'a proxy of ERC-1967',
      async (implementation) => {
        const proxy = await place(ACCEPTS)
        await store(proxy, SLOTS.implementation, implementation)
        return proxy
      },
    ],
    [
      'a proxy of a beacon',
      async (implementation) => {
        const proxy = await place(ACCEPTS)
        // Returns the address for every call.
        await store(proxy, SLOTS.beacon, await place(`0x73${implementation.slice(2)}5f5260205ff3`))
        return proxy
      },
    ],
    [
      'a proxy from before ERC-1967',
      async (implementation) => {
        const proxy = await place(ACCEPTS)
        await store(proxy, SLOTS.zeppelinos, implementation)
        return proxy
      },
    ],
    [
      'a minimal proxy',
      (implementation) => place(`0x363d3d373d3d3d363d73${implementation.slice(2)}5af43d82803e903d91602b57fd5bf3`),
    ],
    [
      'a minimal proxy with arguments',
      (implementation) => place(`0x363d3d373d3d3d363d73${implementation.slice(2)}5af43d82803e903d91602b57fd5bf3aabb`),
    ],
    ['an account that has delegated', (implementation) => place(`0xef0100${implementation.slice(2)}`)],
  ]

  test.each(proxies)('is used for %s', async (_, proxyOf) => {
    const implementation = await place(ACCEPTS)
    await add(DOOR, { name: 'doors', address: implementation })
    expect(await decoded(await proxyOf(implementation), OPEN)).toEqual(OPENED)
    expect(await decoded(implementation, OPEN)).toEqual(OPENED)
    expect(await decoded(await place(ACCEPTS), OPEN)).toEqual(NOTHING)
  })

  test('is not used for a proxy that was upgraded to another implementation', async () => {
    const [first, second, proxy] = [await place(ACCEPTS), await place(ACCEPTS), await place(ACCEPTS)]
    await add(DOOR, { name: 'doors', address: first })
    await store(proxy, SLOTS.implementation, first)
    expect(await decoded(proxy, OPEN)).toEqual(OPENED)
    await store(proxy, SLOTS.implementation, second)
    expect(await decoded(proxy, OPEN)).toEqual(NOTHING)
  })

  test('is not used if the beacon is no contract or its answer is invalid', async () => {
    const implementation = await place(ACCEPTS)
    await add(DOOR, { name: 'doors', address: implementation })
    for (const beacon of [BOB, await place(ECHOES), await place('0x60205ff3')]) {
      const proxy = await place(ACCEPTS)
      await store(proxy, SLOTS.beacon, beacon)
      expect(await decoded(proxy, OPEN)).toEqual(NOTHING)
    }
  })
})

longTest('a call as large as go-ethereum’s pool accepts is decoded; a larger one is shown without a name', async () => {
  const contract = await place(ACCEPTS)
  const abi = parseAbi([
    'function swapExactTokensForTokens(uint256 amountIn, uint256 amountOutMin, address[] path, address to)',
  ])
  const call = (count: number) => {
    const path = Array.from({ length: count }, (_, index) => pad(toHex(index + 1), { size: 20 }))
    return encodeFunctionData({ abi, functionName: 'swapExactTokensForTokens', args: [1n, 2n, path, BOB] })
  }
  const result = await preview(contract, call(4_000))
  expect(result.arguments.path.length).toBe(4_000)
  expect((await preview(contract, call(20_000))).function_name).toBeNull()
})

// This is the last test, because the service remembers what its node cannot do.
test('errors are decoded on a node without eth_simulateV1 too', async () => {
  const echo = await place(ECHOES)
  await add(DOOR, { name: 'doors' })
  node.behave(({ method }) =>
    method === 'eth_simulateV1' ? { error: { code: -32601, message: 'the method does not exist' } } : undefined,
  )
  expect(await errorOf(echo, LOCKED)).toBe(`execution reverted: Locked(id: 7, by: ${BOB})`)
})
