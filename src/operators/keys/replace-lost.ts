// Putting another identity key in place of one that was lost. Nothing can tell which MACs were valid, so only what
// something else confirms gets a new one:
//
//   wallets     if the vault confirms each fact: its own rows of the audit have them, under the deployment's key;
//   projects,   if the operator has looked at them (their settings are printed) or accepts them: without them
//   users       no user could log in, or would have their wallets;
//   other rows  admit a caller by themselves, so they end: API keys, issuers, passkeys, sessions, begun logins, token
//               keys, operators of the console.
//
// It may be killed and run again.

import type { HasDb } from '../../../db/client.ts'
import {
  endLogins,
  endOldSessions,
  listLiveApiKeys,
  listSomeIssuers,
  listSomePasskeys,
} from '../../../db/queries/key-rotation.ts'
import { listOperators } from '../../../db/queries/operators.ts'
import { deletePasskey } from '../../../db/queries/passkeys.ts'
import { forgetRetiredKeys, lockBoundKeyId } from '../../../db/queries/retired-keys.ts'
import { dropAllTokenKeys, lockTokenKeys } from '../../../db/queries/token-keys.ts'
import { revokeApiKey } from '../../identity/api-keys/api-keys.ts'
import { removeIssuer } from '../../identity/issuers/issuers.ts'
import type { HasAudit } from '../../platform/audit/audit.ts'
import { AppError } from '../../platform/errors.ts'
import { AUDIT_PURPOSE, type HasIdentity } from '../../platform/sealing/sealer.ts'
import type { ForgedRow, OperatorVault } from '../../vault/contract/vault.ts'
import { removeOperator } from '../console/operators.ts'
import { changeBoundKey } from './rotate.ts'
import { acceptRows } from './rows.ts'

type LostCtx = HasDb &
  HasIdentity &
  HasAudit & {
    readonly vault: Pick<OperatorVault, 'verifyAudit' | 'forgedRows'>
  }

type Replaced = {
  readonly keyId: string
  readonly remade: number
  readonly forged: readonly ForgedRow[]
  readonly apiKeys: number
  readonly passkeys: number
  readonly issuers: number
  readonly already: boolean
}

/** Why the vault does not confirm a wallet, by id. @throws invalid_input if the vault's own rows are changed. */
const walletTroublesOf = async ({ vault }: LostCtx): Promise<ReadonlyMap<string, string>> => {
  const { broken } = await vault.verifyAudit({ chain: null, heads: [] })
  if (broken.length > 0) {
    throw new AppError(
      'invalid_input',
      'The audit does not hold, so nothing confirms the wallets: see "audit verify", and restore a backup from before.',
    )
  }
  const { forged } = await vault.forgedRows({ projectId: null })
  return new Map(forged.filter(({ table }) => table === 'wallets').map(({ id, trouble }) => [id, trouble]))
}

const revokeApiKeys = async (ctx: LostCtx, actor: string): Promise<number> => {
  let revoked = 0
  for (let some = await listLiveApiKeys(ctx.db); some.length > 0; some = await listLiveApiKeys(ctx.db)) {
    for (const { id } of some) if (await revokeApiKey(ctx, { id, actor })) revoked += 1
  }
  return revoked
}

const removePasskeys = async ({ db, audit }: LostCtx, actor: string): Promise<number> => {
  let removed = 0
  for (let some = await listSomePasskeys(db); some.length > 0; some = await listSomePasskeys(db)) {
    await db.transaction(async (tx) => {
      for (const { id, projectId, userId, rpId } of some) {
        await deletePasskey(tx, { projectId, userId, id })
        const details = { user_id: userId, rp_id: rpId }
        await audit.record(tx, { projectId, actor, action: 'passkey_removed', subject: id, details })
      }
    })
    removed += some.length
  }
  return removed
}

const removeIssuers = async (ctx: LostCtx, actor: string): Promise<number> => {
  let removed = 0
  for (let some = await listSomeIssuers(ctx.db); some.length > 0; some = await listSomeIssuers(ctx.db)) {
    for (const { projectId, name } of some) await removeIssuer(ctx, { projectId, name, actor })
    removed += some.length
  }
  return removed
}

/** Makes the process's identity key the present one, although the one before is lost. All APIs must be stopped. */
export const replaceLostIdentityKey = async (
  ctx: LostCtx,
  { actor }: { readonly actor: string },
  onProgress: (rows: number) => void = () => {},
): Promise<Replaced> => {
  const { own: to } = ctx.identity
  const none = { keyId: to.id, remade: 0, forged: [], apiKeys: 0, passkeys: 0, issuers: 0, already: true }
  const lostId = await ctx.db.transaction((tx) => lockBoundKeyId(tx, 'IDENTITY_KEY'))
  if (lostId === to.id) return none
  if (lostId === null) throw new AppError('invalid_input', 'The database belongs to no identity key yet: start an API.')
  const walletTroubles = await walletTroublesOf(ctx)
  const [apiKeys, passkeys] = [await revokeApiKeys(ctx, actor), await removePasskeys(ctx, actor)]
  const issuers = await removeIssuers(ctx, actor)
  await endOldSessions(ctx.db)
  let read = 0
  const onRows = (rows: number) => {
    read += rows
    onProgress(read)
  }
  for (const { name } of await listOperators(ctx.db)) await removeOperator(ctx, { name, actor })
  const { remade, forged } = await acceptRows({ db: ctx.db, to, walletTroubles, onRows })
  const isDone = await changeBoundKey(ctx, {
    secret: 'IDENTITY_KEY',
    fromId: lostId,
    to,
    retired: [{ purpose: AUDIT_PURPOSE, key: null }],
    actor,
    details: {
      lost: 'true',
      rows: String(remade),
      forged: String(forged.length),
      api_keys: String(apiKeys),
      passkeys: String(passkeys),
      issuers: String(issuers),
    },
    also: async (tx) => {
      await lockTokenKeys(tx)
      await dropAllTokenKeys(tx)
      await endLogins(tx)
      await forgetRetiredKeys(tx, { secret: 'IDENTITY_KEY' })
    },
  })
  return isDone ? { keyId: to.id, remade, forged, apiKeys, passkeys, issuers, already: false } : none
}
