// Random moves of every kind, on contracts that were deployed for them. Ids and amounts are small, so that many moves
// exceed the balance and revert.

import fc from 'fast-check'
import { type Address, encodeDeployData, encodeFunctionData, type Hex, zeroAddress } from 'viem'
import { fundedAccount, type TestChain } from '../support/chains.ts'
import { testContract } from '../support/contracts.ts'
import type { Kind } from './reckoning.ts'

const outsider = fundedAccount(0)
/** Watched accounts, and one that is not watched. */
export const wallets = [fundedAccount(1), fundedAccount(2), fundedAccount(3)] as const
export const people = [...wallets, fundedAccount(4)] as const
type Person = (typeof people)[number]
type Contract = Awaited<ReturnType<TestChain['deploy']>>

/** A transaction to send; a creation has no `to`. */
type Sending = {
  readonly account: Person
  readonly to?: Address
  readonly data?: Hex
  readonly value?: bigint
  readonly gas: bigint
}
export type Move = { readonly kind: number; readonly from: Person; readonly to: Person; readonly n: number }

const deployAll = async ({ deploy }: TestChain) => {
  const first = wallets[0].address
  return {
    forwarder: await deploy('CoinForwarder'),
    coin: await deploy('BurnableToken', [first]),
    nft: await deploy('BurnableNft', [first]),
    multi: await deploy('BurnableMulti', [first]),
    pieces: await deploy('MultiToken', ['', wallets[1].address]),
    oddNft: await deploy('OddToken', [true]),
    oddCoin: await deploy('OddToken', [false]),
    /** Emits transfer events although it is no token. */
    caller: await deploy('Previewed'),
    will: await deploy('LastWill'),
  }
}

/** The kind and decimals of each contract, known from its deployment. */
const kindsOf = (on: Awaited<ReturnType<typeof deployAll>>) =>
  new Map<Address, { readonly kind: Kind; readonly decimals: number }>([
    [on.coin.address, { kind: 'coin', decimals: 18 }],
    [on.nft.address, { kind: 'nft', decimals: 0 }],
    [on.multi.address, { kind: 'multi', decimals: 0 }],
    [on.pieces.address, { kind: 'multi', decimals: 0 }],
    [on.oddNft.address, { kind: 'nft', decimals: 0 }],
    [on.oddCoin.address, { kind: 'coin', decimals: 0 }],
    [on.caller.address, { kind: 'coin', decimals: 0 }],
  ])

const call = (account: Person, contract: Contract, name: string, args: readonly unknown[], value = 0): Sending => {
  const data = encodeFunctionData({ abi: contract.abi, functionName: name, args })
  return { account, to: contract.address, data, value: BigInt(value), gas: 600_000n }
}

export const createMoves = async (chain: TestChain) => {
  const on = await deployAll(chain)
  const { forwarder, coin, nft, multi, pieces, oddNft, oddCoin, caller, will } = on
  const { address: somebody } = wallets[0]
  const born = await testContract('PaysAtBirth')
  const paid = await testContract('LastWill')

  const sendings: readonly ((move: Move) => Sending)[] = [
    ({ from, to, n }) => ({ account: from, to: to.address, value: BigInt(n), gas: 21_000n }),
    ({ from, to, n }) => call(from, forwarder, 'forward', [to.address], n),
    ({ from, to, n }) => call(from, forwarder, 'split', [[to.address, from.address, somebody, outsider.address]], n),
    ({ from, to, n }) => call(from, forwarder, 'lend', [to.address], n),
    // Its inner call fails, because a token does not accept coins; so all of it fails.
    ({ from, n }) => call(from, forwarder, 'forward', [coin.address], n),
    // Inner calls fail and are caught: their payments and events are undone, the others are not.
    ({ from, to, n }) => call(from, caller, 'tries', [to.address], 9 + n),
    ({ from, to, n }) => call(from, caller, 'turns', [to.address], 5 + n),
    ({ from, to, n }) => call(from, caller, 'payAndRefuse', [to.address], n),
    // The payment depends on a stored number and on the balance, so earlier transactions decide who pays.
    ({ from, n }) => call(from, caller, 'keep', [BigInt(n)]),
    ({ from, to }) => call(from, caller, 'payKept', [to.address]),
    ({ from, n }) => call(from, caller, 'precompiles', [], n),
    ({ from, n }) => ({ account: from, data: paid.bytecode, value: BigInt(n), gas: 900_000n }),
    ({ from, to, n }) => ({
      account: from,
      data: encodeDeployData({ ...born, args: [to.address, somebody] }),
      value: BigInt(n),
      gas: 600_000n,
    }),
    ({ from, to, n }) => call(from, will, 'bequeath', [to.address], n),
    ({ from, to, n }) => call(from, will, 'bequeathByAnother', [to.address], n),
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
    ({ to, n }) => call(wallets[1], pieces, 'mintBatch', [to.address, [7n, 8n, 7n], [BigInt(n), 2n, 0n], '0x']),
    ({ from, to, n }) => call(from, oddNft, 'move', [from.address, to.address, BigInt(n)]),
    ({ from, to, n }) => call(from, oddCoin, 'move', [to.address, from.address, BigInt(n)]),
    ({ from, n }) => call(from, oddNft, 'move', [from.address, zeroAddress, BigInt(n)]),
  ]

  /** Sent without a simulation, so that it is mined even if it reverts. */
  const send = (sending: Sending): Promise<Hex> => chain.walletClient.sendTransaction(sending)

  const sendMove = (move: Move): Promise<Hex> => {
    const sending = sendings[move.kind % sendings.length]
    if (sending === undefined) throw new Error('there are no moves')
    return send(sending(move))
  }

  return {
    kinds: kindsOf(on),
    count: sendings.length,
    sendMove,
    /** Mines one transaction in one block. */
    alone: async (move: Move) => void (await chain.receiptOf(await sendMove(move))),
    /** Mines all of them in one block. */
    together: async (moves: readonly Move[]) => {
      await chain.setAutomine(false)
      for (const move of moves) await sendMove(move)
      await chain.mine(1)
      await chain.setAutomine(true)
    },
    /** A thousand unrelated events in one block. */
    spam: async (count: number) => {
      const args = [people[3].address, somebody, BigInt(count)]
      await chain.receiptOf(await send({ ...call(people[3], oddNft, 'spam', args), gas: 5_000_000n }))
    },
    /**
     * Replaces the newest blocks by as many others, with only some of their transactions, in order but in other blocks.
     */
    remine: async ({ depth, keepEach }: { readonly depth: number; readonly keepEach: number }) => {
      const head = await chain.publicClient.getBlockNumber()
      const kept: Hex[] = []
      for (let number = head - BigInt(depth) + 1n; number <= head; number += 1n) {
        kept.push(...(await chain.publicClient.getBlock({ blockNumber: number })).transactions)
      }
      const raws = await Promise.all(kept.map((hash) => chain.rpc('eth_getRawTransactionByHash', [hash])))
      const first = raws.slice(0, Math.ceil(raws.length / keepEach))
      await chain.rpc('anvil_reorg', [depth, first.map((raw, index) => [raw, Math.min(index, depth - 1)])])
    },
  }
}

export type Moves = Awaited<ReturnType<typeof createMoves>>

/** A move between any two of the accounts. */
export const anyMove = (kinds: number) =>
  fc.record({
    kind: fc.integer({ min: 0, max: kinds - 1 }),
    from: fc.constantFrom(...people),
    to: fc.constantFrom(...people),
    n: fc.integer({ min: 1, max: 9 }),
  })
