// The interpreter of transition.ts: a row becomes a state, news an event; the new state and its effects are written in one
// database transaction. Every change of a transaction after it was recorded goes through here.

import type { Tx } from '../../db/client.ts'
import { addJob } from '../../db/jobs.ts'
import {
  eraseRaw,
  lockTransaction,
  markAttemptAccepted,
  saveTransaction,
  type TransactionRow,
  type WithAttempts,
} from '../../db/queries/transactions.ts'
import { unreachable } from '../errors.ts'
import {
  type FailureCode,
  holdsNonce,
  statusOf,
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
      readonly success: boolean
      readonly contractAddress: string | null
    }
  | { readonly kind: 'finalized' }
  | { readonly kind: 'usurped' }
  | { readonly kind: 'forgotten' }
  | { readonly kind: 'climb_due' }
  | { readonly kind: 'expiry_due' }

const SENTENCES: Record<FailureCode, string> = {
  execution_reverted: 'The transaction was mined, and its execution reverted.',
  expired: 'It was not mined in time; its nonce was used up by a transaction that does nothing.',
  nonce_taken: 'Another transaction of the same key took the nonce.',
}

const isFailureCode = (text: string | null): text is FailureCode => text !== null && text in SENTENCES

/** The state that a row says. */
const stateOf = ({ transaction, attempts }: WithAttempts): TransactionState => {
  const { final, status, errorCode, chosen, minedBlockHash: blockHash } = transaction
  if (final) return { kind: 'done', outcome: status !== 'success' && isFailureCode(errorCode) ? errorCode : 'success' }
  if (blockHash === null) return { kind: 'waiting', chosen, broadcast: transaction.broadcastAt !== null }
  const attempt = attempts.findIndex(({ hash }) => hash === transaction.shownHash)
  const told = transaction.settledAt === null ? null : status === 'success' ? 'success' : 'failed'
  return { kind: 'mined', chosen, attempt, blockHash, told }
}

/** The event that news are, or null where they are not of this transaction as it stands. */
const eventOf = ({ transaction, attempts }: WithAttempts, news: News): TransactionEvent | null => {
  switch (news.kind) {
    case 'accepted':
    case 'included': {
      const attempt = attempts.findIndex(({ hash }) => hash === news.hash)
      return attempt === -1 ? null : { ...news, attempt }
    }
    case 'excluded':
      return transaction.minedBlockHash === news.blockHash ? { kind: 'excluded' } : null
    case 'finalized':
      return transaction.minedBlockHash === null ? null : { kind: 'finalized', blockHash: transaction.minedBlockHash }
    case 'confirmed':
    case 'usurped':
    case 'forgotten':
    case 'climb_due':
    case 'expiry_due':
      return news
    default:
      return unreachable(news)
  }
}

type Columns = Parameters<typeof saveTransaction>[2]

const failure = (code: FailureCode): Columns => ({ errorCode: code, error: SENTENCES[code] })
const NO_FAILURE: Columns = { errorCode: null, error: null }

/** What is written of a state; `at` is the database's time where something happens for the first time. */
const columnsOf = (
  found: WithAttempts,
  input: { readonly state: TransactionState; readonly news: News; readonly at: Date },
): Columns => {
  const { transaction, attempts } = found
  const { state, news, at } = input
  const common: Columns = { status: statusOf(state), holdsNonce: holdsNonce(state) }
  switch (state.kind) {
    case 'waiting':
      return {
        ...common,
        ...NO_FAILURE,
        chosen: state.chosen,
        chosenAt: state.chosen === transaction.chosen ? transaction.chosenAt : at,
        broadcastAt: state.broadcast ? (transaction.broadcastAt ?? at) : null,
        shownHash: news.kind === 'accepted' ? news.hash : transaction.shownHash,
        ...{ contractAddress: null, settledAt: null, minedBlockNumber: null, minedBlockHash: null },
      }
    case 'mined':
      return {
        ...common,
        ...(state.told === 'failed' ? failure('execution_reverted') : NO_FAILURE),
        broadcastAt: transaction.broadcastAt ?? at,
        shownHash: attempts[state.attempt]?.hash ?? transaction.shownHash,
        minedBlockHash: state.blockHash,
        minedBlockNumber: news.kind === 'included' ? news.blockNumber : transaction.minedBlockNumber,
        settledAt: state.told === null ? null : (transaction.settledAt ?? at),
        contractAddress: news.kind === 'confirmed' && news.success ? news.contractAddress : null,
      }
    case 'done':
      return {
        ...common,
        ...(state.outcome === 'success' ? NO_FAILURE : failure(state.outcome)),
        final: true,
        settledAt: transaction.settledAt ?? at,
      }
    default:
      return unreachable(state)
  }
}

/** Takes in what was learnt of a transaction. Idempotent: news that change nothing write nothing. */
export const learn = async (tx: Tx, input: { readonly transactionId: string; readonly news: News }): Promise<void> => {
  const { transactionId, news } = input
  const found = await lockTransaction(tx, transactionId)
  const event = found === null ? null : eventOf(found, news)
  if (found === null || event === null) return
  const { network, rungs } = found.transaction
  if (news.kind === 'accepted' || news.kind === 'included') await markAttemptAccepted(tx, { network, hash: news.hash })
  const before = stateOf(found)
  const { state, effects } = transition({ ladder: { rungs }, state: before, event })
  // What stays as it was is the same object.
  if (state !== before) await saveTransaction(tx, transactionId, columnsOf(found, { state, news, at: found.at }))
  for (const effect of effects) {
    if (effect.kind === 'erase_raw') await eraseRaw(tx, transactionId)
    else await addSending(tx, found.transaction)
  }
}

/** The job sends whichever attempt is chosen when it runs; nodes that have it already say so. */
const addSending = (tx: Tx, { id: transactionId }: Pick<TransactionRow, 'id'>): Promise<void> =>
  addJob(tx, 'broadcast_transaction', { transactionId }, { key: `broadcast:${transactionId}` })
