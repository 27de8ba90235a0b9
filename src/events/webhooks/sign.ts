// Standard Webhooks 1.0 (standardwebhooks.com): a secret is `whsec_` and 24 to 64 bytes in base64; a signature is `v1,`
// and the HMAC-SHA-256 of `id.timestamp.body` in base64. During a rotation the header has one signature for each
// secret.

import { createHmac, randomBytes } from 'node:crypto'

const PREFIX = 'whsec_'
const SECRET_BYTES = 32

export const newSecret = (): string => PREFIX + randomBytes(SECRET_BYTES).toString('base64')

const signText = (secret: string, signed: string): string => {
  const key = Buffer.from(secret.slice(PREFIX.length), 'base64')
  return `v1,${createHmac('sha256', key).update(signed, 'utf8').digest('base64')}`
}

/** The headers of a message. @param input.secrets those that are valid now, at least one. */
export const signedHeaders = (input: {
  readonly secrets: readonly string[]
  readonly messageId: string
  readonly at: Date
  readonly body: string
}): Readonly<Record<'webhook-id' | 'webhook-timestamp' | 'webhook-signature', string>> => {
  const { secrets, messageId, at, body } = input
  const timestamp = String(Math.floor(at.getTime() / 1000))
  const signed = `${messageId}.${timestamp}.${body}`
  return {
    'webhook-id': messageId,
    'webhook-timestamp': timestamp,
    'webhook-signature': secrets.map((secret) => signText(secret, signed)).join(' '),
  }
}
