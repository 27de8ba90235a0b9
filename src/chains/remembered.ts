// Facts of contracts, from memory first. An address without a contract is not stored: one may be created there later.
//
// Stored facts are believed for as long as the contract exists: the decimals of a token decide how much an amount
// moves. So if a network has several nodes, two of them must read the same before facts are believed later. While they
// disagree, the service does nothing with the contract, and the operator learns of it. A node that does not know the
// contract yet, or does not answer soon, has no say.

import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import type { Network } from '../../db/words.ts'
import { AppError } from '../platform/errors.ts'
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
 * @throws NodeUnavailable if the node is needed for an address that is not in memory; unavailable if the nodes
 * disagree.
 */
export const rememberedFacts = async (
  context: { readonly memory: ChainMemory; readonly network: Network; readonly believed: Believed },
  { asked, read, peers }: Reading,
): Promise<FactsByAddress> => {
  const { memory, network, believed } = context
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
    const split = isListed ? { sure: NOTHING, unsure: found } : await confirmedFacts(context, { found, peers: others })
    await memory.writeFacts({ network, ...split })
    for (const address of unsure) facts.set(address, found.get(address) ?? NO_CONTRACT)
  } catch (error) {
    if (unknown.length > 0 || !(error instanceof NodeUnavailable)) throw error
  }
  return facts
}

type ReadFacts = (addresses: readonly string[]) => Promise<FactsByAddress>

/** What the nodes say: as many as answer in this time. */
const PEERS_WAIT_MS = 2_000

/**
 * Splits facts into those of which two nodes read the same, and the remaining ones. With one node its word is enough.
 * @param input.peers one for each node that is up, also the one that has answered; null for a network with one node
 * @throws unavailable if two nodes disagree
 */
const confirmedFacts = async (
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
    const reported = answers.flatMap((answer) => answer.get(address) ?? [])
    if (reported.every((each) => isDeepStrictEqual(each, facts))) return reported.length >= 2
    memory.noteDispute({ network, address, said: reported })
    throw new AppError(
      'unavailable',
      `The nodes of ${network} disagree about the contract ${address}: try again later.`,
    )
  }
  const sure = new Map([...found].filter(isSure))
  return { sure, unsure: new Map([...found].filter(([address]) => !sure.has(address))) }
}
