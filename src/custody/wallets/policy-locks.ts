// With a policy's lock, the developer secret opens the key of one user-controlled wallet. Making a lock needs both
// credentials; either of them can delete it. src/policies decides what a policy allows, before a lock is used.

import { randomUUID } from 'node:crypto'
import type { Tx } from '../../../db/client.ts'
import { readKeyring, type WalletKeyRow } from '../../../db/queries/custody/keyrings.ts'
import {
  deletePolicyLock,
  insertPolicyLock,
  type PolicyLockRow,
  readPolicyLock,
} from '../../../db/queries/custody/locks.ts'
import { newestProjectKeyVersion } from '../../../db/queries/custody/project-keys.ts'
import { CONTROL_MODES, type ControlMode } from '../../../db/words.ts'
import { AppError, noSuchProject } from '../../errors.ts'
import { checkCredentials, checkSecret, notActivated } from '../credentials/credential-keys.ts'
import { type Credentials, refuseFrozen, requireCredentials } from '../credentials/credentials.ts'
import type { CustodyCtx } from '../ctx.ts'
import { HeldKeys } from '../sealing/bytes.ts'
import {
  identityOf,
  openPolicyLock,
  openWalletKeyBy,
  requireCanonicalIds,
  sealPolicyLock,
  walletKeyOf,
} from '../sealing/hierarchy.ts'
import { openOwnerLock } from './keyring.ts'
import type { KeyRequest, WalletRef } from './wallet-key.ts'

type PolicyRequest = KeyRequest & { readonly policyId: string }

/** `write` writes the lock and the audit row, in the transaction that writes the policy's row. */
type PolicyChange = { write(tx: Tx): Promise<void> }

/** Makes the lock of a new policy, as `Vault.newPolicyLock` says. */
export const newPolicyLock = async (ctx: CustodyCtx, request: PolicyRequest): Promise<PolicyChange> => {
  using keys = new HeldKeys()
  const { wallet, credentials, actor, policyId } = request
  const { id: walletId, projectId, ownerId, keyringId } = wallet
  requireCanonicalIds([policyId])
  const row = await readKeyring(ctx.db, wallet)
  const lock = row?.locks.user
  if (!row || !lock) throw new Error('a user-controlled wallet has no keyring, or no lock of its control mode')
  if (credentials.developerSecret === undefined || credentials.userPin === undefined) {
    throw new AppError('credential_required', 'Fields "developer_secret" and "user_pin" are both required.')
  }
  const proof = requireCredentials({ modes: CONTROL_MODES, credentials })
  if (row.developerKey === null) throw notActivated()
  refuseFrozen(row.frozen)
  const version = await newestProjectKeyVersion(ctx.db, projectId)
  if (version === null) throw noSuchProject()
  const opened = await checkCredentials(ctx, { projectId, ownerId, actor, proof, rows: row, keys })
  const { developer: developerKey, user: credentialKey } = opened
  if (developerKey === null || credentialKey === null) throw new Error('both credentials were required')
  const keyringKey = keys.hold(await openOwnerLock(ctx, { projectId, keyringId, lock, credentialKey }))
  const of = { projectId, keyringId, walletId, lockId: randomUUID() }
  const inner = sealPolicyLock({ ...of, developerKey, walletKey: keys.hold(walletKeyOf({ ...of, keyringKey })) })
  const sealed = await ctx.projectKeys.sealOuter({ version, identity: identityOf.policyLock(of), inner })
  return {
    write: async (tx) => {
      await ctx.projectKeys.keepNewest(tx, { projectId, version })
      await insertPolicyLock(tx, { id: of.lockId, policyId, sealed })
      const act = { projectId, actor, action: 'policy_created', subject: walletId } as const
      await ctx.audit.record(tx, { ...act, details: { policy: policyId } })
    },
  }
}

/** The control mode of the one credential that was given. */
const modeOf = ({ developerSecret, userPin }: Credentials): ControlMode => {
  if (developerSecret !== undefined && userPin !== undefined) {
    throw new AppError('credential_ambiguous', 'One of the fields "developer_secret" and "user_pin" belongs here.')
  }
  if (developerSecret !== undefined) return 'developer'
  if (userPin !== undefined) return 'user'
  throw new AppError('credential_required', 'Field "developer_secret" or "user_pin" is required.')
}

/** Checks one of the two credentials, as `Vault.revokePolicy` says. It works on frozen wallets too. */
export const revokePolicy = async (ctx: CustodyCtx, request: PolicyRequest): Promise<PolicyChange> => {
  using keys = new HeldKeys()
  const { wallet, credentials, actor, policyId } = request
  const { projectId, ownerId } = wallet
  const row = await readKeyring(ctx.db, wallet)
  if (row === null) throw new Error('a wallet has no keyring')
  const mode = modeOf(credentials)
  const proof = requireCredentials({ modes: [mode], credentials })
  await checkCredentials(ctx, { projectId, ownerId, actor, proof, rows: row, keys })
  return {
    write: async (tx) => {
      await deletePolicyLock(tx, policyId)
      const act = { projectId, actor, action: 'policy_revoked', subject: wallet.id } as const
      await ctx.audit.record(tx, { ...act, details: { policy: policyId, by: mode } })
    },
  }
}

/** The policy that allowed this has ended meanwhile. Another policy may still allow it. */
export class PolicyClosed extends AppError {
  constructor() {
    super('policy_denied', 'The policy that allowed this was revoked, used up or expired meanwhile.')
    this.name = 'PolicyClosed'
  }
}

/** @throws PolicyClosed if the policy has no lock. */
export const findPolicyLock = async (
  { db }: CustodyCtx,
  input: { readonly policyId: string; readonly wallet: WalletRef },
) => {
  const lock = await readPolicyLock(db, { policyId: input.policyId, walletId: input.wallet.id })
  if (lock === null) throw new PolicyClosed()
  return lock
}

/** @returns the wallet's private key, zeroed by the caller. */
export const openByPolicyLock = async (
  ctx: CustodyCtx,
  input: {
    readonly wallet: WalletRef
    readonly actor: string
    readonly secret: string
    readonly row: WalletKeyRow
    readonly lock: PolicyLockRow
  },
): Promise<Uint8Array> => {
  using keys = new HeldKeys()
  const { wallet, actor, secret, row, lock } = input
  const of = { projectId: wallet.projectId, keyringId: wallet.keyringId, walletId: wallet.id, lockId: lock.id }
  const { developerKey: sealed } = row
  const opened = await checkSecret(ctx, { projectId: of.projectId, actor, sealed, secret })
  const developerKey = keys.hold(opened)
  const inner = await ctx.projectKeys.openOuter({ identity: identityOf.policyLock(of), sealed: lock.sealed })
  const walletKey = keys.hold(openPolicyLock({ ...of, developerKey, sealed: inner }))
  return openWalletKeyBy({ ...of, walletKey, sealed: row.sealed })
}
