// The root keys that a process holds: the one that the database belongs to, and, for as long as that is being changed,
// the one that comes after it. A process with both needs no pause: each project key says which one wrapped it.

import type { Db, Tx } from '../../../db/client.ts'
import { lockRootKeyId, readDeployment } from '../../../db/queries/custody/deployment.ts'
import { AppError } from '../../errors.ts'
import type { Identity } from '../sealing/envelope.ts'
import type { RootKey } from './root-key.ts'

export type WrappedKey = { readonly rootKeyId: string; readonly wrapped: Uint8Array }

export type RootKeys = {
  /** Wraps a new key by the root key that the database belongs to. @throws unavailable */
  wrap(input: { readonly key: Uint8Array; readonly identity: Identity }): Promise<WrappedKey>
  /** @returns bytes that the caller zeroes. @throws EnvelopeError, unavailable. */
  unwrap(input: WrappedKey & { readonly identity: Identity }): Promise<Uint8Array>
  /**
   * For the transaction that writes what `wrap` gave: the database keeps belonging to that root key until it ends, so
   * that a rotation misses no key. @throws busy where it belongs to another one since: begin again.
   */
  hold(tx: Tx, rootKeyId: string): Promise<void>
}

export const createRootKeys = (parts: {
  readonly db: Db
  readonly rootKey: RootKey
  readonly nextRootKey?: RootKey | null | undefined
}): RootKeys => {
  const byId = (id: string): RootKey => {
    const held = [parts.rootKey, parts.nextRootKey].find((each) => each?.id === id)
    if (held) return held
    // A process that was running while the root key was changed, and has only the earlier one.
    throw new AppError(
      'unavailable',
      'A project key is wrapped by another root key than this process has: it must be restarted with the present one.',
    )
  }
  return {
    wrap: async (input) => {
      const row = await readDeployment(parts.db)
      const rootKey = byId(row?.rootKeyId ?? parts.rootKey.id)
      return { rootKeyId: rootKey.id, wrapped: await rootKey.wrap(input) }
    },
    unwrap: async ({ rootKeyId, wrapped, identity }) => byId(rootKeyId).unwrap({ wrapped, identity }),
    hold: async (tx, rootKeyId) => {
      const present = await lockRootKeyId(tx, 'share')
      if (present === null || present === rootKeyId) return
      throw new AppError('busy', 'The root key was changed meanwhile: try again.')
    },
  }
}
