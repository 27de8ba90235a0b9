// OP-stack chains charge a fee for data on layer 1 beside the gas. A transaction cannot limit it, so the node is asked for it.

import { encodeFunctionData, parseAbi } from 'viem'
import type { Intent } from '../chain.ts'
import type { EvmNetworkRow } from '../networks.ts'
import type { Question } from '../node/rpc.ts'
import { MalformedAnswer } from '../node/wire.ts'
import { readQuestion } from './call.ts'
import { serializeUnsigned } from './encode.ts'
import { longest } from './unsigned.ts'

/** Layer 1's fees may rise until the transaction is included. */
const MARGIN_PERCENT = 25n

const ORACLE_ABI = parseAbi(['function getL1FeeUpperBound(uint256 unsignedTxSize) view returns (uint256)'])

/**
 * GasPriceOracle.getL1FeeUpperBound (OP stack, since Fjord) for the largest size of this transaction, with a margin.
 * null for a network without such a fee.
 */
export const l1FeeQuestion = (
  row: EvmNetworkRow,
  { to, value, input, accessList = [] }: Pick<Intent, 'to' | 'value' | 'input' | 'accessList'>,
): Question<bigint> | null => {
  if (row.gasPriceOracle === null) return null
  const unsigned = longest({ to, value, input, accessList }, row)
  const size = BigInt((serializeUnsigned(unsigned).length - 2) / 2)
  const data = encodeFunctionData({ abi: ORACLE_ABI, functionName: 'getL1FeeUpperBound', args: [size] })
  const read = readQuestion({ to: row.gasPriceOracle, data })
  const parse = (result: unknown): bigint => {
    const word = read.parse(result)
    if (word.length !== 66) throw new MalformedAnswer('the fee of the GasPriceOracle')
    const fee = BigInt(word)
    return fee + (fee * MARGIN_PERCENT) / 100n
  }
  return { ...read, parse }
}
