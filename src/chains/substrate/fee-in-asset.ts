// Converts a fee to an asset. A runtime that swaps the asset for coins in a pool quotes the price (AssetConversionApi). A
// runtime that names assets by id converts by the ratio of the asset's minimum balance to the existential deposit
// (pallet_assets, BalanceToAssetBalance).

import { isDeepStrictEqual } from 'node:util'
import { displayAmount } from '../../platform/amount.ts'
import type { Hex, PreparedFeeAsset, SubstrateUnsigned } from '../chain.ts'
import { type Question, question } from '../node/rpc.ts'
import { bytes, MalformedAnswer } from '../node/wire.ts'
import { notProvided } from '../provided.ts'
import { existentialDeposit, larger } from './account.ts'
import { callsOf } from './decode.ts'
import { assetQuestion } from './entries.ts'
import { assetIdOf, namingOf, refusedAsset } from './fee-assets.ts'
import type { SubstrateNode } from './node.ts'
import { apiMethodOf, type Runtime } from './runtime.ts'
import { fixedWidth, fromHex, littleEndian } from './scale.ts'
import { fieldOf, integerIn, isTrueIn, snakeCase, type TypeId, type Value, valueAs } from './values.ts'

const U128_BYTES = 16
/** Only Asset Hubs have pools. Their coin is the relay chain's: { parents: 1, interior: Here }. */
const COIN_LOCATION = '0100'

const QUOTES = ['AssetConversionApi', 'quote_price_tokens_for_exact_tokens'] as const

/** Whether the runtime quotes prices for assets of this type. */
const hasQuotes = (runtime: Runtime, type: TypeId): boolean =>
  apiMethodOf(runtime, ...QUOTES)?.inputs[0]?.type.eq(type) === true

/** Asks how much of an asset buys `planck`, including the pool's fee; null if no pool sells that many. */
const quoteQuestion = (asset: Hex, planck: bigint, blockHash: Hex): Question<bigint | null> => {
  const input = `${asset}${COIN_LOCATION}${fixedWidth(planck, U128_BYTES).toString('hex')}01`
  return question('state_call', [QUOTES.join('_'), input, blockHash], (result) => {
    const quote = bytes(result)
    if (quote === '0x00') return null
    if (quote.length !== 2 + 2 + 2 * U128_BYTES) throw new MalformedAnswer('the price of a fee in an asset')
    return littleEndian(fromHex(quote).subarray(1))
  })
}

/** How much of an asset a call transfers: in all, and by transfers that must keep the sender's account alive. */
type Moved = { readonly all: bigint; readonly alive: bigint }

/** A fee in an asset and the signer's balance of it, in base units of the asset. */
export type FeeInAsset = {
  readonly from: string
  readonly contract: string
  readonly decimals: number
  readonly amount: bigint
  /** 0 if the signer's account of the asset is frozen. */
  readonly balance: bigint
  /** The asset's minimum balance: an account with less is removed. */
  readonly least: bigint
  readonly moved: Moved
}

type FeeQuery = {
  readonly runtime: Runtime
  /** The contract of the asset. */
  readonly contract: string
  /** The extrinsic, with the asset as the runtime names it. */
  readonly draft: SubstrateUnsigned & { readonly feeAsset: Hex }
  /** The fee with the tip. */
  readonly planck: bigint
}

/** Runtimes before 2023 have the flag is_frozen instead of a status. */
const isUsable = (value: Value | null, usual: string): boolean => {
  const status = fieldOf(value, 'status')
  return status.kind === 'variant' ? status.name === usual : !isTrueIn(value, 'is_frozen')
}

/** Converts by the minimum balances; at least 1, because the runtime takes no less. */
const atLeastBalances = ({ runtime, contract, planck }: FeeQuery, asset: Value): bigint => {
  const deposit = existentialDeposit(runtime)
  if (!isTrueIn(asset, 'is_sufficient') || deposit === 0n) {
    throw refusedAsset(`must be a sufficient asset: the runtime takes no fee in ${contract}.`)
  }
  return larger((planck * integerIn(asset, 'min_balance')) / deposit, 1n)
}

/** Counts transfers, also inside batches. Other calls are not counted. */
const movedOf = ({ runtime, contract, draft }: FeeQuery, type: TypeId): Moved => {
  const { pallet, id } = assetIdOf(contract)
  const wanted: Value | null =
    typeof id === 'number' ? { kind: 'integer', value: BigInt(id) } : valueAs(runtime, type, draft.feeAsset)
  const ofAsset = callsOf(runtime, draft.call).filter((call) => isDeepStrictEqual(fieldOf(call, 'id'), wanted))
  const sumOf = (name: string): bigint =>
    ofAsset
      .filter(({ functionName }) => functionName === `${snakeCase(pallet)}.${name}`)
      .reduce((sum, call) => sum + integerIn(call, 'amount'), 0n)
  const alive = sumOf('transfer_keep_alive')
  return { all: sumOf('transfer') + alive, alive }
}

/** Reads a fee's amount in an asset, and the signer's balance of it. */
export const readFeeInAsset = async (
  { rpc, row }: Pick<SubstrateNode, 'rpc' | 'row'>,
  query: FeeQuery,
): Promise<FeeInAsset> => {
  const { runtime, contract, draft, planck } = query
  const { from, feeAsset, blockHash } = draft
  const { kind, type } = namingOf(runtime, row)
  if (kind === 'location' && !hasQuotes(runtime, type)) {
    throw notProvided(`The runtime of ${row.network} does not quote fees in an asset.`)
  }
  const asset = assetIdOf(contract)
  const [about, metadata, account, quote] = await rpc.askAll([
    assetQuestion(runtime, { asset, entry: 'asset' }, blockHash),
    assetQuestion(runtime, { asset, entry: 'metadata' }, blockHash),
    assetQuestion(runtime, { asset, entry: 'account', holder: from }, blockHash),
    kind === 'location' ? quoteQuestion(feeAsset, planck, blockHash) : null,
  ])
  if (about === null) throw refusedAsset(`must be an asset of ${row.network}: there is no ${contract}.`)
  if (!isUsable(about, 'Live')) throw refusedAsset(`must be an asset that can move: ${contract} is frozen.`)
  const amount = kind === 'location' ? quote : atLeastBalances(query, about)
  if (amount === null) {
    const { symbol } = row.coin
    throw refusedAsset(
      `must be an asset that a pool exchanges for ${symbol}: no pool takes ${contract}, or none has enough ${symbol}.`,
    )
  }
  return {
    from,
    contract,
    decimals: Number(integerIn(metadata, 'decimals')),
    amount,
    balance: isUsable(account, 'Liquid') ? integerIn(account, 'balance') : 0n,
    least: integerIn(about, 'min_balance'),
    moved: movedOf(query, type),
  }
}

/** Subtracts from the balance what the signer's earlier transactions may take of the same asset. Pure. */
export const afterFees = (fee: FeeInAsset, before: readonly FeeInAsset[]): FeeInAsset => {
  const same = before.filter(({ contract }) => contract === fee.contract)
  const taken = same.reduce((sum, { amount, moved }) => sum + amount + moved.all, 0n)
  return { ...fee, balance: larger(fee.balance - taken, 0n) }
}

/** The runtime takes the fee first, and the fee must leave the account of the asset alive. Pure. */
export const preparedFee = ({ contract, decimals, amount, balance, least, moved }: FeeInAsset): PreparedFeeAsset => ({
  contract,
  decimals,
  balance,
  worstCost: amount + moved.all,
  needed: amount + larger(moved.all, moved.alive + least),
})

/** @returns a sentence that says what the signer lacks; null if the balance suffices. Pure. */
export const lackOf = (fee: FeeInAsset): string | null => {
  const { from, contract, decimals } = fee
  const { needed, balance } = preparedFee(fee)
  if (balance >= needed) return null
  const shown = (raw: bigint): string => `${displayAmount(raw, decimals)} of ${contract}`
  return `${from} needs ${shown(needed)} for the fee of this transaction, for its transfers, and to keep its account of the asset alive, and has ${shown(balance)}.`
}
