import { Elysia } from 'elysia'
import type { ProjectDoor } from '../auth/plugin.ts'
import type { Ctx } from '../context.ts'
import { answers } from '../http/schema.ts'
import { loginWithWallet } from './login-with-wallet.ts'
import { SignInWalletBody, WalletChallenge } from './wallet-schema.ts'

/** Logging in by a signed message. */
export const walletLoginRoutes = (ctx: Ctx, door: ProjectDoor) =>
  new Elysia({ prefix: '/users', normalize: false }).use(door).post(
    '/login-with-wallet',
    async ({ body, asked }) => {
      const { userId, nonce } = await loginWithWallet(ctx, asked, { signInWallet: body.sign_in_wallet })
      return { user_id: userId, nonce }
    },
    {
      body: SignInWalletBody,
      response: answers(WalletChallenge),
      detail: {
        tags: ['Users'],
        summary: 'Log in with a wallet',
        description:
          'Gives out a nonce for an EIP-4361 message, or its likeness for a Substrate account. Domain and URI must be of an allowed origin; the signed message goes to verify-login. The answer is the same whether or not the wallet is known.',
      },
    },
  )
