// Reads accounts: the nonce and the balances in System.Account, and balances of assets.

import { higher } from '../../platform/amount.ts'
import type { Balances, Hex } from '../chain.ts'
import { type Question, question, type Rpc } from '../node/rpc.ts'
import { MalformedAnswer } from '../node/wire.ts'
import { readFinalState } from './blocks.ts'
import { contractIdOf, isAsset } from './contracts.ts'
import type { SubstrateNode } from './node.ts'
import { constantOf, type Runtime } from './runtime.ts'
import { assetQuestion, converted, entryQuestion } from './storage.ts'
import { fieldOf, integerIn, integerOf, type Value } from './values.ts'

/** Amounts in planck. `exists` is false below the existential deposit, where the chain keeps no account. */
export type Account = {
  readonly exists: boolean
  readonly nonce: number
  /** The balance without what is reserved. */
  readonly free: bigint
  readonly reserved: bigint
  /** The most that can leave the account while it stays alive. */
  readonly transferable: bigint
}

const NO_ACCOUNT: Account = { exists: false, nonce: 0, free: 0n, reserved: 0n, transferable: 0n }

/** The least balance of an account, in planck. */
export const existentialDeposit = (runtime: Runtime): bigint =>
  constantOf(runtime, 'balances', 'existentialDeposit') ?? 0n

const readAccount = (runtime: Runtime, stored: Value | null): Account => {
  if (stored === null) return NO_ACCOUNT
  const data = fieldOf(stored, 'data')
  const [free, reserved] = [integerIn(data, 'free'), integerIn(data, 'reserved')]
  // Freezes (since 2023) also cover the reserved balance. The older locks did not: the larger of the two counts.
  const frozen = integerOf(fieldOf(data, 'frozen'))
  const untouchable =
    frozen === null
      ? higher(integerIn(data, 'fee_frozen'), integerIn(data, 'misc_frozen'))
      : higher(frozen - reserved, 0n)
  const unmovable = higher(untouchable, existentialDeposit(runtime))
  const nonce = Number(integerIn(stored, 'nonce'))
  return { exists: true, nonce, free, reserved, transferable: higher(free - unmovable, 0n) }
}

export const accountQuestion = (runtime: Runtime, address: string, blockHash: Hex): Question<Account> => {
  const stored = entryQuestion(runtime, { pallet: 'system', entry: 'account', parts: [address] }, blockHash)
  if (stored === null) throw new Error('expected a runtime with System.Account')
  return converted(stored, (value) => readAccount(runtime, value))
}

/** Asks for the next free nonce, behind every extrinsic in the node's pool. */
export const nextIndexQuestion = (address: string): Question<number> =>
  question('system_accountNextIndex', [address], (value) => {
    if (typeof value !== 'number' || !Number.isSafeInteger(value)) throw new MalformedAnswer('a nonce')
    return value
  })

/** Reads both nonces: the one at the given block, and the next free one behind the node's pool. */
export const readCounts = async (
  rpc: Rpc,
  { runtime, address, blockHash }: { readonly runtime: Runtime; readonly address: string; readonly blockHash: Hex },
): Promise<{ readonly minedCount: number; readonly pendingCount: number; readonly account: Account }> => {
  const [account, next] = await rpc.askAll([accountQuestion(runtime, address, blockHash), nextIndexQuestion(address)])
  return { minedCount: account.nonce, pendingCount: Math.max(account.nonce, next), account }
}

/** See `Chain.balances`: the free coin, and assets of the instances of pallet_assets. */
export const readBalances = async (
  node: SubstrateNode,
  { address, contracts }: { readonly address: string; readonly contracts: readonly string[] },
): Promise<Balances> => {
  const { head, runtime } = await readFinalState(node)
  const assets = contracts.flatMap((contract) => {
    const asset = contractIdOf(contract)
    return asset === null || !isAsset(asset) ? [] : [{ contract, asset }]
  })
  const [account, ...accounts] = await node.rpc.askAll([
    accountQuestion(runtime, address, head.hash),
    ...assets.map(({ asset }) => assetQuestion(runtime, { asset, entry: 'account', holder: address }, head.hash)),
  ])
  const balances = assets.map(
    ({ contract }, index) => [contract, integerIn(accounts[index] ?? null, 'balance')] as const,
  )
  return { coin: account.free, tokens: new Map(balances.filter(([, balance]) => balance > 0n)) }
}
