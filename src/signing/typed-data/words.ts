// Typed data in words: one sentence that says what it does, and warnings. Pure. Foreign texts are cleaned and stand
// between quotation marks.

import type { AddressFacts, Intent, NodelessChain } from '../../chains/chain.ts'
import { cleanText } from '../../chains/text.ts'
import { displayAmount } from '../../platform/amount.ts'
import type { Meaning, Move, Order } from './meaning.ts'

export type Known = {
  readonly chain: Pick<NodelessChain, 'network' | 'coin'>
  /** By canonical address. */
  readonly facts: ReadonlyMap<string, AddressFacts>
  readonly listed: ReadonlySet<string>
  readonly signer: string
  readonly now: Date
}

type Read = {
  readonly meaning: Meaning
  readonly primaryType: string
  readonly hasChainId: boolean
  /** The calls of a Safe's transaction; null: it runs other code as its own. */
  readonly calls: readonly Intent[] | null
}

/** Permit2 has this address on every network. */
const PERMIT2 = '0x000000000022D473030F116dDEE9F6B43aC78BA3'
/** Seaport 1.4, 1.5 and 1.6. */
const SEAPORTS: readonly string[] = [
  '0x00000000000001ad428e4906aE43D8F9852d0dD6',
  '0x00000000000000ADc04C56Bf30aC9d3c0aAF14dC',
  '0x0000000000000068F116a894984e2DB1123eB395',
]
const TEXT_MAX = 64
/** How many orders the summary has. `changes` has what all of them move. */
const ORDERS_SHOWN = 10
const FAR_SECONDS = 10n * 366n * 86_400n
const YEAR_10000_SECONDS = 253_402_300_800n
const NAMED_LIKE_ONE = /permit|approv|allowance|authori[sz]|delegat|order|transfer|withdraw/i

/** A foreign text has no such quotation marks, so that it ends where it seems to. */
const quoted = (text: string): string => `“${cleanText(text, TEXT_MAX).replace(/[“”]/g, '"')}”`

const contractWords = ({ facts }: Known, address: string): string => {
  const name = facts.get(address)?.name ?? ''
  return name === '' ? address : `${address}, which calls itself ${quoted(name)}`
}

/** The facts of a token, or of another contract that says its decimals; null if they are not known. */
const tokenFacts = ({ facts }: Known, contract: string | null) => {
  const { symbol, decimals } = facts.get(contract ?? '') ?? { symbol: '', decimals: null }
  return decimals === null ? null : { symbol, decimals }
}

/** The amount in whole coins or tokens; in base units if the decimals are not known. */
export const describeAmount = (known: Known, { standard, contract, amount }: Move): string => {
  if (standard === 'nft') return amount.toString()
  const { decimals = 0 } = standard === 'coin' ? known.chain.coin : (tokenFacts(known, contract) ?? {})
  return displayAmount(amount, decimals)
}

const moveWords = (known: Known, move: Move): string => {
  const { standard, contract, tokenId, isUnlimited } = move
  const amount = describeAmount(known, move)
  if (standard === 'coin') return `${amount} ${known.chain.coin.symbol}`
  if (standard === 'nft') {
    const which = tokenId === null ? 'any NFT' : `the NFT ${tokenId}`
    return `${amount === '1' ? '' : `${amount} of `}${which} of ${contractWords(known, contract ?? '')}`
  }
  const token = tokenFacts(known, contract)
  if (token === null) return `${isUnlimited ? 'any number of' : amount} base units of the token ${contract}`
  const symbol = token.symbol === '' ? `of the token ${contract}` : quoted(token.symbol)
  return isUnlimited ? `any amount of ${symbol}` : `${amount} ${symbol}`
}

const describeMoves = (known: Known, moves: readonly Move[]): string =>
  moves.length === 0 ? 'nothing' : moves.map((move) => moveWords(known, move)).join(', ')

const untilWords = ({ endsAt }: Pick<Meaning, 'endsAt'>): string => {
  if (endsAt === null || endsAt >= YEAR_10000_SECONDS) return ''
  return ` until ${new Date(Number(endsAt) * 1_000).toISOString()}`
}

const callsWords = ({ calls }: Read): string => {
  if (calls === null) return 'to run code of another contract as its own'
  return calls.length === 1 ? 'to make one call' : `to make ${calls.length} calls`
}

const givesNothing = ({ account, moves }: Order): boolean =>
  !moves.some(({ effect, to }) => effect === 'receives' && to === account)

const offerWords = (known: Known, order: Order): string => {
  const { moves, account } = order
  const given = moves.filter(({ effect }) => effect === 'sends')
  const got = moves.filter(({ effect, to }) => effect === 'receives' && to === account)
  return `${describeMoves(known, given)} for ${describeMoves(known, got)}${untilWords(order)}`
}

const ordersWords = (known: Known, { meaning: { orders } }: Read): string => {
  if (orders.length === 0) return 'Sign a list of orders that is empty.'
  const [first, second] = orders
  if (first !== undefined && second === undefined) return `Offer ${offerWords(known, first)}.`
  const shown = orders.slice(0, ORDERS_SHOWN).map((order, at) => `(${at + 1}) ${offerWords(known, order)}`)
  const rest = orders.length > ORDERS_SHOWN ? `; and ${orders.length - ORDERS_SHOWN} more` : ''
  return `Sign ${orders.length} orders, each of which can be used alone. They offer ${shown.join('; ')}${rest}.`
}

const takingWords = (known: Known, { meaning }: Read): string => {
  const { moves, spender } = meaning
  const taken = moves.map((move) => `${move.isUnlimited ? '' : 'up to '}${moveWords(known, move)}`).join(', ')
  return `Let ${contractWords(known, spender ?? '')} take ${taken || 'nothing'} from this wallet`
}

export const summarize = (known: Known, read: Read): string => {
  const { meaning, primaryType } = read
  const contract = meaning.contract === null ? '' : contractWords(known, meaning.contract)
  const [move] = meaning.moves
  switch (meaning.kind) {
    case 'permit':
    case 'permit2_allowance':
      if (meaning.kind === 'permit' && move?.amount === 0n)
        return `Let ${meaning.spender} take no more ${moveWords(known, move).slice(2)} from this wallet.`
      return `${takingWords(known, read)}; it can be submitted${untilWords(meaning) || ' at any time'}.`
    case 'permit2_transfer':
      return `${takingWords(known, read)}, once${untilWords(meaning)}.`
    case 'transfer_authorization':
      return `Send ${describeMoves(known, meaning.moves)} to ${move?.to ?? ''}; ${meaning.spender === null ? 'anybody' : 'the recipient'} can submit it${untilWords(meaning)}.`
    case 'authorization_cancelled':
      return `Cancel an authorization of a transfer of the token ${contract}.`
    case 'safe_transaction':
      return `Agree, as an owner of the Safe ${contract}, ${callsWords(read)}.`
    case 'safe_message':
      return `Sign a message for the Safe ${contract}; only its bytes are known.`
    case 'seaport_order':
    case 'seaport_bulk_order':
      return ordersWords(known, read)
    case 'unknown':
      return `Sign ${quoted(primaryType)}${contract === '' ? '' : ` for the contract ${contract}`}. This service does not know what it does.`
    default:
      return meaning.kind satisfies never
  }
}

const timeWarnings = ({ now }: Known, { kind, endsAt, allowanceEndsAt }: Meaning): readonly string[] => {
  if (!/^(?:permit|transfer|seaport)/.test(kind)) return []
  const nowSeconds = BigInt(Math.floor(now.getTime() / 1_000))
  const isFar = (at: bigint | null) => at === null || at > nowSeconds + FAR_SECONDS
  return [
    ...(isFar(endsAt) ? ['It has no deadline, or one in more than ten years.'] : []),
    ...(endsAt !== null && endsAt < nowSeconds ? ['Its deadline has passed.'] : []),
    ...(kind === 'permit2_allowance' && isFar(allowanceEndsAt)
      ? ['What it allows does not expire, or only in more than ten years.']
      : []),
  ]
}

const spenderWarnings = ({ facts, listed }: Known, { kind, spender }: Meaning): readonly string[] => {
  if (spender === null || !/^permit/.test(kind)) return []
  const found = facts.get(spender)
  if (found === undefined) return []
  if (!found.isContract) return [`The spender ${spender} is an account: whoever has its key can take the tokens.`]
  return listed.has(spender) ? [] : [`This service does not know the spender ${spender}.`]
}

const contractWarnings = ({ facts }: Known, { kind, contract }: Meaning): readonly string[] => {
  if (contract === null) return ['The domain names no contract.']
  const isOdd =
    (kind.startsWith('permit2') && contract !== PERMIT2) || (kind.startsWith('seaport') && !SEAPORTS.includes(contract))
  const usual = kind.startsWith('seaport') ? 'Seaport' : 'Permit2'
  return [
    ...(facts.get(contract)?.isContract === false ? [`There is no contract at ${contract}.`] : []),
    ...(isOdd ? [`${contract} is not the usual address of ${usual}.`] : []),
  ]
}

const tokenWarnings = (known: Known, { moves }: Meaning): readonly string[] =>
  moves.flatMap((move) => {
    const { contract, standard, effect, isUnlimited } = move
    const found = known.facts.get(contract ?? '')
    const isUnread = standard === 'token' && found !== undefined && found.standard !== 'erc20'
    return [
      ...(isUnlimited && effect === 'may_take'
        ? [`The amount of ${contract} has no limit: it can be all in this wallet, also what comes later.`]
        : []),
      ...(isUnread ? [`${contract} is no token (ERC-20) that this service can read.`] : []),
    ]
  })

const safeWarnings = ({ meaning: { operation, contract }, calls }: Read): readonly string[] => {
  if (operation === null) return []
  const isOwn = calls?.some(({ to, input }) => to === contract && input !== '0x') ?? false
  return [
    ...(calls === null ? [`It runs the code of ${operation.to} as its own, which can do anything with the Safe.`] : []),
    ...(calls !== null && calls.length > 50 ? ['Only its first 50 calls are shown.'] : []),
    ...(isOwn ? ['It changes the Safe itself: its owners, its threshold or its modules.'] : []),
    ...(operation.hasRefund ? ['The Safe pays a refund of gas to whoever submits it.'] : []),
  ]
}

const nothingWarnings = ({ orders }: Meaning): readonly string[] => {
  const numbers = orders.flatMap((order, at) => (givesNothing(order) ? [at + 1] : []))
  if (numbers.length === 0) return []
  return [
    orders.length === 1
      ? 'This wallet gets nothing for it.'
      : `This wallet gets nothing for ${numbers.length === 1 ? 'order' : 'the orders'} ${numbers.join(', ')}.`,
  ]
}

export const listWarnings = (known: Known, read: Read): readonly string[] => {
  const { meaning, primaryType, hasChainId } = read
  const { kind, account } = meaning
  return [
    ...(account !== null && account !== known.signer ? [`It is for the account ${account}, not for this wallet.`] : []),
    ...(hasChainId ? [] : ['It names no chain: the signature is valid on every chain with such a contract.']),
    ...contractWarnings(known, meaning),
    ...tokenWarnings(known, meaning),
    ...timeWarnings(known, meaning),
    ...spenderWarnings(known, meaning),
    ...safeWarnings(read),
    ...nothingWarnings(meaning),
    ...(meaning.type?.includes('witness') ? ['It has a witness: what else it does is decided by the spender.'] : []),
    ...(kind === 'safe_message' ? ['A contract that asks the Safe may accept it for anything.'] : []),
    ...(kind === 'unknown' && NAMED_LIKE_ONE.test(primaryType)
      ? ['By its name it may let somebody take assets of this wallet.']
      : []),
  ]
}
