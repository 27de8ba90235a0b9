import type { BroadcastOutcome } from '../delivery.ts'
import type { Rpc } from './rpc.ts'

/**
 * Sends a transaction to all nodes at once. The first acceptance counts; without one, the answer of the most preferred node
 * that is certain of it.
 */
export const deliver = async (
  outbounds: readonly Rpc[],
  send: (outbound: Rpc) => Promise<BroadcastOutcome>,
): Promise<BroadcastOutcome> => {
  const sent = outbounds.map(send)
  const accepted = sent.map(async (outcome) => {
    if ((await outcome).kind !== 'accepted') throw new Error('not accepted')
    return outcome
  })
  return Promise.any(accepted).catch(async () => {
    const outcomes = await Promise.all(sent)
    const [first] = [...outcomes.filter(({ kind }) => kind !== 'unknown'), ...outcomes]
    return first ?? { kind: 'unknown', reason: 'there is no node' }
  })
}
