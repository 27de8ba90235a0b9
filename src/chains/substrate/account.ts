// Reads an account from System.Account: its nonce and its balances.

import type { Hex } from '../chain.ts'
import { type Question, question, type Rpc } from '../node/rpc.ts'
import { MalformedAnswer } from '../node/wire.ts'
import type { Runtime } from './runtime.ts'
import { storageKey, storageQuestion } from './storage.ts'

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

const NOBODY: Account = { exists: false, nonce: 0, free: 0n, reserved: 0n, transferable: 0n }

/** The codec's value of System.Account, in any of its versions. */
type AccountInfo = {
  readonly nonce: { toNumber(): number }
  readonly data: Readonly<
    Record<'free' | 'reserved' | 'frozen' | 'feeFrozen' | 'miscFrozen', { toBigInt(): bigint } | undefined>
  >
}

export const larger = (one: bigint, other: bigint): bigint => (one > other ? one : other)

/** The least balance of an account (Balances.ExistentialDeposit), in planck. */
export const existentialDeposit = ({ constants, registry }: Runtime): bigint => {
  const constant = constants.balances?.existentialDeposit
  return constant === undefined ? 0n : registry.createType('u128', constant.toU8a()).toBigInt()
}

const readAccount = (runtime: Runtime, stored: Hex | null): Account => {
  if (stored === null) return NOBODY
  const { registry } = runtime
  const type = registry.createLookupType(accountType(runtime))
  let info: AccountInfo
  try {
    info = registry.createType(type, stored) as unknown as AccountInfo
  } catch {
    throw new MalformedAnswer('an account')
  }
  const { data } = info
  const amount = (of: { toBigInt(): bigint } | undefined): bigint => of?.toBigInt() ?? 0n
  const free = amount(data.free)
  // Freezes (fungible, since 2023) also cover the reserved balance. The older locks did not: take the larger of the two.
  const frozen =
    data.frozen === undefined ? larger(amount(data.feeFrozen), amount(data.miscFrozen)) : amount(data.frozen)
  const reserved = amount(data.reserved)
  const untouchable = data.frozen === undefined ? frozen : larger(frozen - reserved, 0n)
  const kept = larger(untouchable, existentialDeposit(runtime))
  return { exists: true, nonce: info.nonce.toNumber(), free, reserved, transferable: larger(free - kept, 0n) }
}

const accountType = ({ storage }: Runtime) => {
  const entry = storage.system?.account
  if (entry === undefined || !entry.meta.type.isMap) throw new Error('a runtime without System.Account')
  return entry.meta.type.asMap.value
}

/** Asks for the account at the end of a block. */
export const accountQuestion = (runtime: Runtime, address: string, blockHash: Hex): Question<Account> => {
  const stored = storageQuestion(storageKey(runtime, 'system', 'account', [address]), blockHash)
  return { ...stored, parse: (value) => readAccount(runtime, stored.parse(value)) }
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
