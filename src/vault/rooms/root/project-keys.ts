// Each project has a random key, wrapped with the root key. It seals the outer layer of developer keys, user keys and
// locks. A rotation (rotate-project.ts) adds a version; the key id in each envelope says which version opens it.
//
// Unwrapped keys are cached, so that a signature does not wait for a key service. Only these keys below the root
// outlive a request, and they open nothing without a credential. A key that leaves the cache is not zeroed: a request
// may still use it, and would seal with zeros.

import type { Db, Tx } from '../../../../db/client.ts'
import { holdProjectKey, readProjectKey } from '../../../../db/queries/vault/project-keys.ts'
import { createBoundedMap } from '../../../platform/bounded-map.ts'
import { EnvelopeError, keyIdOf, open, type RowIdentity, seal } from '../../../platform/sealing/envelope.ts'
import { KeyRotated } from '../../contract/repeatable.ts'
import { identityOf } from '../sealing/hierarchy.ts'
import { type BoundRow, macKeyIdOf, openRowMacs, type RowMacs } from '../sealing/row-mac.ts'
import type { RootKeys } from './root-key.ts'

const CACHED_KEYS_MAX = 1000
const CACHED_MS = 10 * 60 * 1000
/** The largest `integer` of PostgreSQL. */
const INTEGER_MAX = 2 ** 31 - 1

type Layer = { readonly identity: RowIdentity }
type Sealed = Layer & { readonly sealed: Uint8Array }
type Version = { readonly projectId: string; readonly version: number }

const unwrap = async (input: Version & { readonly db: Db; readonly rootKeys: RootKeys }): Promise<Uint8Array> => {
  const { db, rootKeys, projectId, version } = input
  // A forged row can name any version of four bytes.
  const row = version > INTEGER_MAX ? null : await readProjectKey(db, { projectId, version })
  if (row === null) throw new EnvelopeError('unknown key')
  return rootKeys.unwrap({ ...row, identity: identityOf.projectKey({ projectId, version }) })
}

/** @returns null for an envelope that does not open, or a key that does not exist. */
export const nullIfForged = async <Result>(result: Promise<Result>): Promise<Result | null> => {
  try {
    return await result
  } catch (error) {
    if (error instanceof EnvelopeError) return null
    throw error
  }
}

type Authenticated = { readonly projectId: string; readonly mac: Uint8Array }

const outerLayers = (keyOf: (keyVersion: Version) => Promise<Uint8Array>) => {
  const openOuter = async ({ identity, sealed }: Sealed): Promise<Uint8Array> => {
    const version = keyIdOf(sealed)
    const key = await keyOf({ projectId: identity.projectId, version })
    return open({ key, keyId: version, identity, sealed })
  }
  return {
    sealOuter: async (layer: Layer & { readonly version: number; readonly inner: Uint8Array }) => {
      const { version, identity, inner } = layer
      const key = await keyOf({ projectId: identity.projectId, version })
      return seal({ key, keyId: version, identity, plaintext: inner })
    },
    /** Opens the outer layer. @returns the inner layer. @throws EnvelopeError */
    openOuter,
    /** Whether an outer layer is as it was sealed. It needs no credential, as the inner layer stays closed. */
    isOuterAsSealed: async (layer: Sealed): Promise<boolean> => {
      const inner = await nullIfForged(openOuter(layer))
      inner?.fill(0)
      return inner !== null
    },
  }
}

export type ProjectKeys = ReturnType<typeof createProjectKeys>

export const createProjectKeys = ({ db, rootKeys }: { readonly db: Db; readonly rootKeys: RootKeys }) => {
  const cache = createBoundedMap<Promise<Uint8Array>>({ max: CACHED_KEYS_MAX, lifetimeMs: CACHED_MS })

  /** Concurrent requests for one key share one call. A failure is not kept. */
  const keyOf = (keyVersion: Version): Promise<Uint8Array> => {
    const id = `${keyVersion.projectId} ${keyVersion.version}`
    const known = cache.get(id)
    if (known !== undefined) return known
    const unwrapping = unwrap({ db, rootKeys, ...keyVersion })
    cache.set(id, unwrapping)
    unwrapping.catch(() => cache.remove(id))
    return unwrapping
  }

  const rowMacs = async (keyVersion: Version): Promise<RowMacs> =>
    openRowMacs({ projectKey: await keyOf(keyVersion), keyId: keyVersion.version })

  /** The key of the version that made `mac`; null if there is none. It needs no database. The caller disposes of it. */
  const rowMacsOf = async ({ projectId, mac }: Authenticated): Promise<RowMacs | null> => {
    const version = macKeyIdOf(mac)
    return version === null ? null : nullIfForged(rowMacs({ projectId, version }))
  }

  return {
    ...outerLayers(keyOf),
    macOf: async ({ version, row }: { readonly version: number; readonly row: BoundRow }) => {
      using macs = await rowMacs({ projectId: row.identity.projectId, version })
      return macs.of(row)
    },
    rowMacsOf,
    isAsWritten: async ({ row, mac }: { readonly row: BoundRow; readonly mac: Uint8Array }): Promise<boolean> => {
      using macs = await rowMacsOf({ projectId: row.identity.projectId, mac })
      return macs?.holds({ row, mac }) ?? false
    },
    /** In the transaction that writes what `sealOuter` made: until its end no rotation begins. @throws KeyRotated */
    keepNewest: async (tx: Tx, keyVersion: Version) => {
      if (!(await holdProjectKey(tx, keyVersion))) throw new KeyRotated("project's key")
    },
  }
}
