import { beforeAll, describe, expect, test } from 'bun:test'
import { encodeFunctionData, type Hex, parseEther } from 'viem'
import { type Behaviour, startFakeNode, withoutIdentity } from '../chains/evm/fake-node.ts'
import { fundedAccount, type TestChain } from '../support/chains.ts'
import { commonWorld } from '../support/common-service.ts'
import { longTest } from '../support/long.ts'
import { countRows } from '../support/rows.ts'
import { type Service, startService } from '../support/service.ts'

const network = 'Ethereum'
const FROM = fundedAccount(0).address
const TO = fundedAccount(5).address
const FIELDS = ['arguments', 'contract', 'from', 'function_name', 'network', 'simulation', 'to']
const TOKEN_FIELDS = [
  'contract_address',
  'decimals',
  'display_decimals',
  'logo_url',
  'name',
  'network',
  'symbol',
  'uuid',
]

let chain: TestChain
let service: Service

beforeAll(async () => {
  ;({ chain, service } = await commonWorld())
})

const preview = async (unsigned_transaction: Record<string, unknown>, rest: Record<string, unknown> = {}) => {
  const answer = await service.post('/transactions/preview', { network, from: FROM, unsigned_transaction, ...rest })
  expect(answer.status).toBe(200)
  expect(Object.keys(answer.json).sort()).toEqual(FIELDS)
  return answer.json
}

describe('a preview', () => {
  test('of a payment shows the coin as a token, and no call', async () => {
    const result = await preview({ to: TO, value: parseEther('1.5').toString() })
    expect(result).toMatchObject({ network, from: FROM, to: TO, contract: null, function_name: null, arguments: null })
    const [change] = result.simulation.asset_changes
    expect(result.simulation).toMatchObject({ success: true, error: null })
    expect(change).toMatchObject({ amount: '1.5', raw_amount: '1500000000000000000', from: FROM, to: TO, nft: null })
    expect(Object.keys(change.token).sort()).toEqual(TOKEN_FIELDS)
    expect(change.token).toMatchObject({ contract_address: 'ETH', symbol: 'ETH', decimals: 18 })
  })

  test('is the same with null fields, hex quantities and addresses in lower case', async () => {
    const plain = await preview({ to: TO, value: '5' })
    const nulls = { input: null, gasLimit: null, maxFeePerGas: null, maxPriorityFeePerGas: null, nonce: null }
    expect(await preview({ to: TO.toLowerCase(), value: '0x5', ...nulls })).toEqual(plain)
    expect(await preview({ to: TO, value: '5', input: '' }, { from: FROM.toLowerCase() })).toEqual(plain)
  })

  test('of a creation has an empty destination', async () => {
    const result = await preview({ input: '0x600160005360016000f3' })
    expect(result).toMatchObject({ to: '', contract: null, simulation: { success: true, asset_changes: [] } })
  })

  test('of a call to a token names function and arguments, and shows what it moves', async () => {
    const token = await chain.deploy('TestToken', ['Dollars', 'USD', 6])
    await chain.write({ contract: token, functionName: 'mint', args: [FROM, 5_000_000n] })
    const call = (functionName: string, args: readonly unknown[]): Hex =>
      encodeFunctionData({ abi: token.abi, functionName, args })
    const result = await preview({ to: token.address, input: call('transfer', [TO, 1_250_000n]) })
    expect(result).toMatchObject({ function_name: 'transfer', arguments: { to: TO, value: '1250000' } })
    expect(Object.keys(result.contract).sort()).toEqual(
      ['network', 'address', 'type', 'name', 'logo_url', 'token', 'nft'].sort(),
    )
    expect(result.contract).toMatchObject({ type: 'token', address: token.address, nft: null })
    expect(result.simulation.asset_changes).toMatchObject([{ amount: '1.25', raw_amount: '1250000', nft: null }])
    const approval = await preview({ to: token.address, input: call('approve', [TO, 7n]) })
    expect(approval).toMatchObject({ function_name: 'approve', arguments: { spender: TO, value: '7' } })
    expect(approval.simulation.asset_changes).toEqual([])
    const unknown = await preview({ to: token.address, input: '0x12345678' })
    expect(unknown).toMatchObject({ function_name: null, arguments: null, simulation: { success: false } })
    expect(unknown.simulation.error).toStartWith('execution reverted')
  })

  test('of an NFT shows the collection and the token', async () => {
    const collection = await chain.deploy('WizardCollection', ['Test Wizard', 'TWZ', FROM])
    await chain.write({ contract: collection, functionName: 'safeMint', args: [FROM, 'ipfs://x'] })
    const input = encodeFunctionData({
      abi: collection.abi,
      functionName: 'transferFrom',
      args: [FROM, TO, 0n],
    })
    const result = await preview({ to: collection.address, input })
    expect(result.contract).toMatchObject({
      type: 'nft',
      token: null,
      nft: { network, contract_address: collection.address, name: 'Test Wizard', symbol: 'TWZ', image_url: '' },
    })
    expect(result).toMatchObject({ function_name: 'transferFrom', arguments: { from: FROM, to: TO, tokenId: '0' } })
    const [change] = result.simulation.asset_changes
    expect(change).toMatchObject({ amount: '1', raw_amount: '1', token: null })
    expect(Object.keys(change.nft).sort()).toEqual(
      ['owner_wallet_address', 'contract_address', 'token_id', 'metadata'].sort(),
    )
  })

  test('works for a sender that cannot pay the gas', async () => {
    const { address } = await service.newWallet({ network })
    expect((await preview({ to: TO }, { from: address })).simulation).toMatchObject({ success: true, error: null })
    const poor = await preview({ to: TO, value: '1' }, { from: address })
    expect(poor.simulation.success).toBe(false)
  })

  test('needs no wallet of the project if the request names the network; otherwise the wallet’s network is used', async () => {
    const { address } = await service.newWallet({ network })
    expect((await preview({ to: TO }, { from: address, network: null })).network).toBe(network)
    const answer = await service.post('/transactions/preview', { from: FROM, unsigned_transaction: { to: TO } })
    expect({ status: answer.status, code: answer.json.code }).toEqual({ status: 400, code: 'network_required' })
  })

  test('changes nothing, neither on the chain nor in the database', async () => {
    const before = [await countRows(service.database.url), await chain.publicClient.getBlockNumber()] as const
    await preview({ to: TO, value: '1' })
    expect([await countRows(service.database.url), await chain.publicClient.getBlockNumber()]).toEqual([...before])
  })
})

describe('call data', () => {
  const answerTo = (input: string) =>
    service.post('/transactions/preview', { network, from: FROM, unsigned_transaction: { to: TO, input } })

  test('of two megabytes is previewed within seconds', async () => {
    const begun = performance.now()
    for (const byteCount of [1_000_000, 2_097_000]) {
      const answer = await answerTo(`0x${'00'.repeat(byteCount)}`)
      expect(answer.status).toBe(200)
      expect(answer.json).toMatchObject({ function_name: null, arguments: null })
    }
    expect(performance.now() - begun).toBeLessThan(5_000)
  })

  test('that is no hex or too long is refused', async () => {
    for (const input of ['0x1', '0xzz', '12', 'x', `0x${'0'.repeat(3_000_001)}`]) {
      expect((await answerTo(input)).json).toEqual({
        error: 'Field "unsigned_transaction.input" must be 0x and an even number of hex digits.',
        code: 'invalid_input',
      })
    }
    expect(await answerTo(`0x${'00'.repeat(2_100_000)}`)).toMatchObject({
      status: 413,
      json: { code: 'body_too_large' },
    })
  })
})

describe('a bundle', () => {
  const bundle = (unsigned_transactions: readonly unknown[]) =>
    service.post('/transactions/preview-bundle', { network, from: FROM, unsigned_transactions })

  test('has one result for each element, in order, each after the effects of earlier ones', async () => {
    const { address } = await service.newWallet({ network })
    const answer = await service.post('/transactions/preview-bundle', {
      network,
      from: address,
      unsigned_transactions: [{ to: TO, value: '5' }, { to: TO }],
    })
    expect(answer.json.map((result: { simulation: { success: boolean } }) => result.simulation.success)).toEqual([
      false,
      true,
    ])
    const fifty = await bundle(Array.from({ length: 50 }, (_, value) => ({ to: TO, value: String(value + 1) })))
    expect(fifty.json).toHaveLength(50)
    const amounts = fifty.json.map((result: { simulation: { asset_changes: { raw_amount: string }[] } }) =>
      Number(result.simulation.asset_changes[0]?.raw_amount),
    )
    expect(amounts).toEqual(Array.from({ length: 50 }, (_, value) => value + 1))
  })

  test('sees its own approvals, and a failing element does not affect later ones', async () => {
    const token = await chain.deploy('TestToken', ['Dollars', 'USD', 6])
    await chain.write({ contract: token, functionName: 'mint', args: [FROM, 5_000_000n] })
    const call = (functionName: string, args: readonly unknown[]) => ({
      to: token.address,
      input: encodeFunctionData({ abi: token.abi, functionName, args }),
    })
    const { json } = await bundle([
      call('transferFrom', [FROM, TO, 2_000_000n]),
      call('approve', [FROM, 2_000_000n]),
      call('transferFrom', [FROM, TO, 2_000_000n]),
      { input: '0xfe' },
      call('transfer', [TO, 3_000_000n]),
      call('transfer', [TO, 1n]),
    ])
    type Told = { function_name: string; simulation: { error: string | null; asset_changes: { amount: string }[] } }
    const told = json.map(({ function_name, simulation: { error, asset_changes } }: Told) => [
      ...[function_name, error?.slice(0, 42) ?? null, asset_changes.map(({ amount }) => amount).join()],
    ])
    expect(told).toEqual([
      ['transferFrom', 'execution reverted: ERC20InsufficientAllow', ''],
      ['approve', null, ''],
      ['transferFrom', null, '2'],
      [null, 'execution failed: out of gas or an invalid', ''],
      ['transfer', null, '3'],
      ['transfer', 'execution reverted: ERC20InsufficientBalan', ''],
    ])
  })

  test('has 1 to 50 elements', async () => {
    for (const length of [0, 51]) {
      const answer = await bundle(Array.from({ length }, () => ({ to: TO, value: '1' })))
      expect({ status: answer.status, code: answer.json.code }).toEqual({ status: 400, code: 'invalid_input' })
      expect(answer.json.error).toContain('a list of 1 to 50 transactions')
    }
    expect((await bundle([{ to: TO, value: '1' }])).json).toHaveLength(1)
  })

  test('accepts nonces and fees that no chain would accept', async () => {
    const { address } = await service.newWallet({ network })
    const odd = { to: TO, nonce: '999', maxFeePerGas: '1', maxPriorityFeePerGas: '1', gasLimit: '100000' }
    const dear = { to: TO, nonce: '0', maxFeePerGas: parseEther('1').toString(), maxPriorityFeePerGas: '1' }
    const answer = await service.post('/transactions/preview-bundle', {
      network,
      from: address,
      unsigned_transactions: [odd, dear, dear],
    })
    expect(answer.json.map((result: { simulation: unknown }) => result.simulation)).toEqual(
      [1, 2, 3].map(() => ({ success: true, asset_changes: [], error: null })),
    )
  })

  test('names the invalid element and field', async () => {
    const quantity = 'a quantity below 2^256 in 0x hex or plain decimal digits.'
    for (const [wrong, field, what = ''] of [
      [{ to: TO, value: '-1' }, 'unsigned_transactions.1.value', `must be ${quantity}`],
      [{ to: TO, value: 1 }, 'unsigned_transactions.1.value', `must be a text: ${quantity}`],
      [{ to: '0x12' }, 'unsigned_transactions.1.to'],
      [{}, 'unsigned_transactions.1.to'],
      [null, 'unsigned_transactions.1'],
      [{ to: TO, gas: '1' }, 'unsigned_transactions.1.gas', 'is unknown here; known are to, value, input, gasLimit, '],
    ] as const) {
      const answer = await bundle([{ to: TO }, wrong])
      expect(answer.status).toBe(400)
      expect(answer.json.error).toStartWith(`Field "${field}" ${what}`)
    }
  })
})

describe('a preview and its node', () => {
  const at = async (
    behaviour: Behaviour,
    use: (post: Service['post'], calls: string[][]) => Promise<void>,
    variables: Record<string, string> = {},
  ) => {
    const proxy = startFakeNode({ behind: chain.rpcUrl, behaviour })
    const counted = await startService({ rpcUrls: { [network]: proxy.rpcUrl }, variables })
    try {
      await use(counted.post, proxy.calls)
    } finally {
      await counted.close()
      await proxy.stop()
    }
  }

  longTest('take one request for 1 or 20 elements of known contracts', async () => {
    const token = await chain.deploy('TestToken', ['Dollars', 'USD', 6])
    await chain.write({ contract: token, functionName: 'mint', args: [FROM, 100n] })
    const input = encodeFunctionData({ abi: token.abi, functionName: 'transfer', args: [TO, 1n] })
    await at(
      () => undefined,
      async (post, calls) => {
        for (const length of [1, 20]) {
          const unsigned_transactions = Array.from({ length }, () => ({ to: token.address, input }))
          const body = { network, from: FROM, unsigned_transactions }
          await post('/transactions/preview-bundle', body)
          calls.length = 0
          const { json } = await post('/transactions/preview-bundle', body)
          expect(json).toHaveLength(length)
          expect(withoutIdentity(calls)).toEqual([['eth_simulateV1']])
        }
      },
    )
  })

  longTest('ask whether the destination is a contract while the simulation runs', async () => {
    const asked = Promise.withResolvers<void>()
    await at(
      async ({ method }) => {
        if (method === 'eth_getCode') asked.resolve()
        // Answered only after eth_getCode was asked: if one waited for the other, the time limit would pass.
        if (method === 'eth_simulateV1') await asked.promise
        return undefined
      },
      async (post, calls) => {
        const answer = await post('/transactions/preview', { network, from: FROM, unsigned_transaction: { to: TO } })
        expect(answer.json).toMatchObject({ contract: null, simulation: { success: true } })
        expect(
          calls
            .flat()
            .filter((method) => method !== 'eth_chainId')
            .sort(),
        ).toEqual(['eth_getCode', 'eth_simulateV1'])
      },
    )
  })

  longTest('without eth_simulateV1 find asset changes by traces, or say that they are not known', async () => {
    const cases = [
      [['eth_simulateV1'], [{ raw_amount: '5', from: FROM, to: TO, nft: null }]],
      [['eth_simulateV1', 'debug_traceCall'], null],
    ] as const
    for (const [missing, changes] of cases) {
      const lacking: readonly string[] = missing
      await at(
        ({ method }) => (lacking.includes(method) ? { error: { code: -32601, message: 'no such method' } } : undefined),
        async (post) => {
          const unsigned_transaction = { to: TO, value: '5' }
          const { json } = await post('/transactions/preview', { network, from: FROM, unsigned_transaction })
          expect(json.simulation).toMatchObject({ success: true, asset_changes: changes, error: null })
        },
      )
    }
  })

  longTest('fail in time if the node does not answer or is invalid, and the next preview can succeed', async () => {
    const one = { to: TO, value: '1' }
    const ways: [ReturnType<Behaviour> | 'silence', string][] = [
      ['silence', 'The Ethereum node did not answer within 1000 ms.'],
      [{ result: 'nonsense' }, 'The Ethereum node answered eth_simulateV1 in an unknown form.'],
      [{ error: { code: -32005, message: 'too many requests' } }, 'The Ethereum node refused eth_simulateV1.'],
    ]
    let way: (typeof ways)[number][0] | undefined
    await at(
      ({ method }) => {
        if (method !== 'eth_simulateV1' || way === undefined) return undefined
        return way === 'silence' ? new Promise(() => {}) : way
      },
      async (post) => {
        for (const [next, error] of ways) {
          way = next
          const body = { network, from: FROM, unsigned_transactions: Array.from({ length: 50 }, () => one) }
          const answer = await post('/transactions/preview-bundle', body)
          expect([answer.status, answer.json]).toEqual([503, { error, code: 'node_unavailable' }])
        }
        way = undefined
        const answer = await post('/transactions/preview', { network, from: FROM, unsigned_transaction: one })
        expect(answer.json.simulation.success).toBe(true)
      },
      { NODE_TIMEOUT_MS: '1000' },
    )
  })

  longTest('end within three time limits of one answer if the node is slow again and again', async () => {
    await at(
      async ({ method }) => {
        if (method !== 'eth_simulateV1') return undefined
        await Bun.sleep(50)
        // After this refusal the service looks for the failing element, with further requests.
        return { error: { code: -38013, message: 'intrinsic gas too low' } }
      },
      async (post) => {
        const unsigned_transactions = Array.from({ length: 50 }, () => ({ to: TO, value: '1' }))
        const begun = performance.now()
        const answer = await post('/transactions/preview-bundle', { network, from: FROM, unsigned_transactions })
        expect(performance.now() - begun).toBeLessThan(3_000)
        const error = 'The node did not answer all of a preview within 1200 ms.'
        expect([answer.status, answer.json]).toEqual([503, { error, code: 'node_unavailable' }])
      },
      { NODE_TIMEOUT_MS: '400' },
    )
  })
})
