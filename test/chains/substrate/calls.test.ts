// Previews and policies decode calls of the current Asset Hub, without a node.

import { describe, expect, test } from 'bun:test'
import type { Hex, ReadCall } from '../../../src/chains/chain.ts'
import { readCall } from '../../../src/chains/substrate/calls.ts'
import { decodedCall, isExactCall, readTree, treeOf } from '../../../src/chains/substrate/codec.ts'
import { createNodelessSubstrateChain } from '../../../src/chains/substrate/nodeless.ts'
import type { Runtime } from '../../../src/chains/substrate/runtime.ts'
import { spentBy } from '../../../src/chains/substrate/spending.ts'
import { fieldOf, itemsOf } from '../../../src/chains/substrate/values.ts'
import { substrateNetworkRow } from '../../../src/platform/networks.ts'
import type { ArgumentRule, CheckedTransaction } from '../../../src/signing/policies/evaluate.ts'
import { checkRules } from '../../../src/signing/policies/rules.ts'
import { longTest } from '../../support/long.ts'
import { matches } from '../../support/rules.ts'
import { assetHubRuntime, varaRuntime } from './metadata.ts'

const runtime = assetHubRuntime()
/** The account of 0xf5d5…1f0b with prefix 0. */
const ACCOUNT = '16ZL8yLyXv3V3L3z9ofR1ovFLziyXaN1DPq4yffMAZ9czzBD'
const ACCOUNT_HEX = 'f5d5714c084c112843aca74f8c498da06cc5a2d63153b825189baa51043b1f0b'

const made = (of: Runtime, pallet: string, name: string, ...values: readonly unknown[]) => {
  const make = of.calls[pallet]?.[name]
  if (make === undefined) throw new Error(`no call ${pallet}.${name}`)
  return make(...values)
}
const call = (pallet: string, name: string, ...values: readonly unknown[]) => made(runtime, pallet, name, ...values)

const shown = (hex: Hex) => {
  const tree = readTree(runtime, hex)
  return tree === null ? null : decodedCall(tree)
}

const valuesOf = (hex: Hex): Record<string, unknown> =>
  Object.fromEntries([...(readCall(runtime, hex)?.values ?? [])].map(([name, { value }]) => [name, value]))

describe('a call is decoded by the metadata', () => {
  // paritytech/asset-transfer-api, src/createCalls/{assets,balances}/*.spec.ts: what it expects for Asset Hub, without
  // the length and the version of an unsigned extrinsic. Both Asset Hubs have these calls in the same places.
  const VECTORS: readonly [Hex, string, Record<string, string>][] = [
    [`0x32090400${ACCOUNT_HEX}419c`, 'assets.transfer_keep_alive', { id: '1', target: ACCOUNT, amount: '10000' }],
  ]
  test.each([...VECTORS])('%s', (hex, functionName, values) => {
    expect(shown(hex)).toEqual({ functionName, arguments: values })
    expect(readCall(runtime, hex)?.functionName).toBe(functionName)
    expect(valuesOf(hex)).toMatchObject(
      Object.fromEntries(Object.entries(values).map(([name, text]) => [name, text === ACCOUNT ? text : BigInt(text)])),
    )
  })

  test('with its inner calls', () => {
    const pay = call('balances', 'transferKeepAlive', ACCOUNT, 5n)
    const batch = call('utility', 'batchAll', [pay, call('nfts', 'setMetadata', 1, 2, '0x0102')])
    const real = call('proxy', 'proxy', ACCOUNT, 'NonTransfer', batch).toHex()
    expect(shown(real)).toEqual({
      functionName: 'proxy.proxy',
      arguments: {
        real: ACCOUNT,
        force_proxy_type: 'NonTransfer',
        call: {
          function_name: 'utility.batch_all',
          arguments: {
            calls: [
              { function_name: 'balances.transfer_keep_alive', arguments: { dest: ACCOUNT, value: '5' } },
              { function_name: 'nfts.set_metadata', arguments: { collection: '1', item: '2', data: '0x0102' } },
            ],
          },
        },
      },
    })
    expect(readCall(runtime, real)?.functionName).toBe('proxy.proxy')
    expect(valuesOf(real)).toMatchObject({
      real: ACCOUNT,
      force_proxy_type: 'NonTransfer',
      'call.function': 'utility.batch_all',
      'call.calls.0.function': 'balances.transfer_keep_alive',
      'call.calls.0.value': 5n,
      'call.calls.1.data': '0x0102',
    })
  })

  test('with variants, records and options', () => {
    const id = { parents: 2, interior: { X1: [{ GlobalConsensus: 'Kusama' }] } }
    const hex = call('foreignAssets', 'transfer', id, { Address32: `0x${ACCOUNT_HEX}` }, 1n).toHex()
    expect(shown(hex)).toEqual({
      functionName: 'foreign_assets.transfer',
      arguments: {
        id: { parents: '2', interior: { X1: [{ GlobalConsensus: 'Kusama' }] } },
        target: { Address32: `0x${ACCOUNT_HEX}` },
        amount: '1',
      },
    })
    // No `target`: rules on an account do not apply to other forms of address.
    expect(Object.keys(valuesOf(hex))).toEqual([
      'id.parents',
      'id.interior.X1.length',
      'id.interior.X1.0.GlobalConsensus',
      'target.Address32',
      'amount',
    ])
    expect(shown(call('nfts', 'mint', 1, 2, ACCOUNT, null).toHex())?.arguments).toMatchObject({ witness_data: null })
    expect(valuesOf(call('nfts', 'mint', 1, 2, ACCOUNT, null).toHex())).not.toHaveProperty('witness_data')
  })

  /** Each argument with the codec's default value; some enums have no variant with index 0. */
  const defaults = (of: Runtime): Hex[] =>
    Object.entries(of.calls).flatMap(([pallet, calls]) =>
      Object.entries(calls).map(([name, { meta }]) => {
        const values = [...meta.args].map(({ type }) => of.registry.createType(String(type) as 'u32'))
        return made(of, pallet, name, ...values).toHex()
      }),
    )

  const vara = varaRuntime()
  if (vara === null) console.log('calls of Vara: skipped, as VARA_METADATA names no file')
  test.each([['Asset Hub', runtime, 25], ...(vara === null ? [] : [['Vara', vara, 5] as const])] as const)(
    'of every kind on %s, as the codec reads it',
    (_, of, oddMax) => {
      const calls = defaults(of)
      const read = calls.filter((hex) => readTree(of, hex) !== null)
      expect(calls.length).toBeGreaterThan(200)
      expect(calls.length - read.length).toBeLessThanOrEqual(oddMax)
      expect(read.filter((hex) => !isExactCall(of, hex))).toEqual([])
      // One byte more makes it another call or none.
      expect(read.filter((hex) => readTree(of, `${hex}00`) !== null)).toEqual([])
    },
  )
})

describe('hostile bytes', () => {
  const pay = call('balances', 'transferKeepAlive', ACCOUNT, 5n).toHex()
  const nested = (depth: number): Hex => `0x${'280004'.repeat(depth)}${pay.slice(2)}`

  test('a call nested a hundred times is decoded, and one nested a thousand times or more is refused', () => {
    expect(call('utility', 'batch', [pay]).toHex()).toBe(nested(1))
    expect(readCall(runtime, nested(100))?.functionName).toBe('utility.batch')
    for (const depth of [1_000, 10_000, 40_000]) {
      expect(readTree(runtime, nested(depth))).toBeNull()
      expect(isExactCall(runtime, nested(depth))).toBe(false)
      expect(readCall(runtime, nested(depth))).toBeNull()
    }
  })

  longTest('a call with thousands of accounts is decoded without encoding their addresses', () => {
    const accounts = Array.from({ length: 20_000 }, (_, index) => new Uint8Array(32).fill(index % 256))
    const named = call('multisig', 'asMultiThreshold1', accounts, pay).toHex()
    const items = itemsOf(fieldOf(treeOf(runtime, named), 'other_signatories'))
    expect(items).toHaveLength(accounts.length)
    // A getter: each is encoded when somebody reads it.
    expect(items.filter((item) => Object.getOwnPropertyDescriptor(item, 'value')?.get === undefined)).toEqual([])
  })

  test.each<[string, Hex]>([
    ['nothing', '0x'],
    ['half a call', pay.slice(0, -2) as Hex],
    ['a byte too many', `${pay}00`],
    ['an unknown pallet', '0xfe00'],
    ['an unknown call', '0x0aff'],
    ['a list longer than its bytes', '0x2800feffffff'],
    ['a number in more bytes than it takes', `0x0a0300${ACCOUNT_HEX}1500`],
    ['a number of four bytes that takes one', `0x0a0300${ACCOUNT_HEX}0305000000`],
  ])('%s are no call', (_, hex) => {
    expect(readTree(runtime, hex)).toBeNull()
    expect(readCall(runtime, hex)).toBeNull()
    expect(isExactCall(runtime, hex)).toBe(false)
  })

  test('bytes that the two decoders read differently are refused', () => {
    // MultiAddress::Index(7), which the codec mistakes for an index of an older form.
    const indexed: Hex = '0x0a03011c04'
    expect(shown(indexed)?.arguments).toEqual({ dest: { Index: '7' }, value: '1' })
    expect(runtime.registry.createType('Call', indexed).toHex() as string).not.toBe(indexed)
    expect(isExactCall(runtime, indexed)).toBe(false)
    expect(readCall(runtime, indexed)).toBeNull()
  })

  test('what a call takes from its signer is counted for a call of any size', () => {
    // A batch_all of 4,000 calls of 36 bytes, above the 128 KiB that are decoded for display.
    const batch: Hex = `0x2802813e${pay.slice(2).repeat(4_000)}`
    expect(readTree(runtime, batch)).toBeNull()
    expect(spentBy(runtime, batch)).toEqual({ needed: 20_000n, most: 20_000n })
  })

  test('policies refuse a call above the size limit of decoding', () => {
    expect(readCall(runtime, call('system', 'remark', `0x${'00'.repeat(131_072)}`).toHex())).toBeNull()
    expect(readCall(runtime, call('system', 'remark', `0x${'00'.repeat(100_000)}`).toHex())).not.toBeNull()
  })
})

describe('a policy on a call of the runtime', () => {
  const OTHER = '15oF4uVJwmo4TdGW7VfQxNLavjCXviqxT9S1MgbjMNHr6Sp5'
  const judged = (hex: Hex, read: ReadCall | null = readCall(runtime, hex)): CheckedTransaction => ({
    to: null,
    value: 0n,
    isCall: true,
    call: read,
  })
  const rule = (argument: string, operator: ArgumentRule['operator'], value: string): ArgumentRule => ({
    argument,
    operator,
    value,
  })
  const isTransfer = rule('decodedInput.function', 'eq', 'balances.transfer_keep_alive')
  const pay = (to = ACCOUNT, value = 5n) => call('balances', 'transferKeepAlive', to, value)

  test('allows by the function, the exact account and the amount', () => {
    const rules = [isTransfer, rule('decodedInput.dest', 'eq', ACCOUNT), rule('decodedInput.value', 'le', '5')]
    expect(matches(rules, [judged(pay().toHex())])).toBe(true)
    expect(matches(rules, [judged(pay(OTHER).toHex())])).toBe(false)
    expect(matches(rules, [judged(pay(ACCOUNT, 6n).toHex())])).toBe(false)
    const wrongCase = rule('decodedInput.dest', 'eq', ACCOUNT.replace('Z', 'z'))
    expect(matches([isTransfer, wrongCase], [judged(pay().toHex())])).toBe(false)
  })

  test('with `ne` forbids one account, and every other form of address', () => {
    const rules = [isTransfer, rule('decodedInput.dest', 'ne', OTHER)]
    expect(matches(rules, [judged(pay().toHex())])).toBe(true)
    expect(matches(rules, [judged(pay(OTHER).toHex())])).toBe(false)
    expect(
      matches(rules, [judged(call('balances', 'transferKeepAlive', { Address32: `0x${ACCOUNT_HEX}` }, 1n).toHex())]),
    ).toBe(false)
    const hexNamed = rule('decodedInput.dest', 'ne', `0x${'ab'.repeat(20)}`)
    expect(matches([isTransfer, hexNamed], [judged(pay().toHex())])).toBe(false)
  })

  test('allows nothing without a rule on the function', () => {
    const one = judged(pay().toHex())
    for (const rules of [
      [rule('value', 'le', '100')],
      [rule('decodedInput.value', 'le', '100')],
      [rule('decodedInput.function', 'ne', 'balances.transfer_all')],
      [isTransfer, rule('value', 'eq', '0')],
      [isTransfer, rule('to', 'eq', ACCOUNT)],
      [isTransfer, rule('to', 'ne', OTHER)],
    ]) {
      expect(matches(rules, [one])).toBe(false)
    }
    expect(matches([isTransfer], [one])).toBe(true)
    expect(matches([isTransfer], [judged(pay().toHex(), null)])).toBe(false)
  })

  test('cannot be bypassed by wrapping a call in another', () => {
    for (const outer of [
      call('utility', 'batch', [pay()]),
      call('utility', 'batchAll', [pay()]),
      call('utility', 'forceBatch', [pay()]),
      call('utility', 'asDerivative', 0, pay()),
      call('proxy', 'proxy', ACCOUNT, null, pay()),
      call('multisig', 'asMultiThreshold1', [OTHER], pay()),
    ]) {
      expect(matches([isTransfer], [judged(outer.toHex())])).toBe(false)
      const { functionName = '' } = readCall(runtime, outer.toHex()) ?? {}
      expect(matches([rule('decodedInput.function', 'eq', functionName)], [judged(outer.toHex())])).toBe(true)
    }
  })

  test('on calls inside a batch needs the length to exclude further calls', () => {
    const rules = [
      rule('decodedInput.function', 'eq', 'utility.batch_all'),
      rule('decodedInput.calls.0.function', 'eq', 'balances.transfer_keep_alive'),
      rule('decodedInput.calls.length', 'eq', '1'),
    ]
    const batch = (...calls: readonly unknown[]) => judged(call('utility', 'batchAll', calls).toHex())
    expect(matches(rules, [batch(pay())])).toBe(true)
    expect(matches(rules, [batch(pay(), pay(OTHER))])).toBe(false)
    expect(matches(rules.slice(0, 2), [batch(pay(), pay(OTHER))])).toBe(true)
    expect(matches(rules.slice(2).concat(rules.slice(0, 1)), [batch()])).toBe(false)
  })

  test('accepts only the spelling of previews: in another one `ne` would forbid nothing', () => {
    const chain = createNodelessSubstrateChain(
      substrateNetworkRow({ network: 'Polkadot', environment: 'testnet', devnet: true }),
    )
    for (const argument of ['decodedInput.function', 'decodedInput.calls.0.function']) {
      for (const wrong of ['balances.transferKeepAlive', 'Balances.transfer_keep_alive', 'transfer_keep_alive']) {
        expect(() => checkRules(chain, [rule(argument, 'ne', wrong)])).toThrow('as previews name it')
      }
      expect(() => checkRules(chain, [rule(argument, 'ne', 'balances.transfer_keep_alive')])).not.toThrow()
    }
  })

  test('on the recipient of coins compares the exact address', () => {
    const sent: CheckedTransaction = { to: { kind: 'account', value: ACCOUNT }, value: 5n, isCall: false, call: null }
    expect(matches([rule('to', 'eq', ACCOUNT), rule('value', 'le', '5')], [sent])).toBe(true)
    expect(matches([rule('to', 'eq', ACCOUNT.replace('Z', 'z'))], [sent])).toBe(false)
    expect(matches([rule('to', 'ne', OTHER)], [sent])).toBe(true)
  })
})
