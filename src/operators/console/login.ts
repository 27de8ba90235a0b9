// How an operator logs in: by a link of the command line, once; or by a passkey that they added after such a login.
//
// A challenge has no row until it is answered, so that strangers write nothing: it carries its end and a MAC over that,
// its purpose and its operator. Once answered, its hash is kept until it expires.

import { randomBytes, timingSafeEqual } from 'node:crypto'
import { Value } from '@sinclair/typebox/value'
import {
  deleteToken,
  findOperatorPasskey,
  insertOperatorPasskey,
  insertToken,
  passkeysOfOperator,
  recordOperatorPasskeyUse,
} from '../../../db/queries/operators.ts'
import { operatorPasskeyMac, operatorTokenMac, reportForged } from '../../identity/auth/row-macs.ts'
import { throttle } from '../../identity/auth/throttle.ts'
import { challengeOf, verifyAssertion, verifyRegistration } from '../../identity/auth/webauthn.ts'
import { CEREMONY_SECONDS, creationOptions, requestOptions } from '../../identity/users/passkey-ceremony.ts'
import {
  type CreationOptions,
  PasskeyAssertion,
  PasskeyRegistration,
  type RequestOptions,
} from '../../identity/users/passkey-schema.ts'
import { AppError } from '../../platform/errors.ts'
import { type Client, subnetOf } from '../../platform/http/peer.ts'
import { html } from '../../platform/pages/page.ts'
import type { ConsoleCtx } from './context.ts'
import { bare } from './frame.ts'
import { hashOf } from './operators.ts'
import { actorOf, beginSession, isFresh, isOurOperator, readToken, type Session } from './session.ts'

const PASSKEYS_MAX = 20
const TRIES = 30
const WINDOW_SECONDS = 900
const DEVNET_TIMES = 100

/** Tries to log in from one address. A link or a passkey cannot be guessed: this limits load and noise. */
const limitTries = (ctx: ConsoleCtx, { address }: Client): Promise<void> => {
  const tries = ctx.config.devnet ? TRIES * DEVNET_TIMES : TRIES
  return throttle(ctx, [{ counted: ['console from', subnetOf(address)], tries, windowSeconds: WINDOW_SECONDS }])
}

const refused = (way: 'link' | 'passkey', sentence: string): AppError =>
  new AppError('login_failed', sentence, {
    event: { kind: 'login_failed', projectId: null, details: { way: `console ${way}` } },
  })

/** Logs in by a link, once. @returns the session's cookie. */
export const logInByLink = async (
  ctx: ConsoleCtx,
  { client, secret }: { readonly client: Client; readonly secret: string },
): Promise<string> => {
  await limitTries(ctx, client)
  return ctx.db.transaction(async (tx) => {
    const found = await readToken(ctx, tx, { kind: 'link', secret })
    if (found === null || !(await deleteToken(tx, found.token))) {
      throw refused('link', 'This link was used, has expired, or is not complete. Ask for a new one.')
    }
    return beginSession(ctx, tx, { operatorName: found.operator.name, by: 'link' })
  })
}

type Purpose = { readonly purpose: 'login' | 'registration'; readonly operatorName: string }

const FIXED_BYTES = 24

const macOf = ({ identity }: Pick<ConsoleCtx, 'identity'>, { purpose, operatorName }: Purpose, fixed: Uint8Array) =>
  identity.authenticator('challenge of the console')([purpose, operatorName, fixed])

const newChallenge = (ctx: ConsoleCtx, purpose: Purpose): string => {
  const fixed = randomBytes(FIXED_BYTES)
  fixed.writeBigUInt64BE(BigInt(ctx.now().getTime() + CEREMONY_SECONDS * 1_000))
  return Buffer.concat([fixed, macOf(ctx, purpose, fixed)]).toString('base64url')
}

/** When one of our challenges ends; null if it is forged, or is over. */
const endOf = (ctx: ConsoleCtx, purpose: Purpose, challenge: string): Date | null => {
  const bytes = Buffer.from(challenge, 'base64url')
  const [fixed, mac] = [bytes.subarray(0, FIXED_BYTES), bytes.subarray(FIXED_BYTES)]
  const expected = macOf(ctx, purpose, fixed)
  if (mac.length !== expected.length || !timingSafeEqual(mac, expected)) return null
  const end = new Date(Number(fixed.readBigUInt64BE()))
  return end > ctx.now() ? end : null
}

/** @returns false if it was answered before. */
const useChallenge = (
  ctx: ConsoleCtx,
  tx: Parameters<typeof insertToken>[0],
  input: { readonly challenge: string; readonly operatorName: string; readonly expiresAt: Date },
): Promise<boolean> => {
  const { challenge, ...rest } = input
  const row = { ...rest, kind: 'challenge', hash: hashOf(challenge) } as const
  return insertToken(tx, { ...row, mac: operatorTokenMac(ctx.identity).of(row) })
}

const rpIdOf = ({ origin }: ConsoleCtx): string => new URL(origin).hostname

/** Any operator's passkey may answer. */
const loginOptions = (ctx: ConsoleCtx): RequestOptions =>
  requestOptions({
    rpId: rpIdOf(ctx),
    challenge: newChallenge(ctx, { purpose: 'login', operatorName: '' }),
  })

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

const expectedBy = (ctx: ConsoleCtx, challenge: string) => ({
  rpId: rpIdOf(ctx),
  challenge,
  isOrigin: (origin: string) => origin === ctx.origin,
})

/** Logs in by a passkey. @param input.answer AuthenticationResponseJSON. @returns the session's cookie. */
export const logInByPasskey = async (
  ctx: ConsoleCtx,
  { client, answer: text }: { readonly client: Client; readonly answer: string },
): Promise<string> => {
  await limitTries(ctx, client)
  const failed = () => refused('passkey', 'That did not work. Try again, or ask for a link.')
  const answer = parsed(text)
  if (!Value.Check(PasskeyAssertion, answer)) throw failed()
  const challenge = challengeOf(answer)
  const expiresAt = challenge === null ? null : endOf(ctx, { purpose: 'login', operatorName: '' }, challenge)
  const found = await findOperatorPasskey(ctx.db, Buffer.from(answer.id, 'base64url'))
  if (challenge === null || expiresAt === null || found === null) throw failed()
  const { passkey, operator, wasRemoved } = found
  if (wasRemoved || !operatorPasskeyMac(ctx.identity).holds(passkey)) {
    reportForged(ctx, { table: 'operator_passkeys', id: operator.name, projectId: null })
    throw failed()
  }
  const result = await verifyAssertion(answer, expectedBy(ctx, challenge), passkey)
  if ('refused' in result || !isOurOperator(ctx, operator)) throw failed()
  return ctx.db.transaction(async (tx) => {
    const { name: operatorName } = operator
    if (!(await useChallenge(ctx, tx, { challenge, operatorName, expiresAt }))) throw failed()
    await recordOperatorPasskeyUse(tx, { credentialId: passkey.credentialId, signCount: result.verified.signCount })
    return beginSession(ctx, tx, { operatorName, by: 'passkey' })
  })
}

export const FRESH_REQUIRED =
  'A passkey is added within ten minutes of a login: log out, log in again, and add it then.'

export const registrationOptions = async (ctx: ConsoleCtx, { operator }: Session): Promise<CreationOptions> => {
  const { name } = operator
  return creationOptions({
    rp: { id: rpIdOf(ctx), name: 'Strongroom console' },
    user: { id: Buffer.from(name).toString('base64url'), name },
    challenge: newChallenge(ctx, { purpose: 'registration', operatorName: name }),
    exclude: (await passkeysOfOperator(ctx.db, name)).map((each) => ({ ...each, transports: [] })),
  })
}

/** @param text RegistrationResponseJSON. @throws fresh_login_required, invalid_input, passkey_exists */
export const addOperatorPasskey = async (ctx: ConsoleCtx, session: Session, text: string): Promise<void> => {
  const { operator } = session
  const { name: operatorName } = operator
  const failed = () => new AppError('invalid_input', 'The passkey was not added: open the page again, and repeat it.')
  const answer = parsed(text)
  if (!Value.Check(PasskeyRegistration, answer)) throw failed()
  const challenge = challengeOf(answer)
  const expiresAt = challenge === null ? null : endOf(ctx, { purpose: 'registration', operatorName }, challenge)
  if (challenge === null || expiresAt === null) throw failed()
  const result = await verifyRegistration(answer, expectedBy(ctx, challenge))
  if ('refused' in result) throw failed()
  const { credentialId, publicKey, signCount, backupEligible } = result.verified
  await ctx.db.transaction(async (tx) => {
    if (!(await isFresh(ctx, tx, session))) throw new AppError('fresh_login_required', FRESH_REQUIRED)
    if (!(await useChallenge(ctx, tx, { challenge, operatorName, expiresAt }))) throw failed()
    if ((await passkeysOfOperator(tx, operatorName)).length >= PASSKEYS_MAX) throw failed()
    const row = { operatorName, credentialId, publicKey, backupEligible }
    const isNew = await insertOperatorPasskey(tx, { ...row, signCount, mac: operatorPasskeyMac(ctx.identity).of(row) })
    if (!isNew) throw new AppError('passkey_exists', 'This passkey is registered already.')
    await ctx.audit.record(tx, {
      projectId: null,
      actor: actorOf(operator),
      action: 'operator_passkey_added',
      subject: operatorName,
      details: { credential_id: Buffer.from(credentialId).toString('base64url') },
    })
  })
}

export const loginPage = (ctx: ConsoleCtx): string => {
  const { publicKey } = loginOptions(ctx)
  return bare({
    title: 'Log in to the console',
    hasScript: true,
    body: html`<form method="post" action="/login" data-passkey="get" data-options="${JSON.stringify(publicKey)}">
<input type="hidden" name="answer">
<button class="main" type="button" hidden>Use a passkey</button>
<p id="problem" data-problem role="alert"></p>
</form>
<noscript><p>A passkey needs JavaScript. A link works without it.</p></noscript>
<p class="hint">For the first login, or without your passkey, open a link from the command line:
<code>bun run cli console link --name ${ctx.config.devnet ? 'dev --role operator' : 'ann --role viewer'}</code></p>`,
  })
}

/** The page of a link. Opening it uses nothing up, as mail scanners and previews open links too. */
export const linkPage = (secret: string): string =>
  bare({
    title: 'Log in to the console?',
    body: html`<p>This link logs you in once.</p>
<form method="post" action="/link"><input type="hidden" name="secret" value="${secret}"><button class="main">Log in</button></form>`,
  })

/** @param sentence the error's message. */
export const problemPage = (sentence: string): string =>
  bare({
    title: 'This did not work',
    body: html`<p role="status">${sentence}</p><p><a href="/">Go to the console</a></p>`,
  })
