// On some networks a contract makes the network's coin look like a token too. Its Transfer events are of the coin, so
// they are never movements of a token:
//   movesIn 'calls'   (Polygon) the contract passes the coin on as the value of a call, which traces show. Only in a block without
//                     traces its events count, in place of the value that the sender gave to the contract.
//   movesIn 'events'  (Celo) the coin moves without a value, so its events count, always.

import type { EvmNetworkRow } from '../../platform/networks.ts'
import { asCoinLog, parseTransfers } from './logs.ts'
import type { RawLog } from './simulate.ts'
import type { CoinMove } from './traces.ts'

export type CoinContract = EvmNetworkRow['coinContract']

/** The logs as they count: those of the coin's contract as logs of the coin, or not at all. Pure. */
export const countedLogs = <Log extends RawLog>(
  coinContract: CoinContract,
  { logs, isTraced }: { readonly logs: readonly Log[]; readonly isTraced: boolean },
): readonly Log[] => {
  if (coinContract === null) return logs
  const address = coinContract.address.toLowerCase()
  const counts = coinContract.movesIn === 'events' || !isTraced
  return logs.flatMap((log) => {
    if (log.address !== address) return [log]
    return counts && parseTransfers(log).some(({ standard }) => standard === 'erc20') ? [asCoinLog(log)] : []
  })
}

/** A transaction's moves of the coin, without those that counted logs repeat. Pure. */
export const withoutPassed = (
  coinContract: CoinContract,
  { moves, logs }: { readonly moves: readonly CoinMove[]; readonly logs: readonly RawLog[] },
): readonly CoinMove[] => {
  if (coinContract === null) return moves
  const address = coinContract.address.toLowerCase()
  const passed = logs.flatMap(parseTransfers).filter(({ standard }) => standard === 'native')
  return moves.filter(({ from, to, amount }) => {
    // Each event stands for one payment only.
    const at = to === address ? passed.findIndex((each) => each.from === from && each.amount === amount) : -1
    if (at !== -1) passed.splice(at, 1)
    return at === -1
  })
}
