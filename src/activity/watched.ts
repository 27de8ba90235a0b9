import { createdCollectionsAmong } from '../../db/queries/movements.ts'
import { watchedAddresses } from '../../db/queries/wallets.ts'
import type { Network } from '../../db/words.ts'
import type { BlockMovements } from '../chains/chain.ts'
import type { WorkerCtx } from '../context.ts'

/** Whose movements are kept: addresses of wallets, and of collections that were created here. */
export type Watched = { readonly addresses: ReadonlySet<string>; readonly collections: ReadonlySet<string> }

/** Values in one statement, of the 65,535 that there can be. */
const ASKED_AT_ONCE = 20_000

type Ask = (some: readonly string[]) => Promise<ReadonlySet<string>>

const among = async (all: ReadonlySet<string>, ask: Ask): Promise<ReadonlySet<string>> => {
  const list = [...all]
  const found = new Set<string>()
  for (let from = 0; from < list.length; from += ASKED_AT_ONCE) {
    for (const each of await ask(list.slice(from, from + ASKED_AT_ONCE))) found.add(each)
  }
  return found
}

/** Whom of all that moved something in some blocks we watch: as many queries whatever the number of wallets. */
export const watchedIn = async (
  ctx: Pick<WorkerCtx, 'db'>,
  input: { readonly network: Network; readonly blocks: readonly BlockMovements[] },
): Promise<Watched> => {
  const { network, blocks } = input
  const addresses = new Set<string>()
  const nftContracts = new Set<string>()
  for (const { movements } of blocks) {
    for (const { from, to, contract, tokenId } of movements) {
      addresses.add(from).add(to)
      if (contract !== null && tokenId !== null) nftContracts.add(contract)
    }
  }
  return {
    addresses: await among(addresses, (some) => watchedAddresses(ctx.db, { network, addresses: some })),
    collections: await among(nftContracts, (some) => createdCollectionsAmong(ctx.db, { network, contracts: some })),
  }
}
