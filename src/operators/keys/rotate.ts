// Changing the identity key or the service key. Before, every process is restarted with both keys, and then with the
// next one as its own: so each process accepts what either key made, and none makes anything with the present one any
// more.
//
//   1. batches of rows get MACs under the next key, each row after its present MAC was verified;
//   2. one transaction seals anew what is sealed, keeps a few derived keys with which earlier things are verified
//      (src/identity/retired-keys.ts), and writes the audit row. From then on the database belongs to the next key.
//
// So a kill in between leaves rows of both keys, which all processes accept, and the command can be run again. After
// step 2 a process accepts the earlier key no more, within seconds (startWatchingKeys).

import type { HasDb, Tx } from '../../../db/client.ts'
import { lockSealedIssuers, resealIssuer } from '../../../db/queries/issuers.ts'
import { endConsoleSessions, endLogins, endOldSessions, resealTokenKey } from '../../../db/queries/key-rotation.ts'
import { lockSealedMails, resealMail } from '../../../db/queries/mails.ts'
import {
  bindKey,
  insertRetiredKeys,
  listSealedRetiredKeys,
  lockBoundKeyId,
  readRetiredKeyIds,
  resealRetiredKey,
} from '../../../db/queries/retired-keys.ts'
import { dropAllTokenKeys, listTokenKeys, lockTokenKeys } from '../../../db/queries/token-keys.ts'
import { lockEndpoints, resealEndpoint } from '../../../db/queries/webhooks.ts'
import type { Secret } from '../../../db/words.ts'
import { openSecrets, sealSecrets } from '../../events/webhooks/endpoint.ts'
import { isOwnTokenKey, openTokenKey, sealTokenKey } from '../../identity/auth/access-token.ts'
import { openClientSecret, sealClientSecret } from '../../identity/issuers/client-secret.ts'
import { openMail, sealMail } from '../../identity/mail/queue.ts'
import { openRetired, RETIRED_SECONDS, sealRetired } from '../../identity/retired-keys.ts'
import type { HasAudit } from '../../platform/audit/audit.ts'
import { AppError } from '../../platform/errors.ts'
import {
  AUDIT_PURPOSE,
  type HasIdentity,
  type HasSealer,
  type Sealer,
  type SealingKey,
} from '../../platform/sealing/sealer.ts'
import type { ForgedRow } from '../../vault/contract/vault.ts'
import { type Remade, remakeRows } from './rows.ts'

/** Another round is needed only for rows that were written with the present key during the last one. */
const ROUNDS_MAX = 5

type RotateCtx = HasDb & HasSealer & HasIdentity & HasAudit

type Keys = { readonly from: SealingKey; readonly to: SealingKey }

export type Rotation = {
  readonly keyId: string
  readonly remade: number
  readonly forged: readonly ForgedRow[]
  /** Nothing was done, because the database belonged to this key already. */
  readonly already: boolean
}

/** @returns null if the database belongs to the process's own key already. */
const keysOf = async (
  db: RotateCtx['db'],
  change: { readonly secret: Secret; readonly sealer: Sealer },
): Promise<Keys | null> => {
  const { secret, sealer } = change
  const bound = await db.transaction((tx) => lockBoundKeyId(tx, secret))
  if (bound === sealer.id && (await readRetiredKeyIds(db)).length > 0 && sealer.other() === null) return null
  const from = sealer.other()
  if (from === null || bound === sealer.id) {
    throw new AppError(
      'invalid_input',
      `The command needs the next key as ${secret}, and the present one as ${secret}_OTHER.`,
    )
  }
  return { from, to: sealer.own }
}

/** The end of each rotation. @returns false if another command was faster. */
export const changeBoundKey = (
  ctx: Pick<RotateCtx, 'db' | 'audit'>,
  change: {
    readonly secret: Secret
    readonly fromId: string
    readonly to: SealingKey
    /** The keys that are kept for these purposes; null for a key that was lost. */
    readonly retired: readonly { readonly purpose: string; readonly key: Uint8Array | null }[]
    readonly actor: string
    readonly details: Readonly<Record<string, string>>
    readonly also: (tx: Tx) => Promise<void>
  },
): Promise<boolean> => {
  const { secret, fromId, to } = change
  return ctx.db.transaction(async (tx) => {
    const bound = await lockBoundKeyId(tx, secret)
    if (bound === to.id) return false
    if (bound !== fromId) throw new Error('The key was changed by somebody else meanwhile.')
    await change.also(tx)
    const rows = change.retired.map(({ purpose, key }) => {
      const sealed = key && sealRetired(to, { keyId: fromId, purpose, plaintext: key })
      return { keyId: fromId, secret, purpose, sealed }
    })
    await insertRetiredKeys(tx, rows)
    await bindKey(tx, { secret, id: to.id })
    const action = secret === 'IDENTITY_KEY' ? 'identity_key_rotated' : 'service_key_rotated'
    const details = { from: fromId, to: to.id, ...change.details }
    await ctx.audit.record(tx, { projectId: null, actor: change.actor, action, subject: to.id, details })
    return true
  })
}

const resealRetired = async (tx: Tx, { from, to }: Keys, secret: Secret): Promise<void> => {
  for (const { keyId, purpose, sealed } of await listSealedRetiredKeys(tx, { secret })) {
    if (sealed === null) continue
    const plaintext = openRetired(from, { keyId, purpose, sealed })
    await resealRetiredKey(tx, { keyId, purpose, sealed: sealRetired(to, { keyId, purpose, plaintext }) })
  }
}

const resealTokenKeys = async (tx: Tx, { from, to }: Keys): Promise<void> => {
  for (const row of await listTokenKeys(tx)) {
    if (!(await isOwnTokenKey(from, row))) continue
    const plaintext = openTokenKey(from, row)
    await resealTokenKey(tx, { id: row.id, sealed: sealTokenKey(to, { id: row.id, plaintext }) })
    plaintext.fill(0)
  }
}

const remakeAll = async ({ db }: RotateCtx, keys: Keys, onProgress: (rows: number) => void): Promise<Remade> => {
  let remade = 0
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    let read = 0
    const done = await remakeRows({
      db,
      ...keys,
      onRows: (rows) => {
        read += rows
        onProgress(read)
      },
    })
    remade += done.remade
    if (done.remade === 0) return { ...done, remade }
  }
  throw new AppError(
    'busy',
    'Rows are still written with the present identity key: restart every API with the next one as IDENTITY_KEY first.',
  )
}

/** Makes the next identity key the present one. A leaked key ends all sessions, access tokens and begun logins. */
export const rotateIdentityKey = async (
  ctx: RotateCtx,
  input: { readonly actor: string; readonly isLeaked: boolean },
  onProgress: (rows: number) => void = () => {},
): Promise<Rotation> => {
  const { actor, isLeaked } = input
  const keys = await keysOf(ctx.db, { secret: 'IDENTITY_KEY', sealer: ctx.identity })
  const already = { keyId: ctx.identity.id, remade: 0, forged: [], already: true }
  if (keys === null) return already
  const { from, to } = keys
  if (isLeaked) await endOldSessions(ctx.db)
  const { remade, ...others } = await remakeAll(ctx, keys, onProgress)
  const forged = [...others.forged]
  // With a leaked key a thief could make refresh tokens. The other keys admit no caller.
  const purposes = [AUDIT_PURPOSE, ...Object.keys(RETIRED_SECONDS)].filter(
    (each) => !isLeaked || each !== 'refresh token',
  )
  const isDone = await changeBoundKey(ctx, {
    secret: 'IDENTITY_KEY',
    fromId: from.id,
    to,
    retired: purposes.map((purpose) => ({ purpose, key: from.derive(purpose) })),
    actor,
    details: { leaked: String(isLeaked), rows: String(remade), forged: String(forged.length) },
    also: async (tx) => {
      await lockTokenKeys(tx)
      if (isLeaked) {
        await dropAllTokenKeys(tx)
        await endLogins(tx)
      } else await resealTokenKeys(tx, keys)
      await endConsoleSessions(tx)
      forged.push(...(await resealClientSecrets(tx, ctx, keys)))
      await resealRetired(tx, keys, 'IDENTITY_KEY')
    },
  })
  return isDone ? { keyId: to.id, remade, forged, already: false } : already
}

/** Of issuers that the login page offers. */
const resealClientSecrets = async (tx: Tx, { identity }: RotateCtx, { to }: Keys): Promise<readonly ForgedRow[]> => {
  const forged: ForgedRow[] = []
  for (const row of await lockSealedIssuers(tx)) {
    const { id, projectId } = row
    const secret = openClientSecret(identity, row)?.secret ?? null
    if (secret === null)
      forged.push({ table: 'issuers', id, projectId, trouble: 'its secret is not as the service wrote it' })
    else await resealIssuer(tx, { id, sealedSecret: sealClientSecret(to, { ...row, secret }) })
  }
  return forged
}

/** Makes the next service key the present one. `remade`: mails and webhooks that were sealed anew. */
export const rotateServiceKey = async (ctx: RotateCtx, { actor }: { readonly actor: string }): Promise<Rotation> => {
  const secret = 'SERVICE_KEY'
  const keys = await keysOf(ctx.db, { secret, sealer: ctx.sealer })
  const already = { keyId: ctx.sealer.id, remade: 0, forged: [], already: true }
  if (keys === null) return already
  const { from, to } = keys
  let remade = 0
  const forged: ForgedRow[] = []
  const isDone = await changeBoundKey(ctx, {
    secret,
    fromId: from.id,
    to,
    retired: [{ purpose: AUDIT_PURPOSE, key: from.derive(AUDIT_PURPOSE) }],
    actor,
    details: {},
    also: async (tx) => {
      for (const mail of await lockSealedMails(tx)) {
        const text = openMail(ctx.sealer, mail)
        const { id } = mail
        if (text === null)
          forged.push({ table: 'mails', id, projectId: null, trouble: 'it is not as the service wrote it' })
        else await resealMail(tx, { id, sealed: sealMail(to, { ...mail, text }) })
        if (text !== null) remade += 1
      }
      for (const endpoint of await lockEndpoints(tx)) {
        const secrets = openSecrets(ctx.sealer, endpoint)
        const { id, projectId } = endpoint
        if (secrets === null)
          forged.push({ table: 'webhook_endpoints', id, projectId, trouble: 'it is not as the service wrote it' })
        else await resealEndpoint(tx, { id, sealed: sealSecrets(to, { ...endpoint, secrets }) })
        if (secrets !== null) remade += 1
      }
      await resealRetired(tx, keys, secret)
    },
  })
  return isDone ? { keyId: to.id, remade, forged, already: false } : already
}
