import type { HasDb, Tx } from '../../../db/client.ts'
import { doubtContracts } from '../../../db/queries/doubtful-contracts.ts'
import { createdCollectionsAmong, type MovementRow } from '../../../db/queries/movements.ts'
import { watchedAddresses } from '../../../db/queries/wallets.ts'
import type { Network } from '../../../db/words.ts'
import { asStandard, type BlockMovements, type Chain, type RecordedMovement } from '../../chains/chain.ts'
import { nameUuid } from '../../platform/name-uuid.ts'
import { NOBODIES } from '../../platform/networks.ts'
import type { HasLog } from '../../platform/process/log.ts'

/** The addresses of wallets, and of collections that were created here: their movements are stored. */
type Watched = { readonly addresses: ReadonlySet<string>; readonly collections: ReadonlySet<string> }

/** Values in one statement; PostgreSQL allows 65,535. */
const ASKED_AT_ONCE = 20_000

const selectIn = async (
  all: ReadonlySet<string>,
  ask: (some: readonly string[]) => Promise<ReadonlySet<string>>,
): Promise<ReadonlySet<string>> => {
  const list = [...all]
  const found = new Set<string>()
  for (let from = 0; from < list.length; from += ASKED_AT_ONCE) {
    for (const each of await ask(list.slice(from, from + ASKED_AT_ONCE))) found.add(each)
  }
  return found
}

/** The watched addresses among those that moved something. The number of queries does not depend on that of wallets. */
export const watchedIn = async (
  ctx: HasDb,
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
    addresses: await selectIn(addresses, (some) => watchedAddresses(ctx.db, { network, addresses: some })),
    collections: await selectIn(nftContracts, (some) => createdCollectionsAmong(ctx.db, { network, contracts: some })),
  }
}

/** Must never change: an item that is read again, for instance after a reorganisation, keeps its uuid. */
const ACTIVITY_NAMESPACE = '4a3eb347-6cba-4325-9958-cff3cb99f911'

type Side = { readonly address: string; readonly counterparty: string; readonly direction: 'in' | 'out' }

export const keptRows = (input: {
  readonly network: Network
  readonly blocks: readonly BlockMovements[]
  readonly watched: Watched
}): readonly MovementRow[] => {
  const { network, blocks, watched } = input
  const rows: MovementRow[] = []
  for (const { movements, number, timestampMs } of blocks) {
    const at = new Date(timestampMs)
    for (const movement of movements) {
      for (const side of keptSides(watched, movement)) {
        const { from: _from, to: _to, ...moved } = movement
        const { transactionHash, logIndex, itemIndex } = moved
        const name = `${network}:${transactionHash}:${logIndex}:${itemIndex}:${side.address}:${side.direction}`
        const id = nameUuid({ namespace: ACTIVITY_NAMESPACE, name })
        const ofWallet = watched.addresses.has(side.address)
        rows.push({ id, network, ...side, ...moved, blockNumber: number, at, ofWallet })
      }
    }
  }
  return rows
}

const keptSides = (watched: Watched, movement: RecordedMovement): readonly Side[] => {
  const { from, to } = movement
  const [isOut, isIn] = [isKept(watched, movement, from), isKept(watched, movement, to)]
  const sides: Side[] = []
  if (isOut) sides.push({ address: from, counterparty: to, direction: 'out' })
  if (isIn) sides.push({ address: to, counterparty: from, direction: 'in' })
  return sides
}

const isKept = (watched: Watched, { contract, tokenId }: RecordedMovement, address: string): boolean => {
  if (watched.addresses.has(address)) return true
  // We store every holder of our collections, so that an address that becomes a wallet later has its NFTs.
  return contract !== null && tokenId !== null && watched.collections.has(contract) && !NOBODIES.has(address)
}

/** `doubtful`: contracts whose standard could not be read; their movements are as their events say. */
type WithStandards = { readonly blocks: readonly BlockMovements[]; readonly doubtful: readonly string[] }

/**
 * Gives movements the standard that their contract says it has, in one request. A contract that cannot be read must not
 * stop the indexer: it is recorded as doubtful, and asked again later (settle-doubtful-contracts.ts).
 */
export const withStandards = async (
  ctx: HasLog,
  input: {
    readonly chain: Pick<Chain, 'network' | 'facts'>
    readonly blocks: readonly BlockMovements[]
    readonly watched: Watched
  },
): Promise<WithStandards> => {
  const { chain, blocks, watched } = input
  const moved = new Set<string>()
  for (const { movements } of blocks) {
    for (const movement of movements) {
      const { contract } = movement
      const isMoved = () => isKept(watched, movement, movement.from) || isKept(watched, movement, movement.to)
      if (contract !== null && !moved.has(contract) && isMoved()) moved.add(contract)
    }
  }
  const contracts = [...moved]
  if (contracts.length === 0) return { blocks, doubtful: [] }
  try {
    const facts = await chain.facts(contracts)
    const set = blocks.map((block) => ({
      ...block,
      movements: block.movements.map((movement) => asStandard(movement, facts.get(movement.contract ?? '')?.standard)),
    }))
    return { blocks: set, doubtful: [] }
  } catch (err) {
    ctx.log.warn({ err, network: chain.network }, 'the facts of moved tokens could not be read')
    return { blocks, doubtful: contracts }
  }
}

/** In the transaction that stores the movements. */
export const recordDoubtfulContracts = async (
  tx: Tx,
  { chain, withStandards }: { readonly chain: Pick<Chain, 'network'>; readonly withStandards: WithStandards },
): Promise<void> => {
  const { blocks, doubtful } = withStandards
  const [first, last] = [blocks[0], blocks.at(-1)]
  if (first === undefined || last === undefined) return
  const { network } = chain
  await doubtContracts(tx, { network, contracts: doubtful, fromBlock: first.number, toBlock: last.number })
}
