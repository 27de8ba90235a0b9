import { randomBytes } from 'node:crypto'
import { insertNonce } from '../../db/queries/nonces.ts'
import type { Ctx } from '../context.ts'

const BYTES = 32
export const CEREMONY_SECONDS = 300

/** What the options of a ceremony say of its time: ours ends it, too. */
export const CEREMONY_MS = CEREMONY_SECONDS * 1_000

/** A challenge that is good once, for five minutes. @returns it in base64url. */
export const newPasskeyChallenge = async (
  ctx: Pick<Ctx, 'db'>,
  input: {
    readonly projectId: string
    readonly kind: 'passkey_login' | 'passkey_registration'
    /** Who must answer it; null: anybody. */
    readonly userId: string | null
    readonly rpId: string
  },
): Promise<string> => {
  const { rpId: target, ...terms } = input
  const nonce = randomBytes(BYTES).toString('base64url')
  await insertNonce(ctx.db, { ...terms, target, nonce, lifetimeSeconds: CEREMONY_SECONDS })
  return nonce
}
