// The balances of an address. All are read at one fixed block, so that a coin that moves between two answers is not counted
// twice. Tokens are untrusted code: each read has a gas limit, and a token that fails is left out.

import { encodeFunctionData, parseAbi } from 'viem'
import type { Balances, Hex } from '../chain.ts'
import { type Answer, question, type Rpc } from '../node/rpc.ts'
import { hexText, quantity, toQuantity } from '../node/wire.ts'
import { readQuestion } from './call.ts'
import { isExecutionFailure } from './node-errors.ts'

const ABI = parseAbi(['function balanceOf(address owner) view returns (uint256)'])
/** A rebasing token behind a proxy needs some 100,000. */
const READ_GAS_LIMIT = 1_000_000n

const balanceIn = (rpc: Rpc, answer: Answer<Hex> | undefined): bigint => {
  if (answer === undefined) return 0n
  if (answer.ok) return answer.value.length === 66 ? BigInt(answer.value) : 0n
  if (isExecutionFailure(answer.error)) return 0n
  throw rpc.refusal(answer.error)
}

export const readBalances = async (
  rpc: Rpc,
  input: { readonly address: string; readonly contracts: readonly string[] },
): Promise<Balances> => {
  const { address, contracts } = input
  const blockNumber = await rpc.ask(question('eth_blockNumber', [], quantity))
  const data = encodeFunctionData({ abi: ABI, functionName: 'balanceOf', args: [hexText(address)] })
  const [coin, ...answers] = await rpc.tryAll([
    question('eth_getBalance', [address, toQuantity(blockNumber)], quantity),
    ...contracts.map((to) => readQuestion({ to, data, gasLimit: READ_GAS_LIMIT, blockNumber })),
  ])
  const tokens = new Map<string, bigint>()
  for (const [index, contract] of contracts.entries()) {
    const balance = balanceIn(rpc, answers[index])
    if (balance > 0n) tokens.set(contract, balance)
  }
  return { coin: rpc.need(coin), tokens }
}
