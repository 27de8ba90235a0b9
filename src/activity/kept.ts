import type { MovementRow } from '../../db/queries/movements.ts'
import type { Network } from '../../db/words.ts'
import type { BlockMovements, RecordedMovement } from '../chains/chain.ts'
import { NOBODY } from '../chains/networks.ts'
import { nameUuid } from '../tokens/name-uuid.ts'
import type { Watched } from './watched.ts'

/** Ours alone, and for ever: an item that is read again, after a reorganisation or a loss, keeps its uuid. */
const ACTIVITY_NAMESPACE = '4a3eb347-6cba-4325-9958-cff3cb99f911'

/** Whose movements are nobody's, on whichever network. */
const NOBODIES: ReadonlySet<string> = new Set(Object.values(NOBODY))

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
export const keptContracts = ({ blocks, watched }: Input): ReadonlySet<string> => {
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
