// Reads an account from System.Account: its nonce and its balances.

import type { Hex } from '../chain.ts'
import { type Question, question, type Rpc } from '../node/rpc.ts'
import { MalformedAnswer } from '../node/wire.ts'
import { entryQuestion } from './entries.ts'
import { constantOf, type Runtime } from './runtime.ts'
import { converted } from './storage.ts'
import { fieldOf, integerIn, integerOf, type Value } from './values.ts'

/** Amounts in planck. `exists` is false below the existential deposit, where the chain keeps no account. */
export type Account = {
  readonly exists: boolean
  readonly nonce: number
  /** The balance without what is reserved. */
  readonly free: bigint
  /** Deposits and holds. */
  readonly reserved: bigint
  /** The most that can leave the account while it stays alive. */
  readonly transferable: bigint
}

const NO_ACCOUNT: Account = { exists: false, nonce: 0, free: 0n, reserved: 0n, transferable: 0n }

export const larger = (one: bigint, other: bigint): bigint => (one > other ? one : other)

/** The least balance of an account, in planck. */
export const existentialDeposit = (runtime: Runtime): bigint =>
  constantOf(runtime, 'balances', 'existentialDeposit') ?? 0n

const readAccount = (runtime: Runtime, stored: Value | null): Account => {
  if (stored === null) return NO_ACCOUNT
  const data = fieldOf(stored, 'data')
  const [free, reserved] = [integerIn(data, 'free'), integerIn(data, 'reserved')]
  // Freezes (fungible, since 2023) also cover the reserved balance. The older locks did not: take the larger of the two.
  const frozen = integerOf(fieldOf(data, 'frozen'))
  const untouchable =
    frozen === null
      ? larger(integerIn(data, 'fee_frozen'), integerIn(data, 'misc_frozen'))
      : larger(frozen - reserved, 0n)
  const kept = larger(untouchable, existentialDeposit(runtime))
  const nonce = Number(integerIn(stored, 'nonce'))
  return { exists: true, nonce, free, reserved, transferable: larger(free - kept, 0n) }
}

/** Asks for the account at the end of a block. */
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
