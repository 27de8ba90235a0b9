// Pages of a project's wallets, by number, oldest first. To find the last of ten thousand pages, PostgreSQL passes an
// index entry for each wallet before it. Wallets are never deleted, so a wallet keeps its place in the list: each
// process remembers every thousandth, and counts from there.

import { LRUCache } from 'lru-cache'
import type { HasDb } from '../../../db/client.ts'
import { type Reach, type WalletRow, walletMarks } from '../../../db/queries/wallets.ts'
import type { Network } from '../../../db/words.ts'
import type { HasChains } from '../../chains/chains.ts'
import type { HasWallets } from './get.ts'

type ListInput = Reach & { readonly network: Network; readonly limit: number; readonly offset: number }

const WALLETS_A_MARK = 1_000
const LISTS_MAX = 1_000
const REMEMBERED_MS = 3_600_000

export const createWalletList = (ctx: HasDb & HasChains & HasWallets) => {
  /** By project and network: the id of the wallet before each place that is a multiple of a thousand. */
  const remembered = new LRUCache<string, readonly string[]>({ max: LISTS_MAX, ttl: REMEMBERED_MS })

  /** The nearest mark before an offset; null is the beginning. */
  const markBefore = async ({ projectId, network, offset }: ListInput) => {
    const wanted = Math.floor(offset / WALLETS_A_MARK)
    const list = `${projectId} ${network}`
    let marks = remembered.get(list) ?? []
    if (marks.length < wanted) {
      const count = (wanted - marks.length) * WALLETS_A_MARK
      const more = await walletMarks(ctx.db, {
        projectId,
        network,
        after: marks.at(-1) ?? null,
        count,
        every: WALLETS_A_MARK,
      })
      marks = [...marks, ...more]
      remembered.set(list, marks)
    }
    const place = Math.min(wanted, marks.length)
    return { after: marks[place - 1] ?? null, offset: offset - place * WALLETS_A_MARK }
  }

  return async (input: ListInput): Promise<readonly WalletRow[]> => {
    ctx.chains.get(input.network)
    const isLong = input.ownedBy === null && input.offset >= WALLETS_A_MARK
    const from = isLong ? await markBefore(input) : { after: null, offset: input.offset }
    return ctx.wallets.list({ ...input, ...from })
  }
}
