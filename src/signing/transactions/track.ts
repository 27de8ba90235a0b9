// The tracker, one per network: it matches each new block's hashes to live attempts in one query, and asks for receipts
// of those only. It reads all blocks from a cursor on, so it skips none. The cursor moves in the same database
// transaction in which the observations are stored, so a killed worker repeats both.

import type { Tx } from '../../../db/client.ts'
import { recordAttemptError } from '../../../db/queries/attempts.ts'
import { type BlockPoint, beginCursor, type Follower, readCursor, rememberBlocks } from '../../../db/queries/cursors.ts'
import {
  type Attempted,
  findAttempts,
  listLapsed,
  type MinedIn,
  minedAbove,
  minedBeside,
  minedUnsettled,
  minedUpTo,
  readUnfinished,
  type Unfinished,
  type UnsettledRow,
} from '../../../db/queries/mined.ts'
import { hasUnfinished, longQuiet } from '../../../db/queries/transactions.ts'
import {
  advance,
  type Fork,
  finalNumberOf,
  isNextBlockPruned,
  isReorganised,
  move,
  nextBlockPruned,
  rewind,
  type Step,
} from '../../blocks/cursor.ts'
import type { StepResult } from '../../blocks/follow.ts'
import type { BlockWithHashes, Chain, HashStatus, Head, Hex } from '../../chains/chain.ts'
import type { ContractWallet, ContractWallets } from '../../chains/contract-wallets.ts'
import { isHex } from '../../chains/intent.ts'
import type { TrackingCtx } from '../ctx.ts'
import { findUsedNonces, noteBaseFee, runClocks } from './after-block.ts'
import { type Observation, type Observed, recordObservations } from './record-observation.ts'
import { recordFinalBlocksLost } from './repair.ts'
import { agreedResults, hasSucceeded, isFinalForAll, judgeFinal } from './second-opinion.ts'

type Failure = Extract<Observation, { kind: 'confirmed' }>['failure']

/** null for a success. A contract wallet's own event decides, else the receipt; a simulation or a replay says why. */
const explainFailure = async (
  { contractWallets, failureReason }: Pick<Chain, 'contractWallets' | 'failureReason'>,
  { row, status }: { readonly row: UnsettledRow; readonly status: Extract<HashStatus, { kind: 'mined' }> },
): Promise<Failure> => {
  const { kind, contractWallet: address, input } = row
  if (hasSucceeded(row, status)) return null
  if (address === null || kind === 'deployment' || contractWallets === null) {
    const reason =
      status.reason ??
      (isHex(row.hash) ? await failureReason({ hash: row.hash, blockNumber: status.blockNumber }) : null)
    return { code: 'execution_reverted', reason }
  }
  const wallet = { address, owner: row.signerAddress }
  if (status.success) {
    const reason = await ownershipChange(contractWallets, wallet)
    // A call of an address without code succeeds, and does nothing.
    return { code: reason === null ? 'contract_wallet_not_deployed' : 'execution_reverted', reason }
  }
  const { blockNumber } = status
  const intents = isHex(input) ? contractWallets.executed(input) : null
  const failingCall = intents === null ? null : await contractWallets.failingCall({ address, intents, blockNumber })
  return { code: 'execution_reverted', reason: failingCall?.reason ?? (await ownershipChange(contractWallets, wallet)) }
}

/** A Safe itself says only a code (GS026) or nothing. Also null if the node does not answer: no transaction waits. */
const ownershipChange = async (contractWallets: ContractWallets, wallet: ContractWallet): Promise<string | null> => {
  const state = await contractWallets.state(wallet).catch(() => null)
  return state?.kind === 'changed' ? `the contract wallet no longer obeys its key alone: ${state.how}` : null
}

/** The oldest ones. The reconciler finds further ones, and those mined by another attempt than the chosen one. */
const ASKED_MAX = 1_000

/** Asks by hash for what workers sent before the tracker's first block: the tracker reads no block below that. */
const recordMinedBelow = async (
  ctx: TrackingCtx,
  { chain, upToBlock }: { readonly chain: Chain; readonly upToBlock: bigint },
): Promise<void> => {
  const rows = await longQuiet(ctx.db, { network: chain.network, seconds: 0, limit: ASKED_MAX })
  const statuses = await chain.statuses(
    rows.map(({ chosenHash, minedBlockHash }) => ({
      hash: chosenHash as Hex,
      blockHash: minedBlockHash as Hex | null,
    })),
  )
  const mined = rows.flatMap(({ id: transactionId, chosenHash: hash }, index): readonly Observed[] => {
    const status = statuses[index]
    if (status?.kind !== 'mined' || status.blockNumber > upToBlock) return []
    const { blockNumber, blockHash } = status
    return [{ transactionId, observation: { kind: 'included', hash, blockNumber, blockHash } }]
  })
  await ctx.db.transaction((tx) => recordObservations(ctx, tx, mined))
}

/** How many get their result, or become final, in one database transaction. */
const SETTLE_BATCH = 100

/** Processes the next blocks of a network, or a reorganisation, and settles what has enough confirmations. */
export const trackStep = async (ctx: TrackingCtx, chain: Chain): Promise<StepResult> => {
  const follower: Follower = { network: chain.network, purpose: 'track' }
  const head = await chain.head()
  const cursor = await readCursor(ctx.db, follower)
  if (cursor === null) {
    const first = await firstBlock(ctx, { chain, head })
    // Before the cursor is written: a worker that is killed in between does this again.
    await recordMinedBelow(ctx, { chain, upToBlock: first.number })
    await beginCursor(ctx.db, follower, first)
    return 'advanced'
  }
  const blocks = await nextBlocks(chain, { cursor, head })
  const [next = null] = blocks
  if (isReorganised({ cursor, latest: head.latest, next })) {
    const undo = async (tx: Tx, fork: Fork) => {
      if (fork.isBelowFinal) await recordFinalBlocksLost(ctx, tx, { chain, fork })
      const excluded = await minedAbove(tx, { network: chain.network, blockNumber: fork.number })
      await recordObservations(ctx, tx, excluded.map(excludeFrom))
      return excluded.length
    }
    return rewind(ctx, { chain, head, follower, cursor, undo })
  }
  if (next === null) {
    await noteBaseFee(ctx, { chain, head, cursor })
    if (await hasUnfinished(ctx.db, chain.network)) {
      // If the node has a head but not the next block, it is not certain that the cursor's block is still on the chain.
      if (cursor.number === head.latest.number) await settleDeepEnough(ctx, { chain, head, tracked: cursor.number })
      await runClocks(ctx, { chain, head })
    }
    return (await isNextBlockPruned(chain, { cursor, head }))
      ? skipBlocks(ctx, { chain, follower, cursor, head })
      : 'caught_up'
  }
  const last = blocks.at(-1) ?? next
  if (!(await processBlocks(ctx, { chain, follower, cursor, blocks, head }))) return 'overtaken'
  await settleDeepEnough(ctx, { chain, head, tracked: last.number })
  if (last.number >= head.latest.number) await findUsedNonces(ctx, { chain, at: last })
  return 'advanced'
}

/** Far behind, a round trip for each block would take longer than the chain needs to make it. */
const BLOCKS_AT_ONCE = 32

const nextBlocks = (
  chain: Chain,
  { cursor, head }: Pick<Step, 'cursor' | 'head'>,
): Promise<readonly BlockWithHashes[]> => {
  const behind = head.latest.number - cursor.number
  if (behind <= 0n) return Promise.resolve([])
  return chain.blocksFrom({ number: cursor.number + 1n, limit: Math.min(Number(behind), BLOCKS_AT_ONCE) })
}

/**
 * With nothing to track, the head: whatever comes will be mined above it. Otherwise a final block below which nothing
 * can be that must be found by reading blocks, as mortal extrinsics must.
 */
const firstBlock = async (ctx: TrackingCtx, { chain, head }: Pick<Step, 'chain' | 'head'>): Promise<BlockPoint> => {
  if (!(await hasUnfinished(ctx.db, chain.network))) return head.latest
  const number = firstBirth(chain, { head, unfinished: await readUnfinished(ctx.db, chain.network) })
  const block = await chain.block(number)
  if (block === null) throw new Error(`the node of ${chain.network} has no block ${number}`)
  return block
}

/** The newest final block, or the first one that could have taken a live mortal extrinsic if that is lower. */
const firstBirth = (chain: Chain, input: { readonly head: Head; readonly unfinished: Unfinished }): bigint => {
  const final = finalNumberOf(chain, input.head)
  const { earliestBirth } = input.unfinished
  return earliestBirth === null ? final : lower(final, earliestBirth)
}

/** Skips pruned blocks that can hold none of our live transactions; for any other one the tracker waits. */
const skipBlocks = async (ctx: TrackingCtx, { chain, follower, cursor, head }: Step): Promise<StepResult> => {
  const unfinished = await readUnfinished(ctx.db, chain.network)
  const number = firstBirth(chain, { head, unfinished })
  const to = unfinished.immortal === 0 && number > cursor.number ? await chain.block(number) : null
  if (to === null) throw nextBlockPruned(chain, cursor)
  const finalNumber = finalNumberOf(chain, head)
  const moved = await move(ctx, {
    chain,
    follower,
    from: cursor,
    to,
    write: (tx) => rememberBlocks(tx, { follower, blocks: [to], finalNumber }),
  })
  const blocks = { above: String(cursor.number), below: String(to.number) }
  if (moved) ctx.log.warn({ network: chain.network, ...blocks }, 'skipped blocks that the node has pruned')
  return moved ? 'advanced' : 'overtaken'
}

const processBlocks = async (ctx: TrackingCtx, input: Step & { readonly blocks: readonly BlockWithHashes[] }) => {
  const { chain, blocks } = input
  const { network } = chain
  const hits = await findAttempts(ctx.db, { network, hashes: blocks.flatMap((block) => block.transactionHashes) })
  const hitBy = new Map(hits.map((hit) => [hit.hash, hit]))
  const found = blocks.flatMap((block) =>
    block.transactionHashes.flatMap((hash) => {
      const hit = hitBy.get(hash)
      return hit === undefined ? [] : [{ ...hit, blockNumber: block.number, blockHash: block.hash }]
    }),
  )
  const results = await resultsOfNew(ctx, { ...input, found })
  return advance(ctx, {
    ...input,
    write: async (tx) => {
      // The reconciler may have found a transaction in a block that a reorganisation then replaced with one of these.
      const replaced = await Promise.all(
        blocks.map(({ number: blockNumber, hash: blockHash }) => minedBeside(tx, { network, blockNumber, blockHash })),
      )
      const included = found.map(
        ({ transactionId, hash, blockNumber, blockHash }): Observed => ({
          transactionId,
          observation: { kind: 'included', hash, blockNumber, blockHash },
        }),
      )
      // All together, as rows are locked in one order: block by block, two workers could wait for each other.
      await recordObservations(ctx, tx, [...replaced.flat().map(excludeFrom), ...included, ...results])
    },
  })
}

/** Results that are certain enough as soon as the block is read: on chains that need one confirmation. */
const resultsOfNew = async (
  ctx: TrackingCtx,
  input: Step & {
    readonly found: readonly (Attempted & { readonly blockNumber: bigint; readonly blockHash: string })[]
  },
): Promise<readonly Observed[]> => {
  const { chain, head } = input
  const upToBlock = deepEnough(chain, head)
  const rows = input.found.filter(({ isCancel, blockNumber }) => !isCancel && blockNumber <= upToBlock)
  const results: Observed[] = []
  try {
    for (let at = 0; at < rows.length; at += SETTLE_BATCH)
      results.push(...(await resultsOf(ctx, { chain, rows: rows.slice(at, at + SETTLE_BATCH) })))
  } catch (err) {
    // `settleDeepEnough` asks again. That they are in a block is recorded meanwhile.
    ctx.log.warn({ err, network: chain.network }, 'the results of new transactions were not read')
  }
  return results
}

const excludeFrom = ({ transactionId, blockHash }: MinedIn): Observed => ({
  transactionId,
  observation: { kind: 'excluded', blockHash },
})

const lower = (one: bigint, other: bigint): bigint => (one < other ? one : other)

/** The newest block with enough confirmations. */
const deepEnough = ({ depth }: Chain, { latest }: Head): bigint => latest.number - BigInt(depth.confirmations - 1)

/** Never above the tracker's cursor, because a reorganisation of later blocks would not be noticed. */
const settleDeepEnough = async (
  ctx: TrackingCtx,
  input: { readonly chain: Chain; readonly head: Head; readonly tracked: bigint },
): Promise<void> => {
  const { chain, head, tracked } = input
  const upToBlock = lower(deepEnough(chain, head), tracked)
  let isMore = true
  for (let offset = 0; isMore; ) {
    const { read, settled } = await settleBatch(ctx, { chain, upToBlock, offset })
    isMore = read === SETTLE_BATCH
    // What cannot be settled now does not block other rows.
    offset += read - settled
  }
  const finalNumber = lower(finalNumberOf(chain, head), tracked)
  const final = await minedUpTo(ctx.db, { network: chain.network, blockNumber: finalNumber })
  for (let at = 0; at < final.length; at += SETTLE_BATCH) {
    const { agreed, doubted } = await judgeFinal(ctx, { chain, rows: final.slice(at, at + SETTLE_BATCH) })
    const finalized = agreed.map(
      ({ transactionId }): Observed => ({ transactionId, observation: { kind: 'finalized' } }),
    )
    await ctx.db.transaction((tx) => recordObservations(ctx, tx, finalized))
    // A result that was recorded while only one node could be asked may be wrong.
    await settleRows(ctx, { chain, rows: doubted })
  }
  await settleLapsed(ctx, { chain, blockNumber: finalNumber })
}

/** Ends mortal transactions whose last possible block is final and processed. */
const settleLapsed = async (
  ctx: TrackingCtx,
  { chain, blockNumber }: { readonly chain: Chain; readonly blockNumber: bigint },
): Promise<void> => {
  const lapsed = await listLapsed(ctx.db, { network: chain.network, blockNumber, limit: SETTLE_BATCH })
  if (lapsed.length === 0 || !(await isFinalForAll(ctx, chain, blockNumber))) return
  const observation = lapsed.map(({ transactionId }): Observed => ({ transactionId, observation: { kind: 'lapsed' } }))
  await ctx.db.transaction((tx) => recordObservations(ctx, tx, observation))
}

/** @returns how many rows it read, and how many of them are settled now. */
const settleBatch = async (
  ctx: TrackingCtx,
  { chain, ...from }: { readonly chain: Chain; readonly upToBlock: bigint; readonly offset: number },
): Promise<{ readonly read: number; readonly settled: number }> => {
  const rows = await minedUnsettled(ctx.db, { network: chain.network, ...from, limit: SETTLE_BATCH })
  return { read: rows.length, settled: await settleRows(ctx, { chain, rows }) }
}

/** @returns how many are settled now. */
const settleRows = async (
  ctx: TrackingCtx,
  input: { readonly chain: Chain; readonly rows: readonly UnsettledRow[] },
): Promise<number> => {
  const settled = await resultsOf(ctx, input)
  if (settled.length > 0) await ctx.db.transaction((tx) => recordObservations(ctx, tx, settled))
  return settled.length
}

/** Skips rows whose block has changed, or about which the nodes disagree. */
const resultsOf = async (
  ctx: TrackingCtx,
  { chain, rows }: { readonly chain: Chain; readonly rows: readonly UnsettledRow[] },
): Promise<readonly Observed[]> => {
  if (rows.length === 0) return []
  const statuses = await chain.statuses(
    rows.map(({ hash, blockHash }) => ({ hash: hash as Hex, blockHash: blockHash as Hex })),
  )
  const results = await agreedResults(ctx, { chain, rows, statuses })
  const batches = await Promise.all(
    rows.map(async (row, index): Promise<readonly Observed[]> => {
      const { transactionId, blockHash } = row
      const unknown = statuses[index]
      if (unknown?.kind === 'unknown' && unknown.reason !== undefined) {
        await recordAttemptError(ctx.db, { transactionId, hash: row.hash, error: unknown.reason })
      }
      const status = results.get(row)
      if (status === undefined) return []
      const failure = await explainFailure(chain, { row, status })
      // Only these can create a contract: what an eoa wallet calls may emit the same logs. A batch of coins is a
      // creation that leaves no contract.
      const mayCreate = row.kind !== 'token_transfer' && (row.to === null || row.contractWallet !== null)
      const contractAddress = mayCreate ? status.contractAddress : null
      return [{ transactionId, observation: { kind: 'confirmed', blockHash, failure, contractAddress } }]
    }),
  )
  return batches.flat()
}
