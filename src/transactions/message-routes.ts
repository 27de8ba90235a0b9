import { Elysia } from 'elysia'
import { actorOf, reachOf } from '../auth/caller.ts'
import type { Authentication } from '../auth/plugin.ts'
import type { Ctx } from '../context.ts'
import { answers, credentialsOf } from '../http/schema.ts'
import { SignedMessage, SignMessageBody } from './message-schema.ts'
import { signMessage } from './sign-message.ts'

export const messageRoutes = (ctx: Ctx, authentication: Authentication) =>
  new Elysia({ prefix: '/transactions', normalize: false }).use(authentication).post(
    '/sign-message',
    async ({ body, caller }) => ({
      signature: await signMessage(ctx, {
        ...reachOf(caller),
        actor: actorOf(caller),
        network: body.network,
        signerAddress: body.signer_wallet_address,
        message: body.message,
        messageType: body.message_type ?? 'string',
        credentials: credentialsOf(body, caller),
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
