// After a restore without a journal: finds on the chain what our wallets have done since the backup, and freezes these
// wallets until the followers have read the same blocks. It begins at the blocks up to which the restored database has
// followed each network, so it runs before the workers start.
//
// A transaction of a wallet is one that the address of its key has sent, or that was sent to a contract wallet. What
// deploys a contract wallet is sent to another contract: only its sender tells whose it is.

import { setTimeout as sleep } from 'node:timers/promises'
import type { HasDb } from '../../../db/client.ts'
import { readCursor } from '../../../db/queries/cursors.ts'
import { listFreezes } from '../../../db/queries/freezes.ts'
import {
  findKnownHashes,
  findWalletsByAddresses,
  insertLostTransactions,
  listContractWallets,
  networksWithWallets,
  releaseLost,
  walletsWithLost,
} from '../../../db/queries/restore.ts'
import { findWalletById, type WalletRow } from '../../../db/queries/wallets.ts'
import { CURSOR_PURPOSES, type Network } from '../../../db/words.ts'
import type { Chain } from '../../chains/chain.ts'
import type { Chains } from '../../chains/chains.ts'
import { AppError } from '../../platform/errors.ts'
import { signerAddressOf } from '../../signing/wallets/signer.ts'
import type { HasVault } from '../../vault/contract/vault.ts'
import { freeze, unfreeze } from '../freezes/freeze.ts'

type CheckCtx = HasDb & HasVault & { readonly chains: Chains }

/** A transaction that the chain has and the database does not. */
type UnknownTransaction = {
  readonly network: Network
  readonly block: bigint
  readonly hash: string
  readonly wallet: string
  readonly address: string
  /** What it does, as `SentTransaction` has it. */
  readonly callText: string
}

type Checked = {
  readonly unknown: readonly UnknownTransaction[]
  readonly frozen: readonly string[]
  /** The blocks that were read, both ends included. */
  readonly read: readonly { readonly network: Network; readonly from: bigint; readonly to: bigint }[]
  /** Networks with wallets that were not read: we have no node, or no worker had followed it before the backup. */
  readonly unread: readonly { readonly network: Network; readonly why: 'no_node' | 'not_followed' }[]
}

const BLOCKS_AT_ONCE = 50
/** Begins the reason of these freezes, by which `release` knows them. */
const REASON = 'cli restore check'

type Ours = Pick<WalletRow, 'id' | 'address' | 'type'> & { readonly keyAddress: string }

const readContractWallets = async ({ db }: CheckCtx, chain: Chain): Promise<readonly Ours[]> => {
  const rows = await listContractWallets(db, chain.network)
  return rows.map((row) => ({ ...row, keyAddress: signerAddressOf(chain, row) }))
}

type Blocks = Awaited<ReturnType<Chain['sendersFrom']>>

const unknownAmong = async (
  ctx: CheckCtx,
  input: { readonly network: Network; readonly blocks: Blocks; readonly contractWallets: readonly Ours[] },
): Promise<readonly UnknownTransaction[]> => {
  const { network, blocks, contractWallets } = input
  const sent = blocks.flatMap(({ number, transactions }) => transactions.map((each) => ({ ...each, block: number })))
  const addresses = new Set(sent.flatMap(({ from, to }) => (to === null ? [from] : [from, to])))
  const found = await findWalletsByAddresses(ctx.db, { network, addresses: [...addresses] })
  const wallets: readonly Ours[] = [
    ...found.filter(({ type }) => type === 'eoa').map((row) => ({ ...row, keyAddress: row.address })),
    ...contractWallets.filter(({ address, keyAddress }) => addresses.has(address) || addresses.has(keyAddress)),
  ]
  const isOf = ({ type, address, keyAddress }: Ours, { from, to }: (typeof sent)[number]) =>
    from === keyAddress || (type === 'contract' && to === address)
  const walletTransactions = sent.filter((each) => wallets.some((wallet) => isOf(wallet, each)))
  const known = await findKnownHashes(ctx.db, { network, hashes: walletTransactions.map(({ hash }) => hash) })
  return walletTransactions
    .filter(({ hash }) => !known.has(hash))
    .flatMap((each) =>
      wallets
        .filter((wallet) => isOf(wallet, each))
        .map(({ id: wallet, address }) => {
          const { block, hash, callText } = each
          return { network, block, hash, callText, wallet, address }
        }),
    )
}

type Progress = (read: { readonly network: Network; readonly block: bigint; readonly to: bigint }) => void

const checkNetwork = async (ctx: CheckCtx, chain: Chain, onProgress: Progress) => {
  const { network } = chain
  const cursor = await readCursor(ctx.db, { network, purpose: 'track' })
  if (cursor === null) return null
  const to = (await chain.head()).latest.number
  const contractWallets = await readContractWallets(ctx, chain)
  const unknown: UnknownTransaction[] = []
  for (let number = cursor.number + 1n; number <= to; ) {
    const limit = Math.min(BLOCKS_AT_ONCE, Number(to - number) + 1)
    const blocks = await chain.sendersFrom({ number, limit })
    if (blocks.length === 0) {
      const sentence = `The ${network} node does not have block ${number}: use one that has all blocks since the backup, and run this again.`
      throw new AppError('node_unavailable', sentence)
    }
    unknown.push(...(await unknownAmong(ctx, { network, blocks, contractWallets })))
    number += BigInt(blocks.length)
    onProgress({ network, block: number - 1n, to })
  }
  return { unknown, read: { network, from: cursor.number + 1n, to } }
}

/** Each owner's key gives an address on every network: one with neither node nor follower needs no check. */
const unreadAmong = async (ctx: CheckCtx, read: Checked['read']): Promise<Checked['unread']> => {
  const unread: Checked['unread'][number][] = []
  for (const network of await networksWithWallets(ctx.db)) {
    if (read.some((each) => each.network === network)) continue
    if (ctx.chains.all.some((chain) => chain.network === network)) unread.push({ network, why: 'not_followed' })
    else if ((await readCursor(ctx.db, { network, purpose: 'track' })) !== null)
      unread.push({ network, why: 'no_node' })
  }
  return unread
}

/** Freezes the wallets of transactions that the chain has since the backup and the database does not. Repeatable. */
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
  const unread = await unreadAmong(ctx, read)
  const frozen: string[] = []
  for (const walletId of new Set(unknown.map(({ wallet }) => wallet))) {
    const count = unknown.filter(({ wallet }) => wallet === walletId).length
    const reason = `${REASON}: the chain has ${count} of its transactions since the backup, which the database does not have`
    if (await freeze(ctx, { target: { scope: 'wallet', walletId }, reason, actor: input.actor })) frozen.push(walletId)
  }
  await insertLostTransactions(
    ctx.db,
    unknown.map(({ wallet: walletId, hash, callText }) => ({ walletId, hash, callText })),
  )
  return { unknown, frozen, read, unread }
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

/** Unfreezes what `checkRestored` froze once the followers of a worker have read the network's blocks. */
export const releaseChecked = async (
  ctx: CheckCtx,
  { actor }: { readonly actor: string },
): Promise<readonly string[]> => {
  const released: string[] = []
  const frozen = (await listFreezes(ctx.db)).filter(({ reason }) => reason.startsWith(REASON))
  const frozenWallets = new Set(frozen.map(({ walletId }) => walletId))
  // A wallet with lost transactions may have been frozen before, or be unfrozen already.
  const walletIds = new Set([...frozenWallets, ...(await walletsWithLost(ctx.db))])
  const waits = new Map<Network, Promise<void>>()
  for (const walletId of walletIds) {
    const wallet = walletId === null ? null : await findWalletById(ctx.db, walletId)
    if (wallet === null) continue
    const chain = ctx.chains.withNode(wallet.network)
    const wait = waits.get(wallet.network) ?? caughtUp(ctx, chain)
    waits.set(wallet.network, wait)
    await wait
    const target = { scope: 'wallet', walletId: wallet.id } as const
    await releaseLost(ctx.db, wallet.id)
    if (frozenWallets.has(wallet.id) && (await unfreeze(ctx, { target, reason: REASON, actor })))
      released.push(wallet.id)
  }
  return released
}
