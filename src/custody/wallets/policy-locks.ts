// With a policy's lock, the developer secret opens the key of one user-controlled wallet. Making a lock needs both
// credentials; either of them can delete it. src/policies decides what the terms of a policy allow, before its lock is used.

import { randomUUID } from 'node:crypto'
import type { Tx } from '../../../db/client.ts'
import { readKeyring } from '../../../db/queries/custody/keyrings.ts'
import { endPolicy, insertPolicy, insertPolicyLock } from '../../../db/queries/custody/policies.ts'
import { newestProjectKeyVersion } from '../../../db/queries/custody/project-keys.ts'
import type { PolicyRow, PolicyTerms } from '../../../db/queries/policies.ts'
import type { ControlMode } from '../../../db/words.ts'
import { AppError, noSuchProject, notFound } from '../../errors.ts'
import { checkCredentials, notActivated } from '../credentials/credential-keys.ts'
import { type Credentials, refuseFrozen, requireBoth, requireCredentials } from '../credentials/credentials.ts'
import type { CustodyCtx } from '../ctx.ts'
import { HeldKeys } from '../sealing/bytes.ts'
import { identityOf, requireCanonicalIds, sealPolicyLock, walletKeyOf } from '../sealing/hierarchy.ts'
import { openOwnerLock } from './keyring.ts'
import { boundSpending, NOTHING_SPENT } from './policy-spending.ts'
import { boundTerms } from './policy-terms.ts'
import type { KeyRequest } from './wallet-key.ts'

type NewPolicyRequest = KeyRequest & {
  readonly terms: PolicyTerms
  /** For people. */
  readonly name: string
}

/** A policy that is made. `write` writes its row, its lock and the audit row. */
type NewPolicy = { write(tx: Tx): Promise<PolicyRow> }

/** Makes a policy, as `Vault.newPolicy` says. */
export const newPolicy = async (ctx: CustodyCtx, request: NewPolicyRequest): Promise<NewPolicy> => {
  using keys = new HeldKeys()
  const { wallet, credentials, actor, terms, name } = request
  const { id: walletId, projectId, ownerId, keyringId } = wallet
  const { id: policyId } = terms
  requireCanonicalIds([policyId])
  const row = await readKeyring(ctx.db, wallet)
  const lock = row?.locks.user
  if (!row || !lock) throw new Error('a user-controlled wallet has no keyring, or no lock of its control mode')
  const proof = requireBoth(credentials)
  if (row.developerKey === null) throw notActivated()
  refuseFrozen(row.frozen)
  const version = await newestProjectKeyVersion(ctx.db, projectId)
  if (version === null) throw noSuchProject()
  const opened = await checkCredentials(ctx, { projectId, ownerId, actor, proof, rows: row, keys })
  const { developer: developerKey, user: credentialKey } = opened
  if (developerKey === null || credentialKey === null) throw new Error('both credentials were required')
  const keyringKey = keys.hold(await openOwnerLock(ctx, { projectId, keyringId, lock, credentialKey }))
  const of = { projectId, keyringId, walletId, lockId: randomUUID(), terms: boundTerms(terms) }
  const inner = sealPolicyLock({ ...of, developerKey, walletKey: keys.hold(walletKeyOf({ ...of, keyringKey })) })
  const sealed = await ctx.projectKeys.sealOuter({ version, identity: identityOf.policyLock(of), inner })
  const mac = await ctx.projectKeys.macOf({ version, row: boundSpending({ projectId, policyId }, NOTHING_SPENT) })
  return {
    write: async (tx) => {
      await ctx.projectKeys.keepNewest(tx, { projectId, version })
      const row = await insertPolicy(tx, { ...terms, ...NOTHING_SPENT, name, projectId, walletId, mac })
      await insertPolicyLock(tx, { id: of.lockId, policyId, sealed })
      const act = { projectId, actor, action: 'policy_created', subject: walletId } as const
      await ctx.audit.record(tx, { ...act, details: { policy: policyId } })
      return row
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

/** A revocation. `write` marks the policy's row, deletes its lock and writes the audit row. */
type Revocation = { write(tx: Tx): Promise<void> }

/** Checks one of the two credentials, as `Vault.revokePolicy` says. It works on frozen wallets too. */
export const revokePolicy = async (
  ctx: CustodyCtx,
  request: KeyRequest & { readonly policyId: string },
): Promise<Revocation> => {
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
      if (!(await endPolicy(tx, policyId))) throw notFound('policy')
      const act = { projectId, actor, action: 'policy_revoked', subject: wallet.id } as const
      await ctx.audit.record(tx, { ...act, details: { policy: policyId, by: mode } })
    },
  }
}
