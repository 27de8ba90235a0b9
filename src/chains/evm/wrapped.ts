// Wrapped coins. WETH9 and its copies emit Deposit and Withdrawal events instead of Transfer. They are shown as a mint
// and a burn of the token. Other contracts (staking, bridges) emit the same events. So an event counts only if the same
// amount of the coin moved into or out of the contract, and no Transfer shows the same. previewBundle requires an
// ERC-20 too.

import type { Hex } from '../chain.ts'
import { ZERO_ADDRESS } from './address.ts'
import { addressIn, parseTransfers, type Transfer } from './logs.ts'
import type { RawLog } from './simulate.ts'

/** keccak256 of Deposit(address,uint256) and Withdrawal(address,uint256). */
const DEPOSIT_TOPIC = '0xe1fffcc4923d04b559f4d29a8bfc6cda04eb5b0d3c460751c2402c5c5cc9109c'
const WITHDRAWAL_TOPIC = '0x7fcf532c15f0a6db0bd6d0e038bea71d30d808c7d98cb3bf7268a95bf5081b65'
const WORD_DATA_LENGTH = 66
const NOBODY: Hex = ZERO_ADDRESS

/** `isWrap`: from a Deposit or Withdrawal event. */
export type FoundTransfer = { readonly transfer: Transfer; readonly isWrap: boolean }

/** The mint or burn in a Deposit or Withdrawal event; null for other logs. Pure. */
export const parseWrap = ({ address, topics, data }: RawLog): Transfer | null => {
  const [topic, who] = topics
  if (topics.length !== 2 || data.length !== WORD_DATA_LENGTH) return null
  const holder = addressIn(who?.slice(2))
  if (holder === null || (topic !== DEPOSIT_TOPIC && topic !== WITHDRAWAL_TOPIC)) return null
  const [from, to] = topic === DEPOSIT_TOPIC ? [NOBODY, holder] : [holder, NOBODY]
  return { standard: 'erc20', contract: address, tokenId: null, from, to, amount: BigInt(data) }
}

const isSame = (one: Transfer, other: Transfer): boolean =>
  one.contract === other.contract && one.from === other.from && one.to === other.to && one.amount === other.amount

/** The transfers in the logs of one call, in order. Pure. */
export const transfersIn = (logs: readonly RawLog[]): readonly FoundTransfer[] => {
  const found = logs.flatMap((log): readonly FoundTransfer[] => {
    const wrap = parseWrap(log)
    if (wrap !== null) return [{ transfer: wrap, isWrap: true }]
    return parseTransfers(log).map((transfer) => ({ transfer, isWrap: false }))
  })
  if (!found.some(({ isWrap }) => isWrap)) return found
  const others = found.flatMap(({ transfer, isWrap }) => (isWrap ? [] : [transfer]))
  // Each payment counts for one wrap only.
  const coins = others.filter(({ standard }) => standard === 'native')
  return found.filter(({ transfer, isWrap }) => {
    if (!isWrap) return true
    if (others.some((other) => isSame(other, transfer))) return false
    const side = transfer.from === NOBODY ? 'to' : 'from'
    const at = coins.findIndex((coin) => coin[side] === transfer.contract && coin.amount === transfer.amount)
    if (at !== -1) coins.splice(at, 1)
    return at !== -1
  })
}
