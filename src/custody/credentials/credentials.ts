// Which credentials a request must have. This is checked before anything is opened, so that no guess is charged for a
// request that cannot succeed.
//
// Signing needs the credential of the wallet's control mode, and so does creating a wallet. If the other mode alone controls
// the owner's keyring, creating needs both, and control of the keyring is shared from then on.

import { CONTROL_MODES, type ControlMode, type FreezeScope } from '../../../db/words.ts'
import { AppError, type SecurityEvent } from '../../errors.ts'
import type { SecretText } from '../sealing/bytes.ts'

/** The caller's address: IPv4, or the /64 of an IPv6 address; absent or '' if it is not known. */
type CallerAddress = { readonly from?: string | undefined }

/** The address for a security event. */
export const whereOf = (from: string | undefined): Readonly<Record<string, string>> =>
  from === undefined || from === '' ? {} : { from }

/** The credentials as they came in a request's body. */
export type Credentials = CallerAddress & {
  readonly developerSecret?: SecretText | undefined
  readonly userPin?: SecretText | undefined
}

/** The credentials that the request needs; null for one that it does not need. */
export type Proof = CallerAddress & {
  readonly developerSecret: SecretText | null
  readonly userPin: SecretText | null
}

const FIELD = { developer: 'developer_secret', user: 'user_pin' } as const satisfies Record<ControlMode, string>

const missing = (modes: readonly ControlMode[]): AppError =>
  new AppError(
    'credential_required',
    modes.length === 1
      ? `Field "${modes.map((mode) => FIELD[mode]).join()}" is required.`
      : `Fields "developer_secret" and "user_pin" are required: the owner has wallets of the other control mode.`,
  )

/** The given credentials of some modes. */
export const onlyOf = ({
  modes,
  credentials: { developerSecret, userPin, from },
}: {
  readonly modes: readonly ControlMode[]
  readonly credentials: Credentials
}): Credentials => ({
  developerSecret: modes.includes('developer') ? developerSecret : undefined,
  userPin: modes.includes('user') ? userPin : undefined,
  from,
})

/** The control modes whose credentials a new wallet of `mode` needs, if the keyring has locks of the modes `locked`. */
export const modesForCreation = (input: {
  readonly mode: ControlMode
  /** Empty for an owner without a keyring. */
  readonly locked: readonly ControlMode[]
}): readonly ControlMode[] =>
  input.locked.length === 0 || input.locked.includes(input.mode) ? [input.mode] : CONTROL_MODES

/** @throws credential_required if a credential of `modes` is missing, credential_ambiguous if there is another. */
export const requireCredentials = (input: {
  readonly modes: readonly ControlMode[]
  readonly credentials: Credentials
}): Proof => {
  const { modes } = input
  const given = {
    developer: input.credentials.developerSecret ?? null,
    user: input.credentials.userPin ?? null,
  } satisfies Record<ControlMode, SecretText | null>
  if (modes.some((mode) => given[mode] === null)) throw missing(modes)
  if (CONTROL_MODES.some((mode) => !modes.includes(mode) && given[mode] !== null)) {
    throw new AppError('credential_ambiguous', `Field "${modes.map((mode) => FIELD[mode]).join()}" alone belongs here.`)
  }
  return { developerSecret: given.developer, userPin: given.user, from: input.credentials.from }
}

/**
 * Creating a policy needs the credential of the wallet's mode. A developer's secret beside a PIN is optional, and is checked.
 * @throws credential_required
 */
export const requireConsent = ({
  mode,
  credentials,
}: {
  readonly mode: ControlMode
  readonly credentials: Credentials
}): Proof => {
  if (mode === 'developer') return requireCredentials({ modes: [mode], credentials })
  if (credentials.userPin === undefined) throw missing(['user'])
  return requireCredentials({
    modes: credentials.developerSecret === undefined ? ['user'] : CONTROL_MODES,
    credentials,
  })
}

/** The credential opens nothing. The error does not say which of two it was. */
export const invalidSecret = (event?: SecurityEvent): AppError =>
  new AppError('INVALID_SECRET', 'The credential is wrong.', { event })

/** Refuses what an operator has frozen. Call it before a credential is checked, so that no guess is charged. */
export const refuseFrozen = (scope: FreezeScope | null): void => {
  if (scope !== null) throw new AppError('frozen', `This ${scope} is frozen: nothing of it is signed, made or opened.`)
}
