// OP-stack chains charge two fees beside the gas, which a transaction cannot limit: one for its data on layer 1, and
// since Isthmus one for the chain's operator, which the sender must have for the whole gas limit. GasPriceOracle
// computes both.
//
// The operator fee grows evenly with the gas (OP-stack specs, GasPriceOracle, getOperatorFee):
//   Isthmus   gas * operatorFeeScalar / 10^6 + operatorFeeConstant
//   Jovian    gas * operatorFeeScalar * 100 + operatorFeeConstant
// So the fees for two amounts of gas give that for any other, and one batch can ask before the gas limit is known.

import { encodeFunctionData, parseAbi } from 'viem/utils'
import { higher } from '../../platform/amount.ts'
import type { EvmNetworkRow } from '../../platform/networks.ts'
import type { Hex, Intent } from '../chain.ts'
import type { Answer, Question, Rpc } from '../node/rpc.ts'
import { MalformedAnswer } from '../node/wire.ts'
import { readQuestion, wordIn } from './call.ts'
import { serializeUnsigned } from './encode.ts'
import { isExecutionFailure } from './node-errors.ts'
import { longest } from './unsigned.ts'

/** Layer 1's fees may rise until the transaction is included. The operator fee is part of the chain's configuration. */
const L1_FEE_MARGIN_PERCENT = 25n
/** A multiple of Isthmus' 10^6, so that its formula has no remainder here, and both formulas are met exactly. */
const SAMPLE_GAS = 10n ** 9n

const ORACLE_ABI = parseAbi([
  'function getL1FeeUpperBound(uint256 unsignedTxSize) view returns (uint256)',
  'function getOperatorFee(uint256 gasUsed) view returns (uint256)',
])

const feeQuestion = (
  oracle: string,
  input: { readonly data: Hex; readonly parse: (word: Hex) => bigint },
): Question<bigint> => {
  const read = readQuestion({ to: oracle, data: input.data })
  return { ...read, parse: (result) => input.parse(read.parse(result)) }
}

const feeIn = (word: Hex): bigint => {
  const fee = wordIn(word)
  if (fee === null) throw new MalformedAnswer('a fee of the GasPriceOracle')
  return fee
}

/** getL1FeeUpperBound exists since Fjord. @param size in bytes, of the unsigned transaction. */
const l1FeeQuestion = (oracle: string, size: bigint): Question<bigint> =>
  feeQuestion(oracle, {
    data: encodeFunctionData({ abi: ORACLE_ABI, functionName: 'getL1FeeUpperBound', args: [size] }),
    parse: (word) => {
      const fee = feeIn(word)
      return fee + (fee * L1_FEE_MARGIN_PERCENT) / 100n
    },
  })

/** A contract without this function that does not revert answers nothing. */
const operatorFeeQuestion = (oracle: string, gas: bigint): Question<bigint> =>
  feeQuestion(oracle, {
    data: encodeFunctionData({ abi: ORACLE_ABI, functionName: 'getOperatorFee', args: [gas] }),
    parse: (word) => (word === '0x' ? 0n : feeIn(word)),
  })

type Three<Item> = readonly [l1Fee: Item, operatorFeeOfNoGas: Item, operatorFeeOfSampleGas: Item]

/** What `surchargeFrom` has to know about this transaction at its largest; nulls for a network without such fees. */
export const surchargeQuestions = (
  row: EvmNetworkRow,
  { to, value, input, accessList = [] }: Pick<Intent, 'to' | 'value' | 'input' | 'accessList'>,
): Three<Question<bigint> | null> => {
  const { gasPriceOracle: oracle } = row
  if (oracle === null) return [null, null, null]
  const unsigned = longest({ to, value, input, accessList }, row)
  const size = BigInt((serializeUnsigned(unsigned).length - 2) / 2)
  return [l1FeeQuestion(oracle, size), operatorFeeQuestion(oracle, 0n), operatorFeeQuestion(oracle, SAMPLE_GAS)]
}

/** Before Isthmus the oracle lacks the function. */
const operatorFeeIn = (rpc: Rpc, answer: Answer<bigint | null>): bigint => {
  if (answer.ok) return answer.value ?? 0n
  if (isExecutionFailure(answer.error)) return 0n
  throw rpc.refusal(answer.error)
}

/** The most that the network takes beside gas, by the gas limit: layer 1's fee with a margin, and the operator fee. */
export const surchargeFrom = (
  rpc: Rpc,
  [l1Answer, noGasAnswer, sampleAnswer]: Three<Answer<bigint | null>>,
): ((gasLimit: bigint) => bigint) => {
  const l1Fee = rpc.need(l1Answer) ?? 0n
  const constant = operatorFeeIn(rpc, noGasAnswer)
  // The two may be of different blocks, and the fee may have been changed between them.
  const rise = higher(operatorFeeIn(rpc, sampleAnswer) - constant, 0n)
  return (gasLimit) => l1Fee + constant + (gasLimit * rise) / SAMPLE_GAS
}
