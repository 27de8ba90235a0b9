// Reads rows of `wallets`, and only those that the service wrote. An attacker with the database has no identity key, so
// a row that the attacker inserts or changes has no valid MAC (src/identity/auth/row-macs.ts). Nothing shows its
// address or signs for it.

import type { Db, HasDb } from '../../../db/client.ts'
import {
  findWallet,
  findWalletById,
  findWalletsById,
  listUserControlled,
  listWallets,
  type Reach,
  type StoredWallet,
  type WalletPlace,
  type WalletRow,
  walletsAt,
} from '../../../db/queries/wallets.ts'
import type { Network } from '../../../db/words.ts'
import type { Chain } from '../../chains/chain.ts'
import type { HasChains } from '../../chains/chains.ts'
import { walletMac } from '../../identity/auth/row-macs.ts'
import type { HasSecurityEvents } from '../../identity/security-events.ts'
import { AppError, notFound, type SecurityEvent } from '../../platform/errors.ts'
import { createBatcher } from '../../platform/queue.ts'
import type { HasIdentity } from '../../platform/sealing/sealer.ts'

const LOOKED_UP_TOGETHER_MAX = 500

const keyOf = (place: WalletPlace): string => `${place.projectId} ${place.network} ${place.address}`

/** Simultaneous requests share a query. */
const createLookUp = (db: Db) => {
  const readTogether = createBatcher({
    sizeMax: LOOKED_UP_TOGETHER_MAX,
    run: async (places: readonly WalletPlace[]) =>
      new Map((await walletsAt(db, places)).map((row) => [keyOf(row), row])),
  })
  return async (place: WalletPlace) => (await readTogether(place)).get(keyOf(place)) ?? null
}

const forged = ({ id: subject, projectId }: StoredWallet): SecurityEvent => ({
  kind: 'row_forged',
  projectId,
  subject,
  details: { table: 'wallets' },
})

/** Reads wallets. A single forged row is the error `internal`; a list leaves it out. Both record a security event. */
export const createWalletReader = (ctx: HasDb & HasIdentity & HasSecurityEvents) => {
  const { db } = ctx
  const mac = walletMac(ctx.identity)
  const lookUp = createLookUp(db)

  const genuine = (row: StoredWallet | null): WalletRow | null => {
    if (row === null || mac.holds(row)) return row
    throw new AppError('internal', 'The row of this wallet was not written by the service.', { event: forged(row) })
  }

  const genuineOnes = (rows: readonly StoredWallet[]): readonly WalletRow[] =>
    rows.filter((row) => {
      const holds = mac.holds(row)
      if (!holds) ctx.securityEvents.record({ event: forged(row), from: '' })
      return holds
    })

  return {
    at: async (place: WalletPlace) => genuine(await lookUp(place)),
    find: async (input: Parameters<typeof findWallet>[1]) => genuine(await findWallet(db, input)),
    byId: async (id: string) => genuine(await findWalletById(db, id)),
    byIds: async (ids: readonly string[]) => genuineOnes(await findWalletsById(db, ids)),
    /** Wallets that an owner's own credential opens, oldest first. */
    userControlled: async (input: Parameters<typeof listUserControlled>[1]) =>
      genuineOnes(await listUserControlled(db, input)),
    list: async (input: Parameters<typeof listWallets>[1]) => genuineOnes(await listWallets(db, input)),
  }
}

export type HasWallets = { readonly wallets: ReturnType<typeof createWalletReader> }

type Key = { readonly id: string } | { readonly address: string } | { readonly ownerId: string }

export const getWallet = async (
  ctx: HasWallets & HasChains,
  input: Reach & { readonly network: Network; readonly by: Key },
): Promise<WalletRow> => {
  const chain = ctx.chains.get(input.network)
  const by = 'address' in input.by ? { address: chain.parseAddress(input.by.address, 'address') } : input.by
  const wallet = await ctx.wallets.find({ ...input, by })
  if (wallet === null) throw notFound('wallet')
  return wallet
}

/** For reading from the chain. @throws wallet_forbidden for an unknown address and for one of another project */
export const ownWallet = async (
  ctx: HasWallets & HasChains,
  input: Reach & { readonly network: Network; readonly walletAddress: string },
): Promise<{ readonly chain: Chain; readonly address: string }> => {
  const { network } = input
  const chain = ctx.chains.withNode(network)
  const address = chain.parseAddress(input.walletAddress, 'wallet_address')
  if ((await ctx.wallets.find({ ...input, by: { address } })) === null) {
    throw new AppError('wallet_forbidden', 'Field "wallet_address" must be the address of a wallet of this project.')
  }
  return { chain, address }
}
