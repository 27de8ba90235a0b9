// The balances of an address. All are read at one fixed block, so that a coin that moves between two answers is not counted
// twice. Tokens are untrusted code: each read has a gas limit, and a token that fails is left out.

import { encodeFunctionData, parseAbi } from 'viem'
import type { Balances } from '../chain.ts'
import { question, type Rpc } from '../node/rpc.ts'
import { hexText, quantity, toQuantity } from '../node/wire.ts'
import { readQuestion, returned, wordIn } from './call.ts'
import type { CoinContract } from './coin-contract.ts'

const ABI = parseAbi(['function balanceOf(address owner) view returns (uint256)'])
/** A rebasing token behind a proxy needs some 100,000. */
const READ_GAS_LIMIT = 1_000_000n

export const readBalances = async (
  { rpc, coinContract }: { readonly rpc: Rpc; readonly coinContract: CoinContract },
  input: { readonly address: string; readonly contracts: readonly string[] },
): Promise<Balances> => {
  const { address } = input
  // It answers with the balance of the coin.
  const ofCoin = coinContract?.address.toLowerCase()
  const contracts = input.contracts.filter((contract) => contract.toLowerCase() !== ofCoin)
  const blockNumber = await rpc.ask(question('eth_blockNumber', [], quantity))
  const data = encodeFunctionData({ abi: ABI, functionName: 'balanceOf', args: [hexText(address)] })
  const [coin, ...answers] = await rpc.tryAll([
    question('eth_getBalance', [address, toQuantity(blockNumber)], quantity),
    ...contracts.map((to) => readQuestion({ to, data, gasLimit: READ_GAS_LIMIT, blockNumber })),
  ])
  const tokens = new Map<string, bigint>()
  for (const [index, contract] of contracts.entries()) {
    const answer = answers[index]
    const balance = answer === undefined ? null : wordIn(returned(rpc, answer))
    if (balance !== null && balance > 0n) tokens.set(contract, balance)
  }
  return { coin: rpc.need(coin), tokens }
}
