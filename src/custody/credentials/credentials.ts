// Which credential belongs to an act. Pure rules, judged before anything is opened, so that nobody is charged for a
// request that could not succeed.
//
// Signing takes the credential of the wallet's control mode. Creation takes that of the new wallet's mode; where the
// owner's keyring has a lock of the other mode only, it takes both, and control of the keyring is shared from then on.

import { CONTROL_MODES, type ControlMode, type FreezeScope } from '../../../db/words.ts'
import { AppError, type SecurityEvent } from '../../errors.ts'

/** Whence credentials come: an IPv4 address, or the /64 of an IPv6 one; absent or '' where it is not known. */
type Whence = { readonly from?: string | undefined }

/** What a caller proves control with, as it came in a request's body. */
export type Credentials = Whence & {
  readonly developerSecret?: string | undefined
  readonly userPin?: string | undefined
}

/** Exactly what belongs: null where the credential does not. */
export type Proof = Whence & { readonly developerSecret: string | null; readonly userPin: string | null }

const FIELD = { developer: 'developer_secret', user: 'user_pin' } as const satisfies Record<ControlMode, string>

const missing = (modes: readonly ControlMode[]): AppError =>
  new AppError(
    'credential_required',
    modes.length === 1
      ? `Field "${modes.map((mode) => FIELD[mode]).join()}" is required.`
      : `Fields "developer_secret" and "user_pin" are required: the owner has wallets of the other control mode.`,
  )

/** The control modes whose credentials it takes to make a wallet of `mode` from a keyring with locks of `locked`. */
export const modesForCreation = (input: {
  readonly mode: ControlMode
  /** Empty for an owner without a keyring. */
  readonly locked: readonly ControlMode[]
}): readonly ControlMode[] =>
  input.locked.length === 0 || input.locked.includes(input.mode) ? [input.mode] : CONTROL_MODES

/** @throws credential_required where one of `modes` is missing, credential_ambiguous where there is one too many. */
export const requireCredentials = (input: {
  readonly modes: readonly ControlMode[]
  readonly credentials: Credentials
}): Proof => {
  const { modes } = input
  const given = {
    developer: input.credentials.developerSecret ?? null,
    user: input.credentials.userPin ?? null,
  } satisfies Record<ControlMode, string | null>
  if (modes.some((mode) => given[mode] === null)) throw missing(modes)
  if (CONTROL_MODES.some((mode) => !modes.includes(mode) && given[mode] !== null)) {
    throw new AppError('credential_ambiguous', `Field "${modes.map((mode) => FIELD[mode]).join()}" alone belongs here.`)
  }
  return { developerSecret: given.developer, userPin: given.user, from: input.credentials.from }
}

/** The credential is not the one that opens. It says no more: not which, and not how close. */
export const invalidSecret = (event?: SecurityEvent): AppError =>
  new AppError('INVALID_SECRET', 'The credential is wrong.', { event })

/**
 * An operator's freeze. Whoever opens a key reads it with the row that it opens, so that it holds on every process from
 * the next request on; and it is judged before a credential is, so that nobody is charged for a guess.
 * @throws frozen, which says what is frozen, and not why.
 */
export const refuseFrozen = (scope: FreezeScope | null): void => {
  if (scope !== null) throw new AppError('frozen', `This ${scope} is frozen: nothing of it is signed, made or opened.`)
}
