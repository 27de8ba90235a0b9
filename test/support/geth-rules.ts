// A node with go-ethereum's rules for transactions, in front of one that accepts nearly all. The pool is here, the
// blocks are made there. Rules and messages are those of go-ethereum 1.17: internal/ethapi (SubmitTransaction),
// core/txpool/validation.go, core/txpool/legacypool (add, demoteUnexecutables, list.Add). Only transactions that were
// sent through this node are in its pool.

import { type Hex, keccak256, parseTransaction, recoverTransactionAddress, type TransactionSerialized } from 'viem'
import { callRpc } from '../../devnet/rpc.ts'

type Request = { readonly id: unknown; readonly method: string; readonly params: readonly unknown[] }

/** A transaction in the pool; fees in wei per unit of gas, `cost` is the value and the gas at the fee cap. */
export type Pooled = {
  readonly raw: Hex
  readonly hash: Hex
  readonly from: Hex
  readonly nonce: number
  readonly gas: bigint
  readonly feeCap: bigint
  readonly tip: bigint
  readonly cost: bigint
}

/** The answer to a submitted transaction; `refusal` is null if it was accepted. */
export type Verdict = Pooled & { readonly refusal: string | null }

/** geth's own setting is 1 wei. */
const MIN_TIP_WEI = 1n
/** legacypool, PriceBump. */
const PRICE_BUMP_PERCENT = 10n
/** legacypool, AccountQueue: of the transactions behind a gap, the highest nonces are silently dropped. */
const ACCOUNT_QUEUE = 64
/** legacypool, txMaxSize. */
const MAX_BYTES = 131_072
/** params, MaxTxGas (EIP-7825). */
const MAX_GAS = 16_777_216n
/** ethconfig, RPCTxFeeCap. */
const FEE_CAP_WEI = 10n ** 18n

/** rpc/errors.go: an error that has no code of its own. */
const SERVER_ERROR = -32_000

class Refusal extends Error {}

const read = async (raw: Hex): Promise<Pooled> => {
  const serialized = raw as TransactionSerialized
  const { nonce = 0, gas = 0n, value = 0n, ...fees } = parseTransaction(serialized)
  const feeCap = fees.maxFeePerGas ?? fees.gasPrice ?? 0n
  // Empty fields are absent here.
  const tip = fees.type === 'eip1559' ? (fees.maxPriorityFeePerGas ?? 0n) : feeCap
  const from = (await recoverTransactionAddress({ serializedTransaction: serialized })).toLowerCase() as Hex
  return { raw, hash: keccak256(raw), from, nonce, gas, feeCap, tip, cost: value + gas * feeCap }
}

type Account = { readonly nextNonce: number; readonly balance: bigint }
type Pool = Map<number, Pooled>

/** The transactions that could be mined now, in order; the others are queued behind a gap. */
const executable = (pool: Pool, { nextNonce }: Account): readonly Pooled[] => {
  const ready: Pooled[] = []
  for (let each = pool.get(nextNonce); each !== undefined; each = pool.get(each.nonce + 1)) ready.push(each)
  return ready
}

/**
 * Drops transactions that are mined, cannot be paid any more, or are too many behind a gap. @returns those not mined
 */
const prune = (pool: Pool, account: Account): readonly Pooled[] => {
  for (const nonce of pool.keys()) if (nonce < account.nextNonce) pool.delete(nonce)
  const unpaid = [...pool.values()].filter(({ cost }) => cost > account.balance)
  for (const { nonce } of unpaid) pool.delete(nonce)
  const ready = new Set(executable(pool, account))
  const queued = [...pool.values()].filter((each) => !ready.has(each)).sort((one, other) => one.nonce - other.nonce)
  const surplus = queued.slice(ACCOUNT_QUEUE)
  for (const { nonce } of surplus) pool.delete(nonce)
  return [...unpaid, ...surplus]
}

/** Go's `%.2f` of an amount in wei. */
const ether = (wei: bigint): string => (Number(wei) / 1e18).toFixed(2)

/** Checks that do not depend on the state. @throws Refusal */
const judgeBasics = (tx: Pooled, blockGasLimit: bigint): void => {
  const fee = tx.gas * tx.feeCap
  if (fee > FEE_CAP_WEI) {
    throw new Refusal(`tx fee (${ether(fee)} ether) exceeds the configured cap (${ether(FEE_CAP_WEI)} ether)`)
  }
  const size = (tx.raw.length - 2) / 2
  if (size > MAX_BYTES) throw new Refusal(`oversized data: transaction size ${size}, limit ${MAX_BYTES}`)
  if (tx.gas > MAX_GAS) throw new Refusal(`transaction gas limit too high (cap: ${MAX_GAS}, tx: ${tx.gas})`)
  if (tx.gas > blockGasLimit) throw new Refusal('exceeds block gas limit')
  if (tx.tip > tx.feeCap) throw new Refusal('max priority fee per gas higher than max fee per gas')
  if (tx.tip < MIN_TIP_WEI) {
    throw new Refusal(`transaction gas price below minimum: gas tip cap ${tx.tip}, minimum needed ${MIN_TIP_WEI}`)
  }
}

/** Checks the sender's nonce and balance, including its transactions in the pool. @throws Refusal */
const judgeState = (tx: Pooled, pool: Pool, account: Account): void => {
  const { nextNonce, balance } = account
  if (tx.nonce < nextNonce) throw new Refusal(`nonce too low: next nonce ${nextNonce}, tx nonce ${tx.nonce}`)
  const noFunds = `insufficient funds for gas * price + value: balance ${balance}`
  if (balance < tx.cost) throw new Refusal(`${noFunds}, tx cost ${tx.cost}, overshot ${tx.cost - balance}`)
  const ready = executable(pool, account)
  const spent = ready.reduce((sum, { cost }) => sum + cost, 0n)
  const previous = ready.find(({ nonce }) => nonce === tx.nonce)
  const more = tx.cost - (previous?.cost ?? 0n)
  if (balance >= spent + more) return
  const what = previous === undefined ? 'tx cost' : 'tx bumped'
  throw new Refusal(`${noFunds}, queued cost ${spent}, ${what} ${more}, overshot ${spent + more - balance}`)
}

/** Checks that both fees rise by the percentage, and by at least one wei. @throws Refusal */
const judgeReplacement = (tx: Pooled, old: Pooled | undefined): void => {
  if (old === undefined) return
  const enough = (next: bigint, before: bigint) =>
    next > before && next >= (before * (100n + PRICE_BUMP_PERCENT)) / 100n
  if (enough(tx.feeCap, old.feeCap) && enough(tx.tip, old.tip)) return
  throw new Refusal('replacement transaction underpriced')
}

/**
 * Starts the pool in front of a lenient node.
 * @returns its URL, its answers, and ways to make it fail.
 */
export const startGethRules = (rpcUrl: string) => {
  const pools = new Map<Hex, Pool>()
  const verdicts: Verdict[] = []
  let refuse: (tx: Pooled) => string | null = () => null
  let breakOff: (tx: Pooled) => boolean = () => false
  /** Runs one at a time, like the pool's lock. */
  let lock: Promise<unknown> = Promise.resolve()

  const rpc = (method: string, params: readonly unknown[] = []): Promise<unknown> => callRpc(rpcUrl, method, params)

  /** The node behind is strict in one thing: it accepts no fee below the next block's base fee. */
  const handOn = async (tx: Pooled): Promise<void> => {
    try {
      await rpc('eth_sendRawTransaction', [tx.raw])
    } catch (error) {
      if (!/max fee per gas less than block base fee|already imported|nonce too low/.test(String(error))) throw error
    }
  }

  /** It also forgets transactions that did not fit into a block, and those behind a replaced or dropped one. */
  const handOnAll = async (pool: Pool): Promise<void> => {
    for (const tx of [...pool.values()].sort((one, other) => one.nonce - other.nonce)) await handOn(tx)
  }

  /** A sender's pool after the newest block. */
  const poolOf = async (from: Hex): Promise<{ readonly pool: Pool; readonly account: Account }> => {
    const [count, balance] = await Promise.all([
      rpc('eth_getTransactionCount', [from, 'latest']),
      rpc('eth_getBalance', [from, 'latest']),
    ])
    const account = { nextNonce: Number(count), balance: BigInt(String(balance)) }
    const pool = pools.get(from) ?? new Map<number, Pooled>()
    pools.set(from, pool)
    const dropped = prune(pool, account)
    for (const { hash } of dropped) await rpc('anvil_dropTransaction', [hash])
    if (dropped.length > 0) await handOnAll(pool)
    return { pool, account }
  }

  const isPooled = (tx: Pooled): boolean => pools.get(tx.from)?.get(tx.nonce) === tx

  const judge = async (tx: Pooled): Promise<void> => {
    const wish = refuse(tx)
    if (wish !== null) throw new Refusal(wish)
    const { pool, account } = await poolOf(tx.from)
    const old = pool.get(tx.nonce)
    if (old?.hash === tx.hash) throw new Refusal('already known')
    const block = (await rpc('eth_getBlockByNumber', ['latest', false])) as { readonly gasLimit: Hex }
    judgeBasics(tx, BigInt(block.gasLimit))
    judgeState(tx, pool, account)
    judgeReplacement(tx, old)
    await handOn(tx)
    pool.set(tx.nonce, tx)
    if (old !== undefined) await handOnAll(pool)
  }

  const take = async (raw: Hex): Promise<Verdict | null> => {
    const tx = await read(raw)
    if (breakOff(tx)) return null
    const refusal = await judge(tx).then(
      () => null,
      (error: Error) => error.message,
    )
    const verdict = { ...tx, refusal }
    verdicts.push(verdict)
    return verdict
  }

  /** A transaction outside of blocks is known only while it is in this pool. */
  const byHash = async (hash: unknown): Promise<unknown> => {
    const found = (await rpc('eth_getTransactionByHash', [hash])) as { readonly blockHash: Hex | null } | null
    if (found !== null && found.blockHash !== null) return found
    const tx = [...pools.values()].flatMap((pool) => [...pool.values()]).find((each) => each.hash === hash)
    if (tx === undefined) return null
    await poolOf(tx.from)
    return isPooled(tx) ? { hash, from: tx.from, nonce: `0x${tx.nonce.toString(16)}`, blockHash: null } : null
  }

  const inTurn = <Result>(work: () => Promise<Result>): Promise<Result> => {
    const turn = lock.then(work)
    lock = turn.catch(() => {})
    return turn
  }

  /** null if there is none. */
  const answer = async ({ id, method, params }: Request): Promise<Record<string, unknown> | null> => {
    const head = { jsonrpc: '2.0', id }
    if (method === 'eth_sendRawTransaction') {
      const verdict = await inTurn(() => take(params[0] as Hex))
      if (verdict === null) return null
      const { hash, refusal } = verdict
      return refusal === null ? { ...head, result: hash } : { ...head, error: { code: SERVER_ERROR, message: refusal } }
    }
    if (method === 'eth_getTransactionByHash') return { ...head, result: await inTurn(() => byHash(params[0])) }
    const body = JSON.stringify({ ...head, method, params })
    const response = await fetch(rpcUrl, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
    return (await response.json()) as Record<string, unknown>
  }

  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 0,
    fetch: async (request) => {
      const body = (await request.json()) as Request | readonly Request[]
      const answers = await Promise.all([body].flat().map(answer))
      if (answers.includes(null)) return new Response('bad gateway', { status: 502 })
      return Response.json(Array.isArray(body) ? answers : answers[0])
    },
  })

  return {
    url: `http://127.0.0.1:${server.port}`,
    /** Submits a transaction as a client would. @returns the answer */
    send: async (raw: Hex): Promise<Verdict> => {
      const verdict = await inTurn(() => take(raw))
      if (verdict === null) throw new Error('no answer')
      return verdict
    },
    /** The answers to a sender's transactions so far, in order. */
    verdictsOn: (from: Hex): readonly Verdict[] => verdicts.filter((each) => each.from === from.toLowerCase()),
    /** From now on refuses transactions for which this returns a message; null: the rules decide. */
    refuse: (rule: typeof refuse) => {
      refuse = rule
    },
    /** From now on answers 502 for these transactions and does not accept them. */
    breakOff: (rule: typeof breakOff) => {
      breakOff = rule
    },
    /** Mines blocks from the pool. */
    mine: (blocks = 1) =>
      inTurn(async () => {
        for (const pool of pools.values()) await handOnAll(pool)
        await rpc('anvil_mine', [`0x${blocks.toString(16)}`])
      }),
    /** Empties the pool, like a restart without a journal. */
    forget: () =>
      inTurn(async () => {
        pools.clear()
        await rpc('anvil_dropAllTransactions')
      }),
    stop: () => server.stop(true),
  }
}

export type GethRules = ReturnType<typeof startGethRules>
