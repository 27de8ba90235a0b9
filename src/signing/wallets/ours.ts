// Reads rows of `wallets` for APIs, and only those that the service wrote. An attacker with the database has no identity key, so a
// row that they insert or change has no valid MAC (src/identity/auth/row-macs.ts). Its address is neither shown nor signed for.

import type { Db, HasDb } from '../../../db/client.ts'
import {
  findWallet,
  findWalletById,
  findWalletsById,
  listUserControlled,
  listWallets,
  type StoredWallet,
  type WalletPlace,
  type WalletRow,
  walletsAt,
} from '../../../db/queries/wallets.ts'
import { walletMac } from '../../identity/auth/row-macs.ts'
import type { HasSecurityEvents } from '../../identity/security-events.ts'
import { AppError, type SecurityEvent } from '../../platform/errors.ts'
import { createBatcher } from '../../platform/queue.ts'
import type { HasIdentity } from '../../platform/sealing/sealer.ts'

const LOOKED_UP_TOGETHER_MAX = 500

const keyOf = (place: WalletPlace): string => `${place.projectId} ${place.network} ${place.address}`

/** A project's wallet at a network and address; simultaneous requests share a query. */
const createLookUp = (db: Db) => {
  const readTogether = createBatcher({
    sizeMax: LOOKED_UP_TOGETHER_MAX,
    run: async (places: readonly WalletPlace[]) =>
      new Map((await walletsAt(db, places)).map((row) => [keyOf(row), row])),
  })
  return async (place: WalletPlace): Promise<StoredWallet | null> =>
    (await readTogether(place)).get(keyOf(place)) ?? null
}

const forged = ({ id: subject, projectId }: StoredWallet): SecurityEvent => ({
  kind: 'row_forged',
  projectId,
  subject,
  details: { table: 'wallets' },
})

/** Reads wallets. A single forged row is the error `internal`; a list leaves it out. Both record a security event. */
export const createOurWallets = (ctx: HasDb & HasIdentity & HasSecurityEvents) => {
  const { db } = ctx
  const mac = walletMac(ctx.identity)
  const lookUp = createLookUp(db)

  const only = (row: StoredWallet | null): WalletRow | null => {
    if (row === null || mac.holds(row)) return row
    throw new AppError('internal', 'The row of this wallet was not written by the service.', { event: forged(row) })
  }

  const among = (rows: readonly StoredWallet[]): readonly WalletRow[] =>
    rows.filter((row) => {
      const holds = mac.holds(row)
      if (!holds) ctx.securityEvents.record({ event: forged(row), from: '' })
      return holds
    })

  return {
    /** A wallet at a project, network and address. */
    at: async (place: WalletPlace) => only(await lookUp(place)),
    /** A wallet within reach, by one of its keys on a network. */
    find: async (input: Parameters<typeof findWallet>[1]) => only(await findWallet(db, input)),
    byId: async (id: string) => only(await findWalletById(db, id)),
    /** Those of the wallets that the service wrote. */
    byIds: async (ids: readonly string[]) => among(await findWalletsById(db, ids)),
    /** Wallets that an owner's own credential opens, oldest first. */
    userControlled: async (input: Parameters<typeof listUserControlled>[1]) =>
      among(await listUserControlled(db, input)),
    /** A page, oldest first. */
    list: async (input: Parameters<typeof listWallets>[1]) => among(await listWallets(db, input)),
  }
}

type OurWallets = ReturnType<typeof createOurWallets>

export type HasWallets = { readonly wallets: OurWallets }
