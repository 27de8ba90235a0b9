// What a runtime wants signed with each extrinsic. The codec knows the extensions of the common pallets. One that it does not
// know signs nothing where its types are empty (it only looks at the sender, as Vara's StakingBlackList does); where they are
// not, nobody here knows what to put there, and nothing is signed for such a runtime.

import type { Metadata } from '@polkadot/types'
import type { TypeRegistry } from '@polkadot/types/create'
import { findUnknownExtensions } from '@polkadot/types/extrinsic/signedExtensions'

type Extensions = NonNullable<Parameters<TypeRegistry['setMetadata']>[2]>

type TypeId = Parameters<TypeRegistry['lookup']['getSiType']>[0]

const NOTHING = { extrinsic: {}, payload: {} }

type Listed = {
  readonly identifier: { toString(): string }
  /** What of it stands in the extrinsic, and what is only signed. */
  readonly type: TypeId
  readonly implicit: TypeId
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

/** Those that the codec does not know, as it takes them; and the names of those that sign something. */
export const unknownExtensions = (
  registry: TypeRegistry,
  metadata: Metadata,
): { readonly extensions: Extensions; readonly unsupported: readonly string[] } => {
  const listed = extensionsIn(metadata)
  const unknown = new Set(findUnknownExtensions(listed.map(({ identifier }) => identifier.toString())))
  const isEmpty = (type: TypeId): boolean => {
    const { def } = registry.lookup.getSiType(type)
    if (def.isTuple) return def.asTuple.every(isEmpty)
    return def.isComposite && def.asComposite.fields.every((field) => isEmpty(field.type))
  }
  const own = listed.filter(({ identifier }) => unknown.has(identifier.toString()))
  return {
    extensions: Object.fromEntries(own.map(({ identifier }) => [identifier.toString(), NOTHING])),
    unsupported: own.flatMap(({ identifier, type, implicit }) =>
      isEmpty(type) && isEmpty(implicit) ? [] : [identifier.toString()],
    ),
  }
}
