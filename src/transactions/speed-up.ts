// Signing anew: what waits in no block is signed once more with its credential, for the same nonce, at fees above all that a
// pool may have of it. What was never sent makes way. What was, is kept: whichever is mined counts.

import type { Tx } from '../../db/client.ts'
import { eraseUnsent, extendLadder } from '../../db/queries/ladders.ts'
import {
  findTransaction,
  insertAttempts,
  lockSigner,
  readHeld,
  type TransactionRow,
  type WithAttempts,
} from '../../db/queries/transactions.ts'
import { findWalletById, type Reach, type WalletRow } from '../../db/queries/wallets.ts'
import type { Network, TransactionStatus } from '../../db/words.ts'
import type { Chain, Hex, Intent, Ladder, Replacement, Standing, Unsigned } from '../chains/chain.ts'
import { openOf } from '../chains/intent.ts'
import type { Ctx } from '../context.ts'
import type { Credentials, KeyHandle } from '../custody/vault.ts'
import { AppError } from '../errors.ts'
import type { Remember } from '../idempotency/once.ts'
import { type Charge, withKeyFor } from '../policies/delegated.ts'
import { isExcessive } from '../policies/terms.ts'
import { displayAmount, nativeToken } from '../tokens/token.ts'
import { aboveSent } from './above-sent.ts'
import { learn } from './learn.ts'
import { dearestGasFee, signLadder } from './sign-ladder.ts'
import { requireSignedBefore } from './signed-before.ts'
import { lockWaiting, noSuchTransaction } from './waiting.ts'

/** Who needs more than these should let it be given up. */
const RUNGS_MAX = 100

/** Wei per unit of gas; what is absent is chosen here. */
type FixedFees = Pick<Intent, 'maxFeePerGas' | 'maxPriorityFeePerGas'>

type SpeedUpInput = Reach & {
  readonly actor: string
  readonly id: string
  readonly fees: FixedFees
  readonly credentials: Credentials
  readonly remember?: Remember<SpedUp> | undefined
}

type SpedUp = {
  readonly transactionId: string
  readonly network: Network
  readonly status: TransactionStatus
}

/**
 * Signs a waiting transaction anew, above what was sent of it; given up or not, it is sent again. By a policy that is one
 * more use of it, at fees that are chosen here.
 * @throws transaction_not_found, transaction_not_waiting, invalid_input (mortal, or too often), fee_too_low,
 * fee_ceiling_reached, balance_insufficient, the vault's credential errors, policy_denied, node_unavailable, busy.
 */
export const speedUpTransaction = async (ctx: Ctx, input: SpeedUpInput): Promise<SpedUp> => {
  const row = await findTransaction(ctx.db, { ...input, id: input.id.toLowerCase() })
  const wallet = row === null ? null : await findWalletById(ctx.db, row.walletId)
  if (row === null || wallet === null) throw noSuchTransaction()
  const chain = ctx.chains.withNode(row.network)
  const { replacement } = chain
  if (replacement === null || row.validUntilBlock !== null) {
    throw new AppError('invalid_input', `It is mortal: it ends by itself after block ${row.validUntilBlock}.`)
  }
  const { id, network, signerAddress } = row
  const { credentials, actor } = input
  const use = { chain, wallet, credentials, actor, intents: async () => intended(chain, row, input.fees) }
  return ctx.signerQueues.run(`${network}/${signerAddress}`, () =>
    withKeyFor(ctx, use, async (key, { charge }) => {
      if (charge !== null && Object.values(input.fees).some((fee) => fee !== undefined)) {
        throw new AppError(
          'policy_denied',
          'By a policy, fees are chosen here: leave "maxFeePerGas" and "maxPriorityFeePerGas" out.',
        )
      }
      const offer = await offerOf(chain, row, input.fees)
      return ctx.db.transaction(async (tx) => {
        const status = await record(ctx, tx, { row, chain, replacement, wallet, key, charge, offer })
        const spedUp = { transactionId: id, network, status }
        await input.remember?.(tx, spedUp)
        return spedUp
      })
    }),
  )
}

const signerIntentOf = ({ to, value, input, gasLimit, nonce }: TransactionRow): Intent => ({
  to,
  value,
  gasLimit,
  nonce,
  input: input.startsWith('0x') ? (input as Hex) : '0x',
})

/** What the wallet is to do, for policies: nothing where that is not known, which none allows. */
const intended = (chain: Chain, row: TransactionRow, fees: FixedFees): readonly Intent[] => {
  const intent = signerIntentOf(row)
  if (row.contractWallet === null) return [{ ...intent, ...fees }]
  if (row.kind === 'deployment') return []
  return chain.contractWallets?.executed(intent.input) ?? []
}

/** What it could offer now. */
type NewOffer = {
  /** What the caller asked for. */
  readonly intent: Intent
  readonly unsigned: Unsigned
  readonly atMarket: Unsigned
  readonly standing: Standing
}

const offerOf = async (chain: Chain, row: TransactionRow, fees: FixedFees): Promise<NewOffer> => {
  const { signerAddress: from, nonce } = row
  const open = signerIntentOf(row)
  const intent = { ...open, ...fees }
  const [standing, unsigned] = await Promise.all([chain.standing(from), chain.fill(intent, from, { nonce })])
  return { intent, unsigned, atMarket: await atMarketOr(unsigned, () => chain.fill(open, from, { nonce })), standing }
}

/** Above the ceiling the market is not asked further: then what the caller fixed is all there is to go by. */
const atMarketOr = async (unsigned: Unsigned, ask: () => Promise<Unsigned>): Promise<Unsigned> => {
  try {
    return await ask()
  } catch (error) {
    if (error instanceof AppError && error.code === 'fee_ceiling_reached') return unsigned
    throw error
  }
}

type RecordInput = {
  readonly row: TransactionRow
  readonly chain: Chain
  readonly replacement: Replacement
  readonly wallet: WalletRow
  readonly key: KeyHandle
  readonly charge: Charge | null
  readonly offer: NewOffer
}

const record = async (ctx: Pick<Ctx, 'metrics'>, tx: Tx, input: RecordInput): Promise<TransactionStatus> => {
  const { row, chain, key, offer } = input
  const { id, network, signerAddress: address } = row
  const signer = { network, address }
  await lockSigner(tx, signer)
  const locked = await lockWaiting(tx, id)
  await requireSignedBefore({ ...input, address, attempts: locked.attempts })
  const { kept, firstRung } = await makeRoom(tx, locked)
  if (firstRung >= RUNGS_MAX) throw new AppError('invalid_input', 'It was signed anew too often.')
  const { liveWorstCost } = await readHeld(tx, signer, offer.standing.minedCount)
  const { worstCost: recordedCost } = locked.transaction
  const spendable = offer.standing.balance - (liveWorstCost - recordedCost)
  const offers = kept.map((raw) => chain.offerOf({ raw, recordedCost }))
  const unsigned = input.replacement.outbid({ unsigned: offer.unsigned, intent: offer.intent, offers })
  if (input.charge !== null) await refuseDear(chain, { unsigned, offer })
  const worstCost = worstCostOf(chain, { unsigned, locked })
  refuseOverdraft(chain, address, worstCost - spendable)
  const { intent, atMarket } = offer
  const ladder: Ladder = chain.ladder({ unsigned, atMarket, intent, from: address, spendable, worstCost })
  const surcharge = worstCost - locked.transaction.value - chain.terms.gasFee(unsigned)
  await input.charge?.(tx, surcharge + dearestGasFee(chain, ladder))
  const signed = signLadder(input, { ladder, firstRung })
  const { isFixed: hasFixedFees, isCutByFunds } = ladder
  await extendLadder(tx, { id, rungs: firstRung + ladder.rungs.length, hasFixedFees, isCutByFunds, worstCost })
  await insertAttempts(tx, { network, transactionId: id }, signed)
  const [first] = signed
  await key.recordUse(tx, {
    action: 'transaction_signed_anew',
    details: { network, transaction: id, hash: first?.hash ?? '', nonce: String(row.nonce) },
  })
  await learn(ctx, tx, { transactionId: id, news: { kind: 'signed_anew', first: firstRung } })
  return locked.transaction.status
}

/** By a policy, what must outbid what was sent must not be far above the market. @throws policy_denied. */
const refuseDear = async (
  chain: Chain,
  { unsigned, offer }: { readonly unsigned: Unsigned; readonly offer: NewOffer },
): Promise<void> => {
  const intent = { ...openOf(offer.intent), ...chain.terms.feesOf(unsigned) }
  if (!(await isExcessive(chain, { intent, ordinary: offer.atMarket }))) return
  throw new AppError(
    'policy_denied',
    'By a policy, a transaction is signed anew for at most twice what the market asks; to outbid what was sent of it takes more.',
  )
}

const isRaw = (raw: string | null): raw is Hex => raw?.startsWith('0x') === true

/** What was never sent goes. @returns the bytes of what stays, and what the next rung is counted as. */
const makeRoom = async (
  tx: Tx,
  { transaction, attempts }: WithAttempts,
): Promise<{ readonly kept: readonly Hex[]; readonly firstRung: number }> => {
  const { id: transactionId, chosen, rungs, givenUp } = transaction
  const cancel = attempts[rungs]
  const isCancelOffered = cancel?.broadcastAt !== null || cancel.lastError !== null
  const { firstRung, isCancelKept } = aboveSent({ chosen, rungs, givenUp, isCancelOffered })
  await eraseUnsent(tx, { transactionId, fromRung: firstRung, isCancelUnsent: !isCancelKept })
  const stays = attempts.filter(({ kind, rung }) =>
    kind === 'rung' ? rung < firstRung : kind !== 'cancel' || isCancelKept,
  )
  return { kept: stays.flatMap(({ raw }) => (isRaw(raw) ? [raw] : [])), firstRung }
}

/** With the network's own surcharge, which its recorded cost has. */
const worstCostOf = (
  chain: Chain,
  { unsigned, locked }: { readonly unsigned: Unsigned; readonly locked: WithAttempts },
): bigint => {
  const { worstCost: recordedCost, value } = locked.transaction
  const [first] = locked.attempts
  const before = isRaw(first?.raw ?? null)
    ? chain.offerOf({ raw: first?.raw as Hex, recordedCost }).worstCost
    : recordedCost
  return value + chain.terms.gasFee(unsigned) + (recordedCost > before ? recordedCost - before : 0n)
}

/** @throws balance_insufficient. */
const refuseOverdraft = (chain: Chain, address: string, missing: bigint): void => {
  if (missing <= 0n) return
  const { decimals, symbol } = nativeToken(chain)
  throw new AppError(
    'balance_insufficient',
    `${address} lacks ${displayAmount(missing, decimals)} ${symbol} for this and its pending transactions.`,
  )
}
