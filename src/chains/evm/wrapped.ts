// The wrapped coin. WETH9 and its copies tell a deposit and a withdrawal by events of their own and emit no Transfer: a
// person expects to see the token come and go all the same, as a mint and a burn. The same events are emitted by contracts that
// are no tokens (staking, bridges), so one counts only where the same amount of the coin moved into or out of the contract,
// and where no Transfer tells the same already; and, by previewBundle, where the contract is an ERC-20.

import type { Hex } from '../chain.ts'
import { ZERO_ADDRESS } from './address.ts'
import { addressIn, type Transfer, transfersOf } from './logs.ts'
import type { RawLog } from './simulate.ts'

/** keccak256 of Deposit(address,uint256) and Withdrawal(address,uint256). */
const DEPOSIT_TOPIC = '0xe1fffcc4923d04b559f4d29a8bfc6cda04eb5b0d3c460751c2402c5c5cc9109c'
const WITHDRAWAL_TOPIC = '0x7fcf532c15f0a6db0bd6d0e038bea71d30d808c7d98cb3bf7268a95bf5081b65'
const WORD_DATA_LENGTH = 66
const NOBODY: Hex = ZERO_ADDRESS

/** A transfer, and whether it is one by the contract's other events. */
type ToldTransfer = { readonly transfer: Transfer; readonly isWrap: boolean }

/** What a log of a wrapped coin tells, as a mint or a burn; null for every other log. Pure. */
export const wrapOf = ({ address, topics, data }: RawLog): Transfer | null => {
  const [topic, who] = topics
  if (topics.length !== 2 || data.length !== WORD_DATA_LENGTH) return null
  const holder = addressIn(who?.slice(2))
  if (holder === null || (topic !== DEPOSIT_TOPIC && topic !== WITHDRAWAL_TOPIC)) return null
  const [from, to] = topic === DEPOSIT_TOPIC ? [NOBODY, holder] : [holder, NOBODY]
  return { standard: 'erc20', contract: address, tokenId: null, from, to, amount: BigInt(data) }
}

const isSame = (one: Transfer, other: Transfer): boolean =>
  one.contract === other.contract && one.from === other.from && one.to === other.to && one.amount === other.amount

/** The transfers that the logs of one call tell, in order. Pure. */
export const transfersIn = (logs: readonly RawLog[]): readonly ToldTransfer[] => {
  const told = logs.flatMap((log): readonly ToldTransfer[] => {
    const wrap = wrapOf(log)
    if (wrap !== null) return [{ transfer: wrap, isWrap: true }]
    return transfersOf(log).map((transfer) => ({ transfer, isWrap: false }))
  })
  if (!told.some(({ isWrap }) => isWrap)) return told
  const others = told.flatMap(({ transfer, isWrap }) => (isWrap ? [] : [transfer]))
  // Each payment stands behind one wrap.
  const coins = others.filter(({ standard }) => standard === 'native')
  return told.filter(({ transfer, isWrap }) => {
    if (!isWrap) return true
    if (others.some((other) => isSame(other, transfer))) return false
    const side = transfer.from === NOBODY ? 'to' : 'from'
    const at = coins.findIndex((coin) => coin[side] === transfer.contract && coin.amount === transfer.amount)
    if (at !== -1) coins.splice(at, 1)
    return at !== -1
  })
}
