// The ABIs that operators added, as previews and policies use them. An attacker with the database could give a function another name,
// which people would read before they agree: so rows that the service did not write count as absent.

import type { Db } from '../../../db/client.ts'
import { readAbiItems } from '../../../db/queries/abis.ts'
import type { AddedAbiItem } from '../../chains/calls.ts'
import type { ChainMemory } from '../../chains/facts.ts'
import { abiItemMac } from '../../identity/auth/row-macs.ts'
import type { Sealer } from '../../platform/sealing/sealer.ts'

/** @param of.identity null in a process without IDENTITY_KEY, which only says why a transaction failed: it takes all rows. */
export const createAbiMemory = ({
  db,
  identity,
}: {
  readonly db: Db
  readonly identity: Pick<Sealer, 'authenticator' | 'verifier'> | null
}): Pick<ChainMemory, 'readAbiItems'> => {
  const mac = identity && abiItemMac(identity)
  return {
    readAbiItems: async (asked) => {
      const items = new Map<string, AddedAbiItem & { isGeneral: boolean; readonly addresses: string[] }>()
      for (const row of await readAbiItems(db, asked)) {
        if (mac !== null && !mac.holds(row)) continue
        const key = JSON.stringify([row.selector, row.item])
        const item = items.get(key) ?? { ...row.item, selector: row.selector, isGeneral: false, addresses: [] }
        if (row.address === null) item.isGeneral = true
        else item.addresses.push(row.address)
        items.set(key, item)
      }
      return [...items.values()]
    },
  }
}
