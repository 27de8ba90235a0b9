import type { ChainMemory } from '../../chains/chain.ts'
import { createBoundedMap } from '../../platform/bounded-map.ts'
import type { Log } from '../../platform/process/log.ts'

/** A contract about which nodes disagree is logged once in this time, however often it is asked for. */
const SILENCE_MS = 3_600_000
/** The contracts that are remembered as logged. */
const DISPUTES_MAX = 1_000

/** Writes a warning for the operator: while nodes disagree, all that needs the contract's facts is refused. */
export const createDisputeNotes = ({ log }: { readonly log: Pick<Log, 'warn'> }): ChainMemory['noteDispute'] => {
  const logged = createBoundedMap<true>({ max: DISPUTES_MAX, lifetimeMs: SILENCE_MS })
  return ({ network, address, said }) => {
    const key = `${network} ${address}`
    if (logged.get(key) !== undefined) return
    logged.set(key, true)
    log.warn({ network, contract: address, said }, 'the nodes disagree about the facts of a contract')
  }
}
