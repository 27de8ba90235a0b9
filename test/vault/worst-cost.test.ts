// What the vault reads in payloads, compared with what the chains encode: a policy's limits hold whatever an API says
// of them.

import { describe, expect, test } from 'bun:test'
import { encodeMultiSendData } from '@safe-global/protocol-kit'
import { encodeFunctionData, type Hex, parseAbi, parseEther, serializeTransaction } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import type { Intent } from '../../src/chains/chain.ts'
import { deployAndExecute } from '../../src/chains/evm/safe/deploy-and-execute.ts'
import { execution, multiSendData } from '../../src/chains/evm/safe/execution.ts'
import { deployment, deriveContractWallet, SAFE_ADDRESSES } from '../../src/chains/evm/safe/settings.ts'
import type { Payload, TypedData } from '../../src/vault/language/payload.ts'
import { MULTI_SEND_CALL_ONLY, PROXY_FACTORY, safeOf } from '../../src/vault/rooms/keys/safe.ts'
import { computeWorstCost } from '../../src/vault/rooms/keys/worst-cost.ts'
import { permit } from '../typed-data/data.ts'
import { bytesOf } from './support.ts'

const CHAIN = 1
const EMPTY = new Uint8Array()
const THEM: Hex = `0x${'ab'.repeat(20)}`
const TEN = parseEther('10')
const { publicKey, address: owner } = privateKeyToAccount(`0x${'11'.repeat(32)}`)
const signer = {
  chain: { family: 'evm', chainId: CHAIN },
  publicKey: bytesOf(publicKey.slice(2)),
  isContractWallet: false,
  limitedTokens: [],
  rules: [],
} as const
const safe = deriveContractWallet(owner)
const ours = safe.address as Hex

type Fields = { readonly chainId?: number; readonly nonce?: number; readonly price?: bigint }

const paying = ({ to, value, input }: Intent, { chainId = CHAIN, nonce = 0, price = 3n }: Fields = {}): Payload => ({
  kind: 'evm_transaction',
  unsigned: bytesOf(
    serializeTransaction({
      ...{ type: 'eip1559', chainId, nonce, gas: 21_000n, maxFeePerGas: price, maxPriorityFeePerGas: 0n },
      ...{ to: to as Hex | null, value, data: input },
    }).slice(2),
  ),
})
const pay = (value: bigint, input: Hex = '0x', to: string = THEM): Intent => ({ to, value, input })
const NONE = new Map()
const costBy = (of: Parameters<typeof computeWorstCost>[0], payloads: readonly Payload[]) => {
  const { calls: _, ...cost } = computeWorstCost(of, payloads)
  return cost
}
const costOf = (...payloads: readonly Payload[]) => costBy(signer, payloads)
/** By a policy of the key's contract wallet. */
const ofContract = { ...signer, isContractWallet: true } as const
const costOfSafe = (...payloads: readonly Payload[]) => costBy(ofContract, payloads)

test('the addresses agree with the chains, for any owner', () => {
  for (let owners = 0; owners < 50; owners += 1) {
    const account = privateKeyToAccount(generatePrivateKey())
    const found = `0x${safeOf(bytesOf(account.publicKey.slice(2)))}`
    expect(found).toBe(deriveContractWallet(account.address).address.toLowerCase())
  }
  const { multiSendCallOnly, proxyFactory } = SAFE_ADDRESSES
  expect([`0x${MULTI_SEND_CALL_ONLY}`, `0x${PROXY_FACTORY}`]).toEqual(
    [multiSendCallOnly, proxyFactory].map((each) => each.toLowerCase()),
  )
})

describe('a transaction costs', () => {
  test('its value, and its gas at the cap', () => {
    expect(costOf(paying(pay(TEN)))).toEqual({ value: TEN, fee: 63_000n, tokens: NONE, uses: ['nonce 0'] })
    expect(costOf(paying(pay(TEN, '0x01', THEM), { nonce: 7 }))).toMatchObject({ value: TEN, uses: ['nonce 7'] })
    for (const of of [{ type: 'legacy' }, { type: 'eip2930', accessList: [] }] as const) {
      const priced = { ...of, chainId: CHAIN, nonce: 0, gas: 21_000n, gasPrice: 5n, to: THEM as Hex, value: TEN }
      const unsigned = bytesOf(serializeTransaction(priced).slice(2))
      expect(costOf({ kind: 'evm_transaction', unsigned })).toMatchObject({ value: TEN, fee: 105_000n })
      const elsewhere = bytesOf(serializeTransaction({ ...priced, chainId: CHAIN + 1 }).slice(2))
      expect(() => costOf({ kind: 'evm_transaction', unsigned: elsewhere })).toThrow('network')
    }
    expect(costOf(paying({ to: null, value: TEN, input: '0x60' }))).toMatchObject({ value: TEN })
  })

  test('the cost of its most expensive version, and two transactions cost the sum', () => {
    const versions = [paying(pay(5n), { price: 4n }), paying(pay(9n)), paying(pay(0n, '0x', owner), { price: 8n })]
    expect(costOf(...versions)).toEqual({ value: 9n, fee: 168_000n, tokens: NONE, uses: ['nonce 0', 'nonce 0'] })
    const both = costOf(paying(pay(5n)), paying(pay(9n), { nonce: 1 }))
    expect(both).toEqual({ value: 14n, fee: 126_000n, tokens: NONE, uses: ['nonce 0', 'nonce 1'] })
  })

  test('of a contract wallet what that pays, in one call or many', () => {
    const executed = (intents: readonly Intent[]) => costOfSafe(paying(execution(safe, intents)))
    expect(executed([pay(TEN)])).toEqual({ value: TEN, fee: 63_000n, tokens: NONE, uses: ['nonce 0'] })
    expect(executed([pay(TEN), pay(3n, '0xabcdef'), pay(0n, '0x', ours)])).toMatchObject({ value: TEN + 3n })
    const { input } = execution(safe, [pay(TEN)])
    // That of another key has coins of its own.
    expect(costOf(paying(pay(2n, input)))).toMatchObject({ value: 2n })
  })

  test('nothing for the deployment, nor for the calls around a signed execution', () => {
    const [deploying, acting] = [paying(deployment(safe)), paying(execution(safe, [pay(TEN)]), { nonce: 1 })]
    expect(costOfSafe(deploying, acting)).toEqual({ value: TEN, fee: 126_000n, tokens: NONE, uses: ['nonce 1'] })
    const signable = deployAndExecute(CHAIN, safe, { intents: [pay(TEN), pay(1n)], gas: 5n })
    expect(costOfSafe(signable.payload)).toEqual({ value: TEN + 1n, fee: 0n, tokens: NONE, uses: ['inner nonce 0'] })
    expect(costOfSafe(paying(signable.with(new Uint8Array(65))))).toEqual({
      value: 0n,
      fee: 63_000n,
      tokens: NONE,
      uses: [],
    })
  })
})

describe('a policy is for one of the two wallets of a key:', () => {
  const payloadOf = (intents: readonly Intent[]) => deployAndExecute(CHAIN, safe, { intents, gas: 5n }).payload
  const typedData = permit(
    { chainId: CHAIN, verifyingContract: THEM },
    { owner, spender: THEM, value: '5', nonce: 0, deadline: 1 },
  )
  const rules = [
    { argument: 'typedData.primaryType', operator: 'eq', value: 'Permit' },
    { argument: 'typedData.verifyingContract', operator: 'eq', value: THEM },
  ] as const
  const accepted: Payload = { kind: 'safe_typed_data', chainId: CHAIN, safe: ours, typedData }
  const signed: Payload = { kind: 'typed_data', typedData }

  test('by that of an address the contract wallet does nothing', () => {
    expect(() => costOf(paying(execution(safe, [pay(TEN)])))).toThrow('for its own wallet')
    expect(() => costOf(paying(pay(2n, execution(safe, [pay(1n)]).input, ours)))).toThrow('for its own wallet')
    expect(() => costOf(payloadOf([pay(TEN)]))).toThrow('contract wallet')
    expect(computeWorstCost({ ...signer, rules }, [signed]).uses).toHaveLength(1)
    expect(() => computeWorstCost({ ...signer, rules }, [accepted])).toThrow('for its own wallet')
    // It may be paid, though, and may call what every address calls.
    expect(costOf(paying(pay(TEN, '0x', ours)))).toMatchObject({ value: TEN })
    expect(costOf(paying(deployment(safe)))).toMatchObject({ uses: ['nonce 0'] })
  })

  test('by that of a contract wallet the address only cancels, deploys and carries', () => {
    expect(costOfSafe(paying(pay(0n, '0x', owner)))).toMatchObject({ value: 0n, uses: [] })
    for (const intent of [
      pay(1n),
      pay(0n),
      pay(0n, '0x01'),
      pay(1n, '0x', owner),
      { to: null, value: 0n, input: '0x60' as Hex },
    ])
      expect(() => costOfSafe(paying(intent))).toThrow('for its own wallet')
    const { input } = execution(safe, [pay(TEN)])
    expect(() => costOfSafe(paying(pay(2n, input, ours)))).toThrow('for its own wallet')
    expect(() => costOfSafe(paying(pay(2n, '0x01', SAFE_ADDRESSES.multiSendCallOnly)))).toThrow('for its own wallet')
    expect(computeWorstCost({ ...ofContract, rules }, [accepted]).uses).toHaveLength(1)
    expect(() => computeWorstCost({ ...ofContract, rules }, [signed])).toThrow('policy')
  })

  test('an empty payment to somebody is a use, as a contract may act upon it; to oneself it is a cancel', () => {
    expect(costOf(paying(pay(0n))).uses).toEqual(['nonce 0'])
    expect(costOf(paying(pay(0n, '0x', owner))).uses).toEqual([])
  })
})

describe('of a token that a policy limits', () => {
  const token = 'cd'.repeat(20)
  const ERC20 = parseAbi(['function transfer(address to, uint256 value)', 'function burn(uint256 value)'])
  const calling = (value: bigint, to: string = `0x${token}`) =>
    pay(0n, encodeFunctionData({ abi: ERC20, functionName: 'transfer', args: [THEM, value] }), to)
  const burning = pay(0n, encodeFunctionData({ abi: ERC20, functionName: 'burn', args: [1n] }), `0x${token}`)
  const taken = (...payloads: readonly Payload[]) =>
    computeWorstCost({ ...signer, limitedTokens: [token] }, payloads).tokens.get(token)
  const takenBySafe = (...payloads: readonly Payload[]) =>
    computeWorstCost({ ...ofContract, limitedTokens: [token] }, payloads).tokens.get(token)
  const { payload } = deployAndExecute(CHAIN, safe, { intents: [calling(5n), pay(1n)], gas: 5n })

  test('a transaction takes the amount that it names, its versions the highest amount, and two transactions the sum', () => {
    expect(taken(paying(calling(5n)))).toBe(5n)
    expect(taken(paying(calling(5n, THEM)))).toBeUndefined()
    expect(taken(paying(calling(5n)), paying(calling(7n), { price: 4n }), paying(pay(0n, '0x', owner)))).toBe(7n)
    expect(taken(paying(calling(5n)), paying(calling(7n), { nonce: 1 }))).toBe(12n)
  })

  test('the contract wallet takes the amounts in its calls: in one, in many, or signed as typed data', () => {
    expect(takenBySafe(paying(execution(safe, [calling(5n)])))).toBe(5n)
    expect(takenBySafe(paying(execution(safe, [calling(5n), pay(1n), calling(8n)])))).toBe(13n)
    expect(takenBySafe(payload)).toBe(5n)
  })

  const cut = (intent: Intent): Intent => ({ ...intent, input: intent.input.slice(0, -2) as Hex })
  const uncounted: readonly (readonly [string, () => Payload])[] = [
    ['another function', () => paying(burning)],
    ['call data that was cut', () => paying(cut(calling(5n)))],
    ['coins for it', () => paying(pay(1n, '0x', `0x${token}`))],
  ]
  const uncountedOfSafe: typeof uncounted = [
    ['another function of the contract wallet', () => paying(execution(safe, [burning]))],
    ['the same in a batch', () => paying(execution(safe, [calling(5n), burning]))],
    ['the same as typed data', () => deployAndExecute(CHAIN, safe, { intents: [burning], gas: 5n }).payload],
  ]
  test.each(uncountedOfSafe)('no policy allows %s, but it allows it for another token', (_, payload) => {
    expect(() => takenBySafe(payload())).toThrow('cannot be counted')
    expect(() => costOfSafe(payload())).not.toThrow()
  })
  test.each(uncounted)('no policy allows %s, but it allows it for another token', (_, payload) => {
    expect(() => taken(payload())).toThrow('cannot be counted')
    expect(() => costOf(payload())).not.toThrow()
  })
})

test('an extrinsic costs what the API says: the vault cannot read it', () => {
  const bytes = new Uint8Array(2)
  const payload = { kind: 'extrinsic', call: bytes, extra: bytes, implicit: bytes } as const
  const whole = { ...payload, addressPrefix: bytes, signaturePrefix: bytes }
  const read = costBy({ ...signer, chain: { family: 'substrate' } }, [whole])
  expect(read).toEqual({ value: 0n, fee: 0n, tokens: NONE, uses: ['extrinsic 000000000000'] })
  const limited = { ...signer, chain: { family: 'substrate' }, limitedTokens: ['cd'.repeat(20)] } as const
  expect(() => computeWorstCost(limited, [whole])).toThrow('extrinsic')
})

const SAFE = parseAbi([
  'function execTransaction(address to, uint256 value, bytes data, uint8 operation, uint256 safeTxGas, uint256 baseGas, uint256 gasPrice, address gasToken, address refundReceiver, bytes signatures)',
  'function approveHash(bytes32 hash)',
])
const MULTI_SEND = parseAbi(['function multiSend(bytes transactions) payable'])
const executing = (changes: { to?: Hex; data?: Hex; operation?: number; gasPrice?: bigint }) => {
  const { to = THEM, data = '0x', operation = 0, gasPrice = 0n } = changes
  const args = [to, 0n, data, operation, 0n, 0n, gasPrice, THEM, THEM, '0x'] as const
  return encodeFunctionData({ abi: SAFE, functionName: 'execTransaction', args })
}
const multiSend = (data: Hex) => executing({ to: SAFE_ADDRESSES.multiSendCallOnly, data, operation: 1 })
const one = executing({ data: '0xabcd' })
const batch = multiSendData([{ to: THEM, value: 1n, data: '0x01' }])

describe('no policy lets anybody sign', () => {
  const refusals: readonly (readonly [string, Hex])[] = [
    ['an approval', encodeFunctionData({ abi: SAFE, functionName: 'approveHash', args: [`0x${'01'.repeat(32)}`] })],
    ['other data', '0x01'],
    ['a change of the wallet', executing({ to: ours, data: '0x0d582f13' })],
    ['the same in a batch', multiSend(multiSendData([{ to: ours, value: 0n, data: '0x0d582f13' }]))],
    ['foreign code', executing({ operation: 1, data: '0x01' })],
    ['code behind MultiSendCallOnly', executing({ to: SAFE_ADDRESSES.multiSendCallOnly, operation: 1, data: '0x01' })],
    ['an operation that there is not', executing({ operation: 2 })],
    ['a refund', executing({ gasPrice: 1n })],
    ['a call that was cut', one.slice(0, 500) as Hex],
    ['a batch that was cut', multiSend(batch.slice(0, 150) as Hex)],
    // The third word says where the data begins.
    ['data in another place', `${one.slice(0, 10 + 128)}${'16'.padStart(64, '0')}${one.slice(10 + 192)}` as Hex],
    ['an endless batch', multiSend(`${batch.slice(0, 10 + 64)}${'f'.repeat(64)}${batch.slice(10 + 128)}` as Hex)],
  ]
  test('a batch as the Safe encodes it, if one of its elements is foreign code', () => {
    const element = { to: THEM, value: '3', data: '0x01' }
    const batchOf = (...operations: readonly number[]) =>
      multiSend(
        encodeFunctionData({
          abi: MULTI_SEND,
          args: [encodeMultiSendData(operations.map((operation) => ({ ...element, operation }))) as Hex],
        }),
      )
    expect(costOfSafe(paying(pay(0n, batchOf(0, 0), ours)))).toMatchObject({ value: 6n })
    for (const operations of [[1], [0, 1], [1, 0], [0, 2], [0, 255]]) {
      expect(() => costOfSafe(paying(pay(0n, batchOf(...operations), ours)))).toThrow('as its own')
    }
  })

  test.each(refusals)('%s with its contract wallet', (_, data) => {
    expect(() => costOfSafe(paying(pay(0n, data, ours)))).toThrow('policy does not sign for the contract wallet')
    expect(costOf(paying(pay(4n, data)))).toMatchObject({ value: 4n })
  })

  test('for another chain', () => {
    expect(() => costOf(paying(pay(0n), { chainId: 137 }))).toThrow('network')
  })

  test('a message', () => {
    expect(() => costOf({ kind: 'evm_message', message: new Uint8Array(1) })).toThrow('policy')
  })

  const { payload } = deployAndExecute(CHAIN, safe, { intents: [pay(TEN)], gas: 5n })
  const typed = (payload as { typedData: TypedData }).typedData
  const fields = typed.types.SafeTx ?? []
  const edits: readonly (readonly [string, Partial<TypedData>])[] = [
    ['of another contract', { domain: { ...typed.domain, verifyingContract: THEM } }],
    ['of another chain', { domain: { ...typed.domain, chainId: 137 } }],
    ['without a chain', { domain: { verifyingContract: ours } }],
    ['with other fields', { types: { SafeTx: fields.slice(1) } }],
    ['with fields in another order', { types: { SafeTx: fields.toReversed() } }],
    ['with further types', { types: { ...typed.types, uint256: [] } }],
    ['of another type', { types: { Permit: fields } }],
    ['that pay a refund', { message: { ...typed.message, gasPrice: '0x1' } }],
    ['that change the wallet', { message: { ...typed.message, to: ours, data: '0x0d' } }],
    ['of foreign code', { message: { ...typed.message, operation: '1' } }],
  ]
  test.each(edits)('typed data %s', (_, edit) => {
    expect(() => costOfSafe({ kind: 'typed_data', typedData: { ...typed, ...edit } })).toThrow('policy')
  })

  test('typed data for less than its full value, in any notation', () => {
    for (const value of [TEN, String(TEN), `0x${TEN.toString(16)}`]) {
      const typedData = { ...typed, message: { ...typed.message, value } }
      expect(costOfSafe({ kind: 'typed_data', typedData })).toMatchObject({ value: TEN })
    }
  })
})

describe('typed data is signed by a policy', () => {
  const contract = `0x${'ef'.repeat(20)}`
  const rule = (argument: string, value: string) => ({ argument, operator: 'eq', value }) as const
  const rules = [rule('typedData.primaryType', 'Permit'), rule('typedData.verifyingContract', contract)]
  const message = { owner, spender: THEM, value: '5', nonce: 0, deadline: 1 }
  const typed = permit({ chainId: CHAIN, verifyingContract: contract }, message)
  const direct = (typedData: TypedData): Payload => ({ kind: 'typed_data', typedData })
  const accepted = (typedData: TypedData, of = ours, chainId = CHAIN): Payload => ({
    kind: 'safe_typed_data',
    chainId,
    safe: of,
    typedData,
  })
  const limited = { ...signer, rules, limitedTokens: [contract.slice(2)] }
  const limitedSafe = { ...limited, isContractWallet: true }

  test('that names its type and its contract, and costs what it lets others take', () => {
    for (const [of, payload] of [
      [limited, direct(typed)],
      [limitedSafe, accepted(typed)],
    ] as const) {
      expect(costBy(of, [payload])).toEqual({
        ...{ value: 0n, fee: 0n, tokens: new Map([[contract.slice(2), 5n]]) },
        uses: [expect.stringMatching(/^typed data [0-9a-f]{64}$/)],
      })
    }
    expect(computeWorstCost({ ...signer, rules }, [direct(typed)]).tokens).toEqual(NONE)
    // Two of them are two uses, and policy-key.ts refuses the second.
    const other = { ...typed, message: { ...message, value: '6' } }
    expect(new Set(computeWorstCost(limited, [direct(typed), direct(other)]).uses).size).toBe(2)
  })

  test.each<[string, Payload, string]>([
    ['of another type', direct({ ...typed, types: { Mail: [] }, primaryType: 'Mail', message: {} }), 'do not allow'],
    ['of another contract', direct({ ...typed, domain: { chainId: CHAIN, verifyingContract: THEM } }), 'do not allow'],
    ['of no contract', direct({ ...typed, domain: { chainId: CHAIN } }), 'do not allow'],
    [
      'of no chain',
      direct({ ...typed, domain: { verifyingContract: contract } }),
      '"typed_data.domain.chainId" is required',
    ],
    ['for another contract wallet', accepted(typed, THEM), 'only for the contract wallet of its key'],
    ['for a contract wallet on another chain', accepted(typed, ours, 2), 'on its chain'],
    [
      'of the contract wallet of the key',
      accepted({ ...typed, domain: { chainId: CHAIN, verifyingContract: ours } }),
      'No policy lets the developer sign typed data of the contract wallet',
    ],
  ])('and not %s', (_, payload, why) => {
    expect(() => computeWorstCost(payload.kind === 'typed_data' ? limited : limitedSafe, [payload])).toThrow(why)
  })

  test('and not if a limited token could take it and it cannot be counted', () => {
    const odd = { ...typed, types: { Permit: [{ name: 'x', type: 'bool' }] }, message: { x: true } }
    expect(() => computeWorstCost(limited, [direct(odd)])).toThrow('this typed data of it cannot be counted')
    expect(computeWorstCost({ ...signer, rules }, [direct(odd)])).toMatchObject({ value: 0n })
  })

  test('and no transaction is, also not one of the contract wallet; nor typed data by rules on transactions', () => {
    const { payload } = deployAndExecute(CHAIN, safe, { intents: [pay(1n)], gas: 5n })
    const extrinsic = { kind: 'extrinsic', ...{ call: EMPTY, extra: EMPTY, implicit: EMPTY } } as const
    const all = [paying(pay(1n)), payload, { ...extrinsic, addressPrefix: EMPTY, signaturePrefix: EMPTY }]
    const ofEither = (each: Payload) => (each === payload || each.kind === 'safe_typed_data' ? ofContract : signer)
    for (const each of all)
      expect(() => computeWorstCost({ ...ofEither(each), rules }, [each])).toThrow('are on typed data')
    for (const each of [direct(typed), accepted(typed)])
      expect(() => computeWorstCost({ ...ofEither(each), rules: [rule('value', '0')] }, [each])).toThrow('do not allow')
  })
})
