// Sessions of operators. The cookie has a random secret, and the table its hash. A session ends after twelve hours, by
// a logout, or with its operator. Who the operator is and what they may do is read with each request.
//
// A form that changes something must come from our own page, and must have a token that is derived from its session.

import { randomBytes, timingSafeEqual } from 'node:crypto'
import type { Db, Tx } from '../../../db/client.ts'
import { endedName, readUnlessEnded } from '../../../db/deciding-rows.ts'
import {
  deleteToken,
  type FoundToken,
  findToken,
  insertToken,
  type OperatorFacts,
} from '../../../db/queries/operators.ts'
import { readPresent } from '../../../db/queries/server.ts'
import type { OperatorTokenKind } from '../../../db/words.ts'
import { isOver, operatorMac, operatorTokenMac, reportForged } from '../../identity/auth/row-macs.ts'
import { AppError } from '../../platform/errors.ts'
import type { OperatingCtx } from '../ctx.ts'
import type { ConsoleCtx } from './context.ts'
import { hashOf, isSecret } from './operators.ts'

const HOURS = 12
/** A way in is added only this soon after a login, so that a stolen cookie does not become lasting access. */
const FRESH_MINUTES = 10

/** The prefix keeps other hosts of the domain from setting it (RFC 6265bis §4.1.3.2). */
const COOKIE = '__Host-strongroom-console'
const ATTRIBUTES = 'Path=/; Secure; HttpOnly; SameSite=Strict'

export type Session = {
  readonly operator: OperatorFacts
  readonly hash: Uint8Array
  readonly expiresAt: Date
  /** The field `csrf` of this session's forms. */
  readonly csrf: string
}

/** Reads a token whose rows have valid MACs. If the row of an ended session is put back, it is refused. */
export const readToken = async (
  ctx: Pick<OperatingCtx, 'identity' | 'now' | 'securityEvents'>,
  db: Db | Tx,
  { kind, secret }: { readonly kind: OperatorTokenKind; readonly secret: string },
): Promise<FoundToken | null> => {
  if (!isSecret(secret)) return null
  const hash = hashOf(secret)
  const name = endedName('operator_tokens', [hash])
  const find = () => findToken(db, { kind, hash })
  const found = await readUnlessEnded(find, (read) => read !== null && db.ended.has(name))
  if (found === null) {
    if (kind === 'session') db.ended.miss(name)
    return null
  }
  const { token, operator } = found
  if (isOver(ctx, token)) return null
  if (operatorTokenMac(ctx.identity).holds(token) && !db.ended.has(name)) {
    if (!isOurOperator(ctx, operator)) return null
    db.ended.admit(name)
    return found
  }
  reportForged(ctx, { table: 'operator_tokens', id: operator.name, projectId: null })
  return null
}

/** Whether an operator's row is as the command line wrote it: it says what they may do. */
export const isOurOperator = (
  ctx: Pick<OperatingCtx, 'identity' | 'securityEvents'>,
  operator: FoundToken['operator'],
): boolean => {
  const { name, role, mac } = operator
  if (operatorMac(ctx.identity).holds({ name, role, mac })) return true
  reportForged(ctx, { table: 'operators', id: name, projectId: null })
  return false
}

export const secretIn = (request: Request): string => {
  const pairs = (request.headers.get('cookie') ?? '').split(';').map((pair) => pair.trim())
  return pairs.find((pair) => pair.startsWith(`${COOKIE}=`))?.slice(COOKIE.length + 1) ?? ''
}

export const sessionOf = async (
  ctx: Pick<OperatingCtx, 'db' | 'identity' | 'now' | 'securityEvents'>,
  request: Request,
): Promise<Session | null> => {
  const found = await readToken(ctx, ctx.db, { kind: 'session', secret: secretIn(request) })
  if (found === null) return null
  const { hash, expiresAt } = found.token
  const csrf = Buffer.from(ctx.identity.authenticator('form of the console')([hash])).toString('base64url')
  return { operator: found.operator, hash, expiresAt, csrf }
}

/** Whether a session began with a login just now, by both clocks. */
export const isFresh = async (
  { now }: Pick<OperatingCtx, 'now'>,
  db: Parameters<typeof readPresent>[0],
  { expiresAt }: Session,
): Promise<boolean> => {
  const begunMs = expiresAt.getTime() - HOURS * 3_600_000
  const nowMs = Math.max((await readPresent(db)).getTime(), now().getTime())
  return nowMs - begunMs <= FRESH_MINUTES * 60_000
}

export const beginSession = async (
  ctx: Pick<OperatingCtx, 'identity' | 'audit'>,
  tx: Tx,
  { operatorName, by }: { readonly operatorName: string; readonly by: 'link' | 'passkey' },
): Promise<string> => {
  const secret = randomBytes(32).toString('base64url')
  const expiresAt = new Date((await readPresent(tx)).getTime() + HOURS * 3_600_000)
  const row = { hash: hashOf(secret), kind: 'session', operatorName, expiresAt } as const
  await insertToken(tx, { ...row, mac: operatorTokenMac(ctx.identity).of(row) })
  await ctx.audit.record(tx, {
    projectId: null,
    actor: actorOf({ name: operatorName }),
    action: 'operator_logged_in',
    subject: operatorName,
    details: { by },
  })
  return `${COOKIE}=${secret}; Max-Age=${HOURS * 3_600}; ${ATTRIBUTES}`
}

/** Ends a session. @returns the cookie that removes it from the browser. */
export const endSession = async ({ db }: Pick<OperatingCtx, 'db'>, { hash }: Session): Promise<string> => {
  await deleteToken(db, { kind: 'session', hash })
  return `${COOKIE}=; Max-Age=0; ${ATTRIBUTES}`
}

export const actorOf = ({ name }: Pick<OperatorFacts, 'name'>): string => `operator:${name}`

/** Browsers set these headers; a page of another site cannot forge them. */
const isFromOurPage = ({ origin }: Pick<ConsoleCtx, 'origin'>, headers: Headers): boolean => {
  const site = headers.get('sec-fetch-site')
  // Our referrer policy is no-referrer, so browsers send the origin "null" even to us.
  return site === null ? headers.get('origin') === origin : site === 'same-origin'
}

export const requireOwnPage = (ctx: Pick<ConsoleCtx, 'origin'>, headers: Headers): void => {
  if (isFromOurPage(ctx, headers)) return
  throw new AppError('origin_not_allowed', 'This form must be sent from its own page, in a current browser.', {
    event: { kind: 'origin_refused', projectId: null, details: { form: 'console' } },
  })
}

/** @throws origin_not_allowed unless the form is of this session. */
export const requireOwnForm = ({ csrf }: Session, fields: ReadonlyMap<string, string>): void => {
  const [given, right] = [Buffer.from(fields.get('csrf') ?? ''), Buffer.from(csrf)]
  if (given.length === right.length && timingSafeEqual(given, right)) return
  throw new AppError('origin_not_allowed', 'The form is not of this session: open its page again.', {
    event: { kind: 'origin_refused', projectId: null, details: { form: 'console' } },
  })
}

/** @throws scope_required for a viewer. */
export const requireOperator = ({ operator }: Session): void => {
  if (operator.role === 'operator') return
  throw new AppError('scope_required', 'You are a viewer: only an operator may do this.')
}
