// What each wallet must see, computed from receipts and call traces. Decoder and tracer (debug_traceTransaction) share
// nothing with ours, which uses trace_block. A node keeps no state of replaced blocks, so each transaction is traced
// right after it is mined.

import {
  type Address,
  decodeAbiParameters,
  formatUnits,
  getAddress,
  type Hex,
  hexToBigInt,
  type Log,
  parseAbi,
  parseEventLogs,
  toEventSelector,
} from 'viem'
import type { TestChain } from '../support/chains.ts'

export type Kind = 'coin' | 'nft' | 'multi'
type Kinds = ReadonlyMap<Address, { readonly kind: Kind; readonly decimals: number }>

/** One movement, in the terms of an activity item. */
type Line = { readonly from: string; readonly to: string; readonly asset: string; readonly what: 'token' | 'nft' }

type Call = {
  readonly type: string
  readonly from: Hex
  readonly to?: Hex
  readonly value?: Hex
  readonly error?: string
  readonly calls?: readonly Call[]
}

/**
 * What the moves were made of, so that nothing is shown of nothing: payments that were undone, by failing, in
 * transactions that may have succeeded; kinds of payments; blocks of several transactions; transactions that were mined
 * again elsewhere.
 */
export type Seen = { undone: number; readonly types: Set<string>; together: number; again: number }

const MOVING = ['CALL', 'CREATE', 'CREATE2', 'SELFDESTRUCT']

const coinLine = (from: Hex, to: Hex, amount: bigint): Line => ({
  ...{ from: getAddress(from), to: getAddress(to) },
  ...{ asset: `ETH - ${formatUnits(amount, 18)}`, what: 'token' },
})

/** A failed call undoes all calls below it. A delegate call only inherits the value that it names. */
const linesOfTree = ({ type, from, to, value, error, calls }: Call, seen: Seen): readonly Line[] => {
  const amount = hexToBigInt(value ?? '0x0')
  if (error !== undefined) {
    if (amount > 0n) seen.undone += 1
    return []
  }
  const moved = amount > 0n && to !== undefined && MOVING.includes(type)
  if (moved) seen.types.add(type)
  return [...(moved ? [coinLine(from, to, amount)] : []), ...(calls ?? []).flatMap((call) => linesOfTree(call, seen))]
}

const TRANSFER = toEventSelector('Transfer(address,address,uint256)')
const MULTI = parseAbi([
  'event TransferSingle(address indexed operator, address indexed from, address indexed to, uint256 id, uint256 value)',
  'event TransferBatch(address indexed operator, address indexed from, address indexed to, uint256[] ids, uint256[] values)',
])

const linesOfLog = (kinds: Kinds, log: Log): readonly Line[] => {
  const contract = getAddress(log.address)
  const known = kinds.get(contract)
  if (known === undefined) return []
  if (known.kind === 'multi') {
    return parseEventLogs({ abi: MULTI, logs: [log] }).flatMap((event) => {
      const { from, to } = event.args
      const ids = event.eventName === 'TransferBatch' ? event.args.ids : [event.args.id]
      const values = event.eventName === 'TransferBatch' ? event.args.values : [event.args.value]
      return ids.map((id, at): Line => ({ from, to, asset: `${contract} ${id} ${values[at]}`, what: 'nft' }))
    })
  }
  if (log.topics[0] !== TRANSFER) return []
  const words: Hex = `0x${[...log.topics.slice(1), log.data].map((part) => part?.slice(2)).join('')}`
  const types = [{ type: 'address' }, { type: 'address' }, { type: 'uint256' }] as const
  const [from, to, number] = decodeAbiParameters(types, words)
  return known.kind === 'nft'
    ? [{ from, to, asset: `${contract} ${number} 1`, what: 'nft' }]
    : [{ from, to, asset: `${contract} - ${formatUnits(number, known.decimals)}`, what: 'token' }]
}

export const createReckoning = ({ chain, kinds }: { readonly chain: TestChain; readonly kinds: Kinds }) => {
  const { publicClient, rpc } = chain
  const seen: Seen = { undone: 0, types: new Set(), together: 0, again: 0 }
  /** By the hashes of block and transaction: a transaction may be mined again and then do something else. */
  const traced = new Map<string, readonly Line[]>()
  let notedTo = 0n

  const hashes = new Set<Hex>()
  const trace = async (hash: Hex): Promise<readonly Line[]> => {
    if (hashes.has(hash)) seen.again += 1
    hashes.add(hash)
    return linesOfTree((await rpc('debug_traceTransaction', [hash, { tracer: 'callTracer' }])) as Call, seen)
  }

  /** Traces the new blocks; after a reorganisation from the first replaced block on. */
  const note = async (from = notedTo + 1n): Promise<void> => {
    const head = await publicClient.getBlockNumber()
    for (let number = from; number <= head; number += 1n) {
      const { hash: blockHash, transactions } = await publicClient.getBlock({ blockNumber: number })
      if (transactions.length > 1) seen.together += 1
      for (const hash of transactions) traced.set(`${blockHash} ${hash}`, await trace(hash))
    }
    notedTo = head
  }

  /** One line per item, newest block first, down to one block; for coins down to another one. */
  const expected = async (
    addresses: readonly Address[],
    { fromBlock = 1n, coinsFrom = fromBlock }: { readonly fromBlock?: bigint; readonly coinsFrom?: bigint } = {},
  ): Promise<ReadonlyMap<Address, readonly string[]>> => {
    const told = new Map<Address, string[]>(addresses.map((address) => [address, []]))
    for (let number = await publicClient.getBlockNumber(); number >= fromBlock; number -= 1n) {
      const block = await publicClient.getBlock({ blockNumber: number })
      const time = new Date(Number(block.timestamp) * 1_000).toISOString()
      for (const hash of block.transactions) {
        const receipt = await publicClient.getTransactionReceipt({ hash })
        if (receipt.status === 'reverted') continue
        const coins = traced.get(`${block.hash} ${hash}`)
        if (coins === undefined) throw new Error(`nobody noted ${hash}`)
        for (const line of [
          ...(number < coinsFrom ? [] : coins),
          ...receipt.logs.flatMap((log) => linesOfLog(kinds, log)),
        ]) {
          const tell = (way: string) => `${time} ${hash} ${way}_${line.what} ${line.asset}`
          told.get(getAddress(line.from))?.push(tell('send'))
          told.get(getAddress(line.to))?.push(tell('receive'))
        }
      }
    }
    return told
  }

  return { note, expected, seen }
}

/** The fields of an item of GET /activity that a test needs. */
export type Item = {
  readonly type: string
  readonly timestamp: string
  readonly transaction_hash: string
  readonly uuid: string
  readonly metadata: { readonly amount: string; readonly token_id?: string }
  readonly token: { readonly contract_address: string }
}

/** An item in the form of `expected`. */
export const told = ({ timestamp, transaction_hash, type, token, metadata }: Item): string =>
  `${timestamp} ${transaction_hash} ${type} ${token.contract_address} ${metadata.token_id ?? '-'} ${metadata.amount}`
