// Chains to index, made in seconds: so many transfers in so many blocks, and nothing else.

import { encodeFunctionData, getAddress } from 'viem'
import { fundedAccount, startChain, type TestChain } from '../test/support/chains.ts'
import { type Call, callInBatches } from './rpc-batches.ts'

export const NETWORK = 'Ethereum'
export const PAYER = fundedAccount(0).address
const GAS_PRICE = '0x77359400'
const TELLING_GAS = 100_000
const TOLD_TRANSFER_GAS = 6_500
const PAYMENT_GAS = 21_000
/** The node sorts its pool for each block, so it is kept short. */
const POOL_MAX = 200
/** So many blocks follow, that all the others are final. */
const EMPTY_BLOCKS = 100

export type Size = { readonly blocks: number; readonly perBlock: number }

const addresses = (prefix: string, indexes: readonly number[]) =>
  indexes.map((index) => getAddress(`0x${prefix}${index.toString(16).padStart(38, '0')}`))
const numbers = (count: number) => Array.from({ length: count }, (_, index) => index)

/** Each transfer that `test/contracts/Crowd.sol` reports has one of these on one side: half of them at its start. */
export const ONE_SIDE_OF_EACH = [
  ...addresses(
    '11',
    numbers(1_000).filter((index) => index % 2 === 0),
  ),
  ...addresses(
    '22',
    numbers(10_000).filter((index) => index % 2 === 1),
  ),
]
/** Who pays in the first of them. */
export const FIRST_SENDERS = addresses('11', numbers(10))
const RECIPIENTS = addresses('33', numbers(1_000))

const quantity = (value: number) => `0x${value.toString(16)}`

/** A token that tells what it is told to; and how to call it. */
export const deployCrowd = async (chain: TestChain) => {
  const crowd = await chain.deploy('Crowd')
  return (first: number, count: number) => ({
    to: crowd.address,
    data: encodeFunctionData({ abi: crowd.abi, functionName: 'tell', args: [BigInt(first), BigInt(count)] }),
  })
}

/** After one block with the token itself, so many with so many transfers of it each. */
export const startTokenChain = async ({ blocks, perBlock }: Size): Promise<TestChain> => {
  const chain = await startChain(NETWORK)
  const tell = await deployCrowd(chain)
  const gas = quantity(TELLING_GAS + TOLD_TRANSFER_GAS * perBlock)
  const transactions = numbers(blocks).map((block) => [{ ...tell(block * perBlock, perBlock), gas }])
  // A second transaction finds no room; and as a block uses less than half of its gas, the base fee only falls
  // (EIP-1559).
  await fill(chain, { blockGasLimit: gas, transactions })
  return chain
}

/** So many blocks with so many payments of the coin each. */
export const startCoinChain = async ({ blocks, perBlock }: Size): Promise<TestChain> => {
  const chain = await startChain(NETWORK)
  // Room for so many and no more, as the last one claims the rest; and again less than half of it is used.
  const gas = quantity(PAYMENT_GAS * (perBlock + 2))
  const transactions = numbers(blocks).map((block) =>
    numbers(perBlock).map((index) => ({
      to: RECIPIENTS[(block * perBlock + index) % RECIPIENTS.length],
      gas,
      value: '0x1',
    })),
  )
  await fill(chain, { blockGasLimit: quantity(PAYMENT_GAS * (2 * perBlock + 1)), transactions })
  return chain
}

type Sending = Readonly<Record<string, unknown>>

/** @param input.transactions by block; @throws Error where the chain comes out otherwise. */
const fill = async (
  chain: TestChain,
  input: { readonly blockGasLimit: string; readonly transactions: readonly (readonly Sending[])[] },
): Promise<void> => {
  const { transactions } = input
  let nonce = await chain.publicClient.getTransactionCount({ address: PAYER })
  await chain.setAutomine(false)
  await chain.rpc('evm_setBlockGasLimit', [input.blockGasLimit])
  const blocksAtOnce = Math.max(1, Math.floor(POOL_MAX / (transactions[0]?.length ?? 1)))
  for (let at = 0; at < transactions.length; at += blocksAtOnce) {
    const blocks = transactions.slice(at, at + blocksAtOnce)
    const calls: Call[] = blocks.flat().map((transaction) => ({
      method: 'eth_sendTransaction',
      params: [{ ...transaction, from: PAYER, gasPrice: GAS_PRICE, nonce: quantity(nonce++) }],
    }))
    await callInBatches(chain.rpcUrl, { calls, batch: 100, atOnce: 2 })
    await chain.mine(blocks.length)
  }
  const latest = await chain.publicClient.getBlock()
  const isAsAsked = latest.transactions.length === transactions.at(-1)?.length
  if (!isAsAsked) throw new Error(`the last block has ${latest.transactions.length} transactions`)
  await chain.mine(EMPTY_BLOCKS)
}

/** Where the transfers end. */
export const lastFullBlock = async (chain: TestChain): Promise<number> =>
  Number(await chain.publicClient.getBlockNumber()) - EMPTY_BLOCKS
