// One intent is mined at most once. The request prepares it against the chain. Then ONE database transaction locks the
// signer, chooses the nonce, has it signed, and records the transaction, its attempts and the broadcast job; if the
// vault takes long, a second one does so (sign-and-record.ts). The vault commits the audit row before that in its own
// transaction, so a signature in the audit may not be recorded here. Nothing is sent here: the answer is `submitted`,
// and the worker sends the recorded bytes as often as necessary.
//
// Requests of one signer are prepared at the same time, here and in other processes, and recorded one after the other,
// here in the order in which they came. So other requests may have been recorded since one was prepared. That does no
// harm, because the lock comes before all that is decided by our records:
// - nonce: the chain's counts say what was used when they were read. All that was recorded since is held.
// - balance: it is from the same batch as the mined count, and is read after it. Our rows from that count on are not
//   paid out of it yet, whatever became of them since, so all of them count (`readHeld`).
// - a reaped account: its count and the block are of one state; an era that had ended stays ended (`releaseReaped`).
// - the deployment of a contract wallet is recorded only if there still is none.
// - fees, gas limit and era are some seconds old, as they are when a node is slow.
// A preparation that needs the earlier requests (to run after them, to number a token, to add up what a contract
// wallet sends) waits for its turn before it reads our records.

import { randomUUID } from 'node:crypto'
import type { Tx } from '../../../db/client.ts'
import { hasDeployment } from '../../../db/queries/contract-wallets.ts'
import { listLost } from '../../../db/queries/restore.ts'
import {
  type Held,
  lockSigner,
  readHeld,
  releaseReaped,
  type Signer,
  transactionWithAttempts,
} from '../../../db/queries/transactions.ts'
import type { WalletRow } from '../../../db/queries/wallets.ts'
import type { Network, TransactionKind } from '../../../db/words.ts'
import type { Chain, Intent, Ladder } from '../../chains/chain.ts'
import { isOpen, openOf } from '../../chains/intent.ts'
import type { Signatory } from '../../identity/auth/caller.ts'
import type { Remember } from '../../identity/idempotency/once.ts'
import { displayAmount } from '../../platform/amount.ts'
import { AppError } from '../../platform/errors.ts'
import type { OrderedQueues, Turn } from '../../platform/queue.ts'
import type { SigningCtx } from '../ctx.ts'
import { type Signing, withKeyFor } from '../policies/delegated.ts'
import { refuseExcess } from '../policies/intent-bounds.ts'
import { coinAmount } from '../token.ts'
import { signerAddressOf } from '../wallets/signer.ts'
import { chooseNonce } from './nonce.ts'
import { type Alongside, recordSubmitted, type SubmittedRows } from './recorded.ts'
import { type PreparedTransaction, prepareSending, type Sending } from './sending.ts'
import { signAndRecord } from './sign-and-record.ts'
import { dearestGasFee, signLadders } from './sign-ladder.ts'

/** They prepare transactions of one signer together, and record them in the order of the requests. */
export type HasSignerQueues = { readonly signerQueues: OrderedQueues }

type SubmitInput = Pick<Signatory, 'projectId' | 'actor' | 'credentials' | 'approvalId' | 'allowsRepeat'> & {
  readonly kind: TransactionKind
  readonly chain: Chain
  readonly wallet: WalletRow
  /** One for an eoa wallet. @param turn after which the signer's earlier requests are recorded. */
  readonly intents: (turn: Turn) => Promise<readonly Intent[]>
  readonly alongside?: Alongside
  readonly remember?: Remember<Submitted> | undefined
}

export type Submitted = { readonly transactionId: string; readonly network: Network; readonly status: 'submitted' }

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
      await turn()
      const transactionId = randomUUID()
      const submitted = { transactionId, network: signer.network, status: 'submitted' } as const
      const traceparent = ctx.tracer.traceparent()
      const recording = { ...input, signer, key, sending, submitted, deploymentId: randomUUID(), traceparent }
      return await signAndRecord(ctx, {
        plan: (tx) => planUnderLock(tx, recording),
        sign: (planned) => signPlanned(recording, planned),
        write: async (tx, planned, signed) => {
          for (const [index, { rows }] of planned.entries()) await recordSubmitted(tx, rows, signed[index] ?? [])
          const { network } = signer
          tx.afterCommit(() => {
            for (const { transaction } of planned)
              ctx.metrics.transactions.accepted.inc({ network, kind: transaction.kind })
          })
          await input.remember?.(tx, submitted)
          return submitted
        },
        recorded: async (tx) => ((await transactionWithAttempts(tx, transactionId)) === null ? null : submitted),
      })
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

type RecordInput = SubmitInput & {
  readonly signer: Signer
  readonly key: Signing
  readonly sending: Sending
  readonly submitted: Submitted
  /** Identifies the deployment, if there is one. */
  readonly deploymentId: string
  readonly traceparent: string | null
}

const planUnderLock = async (tx: Tx, input: RecordInput): Promise<readonly Planned[]> => {
  const { signer, sending, submitted } = input
  const { transaction } = sending
  await lockSigner(tx, signer)
  const lifetime = input.chain.lifetimeOf(transaction.prepared.unsigned)
  if (lifetime !== null) {
    await releaseReaped(tx, signer, { fromNonce: transaction.prepared.minedCount, block: lifetime.bornAtBlock })
  }
  const held = await readHeld(tx, signer, {
    fromNonce: transaction.prepared.minedCount,
    asOfBlock: lifetime?.bornAtBlock ?? null,
  })
  refuseAssetOverdraft(signer, { transaction, held })
  const deployment = await stillToDeploy(tx, input)
  const spare = computeSpare(input, {
    transactions: deployment === null ? [transaction] : [deployment, transaction],
    held,
  })
  let { nonces } = held
  const planned: Planned[] = []
  if (deployment !== null) {
    const first = chooseNonce(undefined, { ...transaction.prepared, held: nonces })
    planned.push(plan(input, { transaction: deployment, id: input.deploymentId, nonce: first, spare }))
    nonces = new Set([...nonces, first])
  }
  const nonce = chooseNonce(transaction.intent.nonce, { ...transaction.prepared, held: nonces })
  planned.push(plan(input, { transaction, id: submitted.transactionId, nonce, spare }))
  return planned
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

/** The deployment, or null if another request has recorded one meanwhile. */
const stillToDeploy = async (tx: Tx, { signer, sending }: RecordInput): Promise<PreparedTransaction | null> => {
  const { contractWallet, deployment } = sending
  if (contractWallet === null || deployment === null) return null
  return (await hasDeployment(tx, { network: signer.network, contractWallet })) ? null : deployment
}

/** A transaction with its nonce, and everything that may ever be sent for it. */
type Planned = {
  readonly transaction: PreparedTransaction
  readonly id: string
  readonly nonce: number
  readonly ladder: Ladder
  readonly rows: SubmittedRows
}

type PlanInput = Pick<Planned, 'transaction' | 'id' | 'nonce'> & {
  /** What remains of the signer's balance after the worst cost of all its live transactions. */
  readonly spare: bigint
}

const plan = (input: RecordInput, { transaction, id, nonce, spare }: PlanInput): Planned => {
  const { chain, signer, submitted, alongside = {} } = input
  const { prepared, intent } = transaction
  const ladder = chain.ladder({
    unsigned: chain.withNonce(prepared.unsigned, nonce),
    atMarket: prepared.atMarket,
    intent,
    from: signer.address,
    spendable: prepared.worstCost + spare,
    worstCost: prepared.worstCost,
  })
  const row = makeRow(input, { transaction, id, ladder })
  const isAsked = id === submitted.transactionId
  return { transaction, id, nonce, ladder, rows: { kind: 'submitted', row, alongside: isAsked ? alongside : {} } }
}

const makeRow = (
  { projectId, wallet, signer, sending, chain, traceparent }: RecordInput,
  { transaction, id, ladder }: Pick<Planned, 'transaction' | 'id' | 'ladder'>,
): SubmittedRows['row'] => {
  const { isFixed: hasFixedFees, isCutByFunds, rungs } = ladder
  const [unsigned] = rungs
  if (unsigned === undefined) throw new Error('a fee ladder has no rung')
  const { worstCost, feeAsset } = transaction.prepared
  return {
    id,
    projectId,
    walletId: wallet.id,
    network: signer.network,
    signerAddress: signer.address,
    contractWallet: sending.contractWallet,
    ...(chain.lifetimeOf(unsigned) ?? { bornAtBlock: null, validUntilBlock: null }),
    kind: transaction.kind,
    nonce: unsigned.nonce,
    to: unsigned.to,
    value: unsigned.value,
    input: unsigned.input,
    gasLimit: unsigned.gasLimit,
    worstCost,
    feeAsset: feeAsset?.contract ?? null,
    feeAssetCost: feeAsset?.worstCost ?? null,
    rungs: rungs.length,
    hasFixedFees,
    isCutByFunds,
    traceparent,
  }
}

const worstFee = (chain: Chain, planned: readonly Planned[]): bigint =>
  planned.reduce(
    (sum, { transaction, ladder }) => sum + transaction.prepared.surcharge + dearestGasFee(chain, ladder),
    0n,
  )

/** The credential is not available later, so everything that may ever be sent is signed now. */
const signPlanned = ({ chain, key, submitted, remember }: RecordInput, planned: readonly Planned[]) =>
  signLadders({
    chain,
    key,
    fee: worstFee(chain, planned),
    uses: planned.map(({ id, ladder, rows, transaction: { kind } }) => ({
      action: 'transaction_submitted',
      details: { transaction: id, kind },
      ladder,
      firstRung: 0,
      rows,
      answer: id === submitted.transactionId ? (remember?.answerOf?.(submitted) ?? null) : null,
    })),
  })

/** @param lacks the missing amount, for people. */
export const overdraft = (address: string, lacks: string): AppError =>
  new AppError('balance_insufficient', `${address} lacks ${lacks} for this and its pending transactions.`)

/** Counts what the signer's pending transactions may take of the fee's asset. */
const refuseAssetOverdraft = (
  { address }: Signer,
  { transaction, held }: { readonly transaction: PreparedTransaction; readonly held: Held },
): void => {
  const { feeAsset } = transaction.prepared
  if (feeAsset === null) return
  const { contract, decimals, needed, balance } = feeAsset
  const missing = (held.assetCosts.get(contract) ?? 0n) + needed - balance
  if (missing > 0n) throw overdraft(address, `${displayAmount(missing, decimals)} of ${contract}`)
}

/**
 * What remains of the signer's balance after these and its others that are not in it yet, at current fees: higher rungs
 * do not count. Summed under the lock, so that transactions recorded since the preparation count too.
 */
const computeSpare = (
  { chain, signer }: RecordInput,
  { transactions, held }: { readonly transactions: readonly PreparedTransaction[]; readonly held: Held },
): bigint => {
  const worstCost = transactions.reduce((sum, { prepared }) => sum + prepared.worstCost, 0n)
  const balance = transactions.at(-1)?.prepared.balance ?? 0n
  // Held from the mined count on: what was mined before has left the balance, even if the tracker has not seen it yet.
  const missing = held.worstCost + worstCost - balance
  if (missing > 0n) throw overdraft(signer.address, coinAmount(chain, missing))
  return -missing
}
