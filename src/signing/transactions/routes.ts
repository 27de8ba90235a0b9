import { Type } from '@sinclair/typebox'
import { Elysia } from 'elysia'
import { reachOf, signatoryOf } from '../../identity/auth/caller.ts'
import type { Authentication } from '../../identity/auth/plugin.ts'
import { submitRoute } from '../../identity/idempotency/once.ts'
import { ADDRESS, CREDENTIAL, NAMED_WALLET, NODE, NONCE, SENDING, SIGNING } from '../../platform/http/codes.ts'
import { describedAs, shownSubmitted, TransactionResult, WaitingApproval } from '../../platform/http/schema.ts'
import type { SigningCtx } from '../ctx.ts'
import { readSigner } from '../wallets/signer.ts'
import { refusalSentence } from './failure-words.ts'
import { parseFees } from './intent.ts'
import { ListedTransaction, ListTransactionsQuery, parseListQuery } from './list-schema.ts'
import { SignedPayload, SignPayloadBody } from './payload-schema.ts'
import { previewTransactions } from './preview.ts'
import { PreviewBody, PreviewBundleBody, PreviewResult } from './preview-schema.ts'
import * as schema from './schema.ts'
import { batchSignAndSend, signAndSend, signTransaction } from './sign.ts'
import { signAuthorization, signMessage } from './sign-message.ts'
import { signPayload } from './sign-payload.ts'
import { speedUpTransaction } from './speed-up.ts'
import { listTransactions, type Recorded, statusByHash, statusById } from './status.ts'
import { cancelTransaction, retryTransaction } from './waiting.ts'

const { detail, idempotent } = describedAs('Transactions')

const PREVIEWING = [...NODE, ...ADDRESS, 'network_required'] as const

const shownWaiting = (
  waiting: Recorded['waiting'],
): Pick<schema.TransactionStatusById, 'waiting' | 'waiting_reason'> => {
  if (waiting === null) return {}
  const sentence = refusalSentence(waiting)
  return { waiting: waiting.reason, ...(sentence === null ? {} : { waiting_reason: sentence }) }
}

const shownStatus = ({ row, waiting }: Recorded): schema.TransactionStatusById => ({
  transaction_id: row.id,
  transaction_hash: row.shownHash,
  network: row.network,
  status: row.status,
  contract_address: row.contractAddress,
  ...shownWaiting(waiting),
  ...(row.error === null ? {} : { error: row.error }),
  ...(row.errorCode === null ? {} : { code: row.errorCode }),
})

const shownListed = (recorded: Recorded): ListedTransaction => ({
  ...shownStatus(recorded),
  wallet_address: recorded.row.contractWallet ?? recorded.row.signerAddress,
  kind: recorded.row.kind,
  created_at: recorded.row.createdAt.toISOString(),
})

export const transactionRoutes = (ctx: SigningCtx, authentication: Authentication) => {
  const submit = submitRoute(ctx, shownSubmitted)
  return new Elysia({ prefix: '/transactions', normalize: false })
    .use(authentication)
    .get(
      '',
      async ({ query, caller }) =>
        (await listTransactions(ctx, { ...reachOf(caller), ...parseListQuery(query) })).map(shownListed),
      {
        query: ListTransactionsQuery,
        response: { 200: Type.Array(ListedTransaction) },
        ...detail(
          'List transactions',
          'Those of all wallets that the caller can see, or of one, newest first. For the next page ask with `before`, the `transaction_id` of the last item seen: each page is equally fast.',
          [...ADDRESS, 'network_required', 'wallet_forbidden'],
        ),
      },
    )
    .post(
      '/preview',
      async ({ body, caller }) => {
        const [result] = await previewTransactions(ctx, {
          ...reachOf(caller),
          network: body.network,
          from: body.from,
          unsignedTransactions: [body.unsigned_transaction],
        })
        if (result === undefined) throw new Error('a preview of one transaction had no result')
        return result
      },
      {
        body: PreviewBody,
        response: { 200: PreviewResult },
        ...detail(
          'Preview a transaction',
          'Simulates it and sends nothing: the decoded call and the asset changes.',
          PREVIEWING,
        ),
      },
    )
    .post(
      '/preview-bundle',
      async ({ body, caller }) => [
        ...(await previewTransactions(ctx, {
          ...reachOf(caller),
          network: body.network,
          from: body.from,
          unsignedTransactions: body.unsigned_transactions,
        })),
      ],
      {
        body: PreviewBundleBody,
        response: { 200: Type.Array(PreviewResult) },
        ...detail('Preview a bundle', 'In sequence: later transactions see the effects of earlier ones.', PREVIEWING),
      },
    )
    .post(
      '/sign',
      async ({ body, caller, set }) => {
        set.headers['content-type'] = 'application/json'
        const input = {
          ...signatoryOf(caller, body),
          ...readSigner(body),
          unsignedTransaction: body.unsigned_transaction,
        }
        return JSON.stringify(await signTransaction(ctx, input))
      },
      {
        body: schema.SignBody,
        response: { 200: schema.RawTransaction, 202: WaitingApproval },
        ...detail(
          'Sign a transaction',
          'Sends nothing. On the EVM networks the fields decide the type of the transaction: 0, 1 or 2. For an `eoa` wallet with every field given it asks no node. For a wallet of type `contract` it signs a transaction of the key, which also deploys the wallet if that has no code. The answer is a JSON string.',
          [...SIGNING, ...NAMED_WALLET, 'fee_too_low'],
        ),
      },
    )
    .post(
      '/sign-and-send',
      ({ body, caller, request, route }) =>
        submit({ body, caller, request, route }, (by) =>
          signAndSend(ctx, { ...by, ...readSigner(body), unsignedTransaction: body.unsigned_transaction }),
        ),
      {
        body: schema.SendBody,
        response: { 200: TransactionResult, 202: WaitingApproval },
        ...idempotent('Sign and send a transaction', 'Answers once it is recorded; a job sends it. See status-by-id.', [
          ...SENDING,
          ...NAMED_WALLET,
          ...NONCE,
          'fee_too_low',
        ]),
      },
    )
    .post(
      '/batch-sign-and-send',
      ({ body, caller, request, route }) =>
        submit({ body, caller, request, route }, (by) =>
          batchSignAndSend(ctx, {
            ...by,
            ...readSigner(body),
            unsignedTransactions: body.unsigned_transactions,
          }),
        ),
      {
        body: schema.BatchBody,
        response: { 200: TransactionResult, 202: WaitingApproval },
        ...idempotent(
          'Sign and send a batch',
          'In order, all of them or none, by a wallet of type `contract`; any other wallet: `batch_unsupported`.',
          [...SENDING, ...NAMED_WALLET, 'batch_unsupported'],
        ),
      },
    )
    .post(
      '/speed-up',
      ({ body, caller, request, route }) =>
        submit({ body, caller, request, route }, (by) =>
          speedUpTransaction(ctx, {
            ...by,
            id: body.transaction_id,
            fees: parseFees(body),
          }),
        ),
      {
        body: schema.SpeedUpBody,
        response: { 200: TransactionResult, 202: WaitingApproval },
        ...idempotent(
          'Sign again at higher fees',
          'Signs a transaction that is in no block again, for the same nonce, at fees above what was sent of it, and sends it, even if it was given up. Whichever is mined counts. Not on Substrate networks: an extrinsic there ends by itself.',
          [...SIGNING, 'fee_too_low', 'transaction_not_found', 'transaction_not_waiting'],
        ),
      },
    )
    .post(
      '/cancel',
      ({ body, caller, request, route }) =>
        submit({ body, caller, request, route }, ({ actor, remember, ...reach }) =>
          cancelTransaction(ctx, { actor, remember, reach, id: body.transaction_id }),
        ),
      {
        body: schema.WaitingBody,
        response: { 200: TransactionResult },
        ...idempotent(
          'Give a transaction up',
          'For a transaction that is in no block: from now on only its cancelling transaction is sent, which uses the nonce and costs a fee. What a node already has may still be mined, and then counts. Otherwise it ends as failed (`expired`). It needs no credential: the cancelling transaction was signed with it. Once given up, it answers the same again. Not on Substrate networks: an extrinsic there ends by itself.',
          ['transaction_not_found', 'transaction_not_waiting'],
        ),
      },
    )
    .post(
      '/retry',
      ({ body, caller, request, route }) =>
        submit({ body, caller, request, route }, ({ actor, remember, ...reach }) =>
          retryTransaction(ctx, { actor, remember, reach, id: body.transaction_id }),
        ),
      {
        body: schema.WaitingBody,
        response: { 200: TransactionResult },
        ...idempotent(
          'Send a transaction again',
          'For a transaction that is in no block: a job sends what is signed of it once more, now. This happens by itself, too; sending twice does no harm, and no new fee is offered (see speed-up).',
          ['transaction_not_found', 'transaction_not_waiting'],
        ),
      },
    )
    .get(
      '/status-by-hash',
      async ({ query, caller }) => {
        const found = await statusByHash(ctx, {
          ...reachOf(caller),
          network: query.network,
          hash: query.transaction_hash,
        })
        return {
          transaction_hash: found.hash,
          network: query.network,
          status: found.status,
          contract_address: found.contractAddress,
        }
      },
      {
        query: schema.StatusByHashQuery,
        response: { 200: schema.TransactionStatusByHash },
        ...detail(
          'Status by hash',
          'For any transaction that the chain knows; for a replaced hash the answer has the mined one. On Substrate networks a mortal extrinsic that was only signed is `pending` as long as a block may take it.',
          [...NODE, 'transaction_not_found'],
        ),
      },
    )
    .get(
      '/status-by-id',
      async ({ query, caller }) => shownStatus(await statusById(ctx, { ...reachOf(caller), id: query.id })),
      {
        query: schema.StatusByIdQuery,
        response: { 200: schema.TransactionStatusById },
        ...detail('Status by id', 'For an id that sign-and-send, mint, transfer or collections returned.', [
          'transaction_not_found',
        ]),
      },
    )
    .post(
      '/sign-payload',
      async ({ body, caller }) => ({
        signature: await signPayload(ctx, {
          ...signatoryOf(caller, body),
          ...readSigner(body),
          payload: body.payload,
        }),
      }),
      {
        body: SignPayloadBody,
        response: { 200: SignedPayload, 202: WaitingApproval },
        ...detail(
          'Sign a payload of @polkadot/api',
          'Signs what a dapp shows its signer (`signPayload`), byte for byte, if the present runtime takes it. Sends nothing. Only on Substrate networks.',
          [...SIGNING, ...NAMED_WALLET],
        ),
      },
    )
    .post(
      '/sign-message',
      async ({ body, caller }) => ({
        signature: await signMessage(ctx, {
          ...signatoryOf(caller, body),
          ...readSigner(body),
          message: body.message,
          messageType: body.message_type ?? 'string',
        }),
      }),
      {
        body: schema.SignMessageBody,
        response: { 200: schema.SignedMessage },
        ...detail(
          'Sign a message',
          'Never with a policy. If developer and user share control, it needs both credentials, as an export does.',
          [...CREDENTIAL, ...NODE, ...NAMED_WALLET, 'contract_wallet_changed'],
        ),
      },
    )
    .post(
      '/sign-authorization',
      async ({ body, caller }) => {
        const { chainId, yParity, ...signed } = await signAuthorization(ctx, {
          ...signatoryOf(caller, body),
          ...readSigner(body),
          authorization: body.authorization,
        })
        return { ...signed, chain_id: chainId, y_parity: yParity }
      },
      {
        body: schema.SignAuthorizationBody,
        response: { 200: schema.SignedAuthorization },
        ...detail(
          'Sign an authorisation (EIP-7702)',
          'Lets the account run the code of a contract, once somebody sends it in a transaction of type 4. Sends nothing. Only for contracts that the operator allowed for the project, and never with a policy. If developer and user share control, it needs both credentials.',
          [...CREDENTIAL, ...NODE, ...NAMED_WALLET, 'delegate_not_allowed'],
        ),
      },
    )
}
