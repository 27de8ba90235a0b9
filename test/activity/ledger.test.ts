// The proof that GET /activity tells the truth: random moves of every kind, failures and reorganisations, and then each
// wallet's pages, item by item, against a reckoning from receipts and call traces that shares no decoder with ours.
// Another seed: STRONGROOM_SEED.

import { afterAll, beforeAll, expect, test } from 'bun:test'
import fc from 'fast-check'
import {
  type Address,
  decodeAbiParameters,
  encodeFunctionData,
  formatUnits,
  getAddress,
  type Hex,
  hexToBigInt,
  type Log,
  parseAbi,
  parseEventLogs,
  toEventSelector,
  zeroAddress,
} from 'viem'
import { fundedAccount } from '../support/chains.ts'
import { type Project, startWorld, type World } from './world.ts'

const ROUNDS = process.env.STRONGROOM_LONG ? 3_000 : 300
const SEED = Number(process.env.STRONGROOM_SEED ?? 20_260_801)
const SPAM = 1_000n

const outsider = fundedAccount(0)
const wallets = [fundedAccount(1), fundedAccount(2), fundedAccount(3)] as const
const people = [...wallets, fundedAccount(4)] as const
type Person = (typeof people)[number]
type Contract = Awaited<ReturnType<World['chain']['deploy']>>
type Kind = 'coin' | 'nft' | 'multi'

let world: World
let project: Project
let forwarder: Contract
let coin: Contract
let nft: Contract
let multi: Contract
let oddNft: Contract
let oddCoin: Contract
/** What each contract is, and its decimals: known to whoever deployed it. */
const kinds = new Map<Address, { readonly kind: Kind; readonly decimals: number }>()

beforeAll(async () => {
  world = await startWorld()
  project = await world.createProject()
  for (const { address } of wallets) await world.watch(project, address)
  const { deploy } = world.chain
  const first = wallets[0].address
  forwarder = await deploy('CoinForwarder')
  coin = await deploy('BurnableToken', [first])
  nft = await deploy('BurnableNft', [first])
  multi = await deploy('BurnableMulti', [first])
  oddNft = await deploy('OddToken', [true])
  oddCoin = await deploy('OddToken', [false])
  kinds.set(coin.address, { kind: 'coin', decimals: 18 })
  kinds.set(nft.address, { kind: 'nft', decimals: 0 })
  kinds.set(multi.address, { kind: 'multi', decimals: 0 })
  kinds.set(oddNft.address, { kind: 'nft', decimals: 0 })
  kinds.set(oddCoin.address, { kind: 'coin', decimals: 0 })
  // Below this the chain is not reorganised.
  await world.chain.mine(8)
})

afterAll(() => world.close())

/** Mined whether it succeeds or reverts: nothing is simulated before it is sent. */
const call = async (from: Person, contract: Contract, name: string, args: readonly unknown[], value = 0n) => {
  const data = encodeFunctionData({ abi: contract.abi, functionName: name, args })
  const gas = name === 'spam' ? 5_000_000n : 500_000n
  const sending = { account: from, to: contract.address, data, value, gas }
  await world.chain.receiptOf(await world.chain.walletClient.sendTransaction(sending))
}

type Move = { readonly kind: number; readonly from: Person; readonly to: Person; readonly n: number }

/** Ids and amounts are small, so that many a move is of what is not there, and reverts. */
const MOVES: readonly ((move: Move) => Promise<unknown>)[] = [
  ({ from, to, n }) => world.chain.send({ account: from, to: to.address, value: BigInt(n) }),
  ({ from, to, n }) => call(from, forwarder, 'forward', [to.address], BigInt(n)),
  ({ from, to, n }) =>
    call(from, forwarder, 'split', [[to.address, from.address, wallets[0].address, outsider.address]], BigInt(n)),
  // Its inner call fails: a token takes no coins.
  ({ from, n }) => call(from, forwarder, 'forward', [coin.address], BigInt(n)),
  ({ from, to, n }) => call(from, coin, 'mint', [to.address, BigInt(n)]),
  ({ from, to, n }) => call(from, coin, 'transfer', [to.address, BigInt(n)]),
  ({ from, n }) => call(from, coin, 'burn', [BigInt(n)]),
  ({ from, to, n }) => call(from, nft, 'mint', [to.address, BigInt(n)]),
  ({ from, to, n }) => call(from, nft, 'transferFrom', [from.address, to.address, BigInt(n)]),
  ({ from, n }) => call(from, nft, 'burn', [BigInt(n)]),
  ({ from, to, n }) => call(from, multi, 'mint', [to.address, BigInt(n % 3), BigInt(n)]),
  ({ from, to, n }) => call(from, multi, 'safeTransferFrom', [from.address, to.address, BigInt(n % 3), 1n, '0x']),
  ({ from, to }) =>
    call(from, multi, 'safeBatchTransferFrom', [from.address, to.address, [1n, 2n, 1n], [1n, 1n, 1n], '0x']),
  ({ from, n }) => call(from, multi, 'burnBatch', [from.address, [1n, 2n], [1n, BigInt(n % 2)]]),
  ({ from, to, n }) => call(from, oddNft, 'move', [from.address, to.address, BigInt(n)]),
  ({ from, to, n }) => call(from, oddCoin, 'move', [to.address, from.address, BigInt(n)]),
  ({ from, n }) => call(from, oddNft, 'move', [from.address, zeroAddress, BigInt(n)]),
  () => world.index(),
  () => world.index(),
  ({ n }) => world.chain.reorg({ depth: 1 + (n % 3) }),
  () => world.chain.mine(2),
]

const moves = fc.record({
  kind: fc.integer({ min: 0, max: MOVES.length - 1 }),
  from: fc.constantFrom(...people),
  to: fc.constantFrom(...people),
  n: fc.integer({ min: 1, max: 9 }),
})

type Item = {
  readonly type: string
  readonly timestamp: string
  readonly transaction_hash: string
  readonly uuid: string
  readonly metadata: { readonly amount: string; readonly token_id?: string }
  readonly token: { readonly contract_address: string }
}
type Line = { readonly from: string; readonly to: string; readonly asset: string; readonly what: 'token' | 'nft' }

type Call = {
  readonly type: string
  readonly from: Hex
  readonly to?: Hex
  readonly value?: Hex
  readonly error?: string
  readonly calls?: readonly Call[]
}

/** What failed has undone all below it; a delegate call names a value that it only inherits. */
const coinLines = ({ type, from, to, value, error, calls }: Call): readonly Line[] => {
  if (error !== undefined) return []
  const amount = hexToBigInt(value ?? '0x0')
  const moved = amount > 0n && to !== undefined && (type === 'CALL' || type.startsWith('CREATE'))
  const own: Line[] = moved
    ? [{ from: getAddress(from), to: getAddress(to), asset: `ETH - ${formatUnits(amount, 18)}`, what: 'token' }]
    : []
  return [...own, ...(calls ?? []).flatMap(coinLines)]
}

type Flat = { readonly type: string; readonly error?: string; readonly action: Call & { readonly callType?: string } }

/** The node lost the state below a reorganisation, without which it cannot run the next block again: it kept what it saw. */
const coinLinesOf = async (hash: Hex): Promise<readonly Line[]> => {
  const { rpc } = world.chain
  try {
    return coinLines((await rpc('debug_traceTransaction', [hash, { tracer: 'callTracer' }])) as Call)
  } catch (error) {
    if (!String(error).includes('Resource not found')) throw error
    const frames = (await rpc('trace_transaction', [hash])) as readonly Flat[]
    // None of the contracts here goes on after an inner call that failed.
    expect(frames.filter((frame) => frame.error !== undefined)).toEqual([])
    return frames.flatMap(({ action }) => coinLines({ ...action, type: action.callType?.toUpperCase() ?? 'NONE' }))
  }
}

const TRANSFER = toEventSelector('Transfer(address,address,uint256)')
const MULTI = parseAbi([
  'event TransferSingle(address indexed operator, address indexed from, address indexed to, uint256 id, uint256 value)',
  'event TransferBatch(address indexed operator, address indexed from, address indexed to, uint256[] ids, uint256[] values)',
])

const eventLines = (log: Log): readonly Line[] => {
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

/** What each wallet must see, from what the chain has in the end. */
const reckon = async (): Promise<ReadonlyMap<Address, readonly string[]>> => {
  const { publicClient } = world.chain
  const expected = new Map<Address, string[]>(wallets.map(({ address }) => [address, []]))
  for (let number = await publicClient.getBlockNumber(); number > 0n; number -= 1n) {
    const block = await publicClient.getBlock({ blockNumber: number })
    const time = new Date(Number(block.timestamp) * 1_000).toISOString()
    for (const hash of block.transactions) {
      const receipt = await publicClient.getTransactionReceipt({ hash })
      if (receipt.status === 'reverted') continue
      for (const line of [...(await coinLinesOf(hash)), ...receipt.logs.flatMap(eventLines)]) {
        const tell = (way: string) => `${time} ${hash} ${way}_${line.what} ${line.asset}`
        expected.get(getAddress(line.from))?.push(tell('send'))
        expected.get(getAddress(line.to))?.push(tell('receive'))
      }
    }
  }
  return expected
}

const listed = async (address: Address): Promise<readonly Item[]> => {
  const items: Item[] = []
  for (let page = 1; ; page += 1) {
    const path = `/activity?network=Ethereum&wallet_address=${address}&page=${page}&page_size=100`
    const { status, json } = await world.get(project, path)
    expect(status).toBe(200)
    items.push(...(json as Item[]))
    if ((json as Item[]).length < 100) return items
  }
}

const told = ({ timestamp, transaction_hash, type, token, metadata }: Item): string =>
  `${timestamp} ${transaction_hash} ${type} ${token.contract_address} ${metadata.token_id ?? '-'} ${metadata.amount}`

test(`what is listed is what happened, item by item (seed ${SEED})`, async () => {
  for (const [round, move] of fc.sample(moves, { numRuns: ROUNDS, seed: SEED }).entries()) {
    if (round === Math.floor(ROUNDS / 2)) {
      await call(people[3], oddNft, 'spam', [people[3].address, wallets[0].address, SPAM])
      await world.chain.mine(4)
    }
    await MOVES[move.kind]?.(move)
  }
  await world.index()
  const expected = await reckon()
  for (const { address } of wallets) {
    const items = await listed(address)
    expect(items.map(told).sort()).toEqual([...(expected.get(address) ?? [])].sort())
    expect(items.length).toBeGreaterThan(ROUNDS / 20)
    expect(new Set(items.map(({ uuid }) => uuid)).size).toBe(items.length)
    const times = items.map(({ timestamp }) => timestamp)
    expect(times).toEqual([...times].sort().reverse())
  }
  expect(expected.get(wallets[0].address)?.length).toBeGreaterThan(Number(SPAM))
}, 600_000)
