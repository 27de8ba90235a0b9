// Random calls on an EVM network: those of all known functions, also within others, and with spoilt call data.

import {
  type AbiFunction,
  type AbiParameter,
  encodeAbiParameters,
  encodePacked,
  getAddress,
  type Hex,
  parseAbi,
  toFunctionSelector,
} from 'viem'
import type { AssetStandard } from '../../../db/words.ts'
import { FUNCTION_DECLARATIONS } from '../../../src/chains/evm/abis.ts'
import type { Known } from './abi.ts'
import type { Call } from './oracle.ts'
import type { Random } from './random.ts'

const functionsIn = (declarations: readonly string[]): readonly AbiFunction[] =>
  (parseAbi(declarations) as readonly AbiFunction[]).filter(({ type }) => type === 'function')

/** The built-in declarations; only their texts are taken from `src`. */
export const BUILT_IN: readonly Known[] = (['erc20', 'erc721', 'erc1155', 'other'] as const).flatMap((standard) =>
  Object.values(FUNCTION_DECLARATIONS[standard]).flatMap((declarations) =>
    functionsIn(declarations).map((item) => ({ item, standard })),
  ),
)

const address = (last: string): string => getAddress(`0x${last.padStart(40, '0')}`)
export const CONTRACTS: Readonly<Record<string, AssetStandard>> = {
  [address('c0ffee0000000000000000000000000000000a20')]: 'erc20',
  [address('c0ffee0000000000000000000000000000000721')]: 'erc721',
  [address('c0ffee0000000000000000000000000000001155')]: 'erc1155',
  [address('c0ffee0000000000000000000000000000000bad')]: 'other',
  [address('beef')]: 'other',
}
const PLACES = Object.keys(CONTRACTS)
const [TOKEN = '', NFT = '', , OTHER = ''] = PLACES

const ODD = [
  'struct Order { address maker; int128 amount; bytes4 tag; bool open; string note; uint8[] ids; }',
  'struct Deep { Order[] orders; uint16[2][] pairs; uint256 length; }',
  'function place(Order order, bytes data, address[2] parties)',
  'function deep(Deep deep, string[] notes, bytes[2] blobs, int8 small, bytes32 hash)',
  'function lists(uint256[][] all, bool[3] flags, (address who, uint96 amount)[] shares)',
  'function anonymous(uint256, address to, (uint8, bool yes) pair)',
]
const parameter = (name: string, type: string): AbiParameter => ({ name, type })
const made = (name: string, inputs: readonly AbiParameter[]): AbiFunction => ({
  ...{ type: 'function', stateMutability: 'nonpayable', outputs: [], name, inputs },
})

/** What operators may have added. Names come from their files, so they may be odd. */
export const ADDED: readonly (readonly Known[])[] = [
  [],
  [
    ...functionsIn(ODD).map((item) => ({ item })),
    { item: made('twice', [parameter('amount', 'uint256'), parameter('amount', 'uint256')]) },
    {
      item: made('named', [
        parameter('function', 'string'),
        parameter('length', 'uint256'),
        parameter('to', 'address'),
      ]),
    },
  ],
  [
    // Of the same selectors as transfer, approve and transferFrom.
    ...functionsIn([
      'function many_msg_babbage(bytes1)',
      'function watch_tg_invmru_2f69f1b(address,address)',
      'function gasprice_bit_ether(int128)',
    ]).map((item) => ({ item, boundTo: [OTHER] })),
  ],
  [
    ...functionsIn([
      'function transfer(address dst, uint256 wad)',
      'function approve(address value, uint256 spender)',
    ]).map((item) => ({ item, boundTo: [TOKEN] })),
    ...functionsIn(['function transferFrom(address to, address from, uint256 id)']).map((item) => ({
      ...{ item, boundTo: [NFT, OTHER] },
    })),
    ...functionsIn(['function transferFrom(address sender, address recipient, uint256 id)']).map((item) => ({
      ...{ item, boundTo: [OTHER] },
    })),
    ...functionsIn(['function burn(uint256 units)', 'function place((address maker, uint8 amount)[] order)']).map(
      (item) => ({
        item,
      }),
    ),
  ],
]

const TEXTS = ['', 'ipfs://one', 'true', '12', 'grüße 🦊', '\uFEFFx', 'x'.repeat(33), 'a\u0000b']

type Source = { readonly random: Random; readonly functions: readonly AbiFunction[] }

/** A random value of a type, as viem takes it. */
const randomValue = (
  source: Source,
  of: AbiParameter & { components?: readonly AbiParameter[] },
  depth: number,
): unknown => {
  const { random } = source
  const [, item, length] = /^(.*)\[([0-9]*)\]$/.exec(of.type) ?? []
  if (item !== undefined) {
    const count = length === '' ? random.below(4) : Number(length)
    return Array.from({ length: count }, () => randomValue(source, { ...of, type: item }, depth))
  }
  if (of.type === 'tuple') return tupleOf(source, of.components ?? [], depth)
  const [, sign, bits] = /^(u?)int([0-9]*)$/.exec(of.type) ?? []
  if (sign !== undefined) {
    const integer = random.integer(Number(bits || '256'), sign === '')
    return Number(bits || '256') <= 48 ? Number(integer) : integer
  }
  if (of.type === 'address') return random.one(PLACES)
  if (of.type === 'bool') return random.isLikely(50)
  if (of.type === 'string') return random.one(TEXTS)
  if (of.type === 'bytes') return bytesOf(source, depth)
  return `0x${random.bytes(Number(of.type.slice(5))).toString('hex')}`
}

/** By name where all components have one, as viem wants it. */
const tupleOf = (source: Source, components: readonly AbiParameter[], depth: number): unknown => {
  const values = components.map((each) => randomValue(source, each, depth))
  if (components.some(({ name }) => !name)) return values
  return Object.fromEntries(components.map(({ name = '' }, index) => [name, values[index]]))
}

const packed = (random: Random, inner: Hex): Hex => {
  const to = random.one(PLACES) as Hex
  return encodePacked(
    ['uint8', 'address', 'uint256', 'uint256', 'bytes'],
    [random.below(2), to, random.integer(64), BigInt(inner.length / 2 - 1), inner],
  )
}

const bytesOf = (source: Source, depth: number): Hex => {
  const { random } = source
  if (depth === 0 || random.isLikely(40)) return `0x${random.bytes(random.below(70)).toString('hex')}`
  const inner = inputOf(source, depth - 1)
  return random.isLikely(50) ? inner : (`0x${packed(random, inner).slice(2)}${packed(random, inner).slice(2)}` as Hex)
}

const selectors = new Map<AbiFunction, Hex>()
const selectorOf = (item: AbiFunction): Hex => {
  const selector = selectors.get(item) ?? toFunctionSelector(item)
  selectors.set(item, selector)
  return selector
}

const inputOf = (source: Source, depth: number): Hex => {
  const item = source.random.one(source.functions)
  const values = item.inputs.map((each) => randomValue(source, each, depth))
  return `${selectorOf(item)}${encodeAbiParameters(item.inputs, values).slice(2)}`
}

/** Call data that differs a little: dirty bits, other offsets and lengths, missing and additional bytes. */
const spoilt = (random: Random, input: Hex): Hex => {
  const data = Buffer.from(input.slice(2), 'hex')
  const words = Math.floor((data.length - 4) / 32)
  const at = 4 + 32 * random.below(Math.max(1, words))
  const word = (value: bigint) => {
    if (at + 32 > data.length) return data
    return Buffer.concat([
      data.subarray(0, at),
      Buffer.from(value.toString(16).padStart(64, '0'), 'hex'),
      data.subarray(at + 32),
    ])
  }
  const current = at + 32 > data.length ? 0n : BigInt(`0x${data.subarray(at, at + 32).toString('hex')}`)
  const bytes = random.one<() => Buffer>([
    // The padding of the last value, where that has some.
    () => Buffer.concat([data.subarray(0, -1), Buffer.of((data.at(-1) ?? 0) ^ 1)]),
    () => Buffer.concat([data.subarray(0, -1), Buffer.of((data.at(-1) ?? 0) ^ 1)]),
    () => Buffer.concat([data, random.bytes(random.one([1, 4, 31, 32, 64]))]),
    () => Buffer.concat([data, Buffer.alloc(32)]),
    () => data.subarray(0, Math.max(0, data.length - random.one([1, 31, 32, 33]))),
    () => data.subarray(0, random.below(5)),
    () => word(current + 32n),
    () => word(current > 32n ? current - 32n : 0n),
    () => word(current | (1n << BigInt(random.one([1, 8, 160, 200, 255])))),
    () => word((1n << 256n) - random.one([1n, 32n, 64n])),
    () => word(random.one([0n, 1n, 2n, 1n << 53n, 1n << 64n])),
    () => {
      const copy = Buffer.from(data)
      copy[random.below(copy.length)] = random.below(256)
      return copy
    },
    () => Buffer.concat([data.subarray(0, 4), data]),
  ])()
  return `0x${bytes.toString('hex')}`
}

/** The calls of a use. @param others addresses besides those of the contracts */
export const callsOf = (source: Source, others: readonly string[]): readonly (Call & { readonly input: Hex })[] => {
  const { random } = source
  return Array.from({ length: random.one([1, 1, 1, 2, 3]) }, () => {
    const to = random.isLikely(2) ? null : random.isLikely(5) ? random.one(others) : random.one(PLACES)
    const value = random.isLikely(60) ? 0n : random.one([1n, 10n ** 18n, random.integer(96)])
    if (to !== null && random.isLikely(20)) return { to, value, input: '0x' }
    return { to, value, input: inputOf(source, 2) }
  })
}

/** The same use by somebody who tries to get more out of its policies. */
export const attacked = <Called extends Call>(source: Source, calls: readonly Called[]): readonly Call[] => {
  const { random } = source
  const index = random.below(calls.length)
  const change = random.one<(call: Called) => readonly Call[]>([
    (call) => [{ ...call, input: spoilt(random, call.input as Hex) }],
    (call) => [{ ...call, input: spoilt(random, call.input as Hex) }],
    (call) => [{ ...call, input: spoilt(random, call.input as Hex) }],
    (call) => [{ ...call, input: spoilt(random, call.input as Hex) }],
    (call) => [{ ...call, input: spoilt(random, call.input as Hex) }],
    (call) => [{ ...call, input: spoilt(random, call.input as Hex) }],
    (call) => [{ ...call, input: inputOf(source, 2) }],
    (call) => [{ ...call, to: random.one(PLACES) }],
    (call) => [{ ...call, to: null }],
    (call) => [{ ...call, value: call.value + 1n }],
    (call) => [{ ...call, input: '0x' }],
    (call) => [call, { ...call, input: inputOf(source, 1) }],
    (call) => [call, call],
    (call) => [{ ...call, input: `0x${call.input.slice(2, 10)}${inputOf(source, 1).slice(10)}` }],
  ])
  return calls.flatMap((call, place) => (place === index ? change(call) : [call]))
}
