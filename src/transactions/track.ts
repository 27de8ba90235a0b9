// Tracking, per network and not per transaction: each new block's hashes are matched to live attempts in one query, and
// receipts are asked for hits only. Blocks come from a cursor, so none is skipped; the cursor moves in the same database
// transaction as what was learnt, so a killed worker learns it again.

import type { Tx } from '../../db/client.ts'
import { type BlockPoint, beginCursor, type Follower, readCursor, rememberBlocks } from '../../db/queries/cursors.ts'
import {
  attemptsAmong,
  lapsedBy,
  type MinedIn,
  minedAbove,
  minedBeside,
  minedUnsettled,
  minedUpTo,
  readUnfinished,
  type Unfinished,
  type UnsettledRow,
} from '../../db/queries/mined.ts'
import { hasUnfinished, longQuiet, noteAttemptError } from '../../db/queries/transactions.ts'
import type { Network } from '../../db/words.ts'
import { advance, move, rewind } from '../blocks/cursor.ts'
import type { StepResult } from '../blocks/follow.ts'
import { type Fork, finalNumberOf, type Head, isNextGone, isReorganised, nextIsGone } from '../blocks/fork.ts'
import type { BlockWithHashes, Chain, HashStatus, Hex } from '../chains/chain.ts'
import type { ContractWallet, ContractWallets } from '../chains/contract-wallets.ts'
import type { WorkerCtx } from '../context.ts'
import { runClocks, tellUsedNonces } from './after-block.ts'
import { type Learnt, learnAll, type News } from './learn.ts'
import { tellFinalLost } from './repair.ts'

type Failure = Extract<News, { kind: 'confirmed' }>['failure']

const isHex = (text: string): text is Hex => text.startsWith('0x')

/**
 * How a mined execution failed, null where it did not. A receipt is the word on what a key sent; on what a contract wallet
 * was to do only the wallet's own event is, and why it could not is asked of the calls within.
 * @throws node_unavailable.
 */
const failureOf = async (
  { contractWallets }: Pick<Chain, 'contractWallets'>,
  { row, status }: { readonly row: UnsettledRow; readonly status: Extract<HashStatus, { kind: 'mined' }> },
): Promise<Failure> => {
  const { kind, contractWallet: address, input } = row
  const isExecuted = address === null || kind === 'deployment' || status.executedBy.includes(address)
  if (status.success && isExecuted) return null
  if (address === null || kind === 'deployment' || contractWallets === null) {
    return { code: 'execution_reverted', reason: status.reason }
  }
  const wallet = { address, owner: row.signerAddress }
  if (status.success) {
    const reason = await changeOf(contractWallets, wallet)
    // A call of an address without code succeeds, and does nothing.
    return { code: reason === null ? 'contract_wallet_not_deployed' : 'execution_reverted', reason }
  }
  const { blockNumber } = status
  const intents = isHex(input) ? contractWallets.executed(input) : null
  const hindrance = intents === null ? null : await contractWallets.hindrance({ address, intents, blockNumber })
  return { code: 'execution_reverted', reason: hindrance?.reason ?? (await changeOf(contractWallets, wallet)) }
}

/**
 * Whether it no longer obeys its key alone, as it stands now: a Safe says that in numbers (GS026), or not at all. null also
 * where it cannot be told, so that nobody's end waits for it.
 */
const changeOf = async (contractWallets: ContractWallets, wallet: ContractWallet): Promise<string | null> => {
  const state = await contractWallets.state(wallet).catch(() => null)
  return state?.kind === 'changed' ? `the contract wallet no longer obeys its key alone: ${state.how}` : null
}

/** The longest known; what is more than that, or was mined by another attempt than the chosen one, the reconciler finds. */
const ASKED_MAX = 1_000

/**
 * A tracker that begins at a block will come by none below it: what workers sent before, and is mined there already, is asked
 * for by its hash. @throws node_unavailable.
 */
const learnMinedBelow = async (
  ctx: Pick<WorkerCtx, 'db' | 'metrics'>,
  { chain, upToBlock }: { readonly chain: Chain; readonly upToBlock: bigint },
): Promise<void> => {
  const rows = await longQuiet(ctx.db, { network: chain.network, seconds: 0, limit: ASKED_MAX })
  const statuses = await chain.statuses(
    rows.map(({ chosenHash, minedBlockHash }) => ({
      hash: chosenHash as Hex,
      blockHash: minedBlockHash as Hex | null,
    })),
  )
  const mined = rows.flatMap(({ id: transactionId, chosenHash: hash }, index): readonly Learnt[] => {
    const status = statuses[index]
    if (status?.kind !== 'mined' || status.blockNumber > upToBlock) return []
    const { blockNumber, blockHash } = status
    return [{ transactionId, news: { kind: 'included', hash, blockNumber, blockHash } }]
  })
  await ctx.db.transaction((tx) => learnAll(ctx, tx, mined))
}

/** So many are told, or made final, in one database transaction. */
const SETTLE_BATCH = 100

/** Takes in the next block of a network, or a reorganisation, and settles what is deep enough. */
export const trackStep = async (ctx: WorkerCtx, chain: Chain): Promise<StepResult> => {
  const follower: Follower = { network: chain.network, purpose: 'track' }
  const head = await chain.head()
  const cursor = await readCursor(ctx.db, follower)
  if (cursor === null) {
    const first = await firstBlock(ctx, { chain, head })
    // Before the cursor is there: whoever is killed in between begins again.
    await learnMinedBelow(ctx, { chain, upToBlock: first.number })
    await beginCursor(ctx.db, follower, first)
    return 'advanced'
  }
  const next = cursor.number < head.latest.number ? await chain.block(cursor.number + 1n) : null
  if (isReorganised({ cursor, latest: head.latest, next })) {
    const undo = async (tx: Tx, fork: Fork) => {
      if (fork.isBelowFinal) await tellFinalLost(ctx, tx, { chain, fork })
      const gone = await minedAbove(tx, { network: chain.network, blockNumber: fork.number })
      await exclude(ctx, tx, gone)
      return gone.length
    }
    return rewind(ctx, { chain, head, follower, cursor, undo })
  }
  if (next === null) {
    // A head above a block that the node does not show says nothing of whether the cursor's is still the chain's.
    if (cursor.number === head.latest.number) await settleDeepEnough(ctx, { chain, head, tracked: cursor.number })
    await runClocks(ctx, { chain, head, cursor })
    return (await isNextGone(chain, { cursor, head })) ? passOver(ctx, { chain, follower, cursor, head }) : 'caught_up'
  }
  const moved = await takeIn(ctx, { chain, follower, cursor, next, head })
  if (moved) await settleDeepEnough(ctx, { chain, head, tracked: next.number })
  if (moved && next.number >= head.latest.number) await tellUsedNonces(ctx, { chain, at: next })
  return moved ? 'advanced' : 'overtaken'
}

/**
 * Where there is nothing yet, whatever comes is mined above the head that was just read. Else a worker may have sent some
 * of it before the tracker's first step; what is mortal nobody could find later by its hash: it begins where that was born.
 */
const firstBlock = async (
  ctx: Pick<WorkerCtx, 'db'>,
  input: { readonly chain: Chain; readonly head: Head },
): Promise<BlockPoint> => {
  const { chain, head } = input
  if (!(await hasUnfinished(ctx.db, chain.network))) return head.latest
  const number = firstBirth(chain, { head, unfinished: await readUnfinished(ctx.db, chain.network) })
  const block = await chain.block(number)
  if (block === null) throw new Error(`the node of ${chain.network} has no block ${number}`)
  return block
}

/** No block that could have taken what is mortal is below this one, at most the newest final one. */
const firstBirth = (chain: Chain, input: { readonly head: Head; readonly unfinished: Unfinished }): bigint => {
  const final = finalNumberOf(chain, input.head)
  const { earliestBirth } = input.unfinished
  return earliestBirth === null ? final : lower(final, earliestBirth)
}

/**
 * The node has let go of the next block. Blocks that nothing of what waits can be in are passed over. Whether others have
 * something in them, they alone can tell: that is neither guessed nor given up, and the tracker waits for a node that has them.
 * @throws node_unavailable.
 */
const passOver = async (
  ctx: Pick<WorkerCtx, 'db' | 'log'>,
  input: { readonly chain: Chain; readonly follower: Follower; readonly cursor: BlockPoint; readonly head: Head },
): Promise<StepResult> => {
  const { chain, follower, cursor, head } = input
  const unfinished = await readUnfinished(ctx.db, chain.network)
  const number = firstBirth(chain, { head, unfinished })
  const to = unfinished.immortal === 0 && number > cursor.number ? await chain.block(number) : null
  if (to === null) throw nextIsGone(chain, cursor)
  const finalNumber = finalNumberOf(chain, head)
  const moved = await move(ctx, {
    follower,
    from: cursor,
    to,
    write: (tx) => rememberBlocks(tx, { follower, blocks: [to], finalNumber }),
  })
  const blocks = { above: String(cursor.number), below: String(to.number) }
  if (moved) ctx.log.warn({ network: chain.network, ...blocks }, 'blocks that the node let go of were passed over')
  return moved ? 'advanced' : 'overtaken'
}

const takeIn = async (
  ctx: WorkerCtx,
  input: {
    readonly chain: Chain
    readonly follower: Follower
    readonly cursor: BlockPoint
    readonly next: BlockWithHashes
    readonly head: Head
  },
): Promise<boolean> => {
  const { chain, next } = input
  const { network } = chain
  const hits = await attemptsAmong(ctx.db, { network, hashes: next.transactionHashes })
  return advance(ctx, {
    ...input,
    blocks: [next],
    write: async (tx) => {
      // The reconciler may have found one in a block that was gone again before it was taken in here.
      const block = { blockNumber: next.number, blockHash: next.hash }
      await exclude(ctx, tx, await minedBeside(tx, { network, ...block }))
      await learnAll(
        ctx,
        tx,
        hits.map(({ transactionId, hash }) => ({
          transactionId,
          news: { kind: 'included', hash, ...block },
        })),
      )
    },
  })
}

/** They are in no block of the chain any more. */
const exclude = async (ctx: Pick<WorkerCtx, 'metrics'>, tx: Tx, mined: readonly MinedIn[]): Promise<void> => {
  await learnAll(
    ctx,
    tx,
    mined.map(({ transactionId, blockHash }) => ({ transactionId, news: { kind: 'excluded', blockHash } })),
  )
}

const lower = (one: bigint, other: bigint): bigint => (one < other ? one : other)

/** Only blocks that were taken in count: of those above nobody would notice that they went away. */
const settleDeepEnough = async (
  ctx: WorkerCtx,
  input: { readonly chain: Chain; readonly head: Head; readonly tracked: bigint },
): Promise<void> => {
  const { chain, head, tracked } = input
  const upToBlock = lower(head.latest.number - BigInt(chain.depth.confirmations - 1), tracked)
  let isMore = true
  for (let offset = 0; isMore; ) {
    const { asked, told } = await tellBatch(ctx, { chain, upToBlock, offset })
    isMore = asked === SETTLE_BATCH
    // What cannot be told hinders nothing behind it.
    offset += asked - told
  }
  const finalNumber = lower(finalNumberOf(chain, head), tracked)
  const final = await minedUpTo(ctx.db, { network: chain.network, blockNumber: finalNumber })
  for (let at = 0; at < final.length; at += SETTLE_BATCH) {
    const finalized = final
      .slice(at, at + SETTLE_BATCH)
      .map(({ transactionId }): Learnt => ({ transactionId, news: { kind: 'finalized' } }))
    await ctx.db.transaction((tx) => learnAll(ctx, tx, finalized))
  }
  await endLapsed(ctx, { network: chain.network, blockNumber: finalNumber })
}

/** All blocks that could have taken them are final and were taken in. */
const endLapsed = async (
  ctx: WorkerCtx,
  upTo: { readonly network: Network; readonly blockNumber: bigint },
): Promise<void> => {
  const lapsed = await lapsedBy(ctx.db, { ...upTo, limit: SETTLE_BATCH })
  if (lapsed.length === 0) return
  const news = lapsed.map(({ transactionId }): Learnt => ({ transactionId, news: { kind: 'lapsed' } }))
  await ctx.db.transaction((tx) => learnAll(ctx, tx, news))
}

/**
 * Tells how transactions ended, unless their block is gone meanwhile: then the next step sees the reorganisation.
 * @returns how many it looked at, and how many of them are told now.
 */
const tellBatch = async (
  ctx: WorkerCtx,
  { chain, ...from }: { readonly chain: Chain; readonly upToBlock: bigint; readonly offset: number },
): Promise<{ readonly asked: number; readonly told: number }> => {
  const { network } = chain
  const rows = await minedUnsettled(ctx.db, { network, ...from, limit: SETTLE_BATCH })
  if (rows.length === 0) return { asked: 0, told: 0 }
  const statuses = await chain.statuses(
    rows.map(({ hash, blockHash }) => ({ hash: hash as Hex, blockHash: blockHash as Hex })),
  )
  const ends = await Promise.all(
    rows.map(async (row, index): Promise<readonly Learnt[]> => {
      const { transactionId, blockHash } = row
      const status = statuses[index]
      if (status?.kind === 'unknown' && status.hindrance !== undefined) {
        await noteAttemptError(ctx.db, { network, hash: row.hash, error: status.hindrance })
      }
      if (status?.kind !== 'mined' || status.blockHash !== blockHash) return []
      const failure = await failureOf(chain, { row, status })
      // What a key calls may log like a contract wallet.
      const mayCreate = row.to === null || row.contractWallet !== null
      const contractAddress = mayCreate ? status.contractAddress : null
      return [{ transactionId, news: { kind: 'confirmed', blockHash, failure, contractAddress } }]
    }),
  )
  const told = ends.flat()
  await ctx.db.transaction((tx) => learnAll(ctx, tx, told))
  return { asked: rows.length, told: told.length }
}
