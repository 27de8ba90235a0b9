import type { Tx } from '../../db/client.ts'
import { doubtContracts } from '../../db/queries/doubtful-contracts.ts'
import { createdCollectionsAmong, type MovementRow } from '../../db/queries/movements.ts'
import { watchedAddresses } from '../../db/queries/wallets.ts'
import type { Network } from '../../db/words.ts'
import { asStandard, type BlockMovements, type Chain, type RecordedMovement } from '../chains/chain.ts'
import { NOBODIES } from '../chains/networks.ts'
import type { WorkerCtx } from '../context.ts'
import { nameUuid } from '../tokens/name-uuid.ts'

/** Whose movements are kept: addresses of wallets, and of collections that were created here. */
type Watched = { readonly addresses: ReadonlySet<string>; readonly collections: ReadonlySet<string> }

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

/** Ours alone, and for ever: an item that is read again, after a reorganisation or a loss, keeps its uuid. */
const ACTIVITY_NAMESPACE = '4a3eb347-6cba-4325-9958-cff3cb99f911'

type Side = { readonly address: string; readonly counterparty: string; readonly direction: 'in' | 'out' }

type Input = { readonly blocks: readonly BlockMovements[]; readonly watched: Watched }

/** The rows that we keep of some blocks: one for each end of a movement that we watch. Pure. */
export const keptRows = ({
  network,
  blocks,
  watched,
}: Input & { readonly network: Network }): readonly MovementRow[] => {
  const rows: MovementRow[] = []
  for (const block of blocks) {
    for (const movement of block.movements) {
      for (const side of keptSides(watched, movement)) rows.push(rowOf({ network, block, movement, side }))
    }
  }
  return rows
}

/** The contracts of those rows. Pure. */
const keptContracts = ({ blocks, watched }: Input): ReadonlySet<string> => {
  const contracts = new Set<string>()
  for (const { movements } of blocks) {
    for (const movement of movements) {
      const { contract } = movement
      if (contract !== null && !contracts.has(contract) && keptSides(watched, movement).length > 0)
        contracts.add(contract)
    }
  }
  return contracts
}

const keptSides = (watched: Watched, movement: RecordedMovement): readonly Side[] =>
  sidesOf(movement).filter(({ address }) => isKept(watched, movement, address))

const sidesOf = ({ from, to }: RecordedMovement): readonly Side[] => [
  { address: from, counterparty: to, direction: 'out' },
  { address: to, counterparty: from, direction: 'in' },
]

const isKept = (watched: Watched, { contract, tokenId }: RecordedMovement, address: string): boolean => {
  if (watched.addresses.has(address)) return true
  // Of our collections every holder is known, so that one who becomes a wallet's owner later has what it holds.
  return contract !== null && tokenId !== null && watched.collections.has(contract) && !NOBODIES.has(address)
}

const rowOf = (input: {
  readonly network: Network
  readonly block: BlockMovements
  readonly movement: RecordedMovement
  readonly side: Side
}): MovementRow => {
  const { network, block, movement, side } = input
  const { transactionHash, logIndex, itemIndex } = movement
  const name = `${network}:${transactionHash}:${logIndex}:${itemIndex}:${side.address}:${side.direction}`
  return {
    id: nameUuid({ namespace: ACTIVITY_NAMESPACE, name }),
    network,
    ...side,
    standard: movement.standard,
    contract: movement.contract,
    tokenId: movement.tokenId,
    amount: movement.amount,
    blockNumber: block.number,
    transactionHash,
    logIndex,
    itemIndex,
    at: new Date(block.timestampMs),
  }
}

/** `doubtful`: contracts that did not say what they are, whose movements stand as their events tell them. */
type Corrected = { readonly blocks: readonly BlockMovements[]; readonly doubtful: readonly string[] }

/**
 * The movements of some blocks by their contracts' own standards. Only contracts that touch what we watch are asked, all
 * at once, and once ever: so a listing need not ask the node either. What a strange contract answers must not hold up the
 * chain: what cannot be read now is written down with the movements (`writeDoubts`), and asked again (settle-doubts.ts).
 */
export const corrected = async (
  ctx: Pick<WorkerCtx, 'log'>,
  input: { readonly chain: Chain; readonly blocks: readonly BlockMovements[]; readonly watched: Watched },
): Promise<Corrected> => {
  const { chain, blocks, watched } = input
  const contracts = [...keptContracts({ blocks, watched })]
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

/** In the transaction that keeps the movements. */
export const writeDoubts = async (
  tx: Tx,
  { chain, corrected }: { readonly chain: Chain; readonly corrected: Corrected },
): Promise<void> => {
  const { blocks, doubtful } = corrected
  const [first, last] = [blocks[0], blocks.at(-1)]
  if (first === undefined || last === undefined) return
  const { network } = chain
  await doubtContracts(tx, { network, contracts: doubtful, fromBlock: first.number, toBlock: last.number })
}
