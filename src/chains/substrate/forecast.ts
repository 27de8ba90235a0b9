// Forecasts calls on a runtime without DryRunApi: whether each can pay its fee, and for well-known transfers (the coin, assets,
// NFTs) whether the signer has enough and what would move. The result says that other calls, freezes, locks of single pallets
// and hooks of programs are not simulated.

import type { Hex, Movement } from '../chain.ts'
import type { SubstrateNetworkRow } from '../networks.ts'
import { type Account, accountQuestion, existentialDeposit } from './account.ts'
import { assetContract, collectionContract, oldCollectionContract } from './contracts.ts'
import { type CallTree, readTree } from './decode.ts'
import { entryQuestion, numberIn } from './entries.ts'
import type { SubstrateNode } from './node.ts'
import type { Runtime } from './runtime.ts'
import { fieldOf, type Value } from './values.ts'

/** `error` says what failed or what was not simulated; `changes` is null if they are not known. */
type Foreseen = {
  readonly success: boolean
  readonly error: string
  readonly changes: readonly Movement[] | null
}

type Move =
  | { readonly kind: 'coin'; readonly to: string; readonly amount: bigint; readonly keepsAlive: boolean }
  | { readonly kind: 'asset'; readonly id: string; readonly to: string; readonly amount: bigint }
  | {
      readonly kind: 'item'
      readonly pallet: string
      readonly collection: string
      readonly item: string
      readonly to: string
    }

const KEEPS_ALIVE: Readonly<Record<string, boolean>> = {
  'balances.transfer_keep_alive': true,
  'balances.transfer_allow_death': false,
  'balances.transfer': false,
}

const integerOf = (value: Value | undefined): bigint | null => (value?.kind === 'integer' ? value.value : null)
const addressIn = (value: Value | undefined): string | null => (value?.kind === 'address' ? value.value : null)

/** The transfer that a call makes; null for any other call. Reads fields by index, because their names have changed. */
const moveOf = ({ functionName, fields }: CallTree): Move | null => {
  const [first, second, third] = fields.map(({ value }) => value)
  const keepsAlive = KEEPS_ALIVE[functionName]
  if (keepsAlive !== undefined) {
    const [to, amount] = [addressIn(first), integerOf(second)]
    return to === null || amount === null ? null : { kind: 'coin', to, amount, keepsAlive }
  }
  const [pallet = '', name] = functionName.split('.')
  const id = integerOf(first)
  if (id === null) return null
  if (pallet === 'assets' && name === 'transfer') {
    const [to, amount] = [addressIn(second), integerOf(third)]
    return to === null || amount === null ? null : { kind: 'asset', id: id.toString(), to, amount }
  }
  if ((pallet === 'uniques' || pallet === 'nfts') && name === 'transfer') {
    const [item, to] = [integerOf(second), addressIn(third)]
    if (item === null || to === null) return null
    return { kind: 'item', pallet, collection: id.toString(), item: item.toString(), to }
  }
  return null
}

/** The transfers of a call, or of each call in a `batch_all`; null if one of them is another kind of call. */
const movesOf = (tree: CallTree): readonly Move[] | null => {
  if (tree.functionName !== 'utility.batch_all') {
    const move = moveOf(tree)
    return move === null ? null : [move]
  }
  const calls = fieldOf(tree, 'calls')
  const moves =
    calls.kind === 'list' ? calls.items.map((each) => (each.kind === 'call' ? movesOf(each) : null)) : [null]
  return moves.includes(null) ? null : moves.flatMap((each) => each ?? [])
}

/** Balances and owners at a block, updated after each call. Keys: `coin address`, `asset id address`, `item pallet id id`. */
type Ledger = {
  readonly amounts: Map<string, bigint>
  readonly owners: Map<string, string>
  readonly deposit: bigint
  /** The minimum balance of each asset. */
  readonly least: ReadonlyMap<string, bigint>
  /** The part of the signer's balance that cannot leave while its account stays alive. */
  readonly kept: bigint
}

const coinKey = (address: string): string => `coin ${address}`
const assetKey = (id: string, address: string): string => `asset ${id} ${address}`
const itemKey = ({ pallet, collection, item }: Move & { readonly kind: 'item' }): string =>
  `item ${pallet} ${collection} ${item}`

type Asking = { readonly runtime: Runtime; readonly from: string; readonly blockHash: Hex }

const readLedger = async (
  { rpc }: Pick<SubstrateNode, 'rpc'>,
  { runtime, from, blockHash }: Asking,
  moves: readonly Move[],
): Promise<Ledger> => {
  const accounts = [...new Set([from, ...moves.flatMap((move) => (move.kind === 'coin' ? [move.to] : []))])]
  const assets = [...new Set(moves.flatMap((move) => (move.kind === 'asset' ? [move.id] : [])))]
  const holdings = moves.flatMap((move) =>
    move.kind === 'asset' ? [from, move.to].map((at) => ({ id: move.id, at })) : [],
  )
  const items = moves.flatMap((move) => (move.kind === 'item' ? [move] : []))
  const entry = (pallet: string, name: string, parts: readonly string[]) =>
    entryQuestion(runtime, { pallet, entry: name, parts }, blockHash)
  const [coins, held, kinds, owned] = await Promise.all([
    rpc.askAll(accounts.map((address) => accountQuestion(runtime, address, blockHash))),
    rpc.askAll(holdings.map(({ id, at }) => entry('assets', 'account', [id, at]))),
    rpc.askAll(assets.map((id) => entry('assets', 'asset', [id]))),
    rpc.askAll(
      items.map(({ pallet, collection, item }) =>
        entry(pallet, pallet === 'nfts' ? 'item' : 'asset', [collection, item]),
      ),
    ),
  ])
  const signer = coins[0]
  const amounts = new Map([
    ...coins.map((account: Account, index): [string, bigint] => [coinKey(accounts[index] ?? ''), account.free]),
    ...holdings.map(({ id, at }, index): [string, bigint] => [
      assetKey(id, at),
      numberIn(held[index] ?? null, 'balance'),
    ]),
  ])
  const owners = items.flatMap((item, index): [string, string][] => {
    const owner = fieldOf(owned[index] ?? null, 'owner')
    return owner.kind === 'address' ? [[itemKey(item), owner.value]] : []
  })
  return {
    amounts,
    owners: new Map(owners),
    deposit: existentialDeposit(runtime),
    least: new Map(assets.map((id, index) => [id, numberIn(kinds[index] ?? null, 'min_balance')])),
    kept: signer === undefined ? 0n : signer.free - signer.transferable,
  }
}

type Step = {
  readonly ledger: Ledger
  readonly from: string
  readonly row: SubstrateNetworkRow
  readonly runtime: Runtime
}

/** Moves an amount in the ledger if the sender keeps `kept` and the recipient gets to `least`. @returns why not; else null. */
const shift = (
  { amounts }: Ledger,
  move: {
    readonly from: string
    readonly to: string
    readonly amount: bigint
    readonly kept: bigint
    readonly least: bigint
  },
): string | null => {
  const { from, to, amount, kept, least } = move
  const [has, had] = [amounts.get(from) ?? 0n, amounts.get(to) ?? 0n]
  if (has - amount < kept) return 'the sender has too little for it'
  if (had + amount < least) return 'the recipient would have less than an account may have'
  amounts.set(from, has - amount)
  amounts.set(to, (amounts.get(to) ?? 0n) + amount)
  return null
}

type Done = { readonly failed: string } | { readonly movement: Movement } | null

const collectionOf = ({ storage }: Runtime, { pallet, collection }: Move & { readonly kind: 'item' }): string =>
  pallet === 'uniques' && storage.nfts !== undefined
    ? oldCollectionContract(collection)
    : collectionContract(collection)

/** Makes a transfer in the ledger; null if its result cannot be forecast. */
const make = ({ ledger, from, runtime }: Step, move: Move): Done => {
  const { to } = move
  if (move.kind === 'item') {
    const owner = ledger.owners.get(itemKey(move))
    if (owner === undefined) return { failed: `there is no item ${move.item} of collection ${move.collection}` }
    // Another account may be allowed to move it. Only the pallet knows.
    if (owner !== from) return null
    ledger.owners.set(itemKey(move), to)
    const contract = collectionOf(runtime, move)
    return { movement: { standard: 'erc721', contract, tokenId: BigInt(move.item), from, to, amount: 1n } }
  }
  const { amount } = move
  const [isCoin, least] = move.kind === 'coin' ? [true, ledger.deposit] : [false, ledger.least.get(move.id) ?? 0n]
  const keyOf = (address: string) => (move.kind === 'coin' ? coinKey(address) : assetKey(move.id, address))
  const kept = move.kind === 'coin' && move.keepsAlive ? ledger.kept : 0n
  const failed = shift(ledger, { from: keyOf(from), to: keyOf(to), amount, kept, least })
  if (failed !== null) return { failed }
  const standard = isCoin ? 'native' : 'erc20'
  const contract = move.kind === 'coin' ? null : assetContract(move.id)
  return { movement: { standard, contract, tokenId: null, from, to, amount } }
}

const NOT_RUN = 'not simulated: the network cannot run a call in advance; '

const foresee = (
  step: Step,
  { moves, fee }: { readonly moves: readonly Move[] | null; readonly fee: bigint },
): Foreseen => {
  const { ledger, from, row } = step
  const fail = (error: string): Foreseen => ({ success: false, error, changes: [] })
  const coins = ledger.amounts.get(coinKey(from)) ?? 0n
  if (coins - fee < ledger.kept) return fail(`balance insufficient: ${from} cannot pay the fee of ${fee} planck`)
  ledger.amounts.set(coinKey(from), coins - fee)
  const unforeseen: Foreseen = {
    success: true,
    changes: null,
    error: `${NOT_RUN}of this one, only whether its fee can be paid was checked`,
  }
  if (moves === null) return unforeseen
  const changes: Movement[] = []
  // A batch is all or nothing: if one transfer fails, restore the ledger.
  const before = { amounts: new Map(ledger.amounts), owners: new Map(ledger.owners) }
  for (const move of moves) {
    const done = make(step, move)
    if (done !== null && 'movement' in done) {
      changes.push(done.movement)
      continue
    }
    for (const [key, amount] of before.amounts) ledger.amounts.set(key, amount)
    for (const [key, owner] of before.owners) ledger.owners.set(key, owner)
    return done === null ? unforeseen : fail(`execution reverted: ${done.failed}`)
  }
  return {
    success: true,
    changes,
    error: `${NOT_RUN}checked were the fee, what the sender has of what is to go, and what ${row.network} asks an account to have`,
  }
}

/** Forecasts calls in order, each after those before it. */
export const forecast = async (
  node: Pick<SubstrateNode, 'rpc' | 'row'>,
  input: Asking & { readonly calls: readonly Hex[]; readonly fees: readonly bigint[] },
): Promise<readonly Foreseen[]> => {
  const { runtime, from, calls, fees } = input
  const plans = calls.map((call) => {
    const tree = readTree(runtime, call)
    return tree === null ? null : movesOf(tree)
  })
  const ledger = await readLedger(
    node,
    input,
    plans.flatMap((moves) => moves ?? []),
  )
  const step: Step = { ledger, from, row: node.row, runtime }
  return plans.map((moves, index) => foresee(step, { moves, fee: fees[index] ?? 0n }))
}
