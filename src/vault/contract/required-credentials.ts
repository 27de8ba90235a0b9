// Which credentials a request must have. This is checked before anything is opened, so that no guess is charged for a
// request that cannot succeed.
//
// Signing needs the credential of the wallet's control mode, and so does creating a wallet. If the other mode alone
// controls the owner's keyring, creating needs both, and control of the keyring is shared from then on.

import { CONTROL_MODES, type ControlMode } from '../../../db/words.ts'
import { AppError, type SecurityEvent } from '../../platform/errors.ts'
import type { SecretText } from '../../platform/sealing/bytes.ts'

/** The caller's address: IPv4, or the /64 of an IPv6 address; absent or '' if it is not known. */
type CallerAddress = { readonly from?: string | undefined }

/** The address for a security event. */
export const whereOf = (from: string | undefined): Readonly<Record<string, string>> =>
  from === undefined || from === '' ? {} : { from }

/** The credentials as they came in a request's body. */
export type Credentials = CallerAddress & {
  readonly developerSecret?: SecretText | undefined
  readonly userPin?: SecretText | undefined
  /** Instead of the PIN: a recovery code, or what a passkey computes (user-secret.ts). */
  readonly userSecret?: SecretText | undefined
}

/** The credentials that the request needs; null for one that it does not need. A user supplies at most one. */
export type Proof = CallerAddress & {
  readonly developerSecret: SecretText | null
  readonly userPin: SecretText | null
  readonly userSecret: SecretText | null
}

const FIELD = {
  developer: 'Field "developer_secret"',
  user: 'Field "user_pin" or "user_secret"',
} as const satisfies Record<ControlMode, string>

const BOTH_REQUIRED =
  'Field "developer_secret", and "user_pin" or "user_secret", are required: the owner has wallets of the other control mode.'

const missing = (modes: readonly ControlMode[]): AppError =>
  new AppError(
    'credential_required',
    modes.length === 1 ? `${modes.map((mode) => FIELD[mode]).join()} is required.` : BOTH_REQUIRED,
  )

/** @throws credential_ambiguous for a PIN and another secret of the user together. */
const userCredentialIn = ({ userPin, userSecret }: Credentials): SecretText | null => {
  if (userPin === undefined || userSecret === undefined) return userPin ?? userSecret ?? null
  throw new AppError('credential_ambiguous', 'Only one of the fields "user_pin" and "user_secret" belongs here.')
}

/** The given credentials of some modes. */
export const onlyOf = ({
  modes,
  credentials: { developerSecret, userPin, userSecret, from },
}: {
  readonly modes: readonly ControlMode[]
  readonly credentials: Credentials
}): Credentials => ({
  developerSecret: modes.includes('developer') ? developerSecret : undefined,
  userPin: modes.includes('user') ? userPin : undefined,
  userSecret: modes.includes('user') ? userSecret : undefined,
  from,
})

/** The control modes whose credentials a new wallet of `mode` needs, if the keyring has locks of the modes `locked`. */
export const modesForCreation = (input: {
  readonly mode: ControlMode
  /** Empty for an owner without a keyring. */
  readonly locked: readonly ControlMode[]
}): readonly ControlMode[] =>
  input.locked.length === 0 || input.locked.includes(input.mode) ? [input.mode] : CONTROL_MODES

/**
 * @throws credential_required if a credential of `modes` is missing, credential_ambiguous if there is another or a
 * second one.
 */
export const requireCredentials = (input: {
  readonly modes: readonly ControlMode[]
  readonly credentials: Credentials
}): Proof => {
  const { modes, credentials } = input
  const given = {
    developer: credentials.developerSecret ?? null,
    user: userCredentialIn(credentials),
  } satisfies Record<ControlMode, SecretText | null>
  if (modes.some((mode) => given[mode] === null)) throw missing(modes)
  if (CONTROL_MODES.some((mode) => !modes.includes(mode) && given[mode] !== null)) {
    throw new AppError('credential_ambiguous', `${modes.map((mode) => FIELD[mode]).join()} alone belongs here.`)
  }
  const { userPin = null, userSecret = null, from } = credentials
  return { developerSecret: given.developer, userPin, userSecret, from }
}

/**
 * Creating a policy needs the credential of the wallet's mode. A developer's secret beside the user's is optional, and
 * is checked.
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
  if (userCredentialIn(credentials) === null) throw missing(['user'])
  return requireCredentials({
    modes: credentials.developerSecret === undefined ? ['user'] : CONTROL_MODES,
    credentials,
  })
}

/**
 * The control mode of the one credential that was given.
 * @throws credential_required, credential_ambiguous
 */
export const modeOfOne = (credentials: Credentials): ControlMode => {
  const { developerSecret } = credentials
  const ofUser = userCredentialIn(credentials)
  if (developerSecret !== undefined && ofUser !== null) {
    throw new AppError(
      'credential_ambiguous',
      'One of the fields "developer_secret", "user_pin" and "user_secret" belongs here.',
    )
  }
  if (developerSecret !== undefined) return 'developer'
  if (ofUser !== null) return 'user'
  throw new AppError('credential_required', 'Field "developer_secret", "user_pin" or "user_secret" is required.')
}

/** The credential opens nothing. The error does not say which of two it was. */
export const invalidSecret = (event?: SecurityEvent): AppError =>
  new AppError('INVALID_SECRET', 'The credential is wrong.', { event })
