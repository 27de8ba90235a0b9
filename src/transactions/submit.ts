// One intent, at most one mined effect. In the request: prepare against the chain, then ONE database transaction that
// locks the signer, chooses the nonce, signs, and records transaction, attempt, audit row and broadcast job together.
// Nothing is sent here: the answer is `submitted`, and the worker sends the recorded bytes as often as it takes.

import { randomUUID } from 'node:crypto'
import type { Tx } from '../../db/client.ts'
import { addJob } from '../../db/jobs.ts'
import { type Held, insertAttempts, insertTransaction, lockSigner, readHeld } from '../../db/queries/transactions.ts'
import type { WalletRow } from '../../db/queries/wallets.ts'
import type { Network, TransactionKind } from '../../db/words.ts'
import type { Chain, Intent, Prepared, Unsigned } from '../chains/chain.ts'
import type { Ctx } from '../context.ts'
import type { Credentials, KeyHandle } from '../custody/vault.ts'
import { AppError } from '../errors.ts'
import type { Remember } from '../idempotency/once.ts'
import { type Charge, withKeyFor } from '../policies/delegated.ts'
import { displayAmount, nativeToken } from '../tokens/token.ts'
import { chooseNonce } from './nonce.ts'
import { recordedBefore } from './recorded-before.ts'

export type SubmitInput = {
  readonly projectId: string
  readonly actor: string
  readonly kind: TransactionKind
  readonly chain: Chain
  readonly wallet: WalletRow
  readonly credentials: Credentials
  /** Built when it is the signer's turn, so that it sees what the chain says then. */
  readonly intent: () => Promise<Intent>
  /** Rows of the resource itself, in the same database transaction. */
  readonly alsoRecord?: (tx: Tx, transactionId: string) => Promise<void>
  readonly remember?: Remember<Submitted> | undefined
}

export type Submitted = { readonly transactionId: string; readonly network: Network; readonly status: 'submitted' }

/**
 * Records an intent and its signed bytes.
 * @throws the vault's credential errors, policy_denied, execution_reverted, balance_insufficient, nonce_too_low,
 * nonce_conflict, nonce_gap, node_unavailable, busy. Where it throws, nothing is recorded.
 */
export const submitIntent = (ctx: Ctx, input: SubmitInput): Promise<Submitted> => {
  const signer = { network: input.chain.network, address: input.wallet.address }
  return ctx.mailboxes.run(`${signer.network}/${signer.address}`, () =>
    withKeyFor(ctx, input, async (key, { intent, charge }) => {
      const behind = () => recordedBefore(ctx, { signer, projectId: input.projectId, to: intent.to })
      const prepared = await input.chain.prepare(intent, signer.address, { behind })
      const transactionId = randomUUID()
      const submitted = { transactionId, network: signer.network, status: 'submitted' } as const
      await ctx.db.transaction(async (tx) => {
        await record(tx, { ...input, signer, key, intent, charge, prepared, transactionId })
        await input.remember?.(tx, submitted)
      })
      return submitted
    }),
  )
}

type RecordInput = SubmitInput & {
  readonly signer: { readonly network: Network; readonly address: string }
  readonly key: KeyHandle
  /** Of the policy by which the key was opened. */
  readonly charge: Charge | null
  readonly prepared: Prepared
  readonly transactionId: string
}

const record = async (tx: Tx, input: Omit<RecordInput, 'intent'> & { readonly intent: Intent }): Promise<void> => {
  const { chain, signer, prepared, transactionId } = input
  await lockSigner(tx, signer)
  const held = await readHeld(tx, signer, prepared.minedCount)
  refuseOverdraft(input, held)
  await input.charge?.(tx)
  const nonce = chooseNonce(input.intent.nonce, { ...prepared, held: held.nonces })
  const rungs = chain.ladder(chain.withNonce(prepared.unsigned, nonce), input.intent)
  const [first] = rungs
  const top = rungs.at(-1)
  if (first === undefined || top === undefined) throw new Error('a fee ladder has no rung')
  // The credential is gone later: all that may ever be sent for this intent is signed now.
  const cancel = chain.cancel({ top, atMarket: prepared.atMarket, from: signer.address })
  const signed = [...rungs, cancel].map((unsigned) =>
    chain.assemble(unsigned, input.key.sign(chain.signingBytes(unsigned))),
  )
  await insertTransaction(tx, { ...rowOf(input, first), rungs: rungs.length })
  await Promise.all([
    insertAttempts(
      tx,
      { network: signer.network, transactionId },
      signed.map((attempt, index) =>
        index === rungs.length ? { ...attempt, kind: 'cancel', rung: 0 } : { ...attempt, kind: 'rung', rung: index },
      ),
    ),
    input.key.recordUse(tx, {
      action: 'transaction_submitted',
      details: {
        network: signer.network,
        transaction: transactionId,
        kind: input.kind,
        hash: signed[0]?.hash ?? '',
        nonce: String(nonce),
      },
    }),
    addJob(tx, 'broadcast_transaction', { transactionId }, { key: `broadcast:${transactionId}`, whenKeyed: 'new' }),
  ])
  await input.alsoRecord?.(tx, transactionId)
}

const rowOf = (input: Omit<RecordInput, 'intent'> & { readonly intent: Intent }, unsigned: Unsigned) => ({
  id: input.transactionId,
  projectId: input.projectId,
  walletId: input.wallet.id,
  network: input.signer.network,
  signerAddress: input.signer.address,
  kind: input.kind,
  nonce: unsigned.nonce,
  to: unsigned.to,
  value: unsigned.value,
  input: unsigned.input,
  gasLimit: unsigned.gasLimit,
  worstCost: input.prepared.worstCost,
})

/** Summed again under the lock: what was recorded since `prepare` counts too. @throws balance_insufficient. */
const refuseOverdraft = (input: Pick<RecordInput, 'signer' | 'prepared'>, held: Held): void => {
  const { signer, prepared } = input
  // Held from the mined count on: what is mined has left the balance already, though the tracker may not have told it yet.
  const missing = held.liveWorstCost + prepared.worstCost - prepared.balance
  if (missing <= 0n) return
  const coin = nativeToken(signer.network)
  throw new AppError(
    'balance_insufficient',
    `${signer.address} lacks ${displayAmount(missing, coin.decimals)} ${coin.symbol} for this and its pending transactions.`,
  )
}
