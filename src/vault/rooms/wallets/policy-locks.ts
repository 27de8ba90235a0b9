// With a policy's lock, the developer secret opens the key of one wallet. The credential of the wallet's mode makes a
// lock; either credential can delete it. src/signing/policies decides what the terms of a policy allow, before its lock
// is used.

import { randomUUID } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import {
  endPolicy,
  insertPolicy,
  insertPolicyLock,
  type PolicyRow,
  type PolicyTerms,
} from '../../../../db/queries/vault/policies.ts'
import { newestProjectKeyVersion } from '../../../../db/queries/vault/project-keys.ts'
import { findPolicy } from '../../../../db/queries/vault/unrevoked-policies.ts'
import { noSuchProject, notFound } from '../../../platform/errors.ts'
import { HeldKeys, namedTextsOf } from '../../../platform/sealing/bytes.ts'
import { madeOtherwise, repeatable } from '../../contract/repeatable.ts'
import { modeOfOne, requireConsent, requireCredentials } from '../../contract/required-credentials.ts'
import { changing } from '../changing.ts'
import { checkCredentials, notActivated, openOuterOfSecret } from '../credentials/credential-keys.ts'
import type { RoomCtx } from '../ctx.ts'
import { projectKeyRow } from '../journal/records.ts'
import { hasOwnAddress } from '../keys/key-types.ts'
import {
  deriveWalletKey,
  identityOf,
  policiesPublicKeyIn,
  requireCanonicalIds,
  sealPolicyLock,
} from '../sealing/hierarchy.ts'
import { keepLocks, openOwnerLock, refuseUnderPolicies } from './keyring.ts'
import { boundSpending, NOTHING_SPENT } from './policy-spending.ts'
import { boundTerms } from './policy-terms.ts'
import { type KeyRequest, readWallet, readWalletOfAnyTime, walletForged } from './read-wallet.ts'

type NewPolicyRequest = KeyRequest & {
  readonly terms: PolicyTerms
  /** A name for people. */
  readonly name: string
}

const isMadeOf = (row: PolicyRow, { wallet, terms }: NewPolicyRequest): boolean =>
  row.projectId === wallet.projectId &&
  row.walletId === wallet.id &&
  isDeepStrictEqual(boundTerms(row), boundTerms(terms))

const makePolicy = async (ctx: RoomCtx, request: NewPolicyRequest): Promise<PolicyRow> => {
  using keys = new HeldKeys()
  const { credentials, actor, terms, name } = request
  const { wallet, row } = await readWallet(ctx, request)
  const { id: walletId, projectId, ownerId, keyringId, controlMode: mode } = wallet
  const { id: policyId } = terms
  const lock = row.locks[mode]
  if (lock === null || !hasOwnAddress(wallet, ctx.chainOf(wallet.network))) throw walletForged(request)
  const proof = requireConsent({ mode, credentials })
  if (row.developerKey === null) throw notActivated()
  await ctx.freezes.refuse({ wallet, actor, freezeMacs: row.freezeMacs })
  const made = await findPolicy(ctx.db, policyId)
  if (made !== null && !isMadeOf(made, request)) throw madeOtherwise('policy')
  if (made === null) refuseUnderPolicies(lock)
  const version = await newestProjectKeyVersion(ctx.db, projectId)
  if (version === null) throw noSuchProject()
  const opened = await checkCredentials(ctx, { projectId, ownerId, actor, proof, rows: row, keys })
  ctx.journal.addToRead(projectKeyRow({ projectId, version }))
  if (made !== null) {
    const ofPolicy = { table: 'policy_locks', where: { policy_id: policyId } } as const
    ctx.journal.addToRead({ table: 'policies', where: { id: policyId } }, ofPolicy)
    return made
  }
  const credentialKey = opened[mode]
  if (credentialKey === null) throw new Error("the credential of the wallet's mode was required")
  const developer = await openOuterOfSecret(ctx, { projectId, actor, from: proof.from, row: row.developerKey })
  const controlKey = keys.hold(await openOwnerLock(ctx, { projectId, keyringId, lock, credentialKey }))
  const scope = { projectId, keyringId, walletId, lockId: randomUUID(), terms: boundTerms(terms) }
  const walletKey = keys.hold(deriveWalletKey({ ...scope, controlKey }))
  const inner = sealPolicyLock({ ...scope, publicKey: policiesPublicKeyIn(developer), walletKey })
  const sealed = await ctx.projectKeys.sealOuter({ version, identity: identityOf.policyLock(scope), inner })
  const mac = await ctx.projectKeys.macOf({ version, row: boundSpending({ projectId, policyId }, NOTHING_SPENT) })
  return changing(ctx, async (tx, wrote) => {
    await ctx.projectKeys.keepNewest(tx, { projectId, version })
    const { policy, image } = await insertPolicy(tx, { ...terms, ...NOTHING_SPENT, name, projectId, walletId, mac })
    wrote(image, await insertPolicyLock(tx, { id: scope.lockId, policyId, sealed }))
    // Refuse if the wallets were put under policies meanwhile.
    await keepLocks(tx, { keyringId, locks: [lock] })
    const act = { projectId, actor, action: 'policy_created', subject: walletId } as const
    await ctx.audit.record(tx, { ...act, details: Object.fromEntries(namedTextsOf(scope.terms)) })
    return policy
  })
}

/** Makes a policy, as `Vault.newPolicy` says. */
export const newPolicy = (ctx: RoomCtx, request: NewPolicyRequest): Promise<PolicyRow> => {
  requireCanonicalIds([request.terms.id])
  return repeatable(['policies_pkey'], () => makePolicy(ctx, request))
}

/** Revokes a policy, as `Vault.revokePolicy` says. It works on frozen wallets too. */
export const revokePolicy = async (
  ctx: RoomCtx,
  request: KeyRequest & { readonly policyId: string },
): Promise<void> => {
  using keys = new HeldKeys()
  const { credentials, actor, policyId } = request
  const { wallet, row } = await readWalletOfAnyTime(ctx, request)
  const { projectId, ownerId, id: walletId } = wallet
  const mode = modeOfOne(credentials)
  const proof = requireCredentials({ modes: [mode], credentials })
  await checkCredentials(ctx, { projectId, ownerId, actor, proof, rows: row, keys })
  await changing(ctx, async (tx, wrote) => {
    const written = await endPolicy(tx, { policyId, walletId })
    if (written === null) throw notFound('policy')
    wrote(written)
    const act = { projectId, actor, action: 'policy_revoked', subject: walletId } as const
    await ctx.audit.record(tx, { ...act, details: { policy: policyId, by: mode } })
  })
}
