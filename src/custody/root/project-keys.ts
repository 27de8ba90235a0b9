// Each project has a random key, wrapped with the root key. It seals the outer layer of developer keys, user keys and locks.
// A rotation (rotate-project.ts) adds a version and re-seals outer layers without any credential; the key id in each envelope
// says which version opens it.
//
// Unwrapped keys are cached, so that a signature does not wait for a key management service. They are the only keys below the
// root that outlive a request, and they open nothing without a credential. A key that leaves the cache is not zeroed: a
// request may still use it, and sealing with zeros would be far worse.

import { LRUCache } from 'lru-cache'
import type { Db, Tx } from '../../../db/client.ts'
import { holdProjectKey, readProjectKey } from '../../../db/queries/custody/project-keys.ts'
import { AppError } from '../../errors.ts'
import { EnvelopeError, type Identity, keyIdOf, open, seal } from '../sealing/envelope.ts'
import { identityOf } from '../sealing/hierarchy.ts'
import { type BoundRow, isMacOfRow, macKeyIdOf, macOfRow } from '../sealing/row-mac.ts'
import type { RootKeys } from './root-key.ts'

const CACHED_KEYS_MAX = 1000
const CACHED_MS = 10 * 60 * 1000

/** A rotation has made a newer version of the project's key: begin again. */
export class ProjectKeyRotated extends AppError {
  constructor() {
    super('busy', "The project's key was changed meanwhile: try again.")
    this.name = 'ProjectKeyRotated'
  }
}

type Layer = { readonly identity: Identity }
type Version = { readonly projectId: string; readonly version: number }

const unwrap = async (input: Version & { readonly db: Db; readonly rootKeys: RootKeys }): Promise<Uint8Array> => {
  const { db, rootKeys, projectId, version } = input
  const row = await readProjectKey(db, { projectId, version })
  if (row === null) throw new EnvelopeError('unknown key')
  return rootKeys.unwrap({ ...row, identity: identityOf.projectKey({ projectId, version }) })
}

export type ProjectKeys = ReturnType<typeof createProjectKeys>

export const createProjectKeys = ({ db, rootKeys }: { readonly db: Db; readonly rootKeys: RootKeys }) => {
  const cache = new LRUCache<string, Uint8Array, Version>({
    max: CACHED_KEYS_MAX,
    ttl: CACHED_MS,
    ttlAutopurge: true,
    ignoreFetchAbort: true,
    // Concurrent misses of one key share one call.
    fetchMethod: (_id, _stale, { context }) => unwrap({ db, rootKeys, ...context }),
  })

  const keyOf = async (context: Version): Promise<Uint8Array> => {
    const id = `${context.projectId} ${context.version}`
    return cache.get(id) ?? cache.forceFetch(id, { context })
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
    openOuter: async ({ identity, sealed }: Layer & { readonly sealed: Uint8Array }) => {
      const version = keyIdOf(sealed)
      const key = await keyOf({ projectId: identity.projectId, version })
      return open({ key, keyId: version, identity, sealed })
    },
    /** The MAC of a row under this version of its project's key. */
    macOf: async ({ version, row }: { readonly version: number; readonly row: BoundRow }) => {
      const { projectId } = row.identity
      return macOfRow({ projectKey: await keyOf({ projectId, version }), keyId: version, row })
    },
    /** Whether a row is as it was when its MAC was made. */
    isAsWritten: async ({ row, mac }: { readonly row: BoundRow; readonly mac: Uint8Array }): Promise<boolean> => {
      const version = macKeyIdOf(mac)
      if (version === null) return false
      try {
        const projectKey = await keyOf({ projectId: row.identity.projectId, version })
        return isMacOfRow({ projectKey, keyId: version, row, mac })
      } catch (error) {
        // A forged MAC can name a version that does not exist.
        if (error instanceof EnvelopeError) return false
        throw error
      }
    },
    /**
     * Call it in the transaction that writes what `sealOuter` returned. Until that transaction ends, this version stays the
     * newest, so that a rotation finds the row. @throws ProjectKeyRotated if there is a newer version.
     */
    keepNewest: async (tx: Tx, of: Version) => {
      if (!(await holdProjectKey(tx, of))) throw new ProjectKeyRotated()
    },
  }
}
