// What is kept of a service key or an identity key that was changed: keys that were derived from it for one purpose
// each, sealed with the present key. With them the service verifies what was made before the change, and makes nothing.

import type { HasDb } from '../../db/client.ts'
import { listRetiredKeys, type RetiredKeyRow, readRetiredKeyIds } from '../../db/queries/retired-keys.ts'
import { repeat } from '../platform/clock.ts'
import type { Log } from '../platform/process/log.ts'
import {
  type HasIdentity,
  type HasSealer,
  type Sealer,
  type SealingKey,
  type Verifier,
  verifierWith,
} from '../platform/sealing/sealer.ts'

const PURPOSE = 'retired key'

type KeyName = Pick<RetiredKeyRow, 'keyId' | 'purpose'>

const rowIdOf = ({ keyId, purpose }: KeyName): string => [keyId, purpose].join('\n')

/** @param input.plaintext the derived key, 32 bytes. */
export const sealRetired = (
  sealer: SealingKey,
  { plaintext, ...key }: KeyName & { readonly plaintext: Uint8Array },
): Uint8Array => sealer.seal({ purpose: PURPOSE, rowId: rowIdOf(key), plaintext })

/** @returns the derived key, 32 bytes. @throws EnvelopeError if another program wrote the row. */
export const openRetired = (sealer: SealingKey, key: KeyName & { readonly sealed: Uint8Array }): Uint8Array =>
  sealer.open({ purpose: PURPOSE, rowId: rowIdOf(key), sealed: key.sealed })

/** The purposes for which a derived key is kept, and how long what was made with it may still be shown. */
export const RETIRED_SECONDS = { 'refresh token': 30 * 86_400, idempotency: 86_400 } as const

/** When the identity key was retired with which a MAC was made; null if none of them made it. */
export const retiredWhenMade = async (
  { db, identity }: HasDb & HasIdentity,
  input: {
    readonly purpose: keyof typeof RETIRED_SECONDS
    readonly fields: readonly (string | Uint8Array)[]
    readonly mac: Uint8Array
  },
): Promise<Date | null> => {
  const { purpose, fields, mac } = input
  const rows = await listRetiredKeys(db, { secret: 'IDENTITY_KEY', purpose, withinSeconds: RETIRED_SECONDS[purpose] })
  const made = rows.find((row) => {
    if (row.sealed === null) return false
    return verifierWith(openRetired(identity, { ...row, sealed: row.sealed }))(fields, mac)
  })
  return made?.retiredAt ?? null
}

type Retired = {
  readonly verifies: Verifier | null
  /** The rows of the audit that the key may have made. */
  readonly firstAuditId: bigint
  readonly lastAuditId: bigint
}

/** The retired keys of audit rows, oldest first. `verifies` is null for a key that was lost. */
export const retiredAuditKeys = async (
  { db, sealer }: { readonly db: HasDb['db']; readonly sealer: Sealer },
  key: Pick<RetiredKeyRow, 'secret' | 'purpose'>,
): Promise<readonly Retired[]> => {
  const rows = await listRetiredKeys(db, { ...key, withinSeconds: null })
  return rows.map((row, index) => ({
    verifies: row.sealed && verifierWith(openRetired(sealer, { ...row, sealed: row.sealed })),
    firstAuditId: (rows[index - 1]?.lastAuditId ?? 0n) + 1n,
    lastAuditId: row.lastAuditId,
  }))
}

type Watched = HasDb & HasSealer & Partial<HasIdentity>

/** Accepts keys no more that were changed meanwhile. @throws unavailable if this process's own is one of them. */
export const requirePresentKeys = async ({ db, sealer, identity }: Watched): Promise<void> => {
  const retired = await readRetiredKeyIds(db)
  const keys = [sealer, identity]
  // Both, before one of them throws.
  for (const key of keys) key?.retire(retired)
  for (const key of keys) key?.requirePresent()
}

/** A retired key is accepted this long at most by a process that has it. */
const LOOK_INTERVAL_MS = 5_000

/** @returns a function that stops this; call it before the database is closed. */
export const startWatchingKeys = (ctx: Watched & { readonly log: Log }): (() => Promise<void>) =>
  repeat({
    everyMs: LOOK_INTERVAL_MS,
    isAtOnce: false,
    work: () =>
      requirePresentKeys(ctx).catch((err: unknown) => {
        ctx.log.error({ err }, 'a key was changed, or the database could not be asked')
      }),
  })
