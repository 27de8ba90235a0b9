// Prepares what a wallet's signer must send. An eoa wallet's key sends the intent itself. A contract wallet's owner
// sends an execution of it, and before that the deployment if the wallet has no code yet.

import { hasDeployment } from '../../../db/queries/contract-wallets.ts'
import type { Signer } from '../../../db/queries/transactions.ts'
import type { WalletRow } from '../../../db/queries/wallets.ts'
import type { TransactionKind } from '../../../db/words.ts'
import type { Chain, Intent, Prepared, RecordedIntent } from '../../chains/chain.ts'
import { destinationsOf } from '../../chains/intent.ts'
import { AppError } from '../../platform/errors.ts'
import type { Turn } from '../../platform/queue.ts'
import type { SigningCtx } from '../ctx.ts'
import { coinAmount } from '../token.ts'
import { readContractWallet } from '../wallets/signer.ts'
import { type Execution, makeExecution, recordedBefore, refuseOverspent, withInnerReason } from './execution.ts'

export type PreparedTransaction = {
  readonly kind: TransactionKind
  readonly intent: Intent
  readonly prepared: Prepared
}

/** The deployment comes first; `transaction` does what was asked for. */
export type Sending = {
  /** The address of the contract wallet that executes the intents; null for an eoa wallet. */
  readonly contractWallet: string | null
  readonly deployment: PreparedTransaction | null
  readonly transaction: PreparedTransaction
}

type SendingInput = {
  readonly projectId: string
  readonly kind: TransactionKind
  readonly chain: Chain
  readonly wallet: WalletRow
  readonly signer: Signer
  readonly intents: readonly Intent[]
  /** The preparation reads what depends on the signer's earlier requests only after this. */
  readonly turn: Turn
}

/** Another account may deploy the wallet while this prepares the deployment: then it starts again. */
const TRIES_MAX = 3

export const batchUnsupported = (): AppError =>
  new AppError('batch_unsupported', 'Only a wallet of type "contract" can do several transactions at once.')

const soleIntent = (intents: readonly Intent[]): Intent => {
  const [intent, ...others] = intents
  if (intent === undefined || others.length > 0) throw batchUnsupported()
  return intent
}

/** Simulates and prices what the signer must send. Changes nothing. */
export const prepareSending = async (ctx: SigningCtx, input: SendingInput): Promise<Sending> => {
  const { projectId, kind, chain, wallet, signer, intents, turn } = input
  for (let tries = 1; ; tries += 1) {
    const contract = await readContractWallet(chain, wallet)
    if (contract !== null) {
      const sending = await prepareExecution(ctx, {
        ...input,
        execution: makeExecution(ctx, { ...input, contract }),
        tries,
      })
      if (sending !== null) return sending
      continue
    }
    const intent = soleIntent(intents)
    const pending = () => recordedBefore(ctx, { signer, projectId, to: destinationsOf(intents), turn })
    const prepared = await chain.prepare(intent, signer.address, { pending })
    return { contractWallet: null, deployment: null, transaction: { kind, intent, prepared } }
  }
}

/** null if another sender seems to have deployed the wallet meanwhile. */
const prepareExecution = async (
  ctx: SigningCtx,
  input: SendingInput & { readonly execution: Execution; readonly tries: number },
): Promise<Sending | null> => {
  const { kind, chain, signer, intents, execution, tries, turn } = input
  const { wallet, contractWallets, isDeployed } = execution
  const intent = contractWallets.execution(wallet, intents)
  if (!isDeployed) await turn()
  // A node that lags behind may not see the code of a mined deployment, so our records are asked, too.
  const isMissing = !isDeployed && !(await hasDeployment(ctx.db, { ...signer, contractWallet: wallet.address }))
  const deployed = isMissing ? await prepareDeployment(input) : null
  if (deployed === null && isMissing && tries < TRIES_MAX) return null
  const pending = async () => [
    ...(await execution.pending()),
    ...(deployed === null ? [] : [behindAll(deployed.intent, signer)]),
  ]
  const options = { pending, asIfDeployed: isDeployed ? undefined : wallet, skipsBalanceCheck: true }
  const simulate = () => chain.prepare(intent, signer.address, options)
  const prepared = await withInnerReason(ctx.db, { execution, simulate })
  await refuseOverspent(ctx.db, execution)
  refusePoorKey(execution, { deployment: deployed?.prepared ?? null, prepared })
  return { contractWallet: wallet.address, deployment: deployed, transaction: { kind, intent, prepared } }
}

/** Names the key's address: no other answer has it, and the caller must know where to send coins. */
const refusePoorKey = (
  { chain, wallet }: Execution,
  { deployment, prepared }: { readonly deployment: Prepared | null; readonly prepared: Prepared },
): void => {
  const { balance } = prepared
  const needed = prepared.worstCost + (deployment?.worstCost ?? 0n)
  if (balance >= needed) return
  const amount = (wei: bigint) => coinAmount(chain, wei)
  const what =
    deployment === null ? 'the fee of this transaction' : 'the fees of its deployment and of this transaction'
  throw new AppError(
    'balance_insufficient',
    `${wallet.owner}, the key of the contract wallet, needs ${amount(needed)} for ${what}, and has ${amount(balance)}.`,
  )
}

/** Places the deployment after all recorded transactions: its nonce is chosen later. */
const behindAll = (intent: Intent, { address }: Signer): RecordedIntent => ({
  ...intent,
  from: address,
  nonce: Number.MAX_SAFE_INTEGER,
})

/** null if it reverts, as a second deployment does: another one is mined or pending. */
const prepareDeployment = async (
  input: SendingInput & { readonly execution: Execution },
): Promise<PreparedTransaction | null> => {
  const { chain, signer, execution } = input
  const { pending } = execution
  const intent = execution.contractWallets.deployment(execution.wallet)
  try {
    return {
      kind: 'deployment',
      intent,
      prepared: await chain.prepare(intent, signer.address, { pending, skipsBalanceCheck: true }),
    }
  } catch (error) {
    if (error instanceof AppError && error.code === 'execution_reverted') return null
    throw error
  }
}
