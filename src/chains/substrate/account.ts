// An account as System.Account tells it: its nonce and what it has.

import type { Hex } from '../chain.ts'
import { type Question, question, type Rpc } from '../node/rpc.ts'
import { MalformedAnswer } from '../node/wire.ts'
import type { Runtime } from './runtime.ts'
import { storageKey, storageQuestion } from './storage.ts'

/** Planck. `exists`: it has an account; below the existential deposit nobody has. */
export type Account = {
  readonly exists: boolean
  readonly nonce: number
  /** What is its own and not reserved. */
  readonly free: bigint
  /** What is its own, and put down as a deposit or held. */
  readonly reserved: bigint
  /** The most of it that can leave it while it stays alive. */
  readonly transferable: bigint
}

const NOBODY: Account = { exists: false, nonce: 0, free: 0n, reserved: 0n, transferable: 0n }

/** What the codec hands out of System.Account, in any of its forms. */
type AccountInfo = {
  readonly nonce: { toNumber(): number }
  readonly data: Readonly<
    Record<'free' | 'reserved' | 'frozen' | 'feeFrozen' | 'miscFrozen', { toBigInt(): bigint } | undefined>
  >
}

export const larger = (one: bigint, other: bigint): bigint => (one > other ? one : other)

/** The least that an account may have (Balances.ExistentialDeposit), in planck. */
export const existentialDeposit = ({ constants, registry }: Runtime): bigint => {
  const constant = constants.balances?.existentialDeposit
  return constant === undefined ? 0n : registry.createType('u128', constant.toU8a()).toBigInt()
}

/** @throws MalformedAnswer for what is no account. */
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
  // Fungible's freezes count reserves (since 2023), locks before did not: the stricter one is never too much.
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

/** As of a block. */
export const accountQuestion = (runtime: Runtime, address: string, blockHash: Hex): Question<Account> => {
  const stored = storageQuestion(storageKey(runtime, 'system', 'account', [address]), blockHash)
  return { ...stored, parse: (value) => readAccount(runtime, stored.parse(value)) }
}

/** The nonce after all that is in the pool. */
export const nextIndexQuestion = (address: string): Question<number> =>
  question('system_accountNextIndex', [address], (value) => {
    if (typeof value !== 'number' || !Number.isSafeInteger(value)) throw new MalformedAnswer('a nonce')
    return value
  })

/** Nonces: of what is final, and after all that is in the pool. @throws NodeUnavailable. */
export const readCounts = async (
  rpc: Rpc,
  { runtime, address, blockHash }: { readonly runtime: Runtime; readonly address: string; readonly blockHash: Hex },
): Promise<{ readonly minedCount: number; readonly pendingCount: number; readonly account: Account }> => {
  const [account, next] = await rpc.askAll([accountQuestion(runtime, address, blockHash), nextIndexQuestion(address)])
  return { minedCount: account.nonce, pendingCount: Math.max(account.nonce, next), account }
}
