// The rules for developer secrets. On testnet it is a published constant, so that anyone can try the service. On mainnet each
// developer chooses one, and nothing stores it: the database has only what is sealed under it.

import { isUtf8 } from 'node:buffer'
import type { Environment } from '../../../../db/words.ts'
import { AppError, unreachable } from '../../../platform/errors.ts'
import { type SecretText, utf8Of } from '../../../platform/sealing/bytes.ts'
import { TESTNET_DEVELOPER_SECRET } from '../../contract/contract.ts'

const TESTNET_BYTES = Buffer.from(TESTNET_DEVELOPER_SECRET)

const MAINNET_CHARACTERS_MIN = 16
/** The request's field takes no more. */
const CHARACTERS_MAX = 256

/** The length of UTF-8 bytes as UTF-16 counts it: characters beyond U+FFFF count as two. */
const lengthOf = (bytes: Uint8Array): number =>
  bytes.reduce((length, byte) => length + (byte >= 0xf0 ? 2 : (byte & 0xc0) === 0x80 ? 0 : 1), 0)

const isText = (secret: SecretText): boolean => (typeof secret === 'string' ? secret.isWellFormed() : isUtf8(secret))

/** Nobody can type these: U+0000 to U+001F, and U+007F to U+009F. */
const hasControlCharacter = (bytes: Uint8Array): boolean =>
  bytes.some((byte, at) => byte < 0x20 || byte === 0x7f || (byte < 0xa0 && byte >= 0x80 && bytes[at - 1] === 0xc2))

const refuse = (sentence: string): never => {
  throw new AppError('invalid_input', sentence)
}

/** @throws invalid_input for a secret that the environment refuses. The sentence contains nothing of the secret. */
export const requireDeveloperSecret = (environment: Environment, secret: SecretText): void => {
  const bytes = utf8Of(secret)
  switch (environment) {
    case 'testnet':
      if (!TESTNET_BYTES.equals(bytes)) refuse(`On testnet the developer secret is "${TESTNET_DEVELOPER_SECRET}".`)
      return
    case 'mainnet':
      if (bytes.includes(TESTNET_BYTES)) refuse('On mainnet the secret of testnet is refused, with more around it too.')
      if (lengthOf(bytes) < MAINNET_CHARACTERS_MIN || lengthOf(bytes) > CHARACTERS_MAX) {
        refuse(
          `On mainnet the developer secret must have from ${MAINNET_CHARACTERS_MIN} to ${CHARACTERS_MAX} characters.`,
        )
      }
      if (hasControlCharacter(bytes) || !isText(secret)) {
        refuse('The developer secret must be well-formed text without control characters.')
      }
      return
    default:
      unreachable(environment)
  }
}
