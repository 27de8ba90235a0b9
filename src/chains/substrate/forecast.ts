// Forecasts calls on a runtime without DryRunApi: whether each can pay its fee, and for well-known transfers (the coin,
// assets, NFTs) whether the signer has enough and what would move. The result says that other calls, freezes, locks of
// single pallets and hooks of programs are not simulated.

import type { SubstrateNetworkRow } from '../../platform/networks.ts'
import type { Hex, Movement } from '../chain.ts'
import { accountQuestion, existentialDeposit } from './account.ts'
import { type CallTree, readTree } from './codec.ts'
import { assetContract, collectionContract, NFT_MAPS, type NftPallet } from './contracts.ts'
import type { SubstrateNode } from './node.ts'
import type { Runtime } from './runtime.ts'
import { entryQuestion } from './storage.ts'
import { addressIn, fieldOf, integerIn, integerOf, type Value } from './values.ts'

/** `error` says what failed or what was not simulated; `changes` is null if they are not known. */
type Foreseen = {
  readonly success: boolean
  readonly error: string
  readonly changes: readonly Movement[] | null
}

type AmountMove = {
  readonly kind: 'amount'
  /** The id in pallet Assets; null for the coin. */
  readonly asset: string | null
  readonly to: string
  readonly amount: bigint
  readonly keepsAlive: boolean
}
type ItemMove = Readonly<Record<'collection' | 'item' | 'to', string>> & {
  readonly kind: 'item'
  readonly pallet: NftPallet
}
type Move = AmountMove | ItemMove

const KEEPS_ALIVE: Readonly<Record<string, boolean>> = {
  'balances.transfer_keep_alive': true,
  'balances.transfer_allow_death': false,
  'balances.transfer': false,
}

/** The transfer that a call makes; null for any other call. Reads fields by index, because their names have changed. */
const parseMove = ({ functionName, fields }: CallTree): Move | null => {
  const values = fields.map(({ value }) => value)
  const integerAt = (index: number): bigint | null => integerOf(values[index])
  const addressAt = (index: number): string | null => {
    const value = values[index]
    return value?.kind === 'account' ? value.value : null
  }
  const keepsAlive = KEEPS_ALIVE[functionName]
  if (keepsAlive !== undefined) {
    const [to, amount] = [addressAt(0), integerAt(1)]
    return to === null || amount === null ? null : { kind: 'amount', asset: null, to, amount, keepsAlive }
  }
  const id = integerAt(0)
  if (id === null) return null
  if (functionName === 'assets.transfer') {
    const [to, amount] = [addressAt(1), integerAt(2)]
    return to === null || amount === null ? null : { kind: 'amount', asset: `${id}`, to, amount, keepsAlive: false }
  }
  if (functionName !== 'nfts.transfer' && functionName !== 'uniques.transfer') return null
  const [item, to] = [integerAt(1), addressAt(2)]
  const pallet = functionName === 'nfts.transfer' ? 'nfts' : 'uniques'
  return item === null || to === null ? null : { kind: 'item', pallet, collection: `${id}`, item: `${item}`, to }
}

/** The transfers of a call, or of each call in a `batch_all`; null if one of them is another kind of call. */
const parseMoves = (tree: Value | null): readonly Move[] | null => {
  if (tree?.kind !== 'call') return null
  if (tree.functionName !== 'utility.batch_all') {
    const move = parseMove(tree)
    return move === null ? null : [move]
  }
  const calls = fieldOf(tree, 'calls')
  const moves = calls.kind === 'list' ? calls.items.map(parseMoves) : [null]
  return moves.includes(null) ? null : moves.flatMap((each) => each ?? [])
}

/** Balances and owners at a block, by amountKey and itemKey. Each call runs on a copy. */
type Ledger = {
  readonly amounts: Map<string, bigint>
  readonly owners: Map<string, string>
  /** The minimum balance of each asset, and of the coin (null). */
  readonly least: ReadonlyMap<string | null, bigint>
  /** The part of the signer's balance that cannot leave while its account stays alive. */
  readonly locked: bigint
}

const amountKey = (asset: string | null, address: string): string => `${asset ?? 'coin'} ${address}`
const itemKey = ({ pallet, collection, item }: ItemMove): string => `${pallet} ${collection} ${item}`

type Asking = { readonly runtime: Runtime; readonly from: string; readonly blockHash: Hex }

const readLedger = async (
  { rpc }: Pick<SubstrateNode, 'rpc'>,
  { runtime, from, blockHash }: Asking,
  moves: readonly Move[],
): Promise<Ledger> => {
  const amountMoves = moves.filter((move) => move.kind === 'amount')
  const items = moves.filter((move) => move.kind === 'item')
  const recipients = amountMoves.flatMap(({ asset, to }) => (asset === null ? [to] : []))
  const holdings = amountMoves.flatMap(({ asset, to }) =>
    asset === null ? [] : [from, to].map((address) => ({ asset, address })),
  )
  const assets = [...new Set(holdings.map(({ asset }) => asset))]
  const entry = (pallet: string, name: string, ...parts: readonly string[]) =>
    entryQuestion(runtime, { pallet, entry: name, parts }, blockHash)
  const accountOf = (address: string) => accountQuestion(runtime, address, blockHash)
  const [[signer, ...accounts], accountsOfAssets, details, owned] = await Promise.all([
    rpc.askAll([accountOf(from), ...recipients.map(accountOf)]),
    rpc.askAll(holdings.map(({ asset, address }) => entry('assets', 'account', asset, address))),
    rpc.askAll(assets.map((asset) => entry('assets', 'asset', asset))),
    rpc.askAll(items.map(({ pallet, collection, item }) => entry(pallet, NFT_MAPS[pallet].item, collection, item))),
  ])
  const amounts = new Map([[amountKey(null, from), signer.free]])
  for (const [index, address] of recipients.entries()) {
    amounts.set(amountKey(null, address), accounts[index]?.free ?? 0n)
  }
  for (const [index, { asset, address }] of holdings.entries()) {
    amounts.set(amountKey(asset, address), integerIn(accountsOfAssets[index] ?? null, 'balance'))
  }
  const least = new Map<string | null, bigint>([[null, existentialDeposit(runtime)]])
  for (const [index, asset] of assets.entries()) least.set(asset, integerIn(details[index] ?? null, 'min_balance'))
  const owners = items.flatMap((item, index): [string, string][] => {
    const owner = addressIn(owned[index] ?? null, 'owner')
    return owner === null ? [] : [[itemKey(item), owner]]
  })
  return { amounts, owners: new Map(owners), least, locked: signer.free - signer.transferable }
}

type MoveContext = { readonly runtime: Runtime; readonly from: string; readonly row: SubstrateNetworkRow }

/** Runs a transfer in the ledger. @returns why it fails; null if its result cannot be forecast. */
type Run<Kind extends Move> = (step: MoveContext, ledger: Ledger, move: Kind) => Movement | string | null

const moveItem: Run<ItemMove> = ({ runtime, from }, { owners }, move) => {
  const { pallet, collection, item, to } = move
  const owner = owners.get(itemKey(move))
  if (owner === undefined) return `there is no item ${item} of collection ${collection}`
  // Another account may be allowed to move it. Only the pallet knows.
  if (owner !== from) return null
  owners.set(itemKey(move), to)
  const contract = collectionContract(runtime, { pallet, id: collection })
  return { standard: 'erc721', contract, tokenId: BigInt(item), from, to, amount: 1n }
}

const moveAmount: Run<AmountMove> = ({ from }, { amounts, locked, least }, { asset, to, amount, keepsAlive }) => {
  const amountOf = (address: string): bigint => amounts.get(amountKey(asset, address)) ?? 0n
  if (amountOf(from) - amount < (keepsAlive ? locked : 0n)) return 'the sender has too little'
  if (amountOf(to) + amount < (least.get(asset) ?? 0n)) {
    return 'the recipient would have less than the minimum balance'
  }
  amounts.set(amountKey(asset, from), amountOf(from) - amount)
  amounts.set(amountKey(asset, to), amountOf(to) + amount)
  const moved = { tokenId: null, from, to, amount }
  if (asset === null) return { standard: 'native', contract: null, ...moved }
  return { standard: 'erc20', contract: assetContract(asset), ...moved }
}

const NOT_RUN = 'not simulated: the network cannot run a call in advance; '

export const cannotPayFee = ({ from, fee }: { readonly from: string; readonly fee: bigint }): string =>
  `balance insufficient: ${from} cannot pay the fee of ${fee} planck`

/** @returns also the ledger after the call. */
const foresee = (
  step: MoveContext,
  before: Ledger,
  { moves, fee }: { readonly moves: readonly Move[] | null; readonly fee: bigint },
): { readonly foreseen: Foreseen; readonly ledger: Ledger } => {
  const { from, row } = step
  const fail = (error: string): Foreseen => ({ success: false, error, changes: [] })
  const coins = before.amounts.get(amountKey(null, from)) ?? 0n
  if (coins - fee < before.locked) return { foreseen: fail(cannotPayFee({ from, fee })), ledger: before }
  const charged = { ...before, amounts: new Map(before.amounts).set(amountKey(null, from), coins - fee) }
  const error = `${NOT_RUN}only whether its fee can be paid was checked`
  const unforeseen = { foreseen: { success: true, changes: null, error }, ledger: charged }
  if (moves === null) return unforeseen
  const changes: Movement[] = []
  // A batch is all or nothing: if one transfer fails, only the fee is taken.
  const ledger = { ...charged, amounts: new Map(charged.amounts), owners: new Map(charged.owners) }
  for (const move of moves) {
    const moved = move.kind === 'item' ? moveItem(step, ledger, move) : moveAmount(step, ledger, move)
    if (moved === null) return unforeseen
    if (typeof moved === 'string') return { foreseen: fail(`execution reverted: ${moved}`), ledger: charged }
    changes.push(moved)
  }
  const checked = `${NOT_RUN}only the fee, the balances of the sender and the minimum balances of ${row.network} were checked`
  return { foreseen: { success: true, changes, error: checked }, ledger }
}

export const forecast = async (
  node: Pick<SubstrateNode, 'rpc' | 'row'>,
  input: Asking & { readonly calls: readonly Hex[]; readonly fees: readonly bigint[] },
): Promise<readonly Foreseen[]> => {
  const { runtime, from, calls, fees } = input
  const plans = calls.map((call) => parseMoves(readTree(runtime, call)))
  const moves = plans.flatMap((each) => each ?? [])
  let ledger = await readLedger(node, input, moves)
  return plans.map((plan, index) => {
    const next = foresee({ runtime, from, row: node.row }, ledger, { moves: plan, fee: fees[index] ?? 0n })
    ledger = next.ledger
    return next.foreseen
  })
}
