// Reads a runtime's signed extensions from its metadata. Each extension has data in the extrinsic (extra), and data
// that is only signed (implicit). Its name and the shapes of its types together identify it. An unknown extension is
// left empty if its types have an empty form: no bytes, an Option without a value, or a variant `Disabled`. Otherwise
// nothing is signed for the runtime.

import type { Metadata } from '@polkadot/types'
import type { TypeRegistry } from '@polkadot/types/create'
import { findUnknownExtensions } from '@polkadot/types/extrinsic/signedExtensions'
import type { Hex } from '../chain.ts'
import { toHex } from './scale.ts'

/** A part of an extrinsic or of its implicit data. Hex means constant bytes. */
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

export type ExtrinsicForm = {
  /** In the extrinsic, before the call. */
  readonly extra: readonly Part[]
  /** Signed, but not in the extrinsic. */
  readonly implicit: readonly Part[]
  /** The bytes before an account's 32 bytes. `signaturePrefix`: the bytes before an sr25519 signature's 64 bytes. */
  readonly addressPrefix: Hex
  readonly signaturePrefix: Hex
  /** What the runtime needs and we do not support. Nothing is signed unless this is empty. */
  readonly unsupported: readonly string[]
}

type Lookup = TypeRegistry['lookup']
type TypeId = Parameters<Lookup['getSiType']>[0]
type Type = ReturnType<Lookup['getSiType']>
type Inside = Type['def']['asSequence']['type']
type Places = { readonly extra?: readonly Part[]; readonly implicit?: readonly Part[] }

type Listed = {
  readonly identifier: { toString(): string }
  /** The type of its data in the extrinsic. `implicit`: the type of its data that is only signed. */
  readonly type: TypeId
  readonly implicit: TypeId
}

/** No known extension has deeper types. */
const SHAPE_DEPTH_MAX = 16

const nameOf = ({ path }: Type): string => path.at(-1)?.toString() ?? ''

const innerTypes = ({ def }: Type): readonly Inside[] =>
  def.isTuple ? [...def.asTuple] : def.isComposite ? def.asComposite.fields.map(({ type }) => type) : []

/** The index byte of a variant; null if the type has no variant of this name. */
const variantPrefix = ({ def }: Type, wanted: string): Hex | null => {
  const variant = def.isVariant ? def.asVariant.variants.find(({ name }) => String(name) === wanted) : undefined
  return variant === undefined ? null : toHex(variant.index.toU8a())
}

/** The encoding of a type without its name: `U32`, `compact`, `[U8;32]`, `option`; '' for a type without bytes. */
const describeShape = (lookup: Lookup, id: TypeId, depth = 0): string => {
  const type = lookup.getSiType(id)
  const { def } = type
  if (depth > SHAPE_DEPTH_MAX) return 'deep'
  if (def.isPrimitive) return def.asPrimitive.type
  if (def.isCompact) return 'compact'
  if (def.isTuple || def.isComposite) {
    const shapes = innerTypes(type).map((each) => describeShape(lookup, each, depth + 1))
    return shapes.filter((shape) => shape !== '').join(',')
  }
  if (def.isArray) return `[${describeShape(lookup, def.asArray.type, depth + 1)};${def.asArray.len.toNumber()}]`
  if (!def.isVariant) return 'other'
  if (nameOf(type) === 'Option') return 'option'
  if (nameOf(type) === 'Era') return 'era'
  const variants = def.asVariant.variants.map(
    ({ name, index, fields }) => `${name}:${index}${fields.length ? '()' : ''}`,
  )
  return `variant ${variants.join(' ')}`
}

const TIP = { 'compact|': { extra: ['tip'] }, 'compact,option|': { extra: ['tip', 'fee_asset'] } } as const
const MORTALITY = { 'era|[U8;32]': { extra: ['era'], implicit: ['birth_hash'] } } as const
const SPEC_VERSION = { '|U32': { implicit: ['spec_version'] } } as const

/** The known extensions, by name and by the shapes `extra|implicit`. */
const KNOWN: Readonly<Record<string, Readonly<Record<string, Places>>>> = {
  CheckSpecVersion: SPEC_VERSION,
  CheckVersion: SPEC_VERSION,
  CheckTxVersion: { '|U32': { implicit: ['transaction_version'] } },
  CheckGenesis: { '|[U8;32]': { implicit: ['genesis_hash'] } },
  CheckMortality: MORTALITY,
  CheckEra: MORTALITY,
  CheckNonce: { 'compact|': { extra: ['nonce'] } },
  ChargeTransactionPayment: TIP,
  ChargeAssetTxPayment: TIP,
  SkipCheckIfFeeless: TIP,
  CheckMetadataHash: {
    'variant Disabled:0 Enabled:1|option': { extra: ['metadata_mode'], implicit: ['metadata_hash'] },
  },
}

const emptyForm = (lookup: Lookup, id: TypeId, depth = 0): Hex | null => {
  const type = lookup.getSiType(id)
  const { def } = type
  if (depth > SHAPE_DEPTH_MAX) return null
  if (def.isTuple || def.isComposite) {
    const forms = innerTypes(type).map((each) => emptyForm(lookup, each, depth + 1))
    return forms.includes(null) ? null : `0x${forms.map((form) => form?.slice(2)).join('')}`
  }
  if (!def.isVariant) return null
  if (nameOf(type) === 'Option') return '0x00'
  const isEmpty = def.asVariant.variants.some(({ name, fields }) => String(name) === 'Disabled' && fields.length === 0)
  return isEmpty ? variantPrefix(type, 'Disabled') : null
}

/** The type inside the first Option of a type; null if there is no Option. */
const insideOption = (lookup: Lookup, id: TypeId, depth = 0): Inside | null => {
  const type = lookup.getSiType(id)
  const { def } = type
  if (depth > SHAPE_DEPTH_MAX) return null
  if (def.isVariant) {
    const some = def.asVariant.variants.find(({ name }) => String(name) === 'Some')
    return nameOf(type) === 'Option' ? (some?.fields[0]?.type ?? null) : null
  }
  for (const each of innerTypes(type)) {
    const inside = insideOption(lookup, each, depth + 1)
    if (inside !== null) return inside
  }
  return null
}

export const findFeeAssetType = ({ lookup }: TypeRegistry, metadata: Metadata): Inside | null => {
  for (const listed of extensionsIn(metadata)) {
    if (findPlaces(lookup, listed)?.extra?.includes('fee_asset')) return insideOption(lookup, listed.type)
  }
  return null
}

const bytesOf = (form: Hex): readonly Part[] => (form === '0x' ? [] : [form])

const findPlaces = (lookup: Lookup, { identifier, type, implicit }: Listed): Places | null => {
  const known = KNOWN[identifier.toString()]
  if (known !== undefined) return known[`${describeShape(lookup, type)}|${describeShape(lookup, implicit)}`] ?? null
  const [extra, signed] = [emptyForm(lookup, type), emptyForm(lookup, implicit)]
  return extra === null || signed === null ? null : { extra: bytesOf(extra), implicit: bytesOf(signed) }
}

/** Reads the metadata in its own version: the codec loses the implicit types when it converts to the latest version. */
const extensionsIn = (metadata: Metadata): readonly Listed[] => {
  if (metadata.version >= 16) return [...metadata.asV16.extrinsic.transactionExtensions]
  const { extrinsic } = metadata.version === 15 ? metadata.asV15 : metadata.asV14
  return extrinsic.signedExtensions.map(({ identifier, type, additionalSigned }) => ({
    identifier,
    type,
    implicit: additionalSigned,
  }))
}

export const extensionNamesOf = (metadata: Metadata): readonly string[] =>
  extensionsIn(metadata).map(({ identifier }) => identifier.toString())

/** The bytes before an account: none if addresses are plain accounts, else the index of MultiAddress::Id. */
const addressPrefixOf = (lookup: Lookup, id: TypeId): Hex | null =>
  describeShape(lookup, id) === '[U8;32]' ? '0x' : variantPrefix(lookup.getSiType(id), 'Id')

const EXTRINSIC_VERSION = 4

/** Reads the form of a runtime's extrinsics. The registry must hold the types of the metadata. Pure. */
export const extrinsicFormOf = ({ lookup }: TypeRegistry, metadata: Metadata): ExtrinsicForm => {
  const { addressType, signatureType, versions } = metadata.asLatest.extrinsic
  const listed = extensionsIn(metadata)
  const places = listed.map((each) => findPlaces(lookup, each))
  const addressPrefix = addressPrefixOf(lookup, addressType)
  const signaturePrefix = variantPrefix(lookup.getSiType(signatureType), 'Sr25519')
  return {
    extra: places.flatMap((each) => each?.extra ?? []),
    implicit: places.flatMap((each) => each?.implicit ?? []),
    addressPrefix: addressPrefix ?? '0x',
    signaturePrefix: signaturePrefix ?? '0x',
    unsupported: [
      ...listed.flatMap(({ identifier }, index) => (places[index] === null ? [identifier.toString()] : [])),
      ...(addressPrefix === null ? ['another type of addresses'] : []),
      ...(signaturePrefix === null ? ['another type of signatures'] : []),
      ...([...versions].some((version) => Number(version) === EXTRINSIC_VERSION)
        ? []
        : ['another version of extrinsics']),
    ],
  }
}

const NOTHING = { extrinsic: {}, payload: {} }

/** Unknown extensions, as empty, so that the codec prints no warning. The codec encodes no extrinsics here. */
export const unknownToCodec = (metadata: Metadata): NonNullable<Parameters<TypeRegistry['setMetadata']>[2]> =>
  Object.fromEntries(findUnknownExtensions([...extensionNamesOf(metadata)]).map((name) => [name, NOTHING]))
