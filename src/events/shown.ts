// Events as callers see them, in lists, in streams and in webhooks: what the triggers wrote (db/events.ts), and what
// SQL does not know, which is how a network or a token list shows a coin or a token. No node is asked. A contract that
// no process could read yet has no name and no decimals, so that its amount is in base units.

import type { Queryable } from '../../db/client.ts'
import type { EventRow } from '../../db/queries/events.ts'
import { readFacts } from '../../db/queries/facts.ts'
import type { Network } from '../../db/words.ts'
import { describeActivity } from '../assets/activity/list.ts'
import type { WalletActivityItem } from '../assets/activity/schema.ts'
import type { HasConfig } from '../platform/config.ts'
import type { NetworkRow } from '../platform/networks.ts'
import { type CoinOfNetwork, tokenDisplays, UNREAD } from '../signing/token.ts'
import type { ProjectEvent } from './schema.ts'

export type ShownCtx = { readonly db: Queryable; readonly config: Pick<HasConfig['config'], 'networks'> }

/** What the trigger writes of an item of the activity. */
type Moved = Omit<WalletActivityItem, 'metadata' | 'token' | 'initiated_by'> & {
  readonly contract_address: string | null
  readonly token_id: string | null
  readonly raw_amount: string
  /** Absent in events that an earlier version wrote. */
  readonly counterparty?: string
  readonly initiated_by?: string | null
}

type ShownNetwork = CoinOfNetwork & Pick<NetworkRow, 'knownTokens'>

/** A network that was in NETWORKS_FILE, and was removed. */
const formerNetwork = (network: Network): ShownNetwork => ({
  network,
  coin: { ...UNREAD, word: '', displayDecimals: 0, logoUrl: '' },
  knownTokens: new Map(),
})

const readItems = async (
  ctx: ShownCtx,
  input: { readonly projectId: string; readonly chain: ShownNetwork; readonly moved: readonly Moved[] },
): Promise<readonly WalletActivityItem[]> => {
  const { projectId, chain, moved } = input
  const addresses = [...new Set(moved.flatMap(({ contract_address }) => contract_address ?? []))]
  const found = await readFacts(ctx.db, { network: chain.network, addresses })
  const displays = await tokenDisplays({ db: ctx.db, identity: null }, { chain, addresses, projectId })
  const facts = new Map(found.map((row) => [row.address, row]))
  return moved.map(({ contract_address: contract, token_id, type, ...each }) =>
    describeActivity(chain, {
      movement: {
        id: each.uuid,
        network: each.network,
        at: new Date(each.timestamp),
        address: each.wallet_address,
        counterparty: each.counterparty ?? null,
        initiatedBy: each.initiated_by ?? null,
        direction: type.startsWith('receive') ? 'in' : 'out',
        contract,
        tokenId: token_id === null ? null : BigInt(token_id),
        amount: BigInt(each.raw_amount),
        transactionHash: each.transaction_hash,
      },
      facts: contract === null ? null : (facts.get(contract) ?? UNREAD),
      display: displays.get(contract ?? ''),
    }),
  )
}

/** The activity's items among the events, by the events' numbers. */
const readActivityItems = async (
  ctx: ShownCtx,
  rows: readonly EventRow[],
): Promise<ReadonlyMap<bigint, WalletActivityItem>> => {
  const groups = Map.groupBy(
    rows.filter(({ type }) => type === 'activity.created'),
    ({ projectId, data }) => `${projectId} ${data.network}`,
  )
  const items = new Map<bigint, WalletActivityItem>()
  for (const group of groups.values()) {
    // The trigger writes `data`, and each answer is checked by its schema.
    const moved = group.map(({ data }) => data as Moved)
    const [first] = group
    const network = moved[0]?.network
    if (first === undefined || network === undefined) continue
    const chain = ctx.config.networks.find((each) => each.network === network) ?? formerNetwork(network)
    const found = await readItems(ctx, { projectId: first.projectId, chain, moved })
    group.forEach(({ number }, index) => {
      const item = found[index]
      if (item !== undefined) items.set(number, item)
    })
  }
  return items
}

const completeData = ({ type, data }: EventRow, item: WalletActivityItem | undefined): unknown => {
  if (item !== undefined) return item
  if (type !== 'transaction.updated') return data
  // By the wallet only deliveries are put in order.
  const { wallet_address: _wallet, ...status } = data
  return status
}

const showEvent = (row: EventRow, item: WalletActivityItem | undefined): ProjectEvent => {
  const { number, type, version, createdAt, projectId } = row
  const shown = {
    id: number.toString(),
    type,
    version,
    created_at: createdAt.toISOString(),
    project_id: projectId,
    data: completeData(row, item),
  }
  return shown as unknown as ProjectEvent
}

/** Events as callers see them. It asks the database alone, so it may be called in a transaction. */
export const shownEvents = async (ctx: ShownCtx, rows: readonly EventRow[]): Promise<readonly ProjectEvent[]> => {
  const items = await readActivityItems(ctx, rows)
  return rows.map((row) => showEvent(row, items.get(row.number)))
}
