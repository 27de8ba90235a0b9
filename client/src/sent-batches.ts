// The ids of batches (EIP-5792). An id of the provider itself says which transactions the batch has, so any provider of
// the wallet can read it. An id that the app chose is kept beside it for this browser, as an app asks for its status
// after a reload too.

import type { EvmWallet } from './evm-wallet.ts'
import { isObject } from './provider-error.ts'

/** What keeps the ids that apps chose: by default the page's localStorage. */
export type BatchStorage = Pick<Storage, 'getItem' | 'setItem'>

export type Batch = {
  readonly chainId: number
  /** In the order in which they were sent. */
  readonly transactionIds: readonly string[]
  /** How many there should be: fewer were sent if the service refused one of them. */
  readonly count: number
}

const UUID = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}'
const ID = new RegExp(`^(\\d{1,15}):(${UUID}(?:,${UUID})*)(?:/(\\d{1,3}))?$`)

/** `chainId:transaction`, with further transactions after commas; `/count` where some were not sent. */
export const formatBatch = ({ chainId, transactionIds, count }: Batch): string =>
  `${chainId}:${transactionIds.join(',')}${count === transactionIds.length ? '' : `/${count}`}`

export const parseBatch = (id: string): Batch | null => {
  const [, chainId = '', transactions = '', count] = ID.exec(id) ?? []
  if (chainId === '') return null
  const transactionIds = transactions.split(',')
  return { chainId: Number(chainId), transactionIds, count: Number(count ?? transactionIds.length) }
}

/** The oldest is forgotten first. Wallets know a batch for 24 hours (EIP-5792). */
const KEPT_MAX = 200

type Kept = Readonly<Record<string, string>>

/** The ids that apps chose for batches of one wallet, as their digests: an id can have 4096 bytes. */
export const createChosenIds = ({ address }: Pick<EvmWallet, 'address'>, storage?: BatchStorage) => {
  const name = `strongroom batches ${address.toLowerCase()}`
  /** Also where the browser keeps nothing. */
  let inPage: Kept = {}
  const read = (): Kept => {
    try {
      const value: unknown = JSON.parse((storage ?? localStorage).getItem(name) ?? '{}')
      const entries = Object.entries(isObject(value) ? value : {})
      const texts = entries.flatMap(([key, text]) => (typeof text === 'string' ? [[key, text] as const] : []))
      return { ...inPage, ...Object.fromEntries(texts) }
    } catch {
      return inPage
    }
  }
  return {
    /** The same for the same wallet and id, of 64 hex digits. */
    digest: async (id: string): Promise<string> => {
      const bytes = new TextEncoder().encode(JSON.stringify([address.toLowerCase(), id]))
      const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes))
      return [...digest].map((byte) => byte.toString(16).padStart(2, '0')).join('')
    },
    find: (digest: string): string | undefined => read()[digest],
    keep: (digest: string, id: string): void => {
      inPage = Object.fromEntries(Object.entries({ ...read(), [digest]: id }).slice(-KEPT_MAX))
      try {
        const place = storage ?? localStorage
        place.setItem(name, JSON.stringify(inPage))
      } catch {
        // Full, or not allowed: this page still knows it.
      }
    },
  }
}
