// What a runtime wants beside the call: for each of its signed extensions, what of it stands in the extrinsic, and what is
// only signed. The list is the runtime's own, and so are the types. An extension is known here by its name and by the shape
// of its types together. One that is not known is left empty where its types have an empty form: no bytes at all, an Option
// without a value, or a variant `Disabled`. For a runtime that wants more of such a one, nothing is signed.

import type { Metadata } from '@polkadot/types'
import type { TypeRegistry } from '@polkadot/types/create'
import { findUnknownExtensions } from '@polkadot/types/extrinsic/signedExtensions'
import type { Hex } from '../chain.ts'

/** What is put in a place of an extrinsic; bytes in hex are the same for every extrinsic. */
export type Part =
  | 'era'
  | 'nonce'
  | 'tip'
  | 'fee_asset'
  | 'metadata_mode'
  | 'spec_version'
  | 'transaction_version'
  | 'genesis_hash'
  | 'birth_hash'
  | 'metadata_hash'
  | Hex

/** How a runtime takes extrinsics. */
export type ExtrinsicForm = {
  /** In the extrinsic, before the call. */
  readonly extra: readonly Part[]
  /** Signed, and in no extrinsic. */
  readonly implicit: readonly Part[]
  /** What stands before the 32 bytes of an account, and before the 64 bytes of an sr25519 signature. */
  readonly addressPrefix: Hex
  readonly signaturePrefix: Hex
  /** What it wants that is not known here; nothing is signed where there is such a thing. */
  readonly unsupported: readonly string[]
}

type Lookup = TypeRegistry['lookup']
type TypeId = Parameters<Lookup['getSiType']>[0]
type Type = ReturnType<Lookup['getSiType']>
type Inside = Type['def']['asSequence']['type']
type Places = { readonly extra: readonly Part[]; readonly implicit: readonly Part[] }

type Listed = {
  readonly identifier: { toString(): string }
  /** What of it stands in the extrinsic, and what is only signed. */
  readonly type: TypeId
  readonly implicit: TypeId
}

/** Deeper types are none of the extensions that we know. */
const SHAPE_DEPTH_MAX = 16

const nameOf = ({ path }: Type): string => path.at(-1)?.toString() ?? ''

/** The bytes of a type, whatever it is called: `u32`, `compact`, `[U8;32]`, `option`; empty for a type of no bytes. */
const shapeOf = (lookup: Lookup, id: TypeId, depth = 0): string => {
  const type = lookup.getSiType(id)
  const { def } = type
  if (depth > SHAPE_DEPTH_MAX) return 'deep'
  const all = (ids: readonly TypeId[]) => ids.map((each) => shapeOf(lookup, each, depth + 1)).filter((each) => each)
  if (def.isPrimitive) return def.asPrimitive.type
  if (def.isCompact) return 'compact'
  if (def.isTuple) return all([...def.asTuple]).join(',')
  if (def.isComposite) return all(def.asComposite.fields.map(({ type: each }) => each)).join(',')
  if (def.isArray) return `[${shapeOf(lookup, def.asArray.type, depth + 1)};${def.asArray.len.toNumber()}]`
  if (!def.isVariant) return 'other'
  if (nameOf(type) === 'Option') return 'option'
  if (nameOf(type) === 'Era') return 'era'
  const variants = def.asVariant.variants.map(
    ({ name, index, fields }) => `${name}:${index}${fields.length ? '()' : ''}`,
  )
  return `variant ${variants.join(' ')}`
}

const NOTHING_FIXED = { extra: [], implicit: [] } as const

const TIP: Readonly<Record<string, Places>> = {
  'compact|': { ...NOTHING_FIXED, extra: ['tip'] },
  'compact,option|': { ...NOTHING_FIXED, extra: ['tip', 'fee_asset'] },
}
const MORTALITY = { 'era|[U8;32]': { extra: ['era'], implicit: ['birth_hash'] } } as const
const SPEC_VERSION = { '|U32': { extra: [], implicit: ['spec_version'] } } as const

/** By name, and by the shapes of what stands in the extrinsic and of what is only signed. */
const KNOWN: Readonly<Record<string, Readonly<Record<string, Places>>>> = {
  CheckSpecVersion: SPEC_VERSION,
  CheckVersion: SPEC_VERSION,
  CheckTxVersion: { '|U32': { extra: [], implicit: ['transaction_version'] } },
  CheckGenesis: { '|[U8;32]': { extra: [], implicit: ['genesis_hash'] } },
  CheckMortality: MORTALITY,
  CheckEra: MORTALITY,
  CheckNonce: { 'compact|': { extra: ['nonce'], implicit: [] } },
  ChargeTransactionPayment: TIP,
  ChargeAssetTxPayment: TIP,
  SkipCheckIfFeeless: TIP,
  CheckMetadataHash: {
    'variant Disabled:0 Enabled:1|option': { extra: ['metadata_mode'], implicit: ['metadata_hash'] },
  },
}

/** What says nothing; null for a type of which nobody here knows what says nothing. */
const emptyForm = (lookup: Lookup, id: TypeId, depth = 0): Hex | null => {
  const type = lookup.getSiType(id)
  const { def } = type
  if (depth > SHAPE_DEPTH_MAX) return null
  if (def.isTuple || def.isComposite) {
    const ids = def.isTuple ? [...def.asTuple] : def.asComposite.fields.map(({ type: each }) => each)
    const forms = ids.map((each) => emptyForm(lookup, each, depth + 1))
    return forms.some((form) => form === null) ? null : `0x${forms.map((form) => form?.slice(2)).join('')}`
  }
  if (!def.isVariant) return null
  if (nameOf(type) === 'Option') return '0x00'
  const disabled = def.asVariant.variants.find(({ name, fields }) => String(name) === 'Disabled' && fields.length === 0)
  return disabled === undefined ? null : `0x${disabled.index.toNumber().toString(16).padStart(2, '0')}`
}

/** What is in the first Option of a type; null for a type without one. */
const insideOption = (lookup: Lookup, id: TypeId, depth = 0): Inside | null => {
  const type = lookup.getSiType(id)
  const { def } = type
  if (depth > SHAPE_DEPTH_MAX) return null
  if (def.isVariant) {
    const some = def.asVariant.variants.find(({ name }) => String(name) === 'Some')
    return nameOf(type) === 'Option' ? (some?.fields[0]?.type ?? null) : null
  }
  if (!def.isTuple && !def.isComposite) return null
  const ids = def.isTuple ? [...def.asTuple] : def.asComposite.fields.map(({ type: each }) => each)
  for (const each of ids) {
    const inside = insideOption(lookup, each, depth + 1)
    if (inside !== null) return inside
  }
  return null
}

/** The type of what names the asset that a fee is paid in; null where fees are paid in the coin alone. Pure. */
export const feeAssetTypeOf = ({ lookup }: TypeRegistry, metadata: Metadata): Inside | null => {
  for (const listed of extensionsIn(metadata)) {
    if (placesOf(lookup, listed)?.extra.includes('fee_asset')) return insideOption(lookup, listed.type)
  }
  return null
}

const bytesOf = (form: Hex): readonly Part[] => (form === '0x' ? [] : [form])

const placesOf = (lookup: Lookup, { identifier, type, implicit }: Listed): Places | null => {
  const known = KNOWN[identifier.toString()]
  if (known !== undefined) return known[`${shapeOf(lookup, type)}|${shapeOf(lookup, implicit)}`] ?? null
  const [extra, signed] = [emptyForm(lookup, type), emptyForm(lookup, implicit)]
  return extra === null || signed === null ? null : { extra: bytesOf(extra), implicit: bytesOf(signed) }
}

/** By the form in which they came: where the codec makes the latest form of an older one, what is only signed is lost. */
const extensionsIn = (metadata: Metadata): readonly Listed[] => {
  if (metadata.version >= 16) return [...metadata.asV16.extrinsic.transactionExtensions]
  const { extrinsic } = metadata.version === 15 ? metadata.asV15 : metadata.asV14
  return extrinsic.signedExtensions.map(({ identifier, type, additionalSigned }) => ({
    identifier,
    type,
    implicit: additionalSigned,
  }))
}

/** A variant's index as the byte before what is in it; null where the type has none of this name. */
const variantPrefix = (type: Type, name: string): Hex | null => {
  if (!type.def.isVariant) return null
  const variant = type.def.asVariant.variants.find((each) => String(each.name) === name)
  return variant === undefined ? null : `0x${variant.index.toNumber().toString(16).padStart(2, '0')}`
}

/** An account is 32 bytes, or one of several kinds of addresses. */
const addressPrefixOf = (lookup: Lookup, id: TypeId): Hex | null =>
  shapeOf(lookup, id) === '[U8;32]' ? '0x' : variantPrefix(lookup.getSiType(id), 'Id')

/** The version of extrinsics that is made here. */
const EXTRINSIC_VERSION = 4

const takesOurVersion = (metadata: Metadata): boolean => {
  const { versions } = metadata.asLatest.extrinsic
  return [...versions].some((version) => Number(version) === EXTRINSIC_VERSION)
}

/** @param registry with the types of the metadata. Pure. */
export const extrinsicFormOf = ({ lookup }: TypeRegistry, metadata: Metadata): ExtrinsicForm => {
  const { addressType, signatureType } = metadata.asLatest.extrinsic
  const listed = extensionsIn(metadata)
  const places = listed.map((each) => placesOf(lookup, each))
  const [addressPrefix, signaturePrefix] = [
    addressPrefixOf(lookup, addressType),
    variantPrefix(lookup.getSiType(signatureType), 'Sr25519'),
  ]
  return {
    extra: places.flatMap((each) => each?.extra ?? []),
    implicit: places.flatMap((each) => each?.implicit ?? []),
    addressPrefix: addressPrefix ?? '0x',
    signaturePrefix: signaturePrefix ?? '0x',
    unsupported: [
      ...listed.flatMap(({ identifier }, index) => (places[index] === null ? [identifier.toString()] : [])),
      ...(addressPrefix === null ? ['an address of another form'] : []),
      ...(signaturePrefix === null ? ['a signature of another form'] : []),
      ...(takesOurVersion(metadata) ? [] : ['an extrinsic of another version']),
    ],
  }
}

const NOTHING = { extrinsic: {}, payload: {} }

/** Those that the codec does not know, as it takes them: it would print a warning of each, and is not asked to make any. */
export const unknownToCodec = (metadata: Metadata): NonNullable<Parameters<TypeRegistry['setMetadata']>[2]> =>
  Object.fromEntries(
    findUnknownExtensions(extensionsIn(metadata).map(({ identifier }) => identifier.toString())).map((name) => [
      name,
      NOTHING,
    ]),
  )
