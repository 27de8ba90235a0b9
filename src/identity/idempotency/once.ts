// `Idempotency-Key`: if an answer was lost and the request is sent again, it gets the first answer and does nothing.
// The answer is stored in the database transaction of the effect, so neither exists without the other.
//
// What the vault makes has a transaction of its own, which comes before. So the id of a new thing is computed from the
// request: if the process dies in between, the request finds with the same id what it made.
//
// An answer can be an address to which people send coins. So each has a MAC, and an answer that another program wrote
// is not shown.

import { randomUUID } from 'node:crypto'
import type { HasDb, Queryable } from '../../../db/client.ts'
import {
  type FirstAnswer,
  findFirstAnswer,
  type IdempotencyScope,
  insertFirstAnswer,
} from '../../../db/queries/idempotency-keys.ts'
import { canonicalJson } from '../../platform/canonical-json.ts'
import type { HasClock } from '../../platform/clock.ts'
import { AppError, invalidInput } from '../../platform/errors.ts'
import { uuidText } from '../../platform/name-uuid.ts'
import { createQueues, within } from '../../platform/queue.ts'
import type { HasIdentity } from '../../platform/sealing/sealer.ts'
import { type Caller, type Signatory, signatoryOf } from '../auth/caller.ts'
import { retiredWhenMade } from '../retired-keys.ts'

/** An operation calls it with its result, at the end of its database transaction if it has one. */
export type Remember<Result> = ((db: Queryable, result: Result) => Promise<void>) & {
  /** What it stores; absent without the header. */
  readonly answerOf?: (result: Result) => RememberedAnswer
}

export type RememberedAnswer = IdempotencyScope & {
  readonly fingerprintHex: string
  readonly macHex: string
  readonly answer: unknown
}

/** Stores an answer. @returns false if the key has another one. */
export const storeAnswer = (db: Queryable, remembered: RememberedAnswer): Promise<boolean> => {
  const { fingerprintHex, macHex, answer, ...scope } = remembered
  const [fingerprint, mac] = [Buffer.from(fingerprintHex, 'hex'), Buffer.from(macHex, 'hex')]
  return insertFirstAnswer(db, scope, { fingerprint, answer, mac })
}

const MAC_PURPOSE = 'idempotency'
const MAX_KEY_CHARACTERS = 200

const keyOf = (headers: Headers): string | null => {
  const key = headers.get('idempotency-key')
  if (key === null) return null
  if (key.length >= 1 && key.length <= MAX_KEY_CHARACTERS) return key
  throw invalidInput(`The header Idempotency-Key must have 1 to ${MAX_KEY_CHARACTERS} characters.`)
}

/** A fingerprint must not contain guessable secrets, and a request may be repeated after a PIN change. */
const withoutCredentials = (body: object): object => {
  const { developer_secret: _, user_pin: __, user_secret: ___, ...rest } = body as Record<string, unknown>
  return rest
}

/** What an answer's MAC covers. A fingerprint is a MAC of one field under this key, so neither passes for the other. */
const boundOf = (scope: IdempotencyScope, { fingerprint, answer }: Omit<FirstAnswer, 'mac'>) => {
  const { projectId, principal, path, key } = scope
  return [projectId, principal, path, key, fingerprint, canonicalJson(answer)] as const
}

const DAY_MS = 24 * 60 * 60 * 1000

/** Nothing is done again: what the row says may have been done. */
const forged = ({ projectId, key: subject }: IdempotencyScope): AppError =>
  new AppError('internal', 'The answer to this Idempotency-Key was not written by the service.', {
    event: { kind: 'row_forged', projectId, subject, details: { table: 'idempotency_keys' } },
  })

/** Below the minute after which the runtime closes a connection that is silent (platform/environment/runtime.ts). */
const ANSWERED_WITHIN_MS = 50_000

export const outcomeUnknown = (what: string): AppError =>
  new AppError(
    'unavailable',
    `${what} took long, and it is unknown whether this will be done: repeat it with its Idempotency-Key.`,
    { retryAfterSeconds: 1 },
  )

/** Thrown inside the effect's transaction to roll it back, because another process was faster. */
export class AnsweredMeanwhile extends Error {}

type Submitting = {
  readonly body: object & Parameters<typeof signatoryOf>[1]
  readonly caller: Caller
  readonly request: { readonly headers: Headers }
  /** The template of the path. */
  readonly route: string
}

/** @param by.newId what the request creates gets this id. */
type Verb<Result> = (by: Signatory & { readonly newId: string; readonly remember: Remember<Result> }) => Promise<Result>

type Submit<Result, Answer> = (submitting: Submitting, verb: Verb<Result>) => Promise<Answer>

const submitOnce = <Result, Answer>(
  ctx: HasDb & HasIdentity & HasClock,
  show: (result: Result) => Answer,
): Submit<Result, Answer> => {
  const macOf = ctx.identity.authenticator(MAC_PURPOSE)
  const verifies = ctx.identity.verifier(MAC_PURPOSE)
  const newIdMacOf = ctx.identity.authenticator('new id')
  // Only the first one takes long: those behind it read its answer.
  const queues = createQueues({ expectedWaitMaxMs: Number.POSITIVE_INFINITY })

  const isOurs = async (fields: readonly (string | Uint8Array)[], mac: Uint8Array): Promise<boolean> =>
    verifies(fields, mac) || (await retiredWhenMade(ctx, { purpose: MAC_PURPOSE, fields, mac })) !== null

  const firstAnswer = async (scope: IdempotencyScope, fields: readonly string[]): Promise<FirstAnswer | null> => {
    const first = await findFirstAnswer(ctx.db, scope)
    if (first === null) return null
    if (!(await isOurs(boundOf(scope, first), first.mac))) throw forged(scope)
    if (await isOurs(fields, first.fingerprint)) return first
    throw new AppError(
      'idempotency_mismatch',
      'This Idempotency-Key was used with another body; send the same body or use a new key.',
    )
  }

  return async ({ body, caller, request, route: path }, verb) => {
    const signatory = signatoryOf(caller, body)
    const key = keyOf(request.headers)
    if (key === null) return show(await verb({ ...signatory, newId: randomUUID(), remember: async () => {} }))
    const scope = { projectId: caller.projectId, principal: signatory.actor, path, key }
    // An imported key is part of it: the MAC reveals nothing, and another key is another request.
    const fields = [canonicalJson(withoutCredentials(body))]
    const fingerprint = macOf(fields)
    // A key is forgotten after a day, and then the same request creates another thing.
    const day = String(Math.floor(ctx.now().getTime() / DAY_MS))
    const hex = Buffer.from(newIdMacOf([...Object.values(scope), fingerprint, day])).toString('hex')
    const newId = uuidText({ hex, version: 8, variant: '8' })
    const answerOf = (result: Result): RememberedAnswer => {
      const answer = show(result)
      const [fingerprintHex = '', macHex = ''] = [fingerprint, macOf(boundOf(scope, { fingerprint, answer }))].map(
        (mac) => Buffer.from(mac).toString('hex'),
      )
      return { ...scope, fingerprintHex, macHex, answer }
    }
    const store = async (db: Queryable, result: Result): Promise<void> => {
      if (!(await storeAnswer(db, answerOf(result)))) throw new AnsweredMeanwhile()
    }
    const remember: Remember<Result> = Object.assign(store, { answerOf })
    // Simultaneous requests with one key wait for the first and find its answer.
    return queues.run(Object.values(scope).join('\n'), async () => {
      const first = await firstAnswer(scope, fields)
      if (first !== null) return first.answer as Answer
      try {
        return show(await verb({ ...signatory, newId, remember }))
      } catch (error) {
        // It may have failed because another process did the same request, or while it committed.
        const meanwhile = await firstAnswer(scope, fields).catch((reason: unknown) => {
          throw reason instanceof AppError ? reason : error
        })
        if (meanwhile === null) throw error
        return meanwhile.answer as Answer
      }
    })
  }
}

/**
 * The handlers of submitting routes: each acts for the caller, once per (project, principal, path, key); without the
 * header, each time. Work beyond the limit goes on, and the same request with its Idempotency-Key waits for it.
 */
export const submitRoute = <Result, Answer>(
  ctx: HasDb & HasIdentity & HasClock,
  show: (result: Result) => Answer,
  answeredWithinMs = ANSWERED_WITHIN_MS,
): Submit<Result, Answer> => {
  const submit = submitOnce(ctx, show)
  return async (submitting, verb) => {
    const answer = await within(answeredWithinMs, submit(submitting, verb))
    if (answer === null) throw outcomeUnknown('The request')
    return answer.value
  }
}
