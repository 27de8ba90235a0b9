// Each project has a random key, wrapped with the root key. It seals the outer layer of developer keys, user keys and locks.
// A rotation (rotate-project.ts) adds a version and re-seals outer layers without any credential; the key id in each envelope
// says which version opens it.
//
// Unwrapped keys are cached, so that a signature does not wait for a key management service. They are the only keys below the
// root that outlive a request, and they open nothing without a credential. A key that leaves the cache is not zeroed: a
// request may still use it, and sealing with zeros would be far worse.

import type { Db, Tx } from '../../../../db/client.ts'
import { holdProjectKey, readProjectKey } from '../../../../db/queries/custody/project-keys.ts'
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

type Authenticated = { readonly projectId: string; readonly mac: Uint8Array }

/** @returns null if the MAC names no version that exists: somebody made it up. */
const ofItsVersion = async (
  { projectId, mac }: Authenticated,
  rowMacs: (of: Version) => Promise<RowMacs>,
): Promise<RowMacs | null> => {
  const version = macKeyIdOf(mac)
  if (version === null) return null
  try {
    return await rowMacs({ projectId, version })
  } catch (error) {
    if (error instanceof EnvelopeError) return null
    throw error
  }
}

/** The outer layers under the keys of projects. */
const outerLayers = (keyOf: (of: Version) => Promise<Uint8Array>) => {
  const openOuter = async ({ identity, sealed }: Sealed): Promise<Uint8Array> => {
    const version = keyIdOf(sealed)
    const key = await keyOf({ projectId: identity.projectId, version })
    return open({ key, keyId: version, identity, sealed })
  }
  return {
    /** Seals an inner layer under this version of the project's key. */
    sealOuter: async ({
      version,
      identity,
      inner,
    }: Layer & { readonly version: number; readonly inner: Uint8Array }) => {
      const key = await keyOf({ projectId: identity.projectId, version })
      return seal({ key, keyId: version, identity, plaintext: inner })
    },
    /** Opens the outer layer. @returns the inner layer. @throws EnvelopeError */
    openOuter,
    /** Whether an outer layer is as it was sealed. It needs no credential, as the inner layer stays closed. */
    isOuterAsSealed: async (layer: Sealed): Promise<boolean> => {
      try {
        const inner = await openOuter(layer)
        inner.fill(0)
        return true
      } catch (error) {
        if (error instanceof EnvelopeError) return false
        throw error
      }
    },
  }
}

export type ProjectKeys = ReturnType<typeof createProjectKeys>

export const createProjectKeys = ({ db, rootKeys }: { readonly db: Db; readonly rootKeys: RootKeys }) => {
  const cache = createBoundedMap<Promise<Uint8Array>>({ max: CACHED_KEYS_MAX, lifetimeMs: CACHED_MS })

  /** Concurrent requests for one key share one call. A failure is not kept. */
  const keyOf = (of: Version): Promise<Uint8Array> => {
    const id = `${of.projectId} ${of.version}`
    const known = cache.get(id)
    if (known !== undefined) return known
    const unwrapping = unwrap({ db, rootKeys, ...of })
    cache.set(id, unwrapping)
    unwrapping.catch(() => cache.remove(id))
    return unwrapping
  }

  const rowMacs = async (of: Version): Promise<RowMacs> =>
    openRowMacs({ projectKey: await keyOf(of), keyId: of.version })

  return {
    ...outerLayers(keyOf),
    /** The MAC of a row under this version of its project's key. */
    macOf: async ({ version, row }: { readonly version: number; readonly row: BoundRow }) => {
      using macs = await rowMacs({ projectId: row.identity.projectId, version })
      return macs.of(row)
    },
    /**
     * What makes and checks MACs under the version of the project's key that made `mac`, from then on without database and
     * root key. The caller disposes of it.
     * @returns null if there is no such version.
     */
    rowMacsOf: (of: Authenticated): Promise<RowMacs | null> => ofItsVersion(of, rowMacs),
    /** Whether a row is as it was when its MAC was made. */
    isAsWritten: async ({ row, mac }: { readonly row: BoundRow; readonly mac: Uint8Array }): Promise<boolean> => {
      using macs = await ofItsVersion({ projectId: row.identity.projectId, mac }, rowMacs)
      return macs?.holds({ row, mac }) ?? false
    },
    /**
     * Call it in the transaction that writes what `sealOuter` returned. Until that transaction ends, this version stays the
     * newest, so that a rotation finds the row. @throws KeyRotated if there is a newer version.
     */
    keepNewest: async (tx: Tx, of: Version) => {
      if (!(await holdProjectKey(tx, of))) throw new KeyRotated("project's key")
    },
  }
}
