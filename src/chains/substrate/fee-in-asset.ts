// What a fee comes to in an asset. Where the runtime buys coins for it from a pool, it says at which price
// (AssetConversionApi). Where assets are named by their ids, it takes them at the rate of the least balances of the asset and
// of the coin (pallet_assets, BalanceToAssetBalance).

import { isDeepStrictEqual } from 'node:util'
import { AppError } from '../../errors.ts'
import { displayAmount } from '../amount.ts'
import type { Hex, PreparedFeeAsset, SubstrateUnsigned } from '../chain.ts'
import { type Question, question } from '../node/rpc.ts'
import { bytes, MalformedAnswer } from '../node/wire.ts'
import { existentialDeposit, larger } from './account.ts'
import { treeOf } from './decode.ts'
import { assetQuestion, numberIn } from './entries.ts'
import { fixed } from './extrinsic.ts'
import { assetIdOf, needNaming, refusedAsset } from './fee-assets.ts'
import type { SubstrateNode } from './node.ts'
import type { Runtime } from './runtime.ts'
import { littleEndian } from './storage.ts'
import { fieldOf, snakeCase, type TypeId, type Value, valueAs } from './values.ts'

const U128_BYTES = 16
/** Of an Asset Hub, which alone has pools: the coin is that of the chain above it, { parents: 1, interior: Here }. */
const COIN_LOCATION = '0100'

const QUOTES = { api: 'AssetConversionApi', method: 'quote_price_tokens_for_exact_tokens' } as const

/** Whether the runtime says what coins cost in an asset that it names so. */
const hasQuotes = ({ metadata }: Runtime, type: TypeId): boolean => {
  const api = metadata.asLatest.apis.find(({ name }) => name.toString() === QUOTES.api)
  const method = api?.methods.find(({ name }) => name.toString() === QUOTES.method)
  return method?.inputs[0]?.type.eq(type) === true
}

/** How much of an asset buys so many planck, with what the pools keep; null where no pool sells that many. */
const quoteQuestion = (asset: Hex, planck: bigint, blockHash: Hex): Question<bigint | null> => {
  const input = `${asset}${COIN_LOCATION}${fixed(planck, U128_BYTES).toString('hex')}01`
  return question('state_call', [`${QUOTES.api}_${QUOTES.method}`, input, blockHash], (result) => {
    const quote = bytes(result)
    if (quote === '0x00') return null
    if (quote.length !== 2 + 2 + 2 * U128_BYTES) throw new MalformedAnswer('the price of a fee in an asset')
    return littleEndian(`0x${quote.slice(4)}`)
  })
}

/** What a call itself moves of an asset: in all, and of that what leaves the signer's account of it alive. */
type Moved = { readonly all: bigint; readonly alive: bigint }

/** A fee in an asset, and what its signer has of it; all in base units of the asset. */
export type FeeInAsset = {
  readonly from: string
  /** As contracts are named. */
  readonly contract: string
  readonly decimals: number
  readonly amount: bigint
  /** 0 where the signer's account of the asset is frozen. */
  readonly balance: bigint
  /** What an account of the asset must keep, or it is gone. */
  readonly least: bigint
  readonly moved: Moved
}

type Asked = {
  readonly runtime: Runtime
  /** The asset, as contracts are named. */
  readonly word: string
  /** With the asset, as the runtime names it. */
  readonly draft: SubstrateUnsigned & { readonly feeAsset: Hex }
  /** The fee, with the tip. */
  readonly planck: bigint
}

/** Runtimes before 2023 have a flag where later ones have a status. */
const isUsable = (value: Value | null, usual: string): boolean => {
  const [status, flag] = [fieldOf(value, 'status'), fieldOf(value, 'is_frozen')]
  return status.kind === 'variant' ? status.name === usual : flag.kind !== 'bool' || flag.value === 'false'
}

/** By the least balances; at least 1, as the runtime takes no less. */
const atLeastBalances = ({ runtime, word, planck }: Asked, asset: Value): bigint => {
  const isSufficient = fieldOf(asset, 'is_sufficient')
  const deposit = existentialDeposit(runtime)
  if (isSufficient.kind !== 'bool' || isSufficient.value !== 'true' || deposit === 0n) {
    throw refusedAsset(`must be a sufficient asset: the runtime takes no fee in ${word}.`)
  }
  return larger((planck * numberIn(asset, 'min_balance')) / deposit, 1n)
}

const NOTHING_MOVED: Moved = { all: 0n, alive: 0n }
const BATCHES: readonly string[] = ['utility.batch', 'utility.batch_all', 'utility.force_batch']

const movedBy = (call: Value | null, of: { readonly id: Value; readonly pallet: string }): Moved => {
  if (call?.kind !== 'call') return NOTHING_MOVED
  if (BATCHES.includes(call.functionName)) {
    const calls = fieldOf(call, 'calls')
    const items = calls.kind === 'list' ? calls.items.map((each) => movedBy(each, of)) : []
    return items.reduce((sum, each) => ({ all: sum.all + each.all, alive: sum.alive + each.alive }), NOTHING_MOVED)
  }
  const [pallet, name] = call.functionName.split('.')
  if (pallet !== of.pallet || !isDeepStrictEqual(fieldOf(call, 'id'), of.id)) return NOTHING_MOVED
  const all = numberIn(call, 'amount')
  if (name === 'transfer') return { all, alive: 0n }
  return name === 'transfer_keep_alive' ? { all, alive: all } : NOTHING_MOVED
}

/** As far as transfers say it. */
const movedOf = ({ runtime, word, draft }: Asked, type: TypeId): Moved => {
  const { pallet, id } = assetIdOf(word)
  const wanted: Value | null =
    typeof id === 'number' ? { kind: 'integer', value: BigInt(id) } : valueAs(runtime, type, draft.feeAsset)
  return wanted === null
    ? NOTHING_MOVED
    : movedBy(treeOf(runtime, draft.call), { id: wanted, pallet: snakeCase(pallet) })
}

/**
 * What a fee comes to in an asset, and what the signer has of it, as of the block of the draft.
 * @throws invalid_input for an asset that is not there, is frozen, or that nobody changes for coins; not_implemented where
 * the runtime does not say what coins cost; node_unavailable.
 */
export const readFeeInAsset = async (
  { rpc, row }: Pick<SubstrateNode, 'rpc' | 'row'>,
  asked: Asked,
): Promise<FeeInAsset> => {
  const { runtime, word, draft, planck } = asked
  const { from, feeAsset, blockHash } = draft
  const { kind, type } = needNaming(runtime, row)
  if (kind === 'location' && !hasQuotes(runtime, type)) {
    throw new AppError('not_implemented', `The runtime of ${row.network} does not say what a fee costs in an asset.`)
  }
  const asset = assetIdOf(word)
  const [about, metadata, account, quote] = await rpc.askAll([
    assetQuestion(runtime, { asset, entry: 'asset' }, blockHash),
    assetQuestion(runtime, { asset, entry: 'metadata' }, blockHash),
    assetQuestion(runtime, { asset, entry: 'account', holder: from }, blockHash),
    kind === 'location' ? quoteQuestion(feeAsset, planck, blockHash) : null,
  ])
  if (about === null) throw refusedAsset(`must be an asset of ${row.network}: there is no ${word}.`)
  if (!isUsable(about, 'Live')) throw refusedAsset(`must be an asset that can move: ${word} is frozen.`)
  const amount = kind === 'location' ? quote : atLeastBalances(asked, about)
  if (amount === null) {
    throw refusedAsset(
      `must be an asset that a pool changes for ${row.coin.symbol}: no pool does so for ${word}, or has enough.`,
    )
  }
  return {
    from,
    contract: word,
    decimals: Number(numberIn(metadata, 'decimals')),
    amount,
    balance: isUsable(account, 'Liquid') ? numberIn(account, 'balance') : 0n,
    least: numberIn(about, 'min_balance'),
    moved: movedOf(asked, type),
  }
}

/** Of what a signer has, less what others of its transactions may take of the same asset before. Pure. */
export const behindFees = (fee: FeeInAsset, before: readonly FeeInAsset[]): FeeInAsset => {
  const same = before.filter(({ contract }) => contract === fee.contract)
  const taken = same.reduce((sum, { amount, moved }) => sum + amount + moved.all, 0n)
  return { ...fee, balance: larger(fee.balance - taken, 0n) }
}

/** The fee is taken first, and leaves the account of the asset alive. Pure. */
export const preparedFee = ({ contract, decimals, amount, balance, least, moved }: FeeInAsset): PreparedFeeAsset => ({
  contract,
  decimals,
  balance,
  worstCost: amount + moved.all,
  needed: amount + larger(moved.all, moved.alive + least),
})

/** @returns what the signer lacks; null for nothing. Pure. */
export const lackOf = (fee: FeeInAsset): string | null => {
  const { from, contract, decimals } = fee
  const { needed, balance } = preparedFee(fee)
  if (balance >= needed) return null
  const shown = (raw: bigint): string => `${displayAmount(raw, decimals)} of ${contract}`
  return `${from} needs ${shown(needed)} for the fee of this transaction, for what it moves, and to keep its account of the asset, and has ${shown(balance)}.`
}
