// Speeding up: signs a waiting transaction again with its credential, for the same nonce, at fees above all that a pool
// may have of it. Attempts that were never sent are replaced. Attempts that were sent stay, and any of them counts if
// it is mined.

import type { Tx } from '../../../db/client.ts'
import type { AttemptRow } from '../../../db/queries/attempts.ts'
import {
  findTransaction,
  lockSigner,
  readHeld,
  type TransactionRow,
  type WithAttempts,
} from '../../../db/queries/transactions.ts'
import type { WalletRow } from '../../../db/queries/wallets.ts'
import type { Chain, Hex, Intent, Ladder, Replacement, Unsigned } from '../../chains/chain.ts'
import { isHex, openOf } from '../../chains/intent.ts'
import type { Signatory } from '../../identity/auth/caller.ts'
import type { Remember } from '../../identity/idempotency/once.ts'
import { AppError } from '../../platform/errors.ts'
import type { SigningCtx } from '../ctx.ts'
import { type Signing, withKeyFor } from '../policies/delegated.ts'
import { isExcessive } from '../policies/intent-bounds.ts'
import { invalidInput } from '../schema.ts'
import { coinAmount } from '../token.ts'
import { signerAddressOf } from '../wallets/signer.ts'
import { overdraft } from './plan.ts'
import { recordSpedUp } from './recorded.ts'
import { signAndRecord } from './sign-and-record.ts'
import { dearestGasFee, signLadders } from './sign-ladder.ts'
import { attemptsToKeep } from './transition.ts'
import { type ActedOn, lockWaiting, noSuchTransaction } from './waiting.ts'

// A speed-up signs what is in rows that the worker may write, so rows alone must not cause a signature. An earlier
// signature of the same key proves what its owner asked for: only the owner can have one made.

/**
 * Requires that the wallet's key signed the same transaction before, at any fees, and that all attempts, whose fees the
 * new one must exceed, are of this key. @throws Error if the rows were changed.
 */
const requireSignedBefore = async (input: {
  readonly chain: Chain
  readonly replacement: Replacement
  readonly wallet: WalletRow
  readonly address: string
  readonly offer: { readonly unsigned: Unsigned }
  readonly attempts: readonly AttemptRow[]
}): Promise<void> => {
  const { chain, replacement, wallet, address, offer, attempts } = input
  const raws = attempts.flatMap(({ kind, raw }) => (raw === null ? [] : [{ kind, raw: raw as Hex }]))
  const wanted = replacement.effectOf(offer.unsigned)
  const signed = await Promise.all(
    raws.map(async ({ kind, raw }) => {
      const { unsigned, from } = await replacement.disassemble(raw)
      return { kind, from, ...replacement.effectOf(unsigned) }
    }),
  )
  const isWhole = signed.every(({ from, place }) => from === address && place === wanted.place)
  const isKnown = signed.some(({ kind, effect }) => kind === 'rung' && effect === wanted.effect)
  if (isWhole && isKnown && signerAddressOf(chain, wallet) === address) return
  throw new Error('a recorded transaction is not what its key signed: its rows were changed')
}

/** Over all speed-ups of a transaction. */
const RUNGS_MAX = 100

/** Wei per unit of gas; we choose what is absent. */
type FixedFees = Pick<Intent, 'maxFeePerGas' | 'maxPriorityFeePerGas'>

type SpeedUpInput = Signatory & {
  readonly id: string
  readonly fees: FixedFees
  readonly remember?: Remember<ActedOn> | undefined
}

/** It may have been given up. With a policy this is one more use of the policy, at fees that we choose. */
export const speedUpTransaction = async (ctx: SigningCtx, input: SpeedUpInput): Promise<ActedOn> => {
  const row = await findTransaction(ctx.db, { ...input, id: input.id.toLowerCase() })
  const wallet = row === null ? null : await ctx.wallets.byId(row.walletId)
  if (row === null || wallet === null) throw noSuchTransaction()
  const chain = ctx.chains.withNode(row.network)
  const { replacement } = chain
  if (replacement === null || row.validUntilBlock !== null) {
    throw invalidInput(`It is mortal: it ends by itself after block ${row.validUntilBlock}.`)
  }
  const { id, network, signerAddress } = row
  const { credentials, actor, approvalId } = input
  const request = { chain, wallet, credentials, actor, approvalId }
  const spedUp = { id, nonce: row.nonce }
  const use = { ...request, action: 'speed-up', spedUp, intents: async () => intended(chain, row, input.fees) } as const
  return ctx.signerQueues.run(`${network}/${signerAddress}`, (turn) =>
    withKeyFor(ctx, use, async (key) => {
      if (key.byPolicy && Object.values(input.fees).some((fee) => fee !== undefined)) {
        throw new AppError(
          'policy_denied',
          'With a policy, fees are chosen by the service: leave "maxFeePerGas" and "maxPriorityFeePerGas" out.',
        )
      }
      const offer = await priceAgain(chain, row, input.fees)
      await turn()
      return signAndRecord(ctx, {
        plan: (tx) => planUnderLock(tx, { row, chain, replacement, wallet, key, offer }),
        sign: ({ use, fee }) => signLadders({ chain, key, fee, uses: [use] }),
        write: async (tx, { use, status }, [attempts = []]) => {
          await recordSpedUp(ctx, tx, use.rows, attempts)
          const answer = { transactionId: id, network, status }
          await input.remember?.(tx, answer)
          return answer
        },
      })
    }),
  )
}

const readSignerIntent = ({ to, value, input, gasLimit, nonce }: TransactionRow): Intent => ({
  to,
  value,
  gasLimit,
  nonce,
  input: isHex(input) ? input : '0x',
})

/** What the wallet is to do, for policies. Empty if that is not known: no policy allows that. */
const intended = (chain: Chain, row: TransactionRow, fees: FixedFees): readonly Intent[] => {
  const intent = readSignerIntent(row)
  if (row.contractWallet === null) return [{ ...intent, ...fees }]
  if (row.kind === 'deployment') return []
  return chain.contractWallets?.executed(intent.input) ?? []
}

/** The transaction at the fees that the caller asked for, and at current ones. */
const priceAgain = async (chain: Chain, row: TransactionRow, fees: FixedFees) => {
  const { signerAddress: from, nonce } = row
  const open = readSignerIntent(row)
  const intent = { ...open, ...fees }
  const [accountState, unsigned] = await Promise.all([chain.accountState(from), chain.fill(intent, from, { nonce })])
  return { intent, unsigned, atMarket: await marketOr(unsigned, () => chain.fill(open, from, { nonce })), accountState }
}

/** Above the ceiling no market price is known: then the caller's fees count. */
const marketOr = async (unsigned: Unsigned, ask: () => Promise<Unsigned>): Promise<Unsigned> => {
  try {
    return await ask()
  } catch (error) {
    if (error instanceof AppError && error.code === 'fee_ceiling_reached') return unsigned
    throw error
  }
}

type PlanInput = {
  readonly row: TransactionRow
  readonly chain: Chain
  readonly replacement: Replacement
  readonly wallet: WalletRow
  readonly key: Signing
  readonly offer: Awaited<ReturnType<typeof priceAgain>>
}

const planUnderLock = async (tx: Tx, input: PlanInput) => {
  const { row, chain, key, offer } = input
  const { id, network, signerAddress: address } = row
  const signer = { network, address }
  await lockSigner(tx, signer)
  const locked = await lockWaiting(tx, id)
  await requireSignedBefore({ ...input, address, attempts: locked.attempts })
  const { sentRaws, firstRung, isCancelUnsent } = whatStays(locked)
  if (firstRung >= RUNGS_MAX) throw invalidInput(`It has ${RUNGS_MAX} attempts already, and cannot be signed again.`)
  const { worstCost: heldCost } = await readHeld(tx, signer, {
    fromNonce: offer.accountState.minedCount,
    asOfBlock: null,
  })
  const { worstCost: recordedCost } = locked.transaction
  const spendable = offer.accountState.balance - (heldCost - recordedCost)
  const offers = sentRaws.map((raw) => chain.offerOf({ raw, recordedCost }))
  const unsigned = input.replacement.outbid({ unsigned: offer.unsigned, intent: offer.intent, offers })
  if (key.byPolicy) await refuseFarAboveMarket(chain, { unsigned, offer })
  const worstCost = computeWorstCost(chain, { unsigned, locked })
  const missing = worstCost - spendable
  if (missing > 0n) throw overdraft(address, coinAmount(chain, missing))
  const { intent, atMarket } = offer
  const ladder: Ladder = chain.ladder({ unsigned, atMarket, intent, from: address, spendable, worstCost })
  const surcharge = worstCost - locked.transaction.value - chain.feeRules.gasFee(unsigned)
  const details = { transaction: id }
  const { isFixed: hasFixedFees, isCutByFunds } = ladder
  const rungs = firstRung + ladder.rungs.length
  const extended = { id, rungs, hasFixedFees, isCutByFunds, worstCost }
  const rows = { kind: 'sped_up', network, ladder: extended, firstRung, isCancelUnsent } as const
  const use = { action: 'transaction_signed_anew', details, ladder, firstRung, rows, answer: null } as const
  return { use, fee: surcharge + dearestGasFee(chain, ladder), status: locked.transaction.status }
}

/** With a policy, refuses a fee far above the market, even if outbidding needs it. */
const refuseFarAboveMarket = async (
  chain: Chain,
  { unsigned, offer }: { readonly unsigned: Unsigned; readonly offer: Awaited<ReturnType<typeof priceAgain>> },
): Promise<void> => {
  const intent = { ...openOf(offer.intent), ...chain.feeRules.feesOf(unsigned) }
  if (!(await isExcessive(chain, { intent, ordinary: offer.atMarket }))) return
  throw new AppError(
    'policy_denied',
    'With a policy, a speed-up may offer at most twice the market fee; here it would need more, to outbid what was sent.',
  )
}

/** What stays of a transaction's attempts: the bytes of those that were sent, and the number of the next rung. */
const whatStays = ({ transaction, attempts }: WithAttempts) => {
  const { chosen, rungs, givenUp } = transaction
  const cancel = attempts[rungs]
  const isCancelOffered = cancel?.broadcastAt !== null || cancel.lastError !== null
  const { firstRung, isCancelKept } = attemptsToKeep({ chosen, rungs, givenUp, isCancelOffered })
  const stays = attempts.filter(({ kind, rung }) =>
    kind === 'rung' ? rung < firstRung : kind !== 'cancel' || isCancelKept,
  )
  return { sentRaws: stays.flatMap(({ raw }) => (isHex(raw) ? [raw] : [])), firstRung, isCancelUnsent: !isCancelKept }
}

/** Includes the network's surcharge, which is part of the recorded cost. */
const computeWorstCost = (
  chain: Chain,
  { unsigned, locked }: { readonly unsigned: Unsigned; readonly locked: WithAttempts },
): bigint => {
  const { worstCost: recordedCost, value } = locked.transaction
  const raw = locked.attempts[0]?.raw ?? null
  const before = isHex(raw) ? chain.offerOf({ raw, recordedCost }).worstCost : recordedCost
  return value + chain.feeRules.gasFee(unsigned) + (recordedCost > before ? recordedCost - before : 0n)
}
