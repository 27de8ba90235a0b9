// Facts of contracts, from memory first. An address without a contract is not stored: one may be created there later.

import type { Network } from '../../db/words.ts'
import { confirmedFacts, type ReadFacts } from './confirmed-facts.ts'
import type { AddressFacts, ChainMemory, FactsByAddress } from './facts.ts'
import { NodeUnavailable } from './node/rpc.ts'

/** The facts of an address without a contract, and of an id that does not exist. */
export const NO_CONTRACT: AddressFacts = { isContract: false, standard: 'other', name: '', symbol: '', decimals: null }

/** `any`: facts that any process stored. `own`: only facts that a process like this one has read, and had confirmed. */
export type Believed = 'any' | 'own'

type Reading = {
  readonly asked: readonly string[]
  readonly read: ReadFacts
  peers(): readonly ReadFacts[] | null
}

const NOTHING: FactsByAddress = new Map()

/**
 * Facts by address or id, with an entry for each one asked for.
 * @param read reads those that are not in memory or are doubtful; the result is stored.
 * @param peers the same of each node that is up; null for a network with one node.
 * @throws NodeUnavailable if the node is needed for an address that is not in memory; unavailable if the nodes disagree.
 */
export const rememberedFacts = async (
  of: { readonly memory: ChainMemory; readonly network: Network; readonly believed: Believed },
  { asked, read, peers }: Reading,
): Promise<FactsByAddress> => {
  const { memory, network, believed } = of
  const addresses = [...new Set(asked)]
  if (addresses.length === 0) return new Map()
  const facts = new Map<string, AddressFacts>()
  const doubtful: string[] = []
  for (const [address, { isDoubtful, isOwn, ...known }] of await memory.readFacts({ network, addresses })) {
    if (believed === 'own' && !isOwn) continue
    facts.set(address, known)
    if (isDoubtful) doubtful.push(address)
  }
  const unknown = addresses.filter((address) => !facts.has(address))
  const unsure = [...unknown, ...doubtful]
  if (unsure.length === 0) return facts
  try {
    const found = await read(unsure)
    // What only lists show need not be confirmed, and is not believed later.
    const others = peers()
    const isListed = believed === 'any' && others !== null
    const split = isListed ? { sure: NOTHING, unsure: found } : await confirmedFacts(of, { found, peers: others })
    await memory.writeFacts({ network, ...split })
    for (const address of unsure) facts.set(address, found.get(address) ?? NO_CONTRACT)
  } catch (error) {
    if (unknown.length > 0 || !(error instanceof NodeUnavailable)) throw error
  }
  return facts
}
