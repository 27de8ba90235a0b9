// How an error crosses: an AppError with all that its caller may act on. Of any other, nothing crosses but what the
// database's trouble was.

import { type Static, Type } from '@sinclair/typebox'
import { TypeCompiler } from '@sinclair/typebox/compiler'
import { databaseTrouble } from '../../../db/trouble.ts'
import { SECURITY_EVENTS } from '../../../db/words.ts'
import { AppError, ERROR_STATUS, type ErrorCode, type SecurityEvent } from '../../platform/errors.ts'
import { UnfitVault } from '../contract/contract.ts'
import { Refused } from './data.ts'

const closed = { additionalProperties: false } as const

const isErrorCode = (word: string): word is ErrorCode => Object.hasOwn(ERROR_STATUS, word)
const codes = Object.keys(ERROR_STATUS).filter(isErrorCode)

const Event = Type.Object(
  {
    kind: Type.Union(SECURITY_EVENTS.map((kind) => Type.Literal(kind))),
    projectId: Type.Union([Type.String(), Type.Null()]),
    actor: Type.Optional(Type.String()),
    subject: Type.Optional(Type.String()),
    details: Type.Optional(Type.Record(Type.String(), Type.String())),
  },
  closed,
)

const Failure = Type.Object(
  {
    code: Type.Union(codes.map((code) => Type.Literal(code))),
    message: Type.String(),
    retryable: Type.Boolean(),
    retryAfterSeconds: Type.Optional(Type.Integer()),
    event: Type.Optional(Event),
    /** Whether it is an UnfitVault. */
    unfit: Type.Optional(Type.Literal(true)),
  },
  closed,
)
type Failure = Omit<Static<typeof Failure>, 'event'> & { readonly event?: SecurityEvent }

const isFailure = TypeCompiler.Compile(Failure)

/**
 * Who sees what went wrong. An operator also sees the sentences of our own plain errors, which are written for
 * operators.
 */
export type Audience = 'everybody' | 'operator'

const isOurOwn = (thrown: unknown): thrown is Error =>
  thrown instanceof Error && Object.getPrototypeOf(thrown) === Error.prototype

const LATER = { retryAfterSeconds: 5 } as const

/** The error that may be seen; for everybody it is as src/platform/http/failure.ts answers it. */
const shownError = (thrown: unknown, audience: Audience): AppError => {
  if (thrown instanceof AppError) return thrown
  switch (databaseTrouble(thrown)) {
    case 'away':
      return new AppError('unavailable', 'The database was unavailable: it is unknown whether this was done.', LATER)
    case 'busy':
      return new AppError('busy', 'The database took too long; nothing was done. Try again in a few seconds.', LATER)
    case 'full':
      return new AppError('unavailable', 'The database has no space or memory left; nothing was done.', LATER)
    case null:
      if (audience === 'operator' && isOurOwn(thrown)) return new AppError('internal', thrown.message)
      return new AppError('internal', 'An error on our side: the operator finds the cause by the header X-Request-Id.')
  }
}

/** The parts of an error that are sent. */
export const failureOf = (thrown: unknown, audience: Audience): Failure => {
  const shown = shownError(thrown, audience)
  const { code, message, retryable, retryAfterSeconds, event } = shown
  return {
    code,
    message,
    retryable,
    ...(retryAfterSeconds === null ? {} : { retryAfterSeconds }),
    ...(event === null ? {} : { event }),
    ...(shown instanceof UnfitVault ? { unfit: true } : {}),
  }
}

/** The error as it was thrown on the other side. @throws Refused for a value that is not a failure. */
export const errorOf = (failure: unknown): AppError => {
  if (!isFailure.Check(failure)) throw new Refused('a failure is not as it should be')
  const { code, message, unfit, ...options } = failure
  if (unfit) return new UnfitVault()
  return new AppError(code, message, options)
}
