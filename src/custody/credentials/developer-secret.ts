// What a developer secret must be. On testnet it is a published constant, so that anyone can try the service. On mainnet
// it is the developer's own, which nobody else ever keeps: only what it seals is written down.

import type { Environment } from '../../../db/words.ts'
import { AppError, unreachable } from '../../errors.ts'

export const TESTNET_DEVELOPER_SECRET = 'testnet-secret'

const MAINNET_CHARACTERS_MIN = 16
/** More could not be sent: a request's field takes no more. */
const CHARACTERS_MAX = 256
/** What a request's JSON could not hold, or nobody could type. */
const CONTROL_CHARACTER = /\p{Cc}/u

const refuse = (sentence: string): never => {
  throw new AppError('invalid_input', sentence)
}

/** @throws invalid_input for a secret that the environment refuses; it repeats nothing of the secret. */
export const requireDeveloperSecret = (environment: Environment, secret: string): void => {
  switch (environment) {
    case 'testnet':
      if (secret !== TESTNET_DEVELOPER_SECRET)
        refuse(`On testnet the developer secret is "${TESTNET_DEVELOPER_SECRET}".`)
      return
    case 'mainnet':
      if (secret.includes(TESTNET_DEVELOPER_SECRET))
        refuse('On mainnet the secret of testnet is refused, with more around it too.')
      if (secret.length < MAINNET_CHARACTERS_MIN || secret.length > CHARACTERS_MAX) {
        refuse(
          `On mainnet the developer secret must have from ${MAINNET_CHARACTERS_MIN} to ${CHARACTERS_MAX} characters.`,
        )
      }
      if (CONTROL_CHARACTER.test(secret) || !secret.isWellFormed()) {
        refuse('The developer secret must be well-formed text without control characters.')
      }
      return
    default:
      unreachable(environment)
  }
}
