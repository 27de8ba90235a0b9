// One intent is mined at most once. The request prepares it against the chain. Then ONE database transaction locks the
// signer, chooses the nonce, has it signed, and records the transaction, its attempts and the broadcast job; if the
// vault takes long, a second one does so (sign-and-record.ts). The vault commits the audit row before that in its own
// transaction, so a signature in the audit may not be recorded here. Nothing is sent here: the answer is `submitted`,
// and the worker sends the recorded bytes as often as necessary.
//
// Requests of one signer are prepared at the same time, here and in other processes, and recorded one after the other,
// here in the order in which they came, several of them at once (record-together.ts). So other requests may have been
// recorded since one was prepared. That does no harm, because the lock comes before all that is decided by our records:
// - nonce: the chain's counts say what was used when they were read. All that was recorded since is held.
// - balance: it is from the same batch as the mined count, and is read after it. Our rows from that count on are not
//   paid out of it yet, whatever became of them since, so all of them count (`readHeld`).
// - a reaped account: its count and the block are of one state; an era that had ended stays ended (`releaseReaped`).
// - the deployment of a contract wallet is recorded only if there still is none.
// - fees, gas limit and era are some seconds old, as they are when a node is slow.
// A preparation that needs the earlier requests (to run after them, to number a token, to add up what a contract
// wallet sends) waits for its turn before it reads our records.

import { randomUUID } from 'node:crypto'
import { listLost } from '../../../db/queries/restore.ts'
import type { Chain } from '../../chains/chain.ts'
import { isOpen, openOf } from '../../chains/intent.ts'
import { AppError } from '../../platform/errors.ts'
import type { OrderedQueues } from '../../platform/queue.ts'
import type { SigningCtx } from '../ctx.ts'
import { withKeyFor } from '../policies/delegated.ts'
import { refuseExcess } from '../policies/intent-bounds.ts'
import { signerAddressOf } from '../wallets/signer.ts'
import type { SubmitInput, Submitted } from './plan.ts'
import { recordInTurn } from './record-together.ts'
import { prepareSending, type Sending } from './sending.ts'

/** They prepare transactions of one signer together, and record them in the order of the requests. */
export type HasSignerQueues = { readonly signerQueues: OrderedQueues }

/** Before it, this submits the deployment of a contract wallet without code. If it throws, nothing is recorded. */
export const submitIntent = (ctx: SigningCtx, input: SubmitInput): Promise<Submitted> => {
  const { chain, wallet } = input
  const signer = { network: chain.network, address: signerAddressOf(chain, wallet) }
  return ctx.signerQueues.run(`${signer.network}/${signer.address}`, (turn) =>
    withKeyFor(ctx, { ...input, action: input.kind, intents: () => input.intents(turn) }, async (key, intents) => {
      if (key.byPolicy) await refuseExcessive(ctx, { ...input, signer, intents, turn })
      const [sending, lost] = await Promise.all([
        prepareSending(ctx, { ...input, signer, intents, turn }),
        input.allowsRepeat ? [] : listLost(ctx.db, wallet.id),
      ])
      refuseRepeat(chain, { sending, lost })
      const submitted = { transactionId: randomUUID(), network: signer.network, status: 'submitted' } as const
      const traceparent = ctx.tracer.traceparent()
      const recording = { ...input, signer, key, sending, submitted, deploymentId: randomUUID(), traceparent }
      return await recordInTurn(ctx, turn, recording)
    }),
  )
}

/** A request that is repeated after a restore does not find its first answer. */
const refuseRepeat = (
  chain: Chain,
  { sending, lost }: { readonly sending: Sending; readonly lost: Awaited<ReturnType<typeof listLost>> },
): void => {
  if (lost.length === 0) return
  const callText = chain.callTextOf(sending.transaction.prepared.unsigned)
  const equal = lost.find((each) => each.callText.endsWith(callText))
  if (equal === undefined) return
  throw new AppError(
    'repeat_refused',
    `The chain has an equal transaction of this wallet, ${equal.hash}, which a restore of the database had lost: to send it once more, set "allow_repeat" to true.`,
  )
}

/** With a policy, refuses gas and fees far above what we would choose. */
const refuseExcessive = async (ctx: SigningCtx, input: Parameters<typeof prepareSending>[1]): Promise<void> => {
  const { chain, intents } = input
  // The first intent's gas and fees are those of all.
  const [first] = intents
  if (first === undefined || isOpen(first)) return
  const { transaction } = await prepareSending(ctx, { ...input, intents: intents.map(openOf) })
  await refuseExcess(chain, { intent: first, ordinary: transaction.prepared.unsigned })
}
