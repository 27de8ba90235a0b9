// What is recorded for requests of one signer, decided under its lock: each one's nonce, whether its coins suffice, and
// all that may ever be sent for it. Several requests may be decided together, in their order: each counts those before
// it as if they were recorded.

import type { Tx } from '../../../db/client.ts'
import { hasDeployment } from '../../../db/queries/contract-wallets.ts'
import { type Held, readHeld, readUnderLock, releaseReaped, type Signer } from '../../../db/queries/transactions.ts'
import type { WalletRow } from '../../../db/queries/wallets.ts'
import type { Network, TransactionKind } from '../../../db/words.ts'
import type { Chain, Intent, Ladder } from '../../chains/chain.ts'
import type { Signatory } from '../../identity/auth/caller.ts'
import type { Remember } from '../../identity/idempotency/once.ts'
import { displayAmount } from '../../platform/amount.ts'
import { AppError } from '../../platform/errors.ts'
import type { Turn } from '../../platform/queue.ts'
import type { Signing } from '../policies/delegated.ts'
import { coinAmount } from '../token.ts'
import { chooseNonce } from './nonce.ts'
import type { Alongside, SubmittedRows } from './recorded.ts'
import type { PreparedTransaction, Sending } from './sending.ts'

export type SubmitInput = Pick<Signatory, 'projectId' | 'actor' | 'credentials' | 'approvalId' | 'allowsRepeat'> & {
  readonly kind: TransactionKind
  readonly chain: Chain
  readonly wallet: WalletRow
  /** One for an eoa wallet. @param turn after which the signer's earlier requests are recorded. */
  readonly intents: (turn: Turn) => Promise<readonly Intent[]>
  readonly alongside?: Alongside
  readonly remember?: Remember<Submitted> | undefined
}

export type Submitted = { readonly transactionId: string; readonly network: Network; readonly status: 'submitted' }

/** A prepared request that waits for its nonce. */
export type Recording = SubmitInput & {
  readonly signer: Signer
  readonly key: Signing
  readonly sending: Sending
  readonly submitted: Submitted
  /** Identifies the deployment, if there is one. */
  readonly deploymentId: string
  readonly traceparent: string | null
}

/** What is held with these transactions too, which are about to be recorded. */
const holding = (held: Held, planned: readonly Planned[]): Held => {
  const assetCosts = new Map(held.assetCosts)
  let { worstCost } = held
  for (const {
    transaction: { prepared },
  } of planned) {
    worstCost += prepared.worstCost
    const { feeAsset } = prepared
    if (feeAsset !== null)
      assetCosts.set(feeAsset.contract, (assetCosts.get(feeAsset.contract) ?? 0n) + feeAsset.worstCost)
  }
  return { nonces: new Set([...held.nonces, ...planned.map(({ nonce }) => nonce)]), worstCost, assetCosts }
}

/** The state of the chain at which a request was prepared. */
const stateOf = ({ chain, sending }: Recording) => {
  const { minedCount, unsigned } = sending.transaction.prepared
  return { fromNonce: minedCount, asOfBlock: chain.lifetimeOf(unsigned)?.bornAtBlock ?? null }
}

/** Each request with what its signer holds. All is sent at once. */
const readStates = async (tx: Tx, signer: Signer, recordings: readonly Recording[]) => {
  const releases = recordings.map((recording) => {
    const { fromNonce, asOfBlock: block } = stateOf(recording)
    return block === null ? null : releaseReaped(tx, { ...signer, fromNonce, block })
  })
  // Most were prepared at the same state.
  const reads = new Map<string, Promise<Held>>()
  const readOnce = (state: ReturnType<typeof stateOf>): Promise<Held> => {
    const key = Object.values(state).join()
    const read = reads.get(key) ?? readHeld(tx, signer, state)
    reads.set(key, read)
    return read
  }
  const reading = recordings.map(async (recording) => ({ recording, held: await readOnce(stateOf(recording)) }))
  const [known] = await Promise.all([Promise.all(reading), Promise.all(releases)])
  return known
}

/**
 * Locks the signer, and decides for each of its requests, in their order, what is recorded, or why it is refused.
 * @param recordings of one signer.
 */
export const planTogether = async (
  tx: Tx,
  recordings: readonly Recording[],
): Promise<readonly (readonly Planned[] | AppError)[]> => {
  const [first] = recordings
  if (first === undefined) return []
  const { signer } = first
  const known = await readUnderLock(tx, signer, () => readStates(tx, signer, recordings))
  const decided: (readonly Planned[] | AppError)[] = []
  const before: Planned[] = []
  for (const { recording, held } of known) {
    const deployment = await stillToDeploy(tx, recording)
    try {
      const planned = decide(recording, { deployment, held: holding(held, before) })
      before.push(...planned)
      decided.push(planned)
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      decided.push(error)
    }
  }
  return decided
}

/** @throws AppError if the signer cannot pay, or if its caller asked for a nonce that it cannot have. */
const decide = (
  input: Recording,
  { deployment, held }: { readonly deployment: PreparedTransaction | null; readonly held: Held },
): readonly Planned[] => {
  const { signer, sending, submitted, deploymentId } = input
  const { transaction } = sending
  refuseAssetOverdraft(signer, { transaction, held })
  const transactions = deployment === null ? [transaction] : [deployment, transaction]
  const spare = computeSpare(input, { transactions, held })
  const planned: Planned[] = []
  let { nonces } = held
  if (deployment !== null) {
    const first = chooseNonce(undefined, { ...transaction.prepared, held: nonces })
    planned.push(plan(input, { transaction: deployment, id: deploymentId, nonce: first, spare }))
    nonces = new Set([...nonces, first])
  }
  const nonce = chooseNonce(transaction.intent.nonce, { ...transaction.prepared, held: nonces })
  planned.push(plan(input, { transaction, id: submitted.transactionId, nonce, spare }))
  return planned
}

/** The deployment, or null if another request has recorded one meanwhile. */
const stillToDeploy = async (tx: Tx, { signer, sending }: Recording): Promise<PreparedTransaction | null> => {
  const { contractWallet, deployment } = sending
  if (contractWallet === null || deployment === null) return null
  return (await hasDeployment(tx, { network: signer.network, contractWallet })) ? null : deployment
}

/** A transaction with its nonce, and everything that may ever be sent for it. */
export type Planned = {
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

const plan = (input: Recording, { transaction, id, nonce, spare }: PlanInput): Planned => {
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
  { projectId, wallet, signer, sending, chain, traceparent }: Recording,
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
  { chain, signer }: Recording,
  { transactions, held }: { readonly transactions: readonly PreparedTransaction[]; readonly held: Held },
): bigint => {
  const worstCost = transactions.reduce((sum, { prepared }) => sum + prepared.worstCost, 0n)
  const balance = transactions.at(-1)?.prepared.balance ?? 0n
  // Held from the mined count on: what was mined before has left the balance, even if the tracker has not seen it yet.
  const missing = held.worstCost + worstCost - balance
  if (missing > 0n) throw overdraft(signer.address, coinAmount(chain, missing))
  return -missing
}
