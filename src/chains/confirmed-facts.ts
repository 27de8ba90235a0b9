// The facts of a contract are stored, and then believed for as long as the contract exists: the decimals of a token decide how much an
// amount moves. So if a network has several nodes, two of them must read the same before facts are believed later. While they
// disagree, nothing is done with the contract, and the operator learns of it. A node that does not know the contract yet, or does not answer soon, has no say.

import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import type { Network } from '../../db/words.ts'
import { AppError } from '../platform/errors.ts'
import type { AddressFacts, ChainMemory, FactsByAddress } from './facts.ts'

export type ReadFacts = (addresses: readonly string[]) => Promise<FactsByAddress>

/** What the nodes say: as many as answer in this time. */
const PEERS_WAIT_MS = 2_000
const NOTHING: FactsByAddress = new Map()

/**
 * Splits facts into those of which two nodes read the same, and the others. With one node its word is enough.
 * @param input.peers one for each node that is up, also the one that has answered; null for a network with one node
 * @throws unavailable if two nodes disagree
 */
export const confirmedFacts = async (
  { network, memory }: { readonly network: Network; readonly memory: Pick<ChainMemory, 'noteDispute'> },
  { found, peers }: { readonly found: FactsByAddress; readonly peers: readonly ReadFacts[] | null },
): Promise<{ readonly sure: FactsByAddress; readonly unsure: FactsByAddress }> => {
  if (peers === null || found.size === 0) return { sure: found, unsure: NOTHING }
  const addresses = [...found.keys()]
  const answers = await Promise.all(
    peers.map((read) =>
      Promise.race([read(addresses), sleep(PEERS_WAIT_MS, NOTHING, { ref: false })]).catch(() => NOTHING),
    ),
  )
  const isSure = ([address, facts]: readonly [string, AddressFacts]): boolean => {
    const said = answers.flatMap((answer) => answer.get(address) ?? [])
    if (said.every((each) => isDeepStrictEqual(each, facts))) return said.length >= 2
    memory.noteDispute({ network, address, said })
    throw new AppError(
      'unavailable',
      `The nodes of ${network} disagree about the contract ${address}: try again later.`,
    )
  }
  const sure = new Map([...found].filter(isSure))
  return { sure, unsure: new Map([...found].filter(([address]) => !sure.has(address))) }
}
