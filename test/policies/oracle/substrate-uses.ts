// Random calls of a Substrate runtime: of all its calls, also in batches and proxies, and with spoilt bytes.

import { encodeAddress } from '@polkadot/util-crypto/address'
import type { Call } from './oracle.ts'
import type { Random } from './random.ts'
import { bitsOf, isByte, type ScaleType, type Types, typeAt, type Variant } from './scale.ts'

type Source = { readonly random: Random; readonly types: Types; readonly hasPrograms: boolean }

const ACCOUNTS = [1, 2, 3, 0xfe].map((byte) => Buffer.alloc(32, byte))
const DEPTH_MAX = 7

const little = (value: bigint, length: number): Buffer =>
  Buffer.from(
    BigInt.asUintN(8 * length, value)
      .toString(16)
      .padStart(2 * length, '0'),
    'hex',
  ).reverse()

const compact = (value: bigint): Buffer => {
  if (value < 1n << 6n) return little(value << 2n, 1)
  if (value < 1n << 14n) return little((value << 2n) | 1n, 2)
  if (value < 1n << 30n) return little((value << 2n) | 2n, 4)
  const length = Math.ceil(value.toString(16).length / 2)
  return Buffer.concat([Buffer.of(((length - 4) << 2) | 3), little(value, length)])
}

/** The same number, longer than it need be. */
const longCompact = (value: bigint): Buffer =>
  value < 1n << 14n ? little((value << 2n) | 2n, 4) : Buffer.concat([Buffer.of(3 + (8 << 2)), little(value, 12)])

const TEXTS = ['', 'DOT', 'grüße', 'true']

const primitive = ({ random }: Source, name: string): Buffer => {
  if (/bool/i.test(name)) return Buffer.of(random.below(2))
  if (/str/i.test(name)) {
    const text = Buffer.from(random.one(TEXTS))
    return Buffer.concat([compact(BigInt(text.length)), text])
  }
  const bits = Number(name.slice(1))
  return little(random.integer(bits), bits / 8)
}

const items = (source: Source, { type, count }: { type: number; count: number }, depth: number): Buffer =>
  isByte(source.types, type)
    ? source.random.bytes(count)
    : Buffer.concat(Array.from({ length: count }, () => encoded(source, type, depth - 1)))

const chosen = (source: Source, { def, path }: ScaleType, depth: number): Buffer => {
  const variants = def.variant?.variants ?? []
  // No value of such a type exists.
  if (variants.length === 0) return Buffer.alloc(0)
  const simple = variants.filter(({ fields }) => fields.length === 0)
  const few = depth <= 0 && simple.length > 0 ? simple : depth <= 0 ? variants.slice(0, 1) : variants
  const isAddress = path.at(-1) === 'MultiAddress' && source.random.isLikely(80)
  const { index, fields } = source.random.one(isAddress ? variants.slice(0, 1) : few)
  return Buffer.concat([Buffer.of(index), ...fields.map(({ type }) => encoded(source, type, depth - 1))])
}

const encoded = (source: Source, id: number, depth: number): Buffer => {
  const { random, types } = source
  const type = typeAt(types, id)
  const { def } = type
  if (id === types.call) return callBytes(source, depth - 1)
  if (type.path.at(-1) === 'AccountId32') return random.one(ACCOUNTS)
  if (def.primitive !== undefined) return primitive(source, def.primitive)
  if (def.compact !== undefined) {
    if (typeAt(types, def.compact.type).def.tuple?.length === 0) return Buffer.alloc(0)
    return compact(random.integer(bitsOf(types, def.compact.type)))
  }
  if (def.sequence !== undefined) {
    const count = depth <= 0 ? 0 : random.below(4)
    return Buffer.concat([compact(BigInt(count)), items(source, { type: def.sequence.type, count }, depth)])
  }
  if (def.array !== undefined) return items(source, { type: def.array.type, count: def.array.len }, depth)
  const parts = def.tuple ?? def.composite?.fields.map((field) => field.type)
  if (parts !== undefined) return Buffer.concat(parts.map((part) => encoded(source, part, depth - 1)))
  return chosen(source, type, depth)
}

/** Calls of these pallets are drawn more often: they hold other calls, or move what is dear. */
const OFTEN = ['Balances', 'Utility', 'Proxy', 'Multisig', 'Nfts', 'Assets']

const callBytes = (source: Source, depth: number): Buffer => {
  const { random, types } = source
  const callsOf = ({ fields }: Variant) => typeAt(types, fields[0]?.type ?? -1).def.variant?.variants ?? []
  const pallets = (typeAt(types, types.call).def.variant?.variants ?? []).filter((each) => callsOf(each).length > 0)
  const often = pallets.filter(({ name }) => (depth > 0 ? OFTEN : ['Balances', 'System']).includes(name))
  const pallet = random.one(depth <= 0 || random.isLikely(80) ? often : pallets)
  const { index, fields } = random.one(callsOf(pallet))
  const parts = fields.map(({ type }) => encoded(source, type, depth))
  return Buffer.concat([Buffer.of(pallet.index, index), ...parts])
}

const hexOf = (bytes: Buffer): `0x${string}` => `0x${bytes.toString('hex')}`

const batchOf = ({ types }: Source, calls: readonly Buffer[]): Buffer => {
  const utility = typeAt(types, types.call).def.variant?.variants.find(({ name }) => name === 'Utility')
  const all = typeAt(types, utility?.fields[0]?.type ?? -1).def.variant?.variants.find(
    ({ name }) => name === 'batch_all',
  )
  if (utility === undefined || all === undefined) throw new Error('expected utility.batch_all')
  return Buffer.concat([Buffer.of(utility.index, all.index), compact(BigInt(calls.length)), ...calls])
}

/** A call, a payment of coins, or a message to a program. */
export const runtimeUse = (source: Source): Call & { readonly input: `0x${string}` } => {
  const { random, types, hasPrograms } = source
  if (random.isLikely(hasPrograms ? 30 : 12)) {
    const to = encodeAddress(random.one(ACCOUNTS), types.ss58Prefix)
    const payload = hasPrograms && random.isLikely(70) ? random.bytes(1 + random.below(40)) : Buffer.alloc(0)
    return { to, value: random.integer(64), input: hexOf(payload) }
  }
  const call = callBytes(source, DEPTH_MAX)
  const isBatch = random.isLikely(15)
  return { to: null, value: 0n, input: hexOf(isBatch ? batchOf(source, [call, callBytes(source, 2)]) : call) }
}

/** A compact number is written longer: the first argument, that behind an account, or what may be one elsewhere. */
const loosened = (random: Random, data: Buffer): Buffer => {
  const at = Math.min(random.one([2, 35, random.below(data.length)]), data.length - 1)
  const byte = data[at] ?? 0
  return Buffer.concat([data.subarray(0, at), longCompact(BigInt(byte >> 2)), data.subarray(at + 1)])
}

/** The same use by somebody who tries to get more out of its policies. */
export const attackedUse = (source: Source, call: Call): Call => {
  const { random } = source
  if (call.to !== null) return random.one([{ ...call, value: call.value + 1n }, runtimeUse(source)])
  const data = Buffer.from(call.input.slice(2), 'hex')
  const bytes = random.one<() => Buffer>([
    () => Buffer.concat([data, random.bytes(random.one([1, 2, 32]))]),
    () => data.subarray(0, data.length - 1),
    () => loosened(random, data),
    () => loosened(random, data),
    () => loosened(random, data),
    () => loosened(random, data),
    () => loosened(random, data),
    () => batchOf(source, [data]),
    () => batchOf(source, [data, callBytes(source, 1)]),
    () => Buffer.concat([data, callBytes(source, 1)]),
    () => callBytes(source, DEPTH_MAX),
    () => {
      const copy = Buffer.from(data)
      copy[random.below(copy.length)] = random.below(256)
      return copy
    },
    () => {
      const copy = Buffer.from(data)
      copy[0] = random.below(70)
      return copy
    },
  ])()
  return { ...call, input: hexOf(bytes) }
}
