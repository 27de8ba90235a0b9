// One intent, at most one mined effect. In the request: prepare against the chain, then ONE database transaction that
// locks the signer, chooses the nonce, signs, and records transaction, attempt, audit row and broadcast job together.
// Nothing is sent here: the answer is `submitted`, and the worker sends the recorded bytes as often as it takes.

import { randomUUID } from 'node:crypto'
import type { Tx } from '../../db/client.ts'
import { addJob } from '../../db/jobs.ts'
import {
  type Held,
  insertAttempts,
  insertTransaction,
  lockSigner,
  readHeld,
  releaseReaped,
  type Signer,
} from '../../db/queries/transactions.ts'
import type { WalletRow } from '../../db/queries/wallets.ts'
import type { Network, TransactionKind } from '../../db/words.ts'
import type { Signatory } from '../auth/caller.ts'
import type { Chain, Intent, Ladder, Unsigned } from '../chains/chain.ts'
import { isOpen, openOf } from '../chains/intent.ts'
import type { Ctx } from '../context.ts'
import type { KeyHandle } from '../custody/vault.ts'
import { AppError } from '../errors.ts'
import type { Remember } from '../idempotency/once.ts'
import { type Charge, withKeyFor } from '../policies/delegated.ts'
import { refuseExcess } from '../policies/terms.ts'
import { displayAmount, nativeToken } from '../tokens/token.ts'
import { signerAddressOf } from '../wallets/contract-wallet.ts'
import { lacksDeployment } from './executing.ts'
import { chooseNonce } from './nonce.ts'
import { prepareSending, type Sending, type Step } from './sending.ts'
import { dearestGasFee, signLadder } from './sign-ladder.ts'

type SubmitInput = Pick<Signatory, 'projectId' | 'actor' | 'credentials'> & {
  readonly kind: TransactionKind
  readonly chain: Chain
  readonly wallet: WalletRow
  /** What the wallet is to do, one for an eoa wallet. Built when it is the signer's turn, so that it sees what the chain says then. */
  readonly intents: () => Promise<readonly Intent[]>
  /** Rows of the resource itself, in the same database transaction. */
  readonly alsoRecord?: (tx: Tx, transactionId: string) => Promise<void>
  readonly remember?: Remember<Submitted> | undefined
}

export type Submitted = { readonly transactionId: string; readonly network: Network; readonly status: 'submitted' }

/**
 * Records what a wallet is to do, all of it or nothing, and the signed bytes; a contract wallet's deployment before, where it
 * has none.
 * @throws the vault's credential errors, policy_denied, batch_unsupported, contract_wallet_changed, execution_reverted,
 * balance_insufficient, nonce_too_low, nonce_conflict, nonce_gap, node_unavailable, busy. Where it throws, nothing is recorded.
 */
export const submitIntent = (ctx: Ctx, input: SubmitInput): Promise<Submitted> => {
  const { chain, wallet } = input
  const signer = { network: chain.network, address: signerAddressOf(chain, wallet) }
  return ctx.signerQueues.run(`${signer.network}/${signer.address}`, () =>
    withKeyFor(ctx, input, async (key, { intents, charge }) => {
      if (charge !== null) await refuseExcessive(ctx, { ...input, signer, intents })
      const sending = await prepareSending(ctx, { ...input, signer, intents })
      const transactionId = randomUUID()
      const submitted = { transactionId, network: signer.network, status: 'submitted' } as const
      await ctx.db.transaction(async (tx) => {
        await record(ctx, tx, { ...input, signer, key, charge, sending, transactionId })
        await input.remember?.(tx, submitted)
      })
      return submitted
    }),
  )
}

type RecordInput = SubmitInput & {
  readonly signer: Signer
  readonly key: KeyHandle
  /** Of the policy by which the key was opened. */
  readonly charge: Charge | null
  readonly sending: Sending
  readonly transactionId: string
}

const record = async (ctx: Pick<Ctx, 'metrics'>, tx: Tx, input: RecordInput): Promise<void> => {
  const { signer, sending, transactionId } = input
  const { step } = sending
  await lockSigner(tx, signer)
  const lifetime = input.chain.lifetimeOf(step.prepared.unsigned)
  if (lifetime !== null) {
    await releaseReaped(tx, signer, { fromNonce: step.prepared.minedCount, block: lifetime.bornAtBlock })
  }
  const held = await readHeld(tx, signer, step.prepared.minedCount)
  refuseAssetOverdraft(signer, { step, held })
  const deployment = await stillToDeploy(tx, input)
  const spare = spareOf(input, { steps: deployment === null ? [step] : [deployment, step], held })
  let { nonces } = held
  const planned: Planned[] = []
  if (deployment !== null) {
    const first = chooseNonce(undefined, { ...step.prepared, held: nonces })
    planned.push(plan(input, { step: deployment, id: randomUUID(), nonce: first, spare }))
    nonces = new Set([...nonces, first])
  }
  const nonce = chooseNonce(step.intent.nonce, { ...step.prepared, held: nonces })
  planned.push(plan(input, { step, id: transactionId, nonce, spare }))
  await input.charge?.(tx, worstFee(input.chain, planned))
  for (const each of planned) await recordStep(tx, { ...input, ...each })
  tx.afterCommit(() => {
    const { network } = signer
    for (const { kind } of planned.map((each) => each.step)) ctx.metrics.transactions.accepted.inc({ network, kind })
  })
  await input.alsoRecord?.(tx, transactionId)
}

/** By a policy, what the caller fixes is measured by what would be chosen here. @throws policy_denied, as prepareSending. */
const refuseExcessive = async (ctx: Ctx, input: Parameters<typeof prepareSending>[1]): Promise<void> => {
  const { chain, intents } = input
  // Gas and fees of several are those of the first.
  const [first] = intents
  if (first === undefined || isOpen(first)) return
  const { step } = await prepareSending(ctx, { ...input, intents: intents.map(openOf) })
  await refuseExcess(chain, { intent: first, ordinary: step.prepared.unsigned })
}

/** Another intent for the same wallet may have recorded it meanwhile. */
const stillToDeploy = async (tx: Tx, { signer, sending }: RecordInput): Promise<Step | null> => {
  const { contractWallet, deployment } = sending
  if (contractWallet === null || deployment === null) return null
  return (await lacksDeployment(tx, { network: signer.network, contractWallet })) ? deployment : null
}

/** All that may ever be sent for one nonce. */
type Planned = { readonly step: Step; readonly id: string; readonly nonce: number; readonly ladder: Ladder }

type PlanInput = Pick<Planned, 'step' | 'id' | 'nonce'> & {
  /** What the signer has left when all its transactions took the most that they can as they are. */
  readonly spare: bigint
}

const plan = ({ chain, signer }: RecordInput, { step, id, nonce, spare }: PlanInput): Planned => {
  const { prepared, intent } = step
  const ladder = chain.ladder({
    unsigned: chain.withNonce(prepared.unsigned, nonce),
    atMarket: prepared.atMarket,
    intent,
    from: signer.address,
    spendable: prepared.worstCost + spare,
    worstCost: prepared.worstCost,
  })
  return { step, id, nonce, ladder }
}

/** The most that these may pay beside their values. */
const worstFee = (chain: Chain, planned: readonly Planned[]): bigint =>
  planned.reduce((sum, { step, ladder }) => sum + step.prepared.surcharge + dearestGasFee(chain, ladder), 0n)

type StepInput = RecordInput & Planned

const recordStep = async (tx: Tx, input: StepInput): Promise<void> => {
  const { signer, id, nonce, ladder } = input
  const { kind } = input.step
  const [first] = ladder.rungs
  if (first === undefined) throw new Error('a fee ladder has no rung')
  // The credential is gone later: all that may ever be sent for this intent is signed now.
  const signed = signLadder(input, { ladder, firstRung: 0 })
  const { isFixed: hasFixedFees, isCutByFunds, rungs } = ladder
  await insertTransaction(tx, { ...rowOf(input, first), rungs: rungs.length, hasFixedFees, isCutByFunds })
  await Promise.all([
    insertAttempts(tx, { network: signer.network, transactionId: id }, signed),
    input.key.recordUse(tx, {
      action: 'transaction_submitted',
      details: {
        network: signer.network,
        transaction: id,
        kind,
        hash: signed[0]?.hash ?? '',
        nonce: String(nonce),
      },
    }),
    addJob(tx, 'broadcast_transaction', { transactionId: id }, { key: `broadcast:${id}`, whenKeyed: 'new' }),
  ])
}

const rowOf = (input: StepInput, unsigned: Unsigned) => ({
  id: input.id,
  projectId: input.projectId,
  walletId: input.wallet.id,
  network: input.signer.network,
  signerAddress: input.signer.address,
  contractWallet: input.sending.contractWallet,
  ...(input.chain.lifetimeOf(unsigned) ?? { bornAtBlock: null, validUntilBlock: null }),
  kind: input.step.kind,
  nonce: unsigned.nonce,
  to: unsigned.to,
  value: unsigned.value,
  input: unsigned.input,
  gasLimit: unsigned.gasLimit,
  worstCost: input.step.prepared.worstCost,
  feeAsset: input.step.prepared.feeAsset?.contract ?? null,
  feeAssetCost: input.step.prepared.feeAsset?.worstCost ?? null,
})

/** What waits may take of the asset that pays this fee as well. @throws balance_insufficient. */
const refuseAssetOverdraft = (
  { address }: Signer,
  { step, held }: { readonly step: Step; readonly held: Held },
): void => {
  const { feeAsset } = step.prepared
  if (feeAsset === null) return
  const { contract, decimals, needed, balance } = feeAsset
  const missing = (held.liveAssetCosts.get(contract) ?? 0n) + needed - balance
  if (missing <= 0n) return
  throw new AppError(
    'balance_insufficient',
    `${address} lacks ${displayAmount(missing, decimals)} of ${contract} for this and its pending transactions.`,
  )
}

/**
 * What the signer has left beside these steps. Summed again under the lock: what was recorded since they were prepared counts
 * too. What a transaction offers when fees rise does not: who has enough at today's price is not refused.
 * @throws balance_insufficient.
 */
const spareOf = (
  { chain, signer }: RecordInput,
  { steps, held }: { readonly steps: readonly Step[]; readonly held: Held },
): bigint => {
  const worstCost = steps.reduce((sum, { prepared }) => sum + prepared.worstCost, 0n)
  const balance = steps.at(-1)?.prepared.balance ?? 0n
  // Held from the mined count on: what is mined has left the balance already, though the tracker may not have told it yet.
  const missing = held.liveWorstCost + worstCost - balance
  if (missing <= 0n) return -missing
  const coin = nativeToken(chain)
  throw new AppError(
    'balance_insufficient',
    `${signer.address} lacks ${displayAmount(missing, coin.decimals)} ${coin.symbol} for this and its pending transactions.`,
  )
}
