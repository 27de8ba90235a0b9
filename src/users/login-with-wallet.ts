import { randomBytes } from 'node:crypto'
import { insertNonce } from '../../db/queries/nonces.ts'
import type { Asked } from '../auth/plugin.ts'
import { throttle } from '../auth/throttle.ts'
import type { Ctx } from '../context.ts'
import { beginsFor, beginsFrom } from './limits.ts'
import { readSignInWallet } from './sign-in-wallet.ts'
import { userIdOf } from './user-id.ts'

const WAY = 'wallet'
/** 128 bits; as hex it is of EIP-4361's alphabet. */
const NONCE_BYTES = 16
const NONCE_SECONDS = 300

/**
 * Gives out the nonce of a sign-in message, for one wallet and once, whether the wallet is a user's already or not.
 * @returns the nonce, and whose session its signature begins.
 * @throws address_invalid, invalid_input, rate_limited.
 */
export const loginWithWallet = async (
  ctx: Ctx,
  asked: Asked,
  input: { readonly signInWallet: string },
): Promise<{ readonly userId: string; readonly nonce: string }> => {
  const { projectId } = asked
  const signInWallet = readSignInWallet(ctx.config, input.signInWallet)
  await throttle(ctx, [beginsFrom(ctx, asked, WAY), ...beginsFor(ctx, asked, WAY, signInWallet)])
  const userId = await userIdOf(ctx, { projectId, by: { signInWallet } })
  const nonce = randomBytes(NONCE_BYTES).toString('hex')
  const terms = { userId: null, target: signInWallet, lifetimeSeconds: NONCE_SECONDS }
  await insertNonce(ctx.db, { projectId, kind: 'wallet', nonce, ...terms })
  return { userId, nonce }
}
