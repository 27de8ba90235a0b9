// Runs transition.ts: reads a row as a state and an observation as an event, and writes the new state and its effects
// in one database transaction. All changes after a transaction was recorded are made here, but for speed-ups' rows and
// repair.ts.

import type { HasDb, Tx } from '../../../db/client.ts'
import { addJob } from '../../../db/jobs.ts'
import { eraseRaw, markAttemptsAccepted } from '../../../db/queries/attempts.ts'
import { pendingExecutions } from '../../../db/queries/contract-wallets.ts'
import {
  type Locked,
  lockTransactions,
  saveTransactions,
  type TransactionRow,
} from '../../../db/queries/transactions.ts'
import type { FailureCode, Network } from '../../../db/words.ts'
import { unreachable } from '../../platform/errors.ts'
import type { HasMetrics, Metrics } from '../../platform/metrics/metrics.ts'
import { createBatcher } from '../../platform/queue.ts'
import type { HasTracer } from '../../platform/tracing/tracer.ts'
import { traceOutcome } from '../../platform/tracing/transactions.ts'
import { failureSentence } from './failure-words.ts'
import {
  type ExecutionFailure,
  holdsNonce,
  type Outcome,
  statusOf,
  type TransactionEffect,
  type TransactionEvent,
  type TransactionState,
  transition,
} from './transition.ts'

/** What a node, a clock or an operator says about a transaction; attempts are named by their hash. */
export type Observation =
  | { readonly kind: 'accepted'; readonly hash: string }
  | { readonly kind: 'included'; readonly hash: string; readonly blockNumber: bigint; readonly blockHash: string }
  | { readonly kind: 'excluded'; readonly blockHash: string }
  | {
      readonly kind: 'confirmed'
      readonly blockHash: string
      /** null for a success; `reason` is null if the node gives none. */
      readonly failure: { readonly code: ExecutionFailure; readonly reason: string | null } | null
      readonly contractAddress: string | null
    }
  | { readonly kind: 'finalized' }
  | { readonly kind: 'resumed'; readonly hash: string; readonly cancelHash: string }
  // These are events as they are.
  | Exclude<TransactionEvent, { kind: 'accepted' | 'included' | 'excluded' | 'confirmed' | 'finalized' | 'resumed' }>

const readOutcome = ({ status, errorCode, holdsNonce: holds }: TransactionRow): Outcome => {
  if (status === 'success' || errorCode === null) return 'success'
  return errorCode === 'expired' && !holds ? 'lapsed' : errorCode
}

const readState = ({ transaction, hashes }: Locked): TransactionState => {
  const { final, chosen, givenUp, status, errorCode, minedBlockHash: blockHash } = transaction
  if (final) return { kind: 'done', outcome: readOutcome(transaction) }
  if (blockHash === null) return { kind: 'waiting', chosen, givenUp, broadcast: transaction.broadcastAt !== null }
  const attempt = hashes.indexOf(transaction.shownHash ?? '')
  const failure = errorCode === 'contract_wallet_not_deployed' ? errorCode : 'execution_reverted'
  const result = transaction.settledAt === null ? null : status === 'success' ? 'success' : failure
  return { kind: 'mined', chosen, givenUp, attempt, blockHash, result }
}

/** The event of an observation; null if the observation does not apply to the transaction as it is now. */
const deriveEvent = ({ transaction, hashes }: Locked, observation: Observation): TransactionEvent | null => {
  switch (observation.kind) {
    case 'accepted':
    case 'included': {
      const attempt = hashes.indexOf(observation.hash)
      return attempt === -1 ? null : { ...observation, attempt }
    }
    case 'resumed': {
      const attempt = hashes.indexOf(observation.hash)
      return attempt === -1 ? null : { kind: 'resumed', attempt, cancel: hashes.indexOf(observation.cancelHash) }
    }
    case 'excluded':
      return transaction.minedBlockHash === observation.blockHash ? { kind: 'excluded' } : null
    case 'finalized':
      return transaction.minedBlockHash === null ? null : { kind: 'finalized', blockHash: transaction.minedBlockHash }
    case 'confirmed':
      return { kind: 'confirmed', blockHash: observation.blockHash, failure: observation.failure?.code ?? null }
    case 'nonce_taken':
    case 'dropped':
    case 'underpriced':
    case 'clock':
    case 'cancel_requested':
    case 'sped_up':
    case 'wallet_not_deployed':
    case 'lapsed':
      return observation
    default:
      return unreachable(observation)
  }
}

type Columns = Partial<TransactionRow>

/** Keeps a sentence that is stored already: it may say more. */
const failure = (outcome: FailureCode | 'lapsed', { transaction, refusal }: Locked): Columns => {
  const { errorCode, error } = transaction
  const code = outcome === 'lapsed' ? 'expired' : outcome
  return { errorCode: code, error: errorCode === code && error !== null ? error : failureSentence(outcome, refusal) }
}

const withReason = (columns: Columns, observation: Observation): Columns => {
  const reason = observation.kind === 'confirmed' ? (observation.failure?.reason ?? null) : null
  return reason === null ? columns : { ...columns, error: `${columns.error?.replace(/\.$/, '')}: ${reason}` }
}

/** These start its waiting time again. */
const RESTARTS_CLOCK: ReadonlySet<Observation['kind']> = new Set(['excluded', 'resumed', 'sped_up'])

const NO_FAILURE: Columns = { errorCode: null, error: null }

/** The columns of a state; `at` is the database's time. */
const deriveColumns = (
  found: Locked,
  { state, observation }: { readonly state: TransactionState; readonly observation: Observation },
): Columns => {
  const { transaction, hashes, at } = found
  const common: Columns = { status: statusOf(state), holdsNonce: transaction.holdsNonce && holdsNonce(state) }
  switch (state.kind) {
    case 'waiting':
      return {
        ...common,
        ...NO_FAILURE,
        chosen: state.chosen,
        givenUp: state.givenUp,
        chosenAt: state.chosen === transaction.chosen && observation.kind !== 'sped_up' ? transaction.chosenAt : at,
        // The time before it was mined, or before a cancel that failed, does not count.
        clockStartedAt: RESTARTS_CLOCK.has(observation.kind) ? null : transaction.clockStartedAt,
        broadcastAt: state.broadcast ? (transaction.broadcastAt ?? at) : null,
        shownHash:
          observation.kind === 'accepted' || observation.kind === 'resumed' ? observation.hash : transaction.shownHash,
        contractAddress: null,
        settledAt: null,
        minedBlockNumber: null,
        minedBlockHash: null,
      }
    case 'mined':
      return {
        ...common,
        ...(state.result === null || state.result === 'success'
          ? NO_FAILURE
          : withReason(failure(state.result, found), observation)),
        broadcastAt: transaction.broadcastAt ?? at,
        shownHash: hashes[state.attempt] ?? transaction.shownHash,
        minedBlockHash: state.blockHash,
        minedBlockNumber: observation.kind === 'included' ? observation.blockNumber : transaction.minedBlockNumber,
        settledAt: state.result === null ? null : (transaction.settledAt ?? at),
        contractAddress:
          observation.kind === 'confirmed' && observation.failure === null ? observation.contractAddress : null,
      }
    case 'done':
      return {
        ...common,
        ...(state.outcome === 'success' ? NO_FAILURE : failure(state.outcome, found)),
        final: true,
        settledAt: transaction.settledAt ?? at,
      }
    default:
      return unreachable(state)
  }
}

type Change = { readonly before: TransactionRow; readonly after: TransactionRow }

/** Counts a change of a transaction in the metrics. `mined` minus `putBack` is the number that are in a block. */
export const countOutcome = (
  { transactions: counters }: Pick<Metrics, 'transactions'>,
  { before, after }: Change,
): void => {
  const { network } = after
  if (before.broadcastAt === null && after.broadcastAt !== null) counters.broadcast.inc({ network })
  if (before.minedBlockHash !== after.minedBlockHash) {
    if (before.minedBlockHash !== null) counters.putBack.inc({ network })
    if (after.minedBlockHash !== null) counters.mined.inc({ network })
  }
  if (after.chosen > before.chosen) {
    counters.ladderSteps.inc({ network, step: after.chosen < after.rungs ? 'rung' : 'cancel' })
  }
  if (!after.final || before.final) return
  if (after.status === 'success') counters.succeeded.inc({ network })
  else counters.failed.inc({ network, code: after.errorCode ?? '' })
}

export type Observed = { readonly transactionId: string; readonly observation: Observation }

export type HasObservationRecorder = { readonly recordObservation: (observed: Observed) => Promise<void> }

const OBSERVATIONS_A_BATCH_MAX = 100

/** Records observations, up to a hundred of them in one database transaction. */
export const createObservationRecorder = (
  ctx: HasDb & HasMetrics & HasTracer,
): HasObservationRecorder['recordObservation'] =>
  createBatcher({
    sizeMax: OBSERVATIONS_A_BATCH_MAX,
    run: (observed: readonly Observed[]) => ctx.db.transaction((tx) => recordObservations(ctx, tx, observed)),
  })

type RecordCtx = HasMetrics & HasTracer

/** Stores what an observation changes about a transaction. Idempotent: without a change it writes nothing. */
export const recordObservation = (ctx: RecordCtx, tx: Tx, observed: Observed): Promise<void> =>
  recordObservations(ctx, tx, [observed])

export const recordObservations = async (ctx: RecordCtx, tx: Tx, observed: readonly Observed[]): Promise<void> => {
  if (observed.length === 0) return
  const byTransaction = Map.groupBy(observed, ({ transactionId }) => transactionId)
  const locked = await lockTransactions(tx, [...byTransaction.keys()])
  const consequences = [...byTransaction].flatMap(([transactionId, its]) => {
    const found = locked.get(transactionId)
    const observations = its.map(({ observation }) => observation)
    return found === undefined ? [] : [deriveConsequences(found, observations)]
  })
  const idsWith = (kind: TransactionEffect['kind']) =>
    consequences.flatMap(({ id, effects }) => (effects.some((effect) => effect.kind === kind) ? [id] : []))
  // Almost always a transaction is written once. Further rows are written after it.
  const [first = [], ...later] = byPlace(consequences.map(({ changes }) => rowsOf(changes)))
  await Promise.all([
    markAttemptsAccepted(
      tx,
      consequences.flatMap(({ accepted }) => accepted),
    ),
    saveTransactions(tx, first),
    eraseRaw(tx, idsWith('erase_raw')),
    ...consequences
      .filter(({ effects }) => effects.some(({ kind }) => kind === 'send'))
      .map((each) => addBroadcastJob(tx, each)),
  ])
  for (const rows of later) await saveTransactions(tx, rows)
  const changes = consequences.flatMap((each) => each.changes)
  tx.afterCommit(() => {
    for (const change of changes) {
      countOutcome(ctx.metrics, change)
      traceOutcome(ctx.tracer, change)
    }
  })
  const deployments = changes.map(({ after }) => after).filter(hasDeploymentEnded)
  for (const execution of await pendingExecutions(tx, deployments)) await addBroadcastJob(tx, execution)
}

/** Executions no longer wait for this deployment, whether it succeeded or failed. */
const hasDeploymentEnded = ({ kind, minedBlockHash, final }: TransactionRow): boolean =>
  kind === 'deployment' && (minedBlockHash !== null || final)

type Consequences = {
  readonly id: string
  readonly network: Network
  readonly accepted: Parameters<typeof markAttemptsAccepted>[1]
  /** One after the other. */
  readonly changes: readonly Change[]
  readonly effects: readonly TransactionEffect[]
}

/** Of observations of one transaction, in their order. */
const deriveConsequences = (found: Locked, observations: readonly Observation[]): Consequences => {
  const { id, network, rungs, hasFixedFees: isFixed } = found.transaction
  const accepted: Consequences['accepted'][number][] = []
  const effects: TransactionEffect[] = []
  const changes: Change[] = []
  let current = found
  for (const observation of observations) {
    const event = deriveEvent(current, observation)
    if (event === null) continue
    if ('hash' in observation) accepted.push({ transactionId: id, hash: observation.hash })
    const state = readState(current)
    const next = transition({ ladder: { rungs, isFixed }, state, event })
    effects.push(...next.effects)
    // `transition` returns the same object if nothing changed.
    if (next.state === state) continue
    const before = current.transaction
    const columns = deriveColumns(current, { state: next.state, observation })
    const after = { ...before, ...columns, updatedAt: current.at }
    current = { ...current, transaction: after }
    changes.push({ before, after })
  }
  return { id, network, accepted, changes, effects }
}

/** The last row, and those before it with a status of their own, as events tell each status that a transaction had. */
const rowsOf = (changes: readonly Change[]): readonly TransactionRow[] =>
  changes.flatMap(({ after }, index) => {
    const next = changes[index + 1]?.after.status
    const isPassed = next === after.status || after.status === changes[0]?.before.status
    return next !== undefined && isPassed ? [] : [after]
  })

/** The first of each list, then the second of each that has one, and so on. */
const byPlace = <Item>(lists: readonly (readonly Item[])[]): readonly (readonly Item[])[] => {
  const longest = Math.max(0, ...lists.map(({ length }) => length))
  return Array.from({ length: longest }, (_, place) => lists.flatMap((list) => list.slice(place, place + 1)))
}

/** The job sends the attempt that is chosen when it runs. Sending an attempt twice does no harm. */
export const addBroadcastJob = (tx: Tx, { id, network }: Pick<TransactionRow, 'id' | 'network'>): Promise<void> =>
  addJob(tx, 'broadcast_transaction', { transactionId: id, network }, { key: `broadcast:${id}` })
