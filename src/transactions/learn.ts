// The interpreter of transition.ts: a row becomes a state, news an event; the new state and its effects are written in one
// database transaction. Every change of a transaction after it was recorded goes through here.

import type { Tx } from '../../db/client.ts'
import { addJob } from '../../db/jobs.ts'
import { heldBack } from '../../db/queries/contract-wallets.ts'
import {
  eraseRaw,
  type Locked,
  lockTransactions,
  markAttemptsAccepted,
  saveTransactions,
  type TransactionRow,
} from '../../db/queries/transactions.ts'
import type { Network } from '../../db/words.ts'
import type { WorkerCtx } from '../context.ts'
import { unreachable } from '../errors.ts'
import { createBatcher } from '../queue.ts'
import { type Change, countOutcome } from './count-outcome.ts'
import {
  type ExecutionFailure,
  type FailureCode,
  holdsNonce,
  type Outcome,
  statusOf,
  type TransactionEffect,
  type TransactionEvent,
  type TransactionState,
  transition,
} from './transition.ts'

/** What was learnt of a transaction, in the chain's words. */
export type News =
  | { readonly kind: 'accepted'; readonly hash: string }
  | { readonly kind: 'included'; readonly hash: string; readonly blockNumber: bigint; readonly blockHash: string }
  | { readonly kind: 'excluded'; readonly blockHash: string }
  | {
      readonly kind: 'confirmed'
      readonly blockHash: string
      /** null for a success; else why, as far as that could be told. */
      readonly failure: { readonly code: ExecutionFailure; readonly reason: string | null } | null
      readonly contractAddress: string | null
    }
  | { readonly kind: 'finalized' }
  | { readonly kind: 'usurped' }
  | { readonly kind: 'forgotten' }
  | { readonly kind: 'climb_due' }
  | Extract<TransactionEvent, { kind: 'clock' }>
  | { readonly kind: 'cancel_asked' }
  | { readonly kind: 'revived'; readonly hash: string; readonly cancelHash: string }
  | { readonly kind: 'signed_anew'; readonly first: number }
  | { readonly kind: 'undeployed' }
  | { readonly kind: 'lapsed' }

export const SENTENCES: Record<FailureCode | 'lapsed', string> = {
  execution_reverted: 'The transaction was mined, and its execution reverted.',
  expired: 'It was not mined in time; its nonce was used up by a transaction that does nothing.',
  nonce_taken: 'Another transaction of the same key took the nonce.',
  reorganised: 'It was in a final block, which a reorganisation took away; no block of the chain has it.',
  lapsed: 'No block took it before its era ended; its nonce is free again.',
  contract_wallet_not_deployed: 'The contract wallet was not deployed, so it could not execute the transaction.',
}

const isFailureCode = (text: string | null): text is FailureCode => text !== null && text in SENTENCES

const outcomeOf = ({ status, errorCode, holdsNonce: holds }: TransactionRow): Outcome => {
  if (status === 'success' || !isFailureCode(errorCode)) return 'success'
  return errorCode === 'expired' && !holds ? 'lapsed' : errorCode
}

/** The state that a row says. */
const stateOf = ({ transaction, hashes }: Locked): TransactionState => {
  const { final, chosen, givenUp, status, errorCode, minedBlockHash: blockHash } = transaction
  if (final) return { kind: 'done', outcome: outcomeOf(transaction) }
  if (blockHash === null) return { kind: 'waiting', chosen, givenUp, broadcast: transaction.broadcastAt !== null }
  const attempt = hashes.indexOf(transaction.shownHash ?? '')
  const failure = errorCode === 'contract_wallet_not_deployed' ? errorCode : 'execution_reverted'
  const told = transaction.settledAt === null ? null : status === 'success' ? 'success' : failure
  return { kind: 'mined', chosen, givenUp, attempt, blockHash, told }
}

/** The event that news are, or null where they are not of this transaction as it stands. */
const eventOf = ({ transaction, hashes }: Locked, news: News): TransactionEvent | null => {
  switch (news.kind) {
    case 'accepted':
    case 'included': {
      const attempt = hashes.indexOf(news.hash)
      return attempt === -1 ? null : { ...news, attempt }
    }
    case 'revived': {
      const attempt = hashes.indexOf(news.hash)
      return attempt === -1 ? null : { kind: 'revived', attempt, cancel: hashes.indexOf(news.cancelHash) }
    }
    case 'excluded':
      return transaction.minedBlockHash === news.blockHash ? { kind: 'excluded' } : null
    case 'finalized':
      return transaction.minedBlockHash === null ? null : { kind: 'finalized', blockHash: transaction.minedBlockHash }
    case 'confirmed':
      return { kind: 'confirmed', blockHash: news.blockHash, failure: news.failure?.code ?? null }
    case 'usurped':
    case 'forgotten':
    case 'climb_due':
    case 'clock':
    case 'cancel_asked':
    case 'signed_anew':
    case 'undeployed':
    case 'lapsed':
      return news
    default:
      return unreachable(news)
  }
}

type Columns = Partial<TransactionRow>

/** A sentence that is written down already may say more. */
const failure = (outcome: FailureCode | 'lapsed', { errorCode, error }: TransactionRow): Columns => {
  const code = outcome === 'lapsed' ? 'expired' : outcome
  return { errorCode: code, error: errorCode === code && error !== null ? error : SENTENCES[outcome] }
}

const withReason = (columns: Columns, news: News): Columns => {
  const reason = news.kind === 'confirmed' ? (news.failure?.reason ?? null) : null
  return reason === null ? columns : { ...columns, error: `${columns.error?.replace(/\.$/, '')}: ${reason}` }
}

/** After these its time begins again. */
const BEGINS_AGAIN: ReadonlySet<News['kind']> = new Set(['excluded', 'revived', 'signed_anew'])

const NO_FAILURE: Columns = { errorCode: null, error: null }

/** What is written of a state; `at` is the database's time where something happens for the first time. */
const columnsOf = (
  { transaction, hashes, at }: Locked,
  { state, news }: { readonly state: TransactionState; readonly news: News },
): Columns => {
  const common: Columns = { status: statusOf(state), holdsNonce: holdsNonce(state) }
  switch (state.kind) {
    case 'waiting':
      return {
        ...common,
        ...NO_FAILURE,
        chosen: state.chosen,
        givenUp: state.givenUp,
        chosenAt: state.chosen === transaction.chosen && news.kind !== 'signed_anew' ? transaction.chosenAt : at,
        // What it waited before it was mined, or before it was given up in vain, does not count against it.
        clockStartedAt: BEGINS_AGAIN.has(news.kind) ? null : transaction.clockStartedAt,
        broadcastAt: state.broadcast ? (transaction.broadcastAt ?? at) : null,
        shownHash: news.kind === 'accepted' || news.kind === 'revived' ? news.hash : transaction.shownHash,
        contractAddress: null,
        settledAt: null,
        minedBlockNumber: null,
        minedBlockHash: null,
      }
    case 'mined':
      return {
        ...common,
        ...(state.told === null || state.told === 'success'
          ? NO_FAILURE
          : withReason(failure(state.told, transaction), news)),
        broadcastAt: transaction.broadcastAt ?? at,
        shownHash: hashes[state.attempt] ?? transaction.shownHash,
        minedBlockHash: state.blockHash,
        minedBlockNumber: news.kind === 'included' ? news.blockNumber : transaction.minedBlockNumber,
        settledAt: state.told === null ? null : (transaction.settledAt ?? at),
        contractAddress: news.kind === 'confirmed' && news.failure === null ? news.contractAddress : null,
      }
    case 'done':
      return {
        ...common,
        ...(state.outcome === 'success' ? NO_FAILURE : failure(state.outcome, transaction)),
        final: true,
        settledAt: transaction.settledAt ?? at,
      }
    default:
      return unreachable(state)
  }
}

export type Learnt = { readonly transactionId: string; readonly news: News }

/** Takes in what was learnt of a transaction. */
export type Learner = (learnt: Learnt) => Promise<void>

const LEARNT_TOGETHER_MAX = 100

/** A learner whose news share database transactions. */
export const createLearner = (ctx: Pick<WorkerCtx, 'db' | 'metrics'>): Learner =>
  createBatcher({
    sizeMax: LEARNT_TOGETHER_MAX,
    run: (learnt: readonly Learnt[]) => ctx.db.transaction((tx) => learnAll(ctx, tx, learnt)),
  })

type LearnCtx = Pick<WorkerCtx, 'metrics'>

/** Takes in what was learnt of a transaction. Idempotent: news that change nothing write nothing. */
export const learn = (ctx: LearnCtx, tx: Tx, learnt: Learnt): Promise<void> => learnAll(ctx, tx, [learnt])

/** The same of many. */
export const learnAll = async (ctx: LearnCtx, tx: Tx, learnt: readonly Learnt[]): Promise<void> => {
  const first = new Map<string, News>()
  const again: Learnt[] = []
  for (const each of learnt) {
    // What is learnt of a transaction twice is taken in one after the other.
    if (first.has(each.transactionId)) again.push(each)
    else first.set(each.transactionId, each.news)
  }
  if (first.size > 0) await learnOnce(ctx, tx, first)
  if (again.length > 0) await learnAll(ctx, tx, again)
}

/** @param newsOf each transaction's, by its id. */
const learnOnce = async (ctx: LearnCtx, tx: Tx, newsOf: ReadonlyMap<string, News>): Promise<void> => {
  const locked = await lockTransactions(tx, [...newsOf.keys()])
  const consequences = [...newsOf].flatMap(([transactionId, news]) => {
    const found = locked.get(transactionId)
    return found === undefined ? [] : consequencesOf(found, news)
  })
  const those = (kind: TransactionEffect['kind']) =>
    consequences.flatMap(({ id, effects }) => (effects.some((effect) => effect.kind === kind) ? [id] : []))
  const changes = consequences.flatMap(({ changes }) => changes)
  await Promise.all([
    markAttemptsAccepted(
      tx,
      consequences.flatMap(({ accepted }) => accepted),
    ),
    saveTransactions(
      tx,
      changes.map(({ after }) => after),
    ),
    eraseRaw(tx, those('erase_raw')),
    ...those('send').map((id) => addSending(tx, { id })),
  ])
  tx.afterCommit(() => {
    for (const change of changes) countOutcome(ctx.metrics, change)
  })
  const deployments = changes.map(({ after }) => after).filter(isDeploymentOver)
  for (const id of await heldBack(tx, deployments)) await addSending(tx, { id })
}

/** What its contract wallet is to execute waits for it no longer, whichever way it ended. */
const isDeploymentOver = ({ kind, minedBlockHash, final }: TransactionRow): boolean =>
  kind === 'deployment' && (minedBlockHash !== null || final)

type Consequences = {
  readonly id: string
  readonly accepted: readonly { readonly network: Network; readonly hash: string }[]
  /** One at most. */
  readonly changes: readonly Change[]
  readonly effects: readonly TransactionEffect[]
}

/** What news make of a transaction; nothing where they are not of it as it stands. */
const consequencesOf = (found: Locked, news: News): readonly Consequences[] => {
  const { transaction } = found
  const { id, network, rungs, hasFixedFees: isFixed } = transaction
  const event = eventOf(found, news)
  if (event === null) return []
  const before = stateOf(found)
  const { state, effects } = transition({ ladder: { rungs, isFixed }, state: before, event })
  return [
    {
      id,
      accepted: 'hash' in news ? [{ network, hash: news.hash }] : [],
      // What stays as it was is the same object.
      changes:
        state === before
          ? []
          : [{ before: transaction, after: { ...transaction, ...columnsOf(found, { state, news }) } }],
      effects,
    },
  ]
}

/** The job sends whichever attempt is chosen when it runs; nodes that have it already say so. */
export const addSending = (tx: Tx, { id: transactionId }: Pick<TransactionRow, 'id'>): Promise<void> =>
  addJob(tx, 'broadcast_transaction', { transactionId }, { key: `broadcast:${transactionId}` })
