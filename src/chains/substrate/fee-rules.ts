import type { SubstrateUnsigned, Unsigned } from '../chain.ts'
import type { FeeRules } from '../fee-rules.ts'
import type { FinalState } from './blocks.ts'
import type { SubstrateNode } from './node.ts'
import { unsignedOf, withMargin } from './prepare.ts'
import { feeQuestion } from './query-fee.ts'
import { gasPaidBy } from './spending.ts'

/** Creates the fee rules of a network. The runtime sets the fees; a caller adds a tip, or chooses the gas of a message. */
export const createFeeRules = (input: {
  readonly node: SubstrateNode
  readonly ours: (unsigned: Unsigned) => SubstrateUnsigned
  readonly recentState: () => Promise<FinalState>
}): FeeRules => {
  const { node, ours, recentState } = input
  const feeOf = async (unsigned: SubstrateUnsigned): Promise<bigint> =>
    withMargin(await node.rpc.ask(feeQuestion(unsigned, unsigned.blockHash)))
  return {
    isWithinFeeCap: ({ maxPriorityFeePerGas = 0n }) => maxPriorityFeePerGas <= node.row.feeCapPlanck,
    feesOf: () => null,
    gasFee: () => 0n,
    excess: async ({ intent, ordinary, times }) => {
      const mostGas = times * ours(ordinary).gasLimit
      if ((intent.gasLimit ?? 0n) > mostGas) return { field: 'gasLimit', most: mostGas }
      const { maxPriorityFeePerGas: tip } = intent
      if (tip === undefined || tip === 0n) return null
      // Fee and tip together must be at most `times` the fee.
      const mostTip = (times - 1n) * (await feeOf(ours(ordinary)))
      return tip > mostTip ? { field: 'maxPriorityFeePerGas', most: mostTip } : null
    },
    surcharge: async (unsigned) => {
      const { call, tip, blockHash } = ours(unsigned)
      const [fee, runtime] = await Promise.all([feeOf(ours(unsigned)), node.runtimes.at(blockHash)])
      return fee + tip + gasPaidBy(runtime, call)
    },
    ordinaryFee: async () => {
      const { nobody, era } = node.row
      const intent = { to: nobody, value: 1n, input: '0x' } as const
      const state = await recentState()
      return feeOf(unsignedOf(node, { ...state, intent, from: nobody, nonce: 0, eraBlocks: era.least }))
    },
  }
}
