// An approver decides with their passkey. The challenge is the hash of approval, request and decision
// (src/vault/language/approval.ts). So the assertion is valid for these alone, and nothing is stored between begin and
// decide.

import {
  type ApprovalRow,
  findApproval,
  lockApproval,
  readDecision,
  rejectApproval,
  writeDecision,
} from '../../../db/queries/approvals.ts'
import { findPasskey, recordPasskeyUse } from '../../../db/queries/passkeys.ts'
import type { ApprovalDecision } from '../../../db/words.ts'
import { requireProject } from '../../identity/auth/authenticate.ts'
import { actorOf, type UserCaller } from '../../identity/auth/caller.ts'
import { isPasskeyPage } from '../../identity/auth/relying-party.ts'
import { isOurs, passkeyMac } from '../../identity/auth/row-macs.ts'
import { type AssertionJson, type CeremonyRefusal, verifyAssertion } from '../../identity/auth/webauthn.ts'
import { AppError, notFound } from '../../platform/errors.ts'
import type { UnrevokedPolicy } from '../../vault/contract/vault.ts'
import { approvalChallenge } from '../../vault/language/approval.ts'
import type { SigningCtx } from '../ctx.ts'
import { POLICIES_A_WALLET_MAX } from '../policies/delegated.ts'
import { approvalEnded, requireOpen } from '../policies/grant.ts'
import { invalidInput } from '../schema.ts'

type Decide = { readonly id: string; readonly decision: ApprovalDecision }

type Required = NonNullable<UnrevokedPolicy['requireApproval']>

const makeChallenge = (approval: ApprovalRow, decision: ApprovalDecision): string =>
  Buffer.from(approvalChallenge({ ...approval, decision })).toString('base64url')

/** Reads from the vault who may approve, and for how long: the present terms of the policy. */
const readRequired = async ({ vault }: SigningCtx, { walletId, policyId }: ApprovalRow): Promise<Required | null> => {
  const policies = await vault.unrevokedPolicies({ walletId, limit: POLICIES_A_WALLET_MAX })
  const policy = policies.find(({ id }) => id === policyId)
  if (policy === undefined) throw approvalEnded('belongs to a policy that was revoked')
  return policy.requireApproval
}

/** An approval, and the caller's passkeys that its policy names. Answers not_found to anyone who is not an approver. */
const findDecidable = async (ctx: SigningCtx, { projectId, userId }: UserCaller, id: string) => {
  const approval = await findApproval(ctx.db, { projectId, id: id.toLowerCase() })
  if (approval === null || !approval.approverIds.includes(userId)) throw notFound('approval')
  const required = await readRequired(ctx, approval)
  const own = required?.approvers.filter((approver) => approver.userId === userId) ?? []
  if (required === null || own.length === 0) throw notFound('approval')
  // The row was edited: the approver would sign for longer than the policy allows.
  if (approval.endsInSeconds > required.expiresInSeconds) throw approvalEnded('lasts longer than its policy says')
  return { approval, own }
}

/**
 * The options for `navigator.credentials.get`, with passkeys that the policy names and that work on the page.
 * @param input.origin the header `Origin`; null if a server calls. It gets the options for the first passkey.
 */
export const beginDecision = async (
  ctx: SigningCtx,
  caller: UserCaller,
  { id, decision, origin }: Decide & { readonly origin: string | null },
) => {
  const [project, { approval, own }] = await Promise.all([
    requireProject(ctx, caller.projectId),
    findDecidable(ctx, caller, id),
  ])
  requireOpen(approval)
  const [first] = own.filter(({ rpId }) => origin === null || isPasskeyPage(ctx, project, rpId)(origin))
  if (first === undefined) {
    const domains = [...new Set(own.map(({ rpId }) => rpId))].join(', ')
    throw new AppError('passkey_domain_required', `The page must be on the domain of your passkey: ${domains}.`)
  }
  return {
    publicKey: {
      challenge: makeChallenge(approval, decision),
      timeout: 300_000,
      rpId: first.rpId,
      allowCredentials: own
        .filter(({ rpId }) => rpId === first.rpId)
        .map(({ credentialId }) => ({ type: 'public-key' as const, id: credentialId })),
      userVerification: 'required' as const,
    },
  }
}

const SENTENCES: Readonly<Record<CeremonyRefusal, string>> = {
  invalid: "The assertion must be the browser's unchanged answer to the options of begin, by a passkey of this user.",
  challenge: 'The assertion must be for this approval, this request and this decision: begin again.',
  origin: 'The passkey must be used on a page of an origin that the project allows, within the domain of the passkey.',
  attestation: 'The assertion must have no attestation.',
  algorithm: "The passkey's key must be of ES256, EdDSA (Ed25519) or RS256.",
  framed: 'The passkey must not be used in a frame inside another site.',
  user_verification: 'The authenticator must verify the user, by a PIN or biometrics.',
  counter: "The passkey's counter must rise: somebody may have copied it.",
}

const refuse = (refusal: CeremonyRefusal): AppError => invalidInput(SENTENCES[refusal])

const verifyDecision = async (
  ctx: SigningCtx,
  input: Awaited<ReturnType<typeof findDecidable>> &
    Pick<Decide, 'decision'> & { readonly caller: UserCaller; readonly assertion: AssertionJson },
) => {
  const { caller, approval, own, decision, assertion } = input
  const { projectId, userId } = caller
  const credentialId = Buffer.from(assertion.id, 'base64url')
  const [project, passkey] = await Promise.all([
    requireProject(ctx, projectId),
    findPasskey(ctx.db, { projectId, credentialId }),
  ])
  const isNamed = own.some((approver) => approver.credentialId === credentialId.toString('base64url'))
  if (passkey === null || passkey.userId !== userId || !isNamed || !isOurs(ctx, passkeyMac(ctx.identity), passkey)) {
    throw refuse('invalid')
  }
  const { rpId } = passkey
  const expected = { rpId, challenge: makeChallenge(approval, decision), isOrigin: isPasskeyPage(ctx, project, rpId) }
  const result = await verifyAssertion(assertion, expected, passkey)
  if ('refused' in result) throw refuse(result.refused)
  return { passkey, ...result.verified }
}

/** One rejection ends an approval, even a granted one, if it was not used yet. A repeated decision changes nothing. */
export const decideApproval = async (
  ctx: SigningCtx,
  caller: UserCaller,
  input: Decide & { readonly assertion: AssertionJson },
): Promise<void> => {
  const { decision, assertion } = input
  const { projectId, userId } = caller
  const { approval, own } = await findDecidable(ctx, caller, input.id)
  const decided = { approvalId: approval.id, userId }
  if ((await readDecision(ctx.db, decided)) === decision) return
  requireOpen(approval)
  const { passkey, signCount, backedUp } = await verifyDecision(ctx, { caller, approval, own, decision, assertion })
  const { id } = approval
  await ctx.db.transaction(async (tx) => {
    const locked = await lockApproval(tx, { projectId, id })
    if (locked === null) throw notFound('approval')
    if ((await readDecision(tx, decided)) === decision) return
    requireOpen(locked)
    if (!(await recordPasskeyUse(tx, { id: passkey.id, signCount, backedUp }))) throw refuse('counter')
    const bytesOf = (name: 'clientDataJSON' | 'authenticatorData' | 'signature') =>
      new Uint8Array(Buffer.from(assertion.response[name], 'base64url'))
    await writeDecision(tx, {
      ...decided,
      decision,
      credentialId: passkey.credentialId,
      clientDataJson: bytesOf('clientDataJSON'),
      authenticatorData: bytesOf('authenticatorData'),
      signature: bytesOf('signature'),
    })
    if (decision === 'reject') await rejectApproval(tx, id)
    await ctx.audit.record(tx, {
      projectId,
      actor: actorOf(caller),
      action: 'approval_decided',
      subject: locked.walletId,
      details: {
        approval: id,
        decision,
        asked_policy: locked.policyId,
        passkey: passkey.id,
        expires_at: locked.expiresAt.toISOString(),
        request: locked.request,
      },
    })
  })
}
