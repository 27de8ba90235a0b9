// The rules for developer secrets. On testnet it is a published constant, so that anyone can try the service. On mainnet each
// developer chooses one, and nothing stores it: the database has only what is sealed under it.

import type { Environment } from '../../../db/words.ts'
import { AppError, unreachable } from '../../errors.ts'

export const TESTNET_DEVELOPER_SECRET = 'testnet-secret'

const MAINNET_CHARACTERS_MIN = 16
/** The request's field takes no more. */
const CHARACTERS_MAX = 256
/** Nobody can type these. */
const CONTROL_CHARACTER = /\p{Cc}/u

const refuse = (sentence: string): never => {
  throw new AppError('invalid_input', sentence)
}

/** @throws invalid_input for a secret that the environment refuses. The sentence contains nothing of the secret. */
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
