// Compares the movements of a block with the state before and after it. The change of a coin balance must be the
// movements, the transaction costs of the sender and validator withdrawals; that of a token balance the movements and
// the wraps. The touched addresses are read from the receipts, independently of the code that reads transfers. Coins
// are checked only in traced blocks, because other blocks lack internal transfers. The block's producer, who earns
// fees, is left out.
//
// State is read by block hash (EIP-1898), so that a reorganisation in between does not look like a difference.

import { encodeFunctionData, parseAbi } from 'viem/utils'
import { GWEI } from '../../platform/networks/network.ts'
import type { BalanceCheck, BalanceDifference, BalanceScope } from '../blocks.ts'
import type { BlockMovements, Hex, Movement } from '../chain.ts'
import { type Question, question, type Rpc } from '../node/rpc.ts'
import {
  bytes,
  hash,
  hexText,
  type JsonRecord,
  listOf,
  nullable,
  quantity,
  rawAddress,
  record,
  toQuantity,
} from '../node/wire.ts'
import { checksum } from './address.ts'
import { wordIn } from './call.ts'
import { addressIn, checksumMovement, type Transfer } from './logs.ts'
import { isBlockMissing, isExecutionFailure, isMethodMissing, isStateMissing } from './node-errors.ts'
import { parseLog as parseRawLog } from './simulate.ts'
import { parseWrap } from './wrapped.ts'

const HOLDINGS_MAX = 100
const READ_GAS_LIMIT = 1_000_000n
const ABI = parseAbi(['function balanceOf(address owner) view returns (uint256)'])

/** `contract` is null for the native coin. */
type Holding = { readonly address: string; readonly contract: string | null }

/** `named`: the addresses in its topics. `wrap`: wrapping a coin changes a token balance without a Transfer event. */
type Log = { readonly contract: Hex; readonly named: readonly Hex[]; readonly wrap: Transfer | null }

const parseLog = (value: unknown): Log => {
  const log = parseRawLog(value)
  const named = log.topics.flatMap((topic) => addressIn(topic.slice(2)) ?? [])
  return { contract: log.address, named, wrap: parseWrap(log) }
}

/**
 * What a receipt says that the sender paid. On a rollup a transaction also pays for layer 1 (`l1Fee`), and on an
 * OP-stack chain its operator (surcharge.ts), for the gas that was used. Some transactions carry blobs (EIP-4844).
 * OP-stack receipts have `daFootprintGasScalar` since Jovian; then `blobGasUsed` costs nothing.
 */
const paidFor = (receipt: JsonRecord): bigint => {
  const amount = (name: string): bigint => nullable(quantity)(receipt[name] ?? null) ?? 0n
  const flat = amount('gasUsed') * amount('effectiveGasPrice') + amount('l1Fee') + amount('operatorFeeConstant')
  const scaled = amount('gasUsed') * amount('operatorFeeScalar')
  const isJovian = (receipt.daFootprintGasScalar ?? null) !== null
  if (isJovian) return flat + scaled * 100n
  return flat + scaled / 10n ** 6n + amount('blobGasUsed') * amount('blobGasPrice')
}

const parseMined = (value: unknown) => {
  const receipt = record(value)
  return {
    blockHash: hash(receipt.blockHash),
    from: rawAddress(receipt.from),
    cost: paidFor(receipt),
    others: [receipt.to, receipt.contractAddress].flatMap((each) => nullable(rawAddress)(each ?? null) ?? []),
    logs: listOf(parseLog)(receipt.logs),
  }
}

/** Withdrawals are in gwei (EIP-4895). */
const parseHeader = (value: unknown) => {
  const block = record(value)
  const withdrawals = listOf((each) => {
    const { address, amount } = record(each)
    return { to: rawAddress(address), amount: quantity(amount) * GWEI }
  })
  return {
    hash: hash(block.hash),
    producer: rawAddress(block.miner),
    withdrawals: withdrawals(block.withdrawals ?? []),
  }
}

type Read = {
  readonly header: ReturnType<typeof parseHeader>
  readonly mined: readonly ReturnType<typeof parseMined>[]
}

const sum = (amounts: readonly bigint[]): bigint => amounts.reduce((total, each) => total + each, 0n)

const sumMovements = (movements: readonly Movement[], { address, contract }: Holding): bigint =>
  sum(
    movements
      .filter((each) => each.contract === contract && each.tokenId === null)
      .flatMap(({ from, to, amount }) => [to === address ? amount : 0n, from === address ? -amount : 0n]),
  )

/** Parses to null if the token does not answer with a number. */
const holdingQuestion = ({ address, contract }: Holding, blockHash: Hex): Question<bigint | null> => {
  const at = { blockHash }
  if (contract === null) return question('eth_getBalance', [hexText(address), at], quantity)
  const data = encodeFunctionData({ abi: ABI, functionName: 'balanceOf', args: [hexText(address)] })
  const call = { to: hexText(contract), data, gas: toQuantity(READ_GAS_LIMIT) }
  return question('eth_call', [call, at], (value) => wordIn(bytes(value)))
}

/** Maps each touched address (canonical form) to the contracts that name it in a log. */
const touchedBy = (
  { movements }: BlockMovements,
  { header, mined }: Read,
): ReadonlyMap<string, ReadonlySet<string>> => {
  const touched = new Map<string, Set<string>>()
  const touch = (address: string, contract: string | null = null) => {
    const own = touched.get(address) ?? new Set()
    touched.set(address, contract === null ? own : own.add(contract))
  }
  for (const { to } of header.withdrawals) touch(checksum(to))
  for (const { from, others, logs } of mined) {
    for (const address of [from, ...others]) touch(checksum(address))
    for (const { contract, named } of logs) for (const address of named) touch(checksum(address), checksum(contract))
  }
  for (const { standard, contract, from, to } of movements) {
    for (const address of [from, to]) touch(address, standard === 'erc20' ? contract : null)
  }
  return touched
}

/** null if the node has another block at this height, or cannot answer. */
const readBlock = async (rpc: Rpc, block: BlockMovements): Promise<Read | null> => {
  const [headerAnswer, receipts] = await rpc.tryAll(
    [
      question('eth_getBlockByHash', [block.hash, false], nullable(parseHeader)),
      question('eth_getBlockReceipts', [toQuantity(block.number)], nullable(listOf(parseMined))),
    ],
    { size: 'bulk' },
  )
  if (!receipts.ok && isMethodMissing(receipts.error)) return null
  const isMissing = [headerAnswer, receipts].some((answer) => !answer.ok && isBlockMissing(answer.error))
  if (isMissing) return null
  const [header, mined] = [rpc.need(headerAnswer), rpc.need(receipts)]
  if (header === null || mined === null || mined.some(({ blockHash }) => blockHash !== block.hash)) return null
  return { header, mined }
}

/** The balances; null if the node no longer has the state. A token that fails has a null element. */
const amountsAt = async (
  rpc: Rpc,
  holdings: readonly Holding[],
  blockHash: Hex,
): Promise<readonly (bigint | null)[] | null> => {
  const answers = await rpc.tryAll(holdings.map((holding) => holdingQuestion(holding, blockHash)))
  const amounts: (bigint | null)[] = []
  for (const answer of answers) {
    if (answer.ok) amounts.push(answer.value)
    else if (isExecutionFailure(answer.error)) amounts.push(null)
    else if (isStateMissing(answer.error) || isBlockMissing(answer.error)) return null
    else throw rpc.refusal(answer.error)
  }
  return amounts
}

const chooseHoldings = async (
  { block, scope }: { readonly block: BlockMovements; readonly scope: BalanceScope },
  read: Read,
): Promise<readonly Holding[]> => {
  const touched = touchedBy(block, read)
  const producer = checksum(read.header.producer)
  const ofOne = (address: string): readonly Holding[] => [
    ...(block.isTraced && address !== producer ? [{ address, contract: null }] : []),
    ...[...scope.reliable([...(touched.get(address) ?? [])])].map((contract) => ({ address, contract })),
  ]
  return [...(await scope.choose([...touched.keys()]))].flatMap(ofOne).slice(0, HOLDINGS_MAX)
}

/** The change that a block must have made to a balance. */
const expectChanges = ({ movements }: BlockMovements, { header, mined }: Read) => {
  const costs = Map.groupBy(mined, ({ from }) => checksum(from))
  const income = Map.groupBy(header.withdrawals, ({ to }) => checksum(to))
  const wraps = mined.flatMap(({ logs }) => logs.flatMap(({ wrap }) => (wrap === null ? [] : [checksumMovement(wrap)])))
  const moves = [...movements, ...wraps]
  return (holding: Holding): bigint => {
    const moved = sumMovements(moves, holding)
    if (holding.contract !== null) return moved
    const cost = sum((costs.get(holding.address) ?? []).map((each) => each.cost))
    return moved - cost + sum((income.get(holding.address) ?? []).map((each) => each.amount))
  }
}

/** See `Blocks.checkBalances`. */
export const checkBalances = async (
  rpc: Rpc,
  input: { readonly block: BlockMovements; readonly scope: BalanceScope },
): Promise<BalanceCheck | null> => {
  const { block } = input
  if (block.number === 0n) return { checked: 0, differences: [] }
  const read = await readBlock(rpc, block)
  if (read === null) return null
  const holdings = await chooseHoldings(input, read)
  const before = await amountsAt(rpc, holdings, block.parentHash)
  const after = await amountsAt(rpc, holdings, block.hash)
  if (before === null || after === null) return null
  const expectedChange = expectChanges(block, read)
  const differences = holdings.flatMap((holding, index): BalanceDifference[] => {
    const [had, has] = [before[index], after[index]]
    if (had == null || has == null) return []
    const [changed, expected] = [has - had, expectedChange(holding)]
    return expected === changed ? [] : [{ ...holding, changed, expected }]
  })
  return { checked: holdings.length, differences }
}
