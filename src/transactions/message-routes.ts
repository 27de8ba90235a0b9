import { Elysia } from 'elysia'
import { signatoryOf } from '../auth/caller.ts'
import type { Authentication } from '../auth/plugin.ts'
import type { Ctx } from '../context.ts'
import { answers } from '../http/schema.ts'
import { SignedMessage, SignMessageBody } from './message-schema.ts'
import { signMessage } from './sign-message.ts'

export const messageRoutes = (ctx: Ctx, authentication: Authentication) =>
  new Elysia({ prefix: '/transactions', normalize: false }).use(authentication).post(
    '/sign-message',
    async ({ body, caller }) => ({
      signature: await signMessage(ctx, {
        ...signatoryOf(caller, body),
        network: body.network,
        signerAddress: body.signer_wallet_address,
        message: body.message,
        messageType: body.message_type ?? 'string',
      }),
    }),
    {
      body: SignMessageBody,
      response: answers(SignedMessage),
      detail: {
        tags: ['Transactions'],
        summary: 'Sign a message',
        description:
          'Never by a policy. Where developer and user share control, it takes both credentials, as an export does.',
      },
    },
  )
