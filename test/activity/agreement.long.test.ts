// Indexed movements must add up to the balances on the chain, after random moves of every kind, failures and
// reorganisations. The expected sums are computed only from balances and receipts.

import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { type Address, encodeFunctionData, getAddress, type Hex } from 'viem'
import { fundedAccount } from '../support/chains.ts'
import { shared } from '../support/shared.ts'
import { startWorld, type World } from './world.ts'

const ROUNDS = 600
const SEED = 20_260_731

const outsider = fundedAccount(0)
const wallets = [fundedAccount(1), fundedAccount(2), fundedAccount(3)] as const
const people = [...wallets, fundedAccount(4)] as const
type Person = (typeof people)[number]
type Contract = Awaited<ReturnType<World['chain']['deploy']>>

const world = await shared(startWorld())
const project = await world.createProject()
for (const { address } of wallets) await world.watch(project, address)
const coin = await world.chain.deploy('TestToken', ['Test', 'TST', 6])
const doors = await world.chain.deploy('WizardCollection', ['Doors', 'DOOR', outsider.address])
const pieces = await world.chain.deploy('MultiToken', ['', outsider.address])
const forwarder = await world.chain.deploy('CoinForwarder')
// Below this the chain is not reorganised.
await world.chain.mine(8)

/** Sent without a simulation, so that it is mined even if it reverts. */
const call = async (
  from: Person,
  contract: Contract,
  functionName: string,
  args: readonly unknown[],
  value = 0n,
): Promise<void> => {
  const data = encodeFunctionData({ abi: contract.abi, functionName, args })
  const hash = await world.chain.walletClient.sendTransaction({
    account: from,
    to: contract.address,
    data,
    value,
    gas: 400_000n,
  })
  await world.chain.receiptOf(hash)
}

type Move = { readonly kind: number; readonly from: Person; readonly to: Person; readonly n: number }

const MOVES: readonly ((move: Move) => Promise<unknown>)[] = [
  ({ from, to, n }) => world.chain.send({ account: from, to: to.address, value: BigInt(n) }),
  ({ to, n }) => call(outsider, coin, 'mint', [to.address, BigInt(n)]),
  // Often more than the balance; then it reverts.
  ({ from, to, n }) => call(from, coin, 'transfer', [to.address, BigInt(n)]),
  ({ to }) => call(outsider, doors, 'safeMint', [to.address, '']),
  ({ from, to, n }) => call(from, doors, 'transferFrom', [from.address, to.address, BigInt(n % 6)]),
  ({ to, n }) => call(outsider, pieces, 'mintBatch', [to.address, [1n, 2n, 1n], [BigInt(n), 2n, 3n], '0x']),
  ({ from, to, n }) => call(from, pieces, 'safeTransferFrom', [from.address, to.address, 1n, BigInt(n), '0x']),
  ({ from, to, n }) =>
    call(from, forwarder, 'split', [[to.address, from.address, to.address, outsider.address]], BigInt(n)),
  // Its inner call fails, because a token does not accept coins.
  ({ from, n }) => call(from, forwarder, 'forward', [coin.address], BigInt(n)),
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

/** Incoming minus outgoing amounts of one asset. */
const sum = async (address: Address, contract: string | null, tokenId: bigint | null): Promise<bigint> => {
  const [row] = await world.sql<{ sum: string }[]>`
    select coalesce(sum(case direction when 'in' then amount else -amount end), 0)::text as sum from movements
    where address = ${address} and contract is not distinct from ${contract}
      and token_id is not distinct from ${tokenId?.toString() ?? null}::numeric`
  return BigInt(row?.sum ?? '')
}

const feesOf = async (address: Address): Promise<bigint> => {
  const { publicClient } = world.chain
  let fees = 0n
  for (let number = await publicClient.getBlockNumber(); number > 0n; number -= 1n) {
    const { transactions } = await publicClient.getBlock({ blockNumber: number })
    for (const hash of transactions) {
      const receipt = await publicClient.getTransactionReceipt({ hash })
      if (getAddress(receipt.from) === address) fees += receipt.gasUsed * receipt.effectiveGasPrice
    }
  }
  return fees
}

const read = (contract: Contract, functionName: string, args: readonly unknown[]): Promise<unknown> =>
  world.chain.publicClient.readContract({ ...contract, functionName, args })

test('every wallet’s balance is its incoming minus its outgoing movements', async () => {
  const { publicClient } = world.chain
  const before = new Map<Address, bigint>()
  for (const { address } of wallets) before.set(address, await publicClient.getBalance({ address }))

  for (const move of fc.sample(moves, { numRuns: ROUNDS, seed: SEED })) await MOVES[move.kind]?.(move)
  await world.index()

  const minted = await world.sql<{ token: string }[]>`
    select distinct token_id::text as token from movements where contract = ${getAddress(doors.address)}`
  for (const { address } of wallets) {
    const balance = await publicClient.getBalance({ address })
    expect(await sum(address, null, null)).toBe(balance - (before.get(address) ?? 0n) + (await feesOf(address)))
    expect(await sum(address, getAddress(coin.address), null)).toBe(
      (await read(coin, 'balanceOf', [address])) as bigint,
    )
    for (const id of [1n, 2n]) {
      const held = (await read(pieces, 'balanceOf', [address, id])) as bigint
      expect(await sum(address, getAddress(pieces.address), id)).toBe(held)
    }
    for (const { token } of minted) {
      const owner = await read(doors, 'ownerOf', [BigInt(token)])
      expect(await sum(address, getAddress(doors.address), BigInt(token))).toBe(owner === address ? 1n : 0n)
    }
  }
}, 600_000)

test('no movement is kept of a transaction that is not on the chain', async () => {
  const hashes = await world.sql<{ hash: Hex; block: string }[]>`
    select distinct transaction_hash as hash, block_number::text as block from movements`
  expect(hashes.length).toBeGreaterThan(ROUNDS / 5)
  for (const { hash, block } of hashes) {
    const receipt = await world.chain.publicClient.getTransactionReceipt({ hash })
    expect([receipt.status, receipt.blockNumber.toString()]).toEqual(['success', block])
  }
})
