import { randomUUID } from 'node:crypto'
import { insertPasskey, listPasskeys } from '../../../db/queries/passkeys.ts'
import { lockUser, type UserRow } from '../../../db/queries/users.ts'
import { AppError, invalidInput } from '../../platform/errors.ts'
import { requireProject } from '../auth/authenticate.ts'
import { actorOf, type UserCaller } from '../auth/caller.ts'
import type { Visitor } from '../auth/plugin.ts'
import { isPasskeyPage, rpIdFor } from '../auth/relying-party.ts'
import { passkeyMac } from '../auth/row-macs.ts'
import { beginLimit, targetLimit, throttle } from '../auth/throttle.ts'
import { type CeremonyRefusal, challengeOf, type RegistrationJson, verifyRegistration } from '../auth/webauthn.ts'
import type { IdentityCtx } from '../ctx.ts'
import { requireFreshLogin } from './fresh-login.ts'
import { mailWayChanged } from './mail-way-changed.ts'
import { readNonce, takeNonce } from './nonces.ts'
import { CEREMONY_SECONDS, creationOptions, handleOf, newPasskeyChallenge } from './passkey-ceremony.ts'
import type { CreationOptions, PasskeyAdded } from './passkey-schema.ts'
import { readCaller } from './user.ts'

const WAY = 'passkey registration'

const PASSKEYS_MAX = 20

const tooManyPasskeys = (): AppError => invalidInput(`A user has at most ${PASSKEYS_MAX} passkeys: remove one first.`)

/** The name that the user sees in the list of their authenticator. */
const nameOf = (user: UserRow): string => user.email ?? user.signInWallet ?? `user ${user.id.slice(0, 8)}`

/** @throws invalid_input if the user has the maximum number. */
export const beginPasskeyRegistration = async (
  ctx: IdentityCtx,
  caller: UserCaller,
  { client, origin }: Pick<Visitor, 'client' | 'origin'>,
): Promise<CreationOptions> => {
  const { projectId, userId } = caller
  const from = { projectId, client }
  await throttle(ctx, [beginLimit(ctx, from, WAY), targetLimit(ctx, from, WAY, userId)])
  await requireFreshLogin(ctx, ctx.db, caller)
  const [project, user, passkeys] = await Promise.all([
    requireProject(ctx, projectId),
    readCaller(ctx, ctx.db, caller),
    listPasskeys(ctx.db, { projectId, userId }),
  ])
  if (passkeys.length >= PASSKEYS_MAX) throw tooManyPasskeys()
  const rpId = rpIdFor(project, origin)
  const challenge = await newPasskeyChallenge(ctx, { projectId, kind: 'passkey_registration', userId, rpId })
  return creationOptions({
    rp: { id: rpId, name: project.name },
    user: { id: handleOf(userId), name: nameOf(user) },
    challenge,
    exclude: passkeys,
  })
}

const CHALLENGE =
  'The challenge is not for this user, was used, or is older than five minutes: begin the registration again.'

const SENTENCES: Readonly<Record<CeremonyRefusal, string>> = {
  invalid: "The credential must be the browser's unchanged answer to the options of begin-registration.",
  challenge: CHALLENGE,
  origin: 'The passkey must be made on a page of an origin that the project allows, within the domain of the passkey.',
  attestation: 'The passkey must have no attestation, as the options of begin-registration say.',
  algorithm: "The passkey's key must be of ES256, EdDSA (Ed25519) or RS256 with 2,048 to 4,096 bits.",
  framed: 'The passkey must not be made in a frame inside another site.',
  user_verification: 'The authenticator must verify the user, by a PIN or biometrics.',
  counter: CHALLENGE,
}

const refuse = (refusal: CeremonyRefusal): AppError => invalidInput(SENTENCES[refusal])

export const finishPasskeyRegistration = async (
  ctx: IdentityCtx,
  caller: UserCaller,
  input: { readonly credential: RegistrationJson; readonly transports: readonly string[] },
): Promise<PasskeyAdded> => {
  const { projectId, userId } = caller
  const nonce = challengeOf(input.credential)
  if (nonce === null) throw refuse('invalid')
  const key = { projectId, kind: 'passkey_registration', nonce } as const
  const [terms, project] = await Promise.all([readNonce(ctx, key), requireProject(ctx, projectId)])
  if (terms === null) throw refuse('challenge')
  const rpId = terms.target
  const expected = { rpId, challenge: nonce, isOrigin: isPasskeyPage(ctx, project, rpId) }
  const result = await verifyRegistration(input.credential, expected)
  if ('refused' in result) throw refuse(result.refused)
  const transports = [...new Set(input.transports)]
  return ctx.db.transaction(async (tx) => {
    await lockUser(tx, caller)
    await requireFreshLogin(ctx, tx, caller, { begunSeconds: CEREMONY_SECONDS })
    if ((await takeNonce(ctx, tx, key))?.userId !== userId) throw refuse('challenge')
    if ((await listPasskeys(tx, { projectId, userId })).length >= PASSKEYS_MAX) throw tooManyPasskeys()
    const row = { id: randomUUID(), projectId, userId, rpId, transports, ...result.verified }
    const passkey = await insertPasskey(tx, { ...row, mac: passkeyMac(ctx.identity).of(row) })
    if (passkey === null) throw new AppError('passkey_exists', 'This passkey is registered already.')
    const details = { user_id: userId, rp_id: rpId }
    await ctx.audit.record(tx, {
      projectId,
      actor: actorOf(caller),
      action: 'passkey_added',
      subject: passkey.id,
      details,
    })
    const { email } = await readCaller(ctx, tx, caller)
    await mailWayChanged(ctx, tx, { projectId, email, change: 'passkey_added' })
    return { success: true, id: passkey.id }
  })
}
