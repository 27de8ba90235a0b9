// Compares the movements of a block with the state before and after it: of the coin the free and reserved balance
// together, because reserving moves nothing, of assets the balance in their pallet. The accounts come from the
// addresses in the block's events, so a transfer that movements.ts missed shows up.

import type { BalanceCheck, BalanceDifference, BalanceScope } from '../blocks.ts'
import type { BlockMovements, Movement } from '../chain.ts'
import { accountQuestion } from './account.ts'
import { ASSET_CONTRACTS, contractIdOf, isAsset } from './contracts.ts'
import { type ChainEvent, eventsQuestion, valuesOf } from './events.ts'
import { feeChanges, type Holding, hidesAssetFees, holdingKey } from './fees.ts'
import type { SubstrateNode } from './node.ts'
import type { Runtime } from './runtime.ts'
import { assetQuestion, converted, unlessPruned } from './storage.ts'
import { integerIn } from './values.ts'

const HOLDINGS_MAX = 200
/** An address of 32 bytes with its prefix and checksum, in base58. */
const LIKE_ADDRESS = /^[1-9A-HJ-NP-Za-km-z]{46,50}$/

/** What a block touched: the coin (null) of each address, and the asset of an event for each address in the event. */
const collectTouched = (events: readonly ChainEvent[], movements: readonly Movement[]) => {
  const touched = new Map<string, Set<string | null>>()
  const touch = (address: string, contract: string | null) => {
    const own = touched.get(address) ?? new Set([null])
    touched.set(address, own.add(contract))
  }
  for (const event of events) {
    const values = valuesOf(event)
    const contract = values[0] === undefined ? null : (ASSET_CONTRACTS[event.pallet]?.(values[0]) ?? null)
    for (const text of values.map(String)) if (LIKE_ADDRESS.test(text)) touch(text, contract)
  }
  for (const { standard, contract, from, to } of movements) {
    if (standard !== 'native' && standard !== 'erc20') continue
    for (const address of [from, to]) touch(address, contract)
  }
  return touched
}

const sumMoved = (movements: readonly Movement[], { address, contract }: Holding): bigint =>
  movements.reduce((sum, each) => {
    if (each.contract !== contract || each.tokenId !== null) return sum
    return sum + (each.to === address ? each.amount : 0n) - (each.from === address ? each.amount : 0n)
  }, 0n)

const holdingQuestion = (runtime: Runtime, { address, contract }: Holding, blockHash: BlockMovements['hash']) => {
  if (contract === null) {
    return converted(accountQuestion(runtime, address, blockHash), ({ free, reserved }) => free + reserved)
  }
  const asset = contractIdOf(contract)
  if (asset === null || !isAsset(asset)) return null
  const question = assetQuestion(runtime, { asset, entry: 'account', holder: address }, blockHash)
  return question && converted(question, (account) => integerIn(account, 'balance'))
}

const check = async (
  { rpc, runtimes }: SubstrateNode,
  { block, scope }: { readonly block: BlockMovements; readonly scope: BalanceScope },
): Promise<BalanceCheck> => {
  const { hash, parentHash, movements } = block
  // A block is executed by the runtime in its parent's state.
  const runtime = await runtimes.at(parentHash)
  const events = await rpc.ask(eventsQuestion(runtime, hash), { size: 'bulk' })
  const touched = collectTouched(events, movements)
  const chosen = await scope.choose([...touched.keys()])
  const holdings = [...chosen]
    .flatMap((address) => [...(touched.get(address) ?? [null])].map((contract): Holding => ({ address, contract })))
    .slice(0, HOLDINGS_MAX)
  const amountsAt = (blockHash: BlockMovements['hash']): Promise<readonly (bigint | null)[]> =>
    rpc.askAll(holdings.map((holding) => holdingQuestion(runtime, holding, blockHash)))
  const [before, after] = [await amountsAt(parentHash), await amountsAt(hash)]
  const fees = feeChanges(runtime, events)
  const hasHiddenFees = hidesAssetFees(runtime)
  const differences = holdings.flatMap((holding, index): BalanceDifference[] => {
    const expected = sumMoved(movements, holding) + (fees.get(holdingKey(holding)) ?? 0n)
    const changed = (after[index] ?? 0n) - (before[index] ?? 0n)
    if (expected === changed) return []
    // A fee paid in the asset may explain a missing amount, on a runtime that has no event for such fees.
    if (holding.contract !== null && changed < expected && hasHiddenFees) return []
    return [{ ...holding, changed, expected }]
  })
  return { checked: holdings.length, differences }
}

export const checkBalances = (
  node: SubstrateNode,
  input: { readonly block: BlockMovements; readonly scope: BalanceScope },
): Promise<BalanceCheck | null> =>
  // The genesis block has no parent and moves nothing.
  input.block.number === 0n ? Promise.resolve({ checked: 0, differences: [] }) : unlessPruned(check(node, input))
