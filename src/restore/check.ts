// After a restore without a journal: finds on the chain what our wallets have done since the backup, and freezes these wallets
// until the followers have read the same blocks. It begins at the blocks up to which the restored database has followed each
// network, so it runs before the workers start.
//
// A transaction of a wallet is one that the wallet's address has sent, or that was sent to a contract wallet.

import { setTimeout as sleep } from 'node:timers/promises'
import { readCursor } from '../../db/queries/cursors.ts'
import { listFreezes } from '../../db/queries/freezes.ts'
import { knownHashes, walletsAmong } from '../../db/queries/restore.ts'
import { findWalletById } from '../../db/queries/wallets.ts'
import { CURSOR_PURPOSES, type Network } from '../../db/words.ts'
import type { Chain } from '../chains/chain.ts'
import type { Chains } from '../chains/chains.ts'
import type { IdentityCtx } from '../environment/contexts.ts'
import { freeze, unfreeze } from '../freezes/freeze.ts'

type CheckCtx = Pick<IdentityCtx, 'db' | 'audit'> & { readonly chains: Chains }

/** A transaction that the chain has and the database does not. */
type UnknownTransaction = {
  readonly network: Network
  readonly block: bigint
  readonly hash: string
  readonly wallet: string
  readonly address: string
}

type Checked = {
  readonly unknown: readonly UnknownTransaction[]
  /** Wallets that this run has frozen. */
  readonly frozen: readonly string[]
  /** The blocks that were read, both ends included. */
  readonly read: readonly { readonly network: Network; readonly from: bigint; readonly to: bigint }[]
}

const BLOCKS_AT_ONCE = 50
/** Begins the reason of these freezes, by which `release` knows them. */
const REASON = 'cli restore check'

const unknownAmong = async (
  ctx: CheckCtx,
  chain: Chain,
  blocks: Awaited<ReturnType<Chain['sendersFrom']>>,
): Promise<readonly UnknownTransaction[]> => {
  const { network } = chain
  const sent = blocks.flatMap(({ number, transactions }) => transactions.map((each) => ({ ...each, block: number })))
  const addresses = [...new Set(sent.flatMap(({ from, to }) => (to === null ? [from] : [from, to])))]
  const wallets = await walletsAmong(ctx.db, { network, addresses })
  const ofContract = new Set(wallets.filter(({ type }) => type === 'contract').map(({ address }) => address))
  const isOf = (address: string, { from, to }: (typeof sent)[number]) =>
    from === address || (to === address && ofContract.has(address))
  const theirs = sent.filter((each) => wallets.some(({ address }) => isOf(address, each)))
  const known = await knownHashes(ctx.db, { network, hashes: theirs.map(({ hash }) => hash) })
  return theirs
    .filter(({ hash }) => !known.has(hash))
    .flatMap((each) =>
      wallets
        .filter(({ address }) => isOf(address, each))
        .map(({ id, address }) => ({ network, block: each.block, hash: each.hash, wallet: id, address })),
    )
}

type Progress = (read: { readonly network: Network; readonly block: bigint; readonly to: bigint }) => void

const checkNetwork = async (ctx: CheckCtx, chain: Chain, onProgress: Progress) => {
  const { network } = chain
  const cursor = await readCursor(ctx.db, { network, purpose: 'track' })
  if (cursor === null) return null
  const to = (await chain.head()).latest.number
  const unknown: UnknownTransaction[] = []
  for (let number = cursor.number + 1n; number <= to; ) {
    const limit = Math.min(BLOCKS_AT_ONCE, Number(to - number) + 1)
    const blocks = await chain.sendersFrom({ number, limit })
    if (blocks.length === 0) break
    unknown.push(...(await unknownAmong(ctx, chain, blocks)))
    number += BigInt(blocks.length)
    onProgress({ network, block: number - 1n, to })
  }
  return { unknown, read: { network, from: cursor.number + 1n, to } }
}

/**
 * Reads the blocks since the backup, and freezes the wallets of transactions that the database does not have. It changes nothing
 * else, and may be run again.
 */
export const checkRestored = async (
  ctx: CheckCtx,
  input: { readonly actor: string; readonly onProgress: Progress },
): Promise<Checked> => {
  const unknown: UnknownTransaction[] = []
  const read: Checked['read'][number][] = []
  for (const chain of ctx.chains.all) {
    const checked = await checkNetwork(ctx, chain, input.onProgress)
    if (checked === null) continue
    unknown.push(...checked.unknown)
    read.push(checked.read)
  }
  const frozen: string[] = []
  for (const walletId of new Set(unknown.map(({ wallet }) => wallet))) {
    const count = unknown.filter(({ wallet }) => wallet === walletId).length
    const reason = `${REASON}: the chain has ${count} of its transactions since the backup, which the database does not have`
    if (await freeze(ctx, { target: { scope: 'wallet', walletId }, reason, actor: input.actor })) frozen.push(walletId)
  }
  return { unknown, frozen, read }
}

const LOOK_EVERY_MS = 1_000

/** Waits until both followers of a network have read all blocks that it has now. */
const caughtUp = async (ctx: CheckCtx, chain: Chain): Promise<void> => {
  const { network } = chain
  const { latest } = await chain.head()
  for (const purpose of CURSOR_PURPOSES) {
    while (((await readCursor(ctx.db, { network, purpose }))?.number ?? -1n) < latest.number) await sleep(LOOK_EVERY_MS)
  }
}

/**
 * Unfreezes the wallets that `checkRestored` has frozen, each when its network's followers have read the blocks that are there
 * now. A worker must run. @returns their ids
 */
export const releaseChecked = async (
  ctx: CheckCtx,
  { actor }: { readonly actor: string },
): Promise<readonly string[]> => {
  const released: string[] = []
  const ours = (await listFreezes(ctx.db)).filter(({ reason }) => reason.startsWith(REASON))
  const waits = new Map<Network, Promise<void>>()
  for (const { walletId } of ours) {
    const wallet = walletId === null ? null : await findWalletById(ctx.db, walletId)
    if (wallet === null) continue
    const chain = ctx.chains.withNode(wallet.network)
    const wait = waits.get(wallet.network) ?? caughtUp(ctx, chain)
    waits.set(wallet.network, wait)
    await wait
    const target = { scope: 'wallet', walletId: wallet.id } as const
    if (await unfreeze(ctx, { target, reason: REASON, actor })) released.push(wallet.id)
  }
  return released
}
