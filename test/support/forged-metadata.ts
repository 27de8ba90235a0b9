// Metadata with one false part, and otherwise the same bytes. The position of a part is found by encoding the part and
// searching for its bytes in the whole.

import { Metadata, TypeRegistry } from '@polkadot/types'

type Hex = `0x${string}`
type Part = { toU8a(): Uint8Array }

const opened = (hex: Hex) => {
  const metadata = new Metadata(new TypeRegistry(), hex)
  return { metadata, bytes: Buffer.from(hex.slice(2), 'hex') }
}

const placeOf = (bytes: Buffer, part: Part): { readonly start: number; readonly end: number } => {
  const own = Buffer.from(part.toU8a())
  const start = bytes.indexOf(own)
  if (start < 0 || bytes.indexOf(own, start + 1) >= 0) throw new Error('expected the part to be there once')
  return { start, end: start + own.length }
}

const hexOf = (bytes: Uint8Array): Hex => `0x${Buffer.from(bytes).toString('hex')}`

type Numbered = Part & { readonly docs: Part; readonly index: { toNumber(): number } }

/** The byte before the documentation. */
const indexPlace = (bytes: Buffer, part: Numbered): number => placeOf(bytes, part).end - part.docs.toU8a().length - 1

const callsOf = (metadata: Metadata, pallet: string) => {
  const found = metadata.asLatest.pallets.find(({ name }) => String(name) === pallet)
  if (found === undefined) throw new Error(`no pallet ${pallet}`)
  const { types } = metadata.asLatest.lookup
  const type = types.find(({ id }) => id.eq(found.calls.unwrap().type))?.type
  if (type === undefined) throw new Error(`no calls of ${pallet}`)
  return { pallet: found, variants: type.def.asVariant.variants }
}

/** Two calls of a pallet with swapped indexes: encoding one gives the other. */
export const withCallsSwapped = (hex: Hex, pallet: string, names: readonly [string, string]): Hex => {
  const { metadata, bytes } = opened(hex)
  const { variants } = callsOf(metadata, pallet)
  const [one, other] = names.map((name) => variants.find((each) => String(each.name) === name))
  if (one === undefined || other === undefined) throw new Error(`no calls ${names}`)
  const places = [indexPlace(bytes, one), indexPlace(bytes, other)] as const
  bytes[places[0]] = other.index.toNumber()
  bytes[places[1]] = one.index.toNumber()
  return hexOf(bytes)
}

/** Two calls of a pallet with swapped names. */
export const withNamesSwapped = (hex: Hex, pallet: string, names: readonly [string, string]): Hex => {
  const { metadata, bytes } = opened(hex)
  const { variants } = callsOf(metadata, pallet)
  const parts = names.map((name) => {
    const variant = variants.find((each) => String(each.name) === name)
    if (variant === undefined) throw new Error(`no call ${name}`)
    return { start: placeOf(bytes, variant).start, text: Buffer.from(variant.name.toU8a()) }
  })
  const [first, second] = [...parts].sort((one, other) => one.start - other.start)
  if (first === undefined || second === undefined) throw new Error('expected two calls')
  return hexOf(
    Buffer.concat([
      ...[bytes.subarray(0, first.start), second.text],
      ...[bytes.subarray(first.start + first.text.length, second.start), first.text],
      bytes.subarray(second.start + second.text.length),
    ]),
  )
}

/** A pallet with another index than in the type of all calls. */
export const withPalletMoved = (hex: Hex, pallet: string, index: number): Hex => {
  const { metadata, bytes } = opened(hex)
  const { asV15 } = metadata
  const found = asV15.pallets.find(({ name }) => String(name) === pallet)
  if (found === undefined) throw new Error(`no pallet ${pallet}`)
  bytes[indexPlace(bytes, found)] = index
  return hexOf(bytes)
}

/** The list of signed extensions lacks one. */
export const withoutExtension = (hex: Hex, identifier: string): Hex => {
  const { metadata, bytes } = opened(hex)
  const listed = metadata.asV15.extrinsic.signedExtensions
  const own = listed.find((each) => String(each.identifier) === identifier)
  if (own === undefined) throw new Error(`no extension ${identifier}`)
  const { start, end } = placeOf(bytes, own)
  // A list of fewer than 64 items has its length in one byte.
  const length = placeOf(bytes, listed).start
  const kept = Buffer.concat([bytes.subarray(0, start), bytes.subarray(end)])
  kept[length] = (listed.length - 1) << 2
  return hexOf(kept)
}
