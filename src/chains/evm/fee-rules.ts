import type { EvmNetworkRow } from '../../platform/networks.ts'
import type { EvmUnsigned, Intent, Unsigned } from '../chain.ts'
import type { Excess, FeeRules } from '../fee-rules.ts'
import type { Rpc } from '../node/rpc.ts'
import { ZERO_ADDRESS } from './address.ts'
import { isWithinCap, marketFees } from './fees.ts'
import { historyQuestion, marketOf } from './market.ts'
import { surchargeFrom, surchargeQuestions } from './surcharge.ts'

/** Roughly the gas of a token transfer or a mint. */
const ORDINARY_GAS = 100_000n
const PAYMENT = { to: ZERO_ADDRESS, value: 0n, input: '0x' } as const

const FIELDS = ['gasLimit', 'maxFeePerGas', 'maxPriorityFeePerGas'] as const satisfies (keyof Intent)[]

/** The first field that is too high. A gas price is paid in full, so it may be at most our own fee cap. Pure. */
const excessOf = (intent: Intent, { ordinary, times }: { ordinary: EvmUnsigned; times: bigint }): Excess | null => {
  const { gasPrice = 0n } = intent
  if (gasPrice > ordinary.maxFeePerGas) return { field: 'gasPrice', most: ordinary.maxFeePerGas }
  for (const field of FIELDS) {
    const most = times * ordinary[field]
    if ((intent[field] ?? 0n) > most) return { field, most }
  }
  return null
}

export const createFeeRules = (input: {
  readonly rpc: Rpc
  readonly row: EvmNetworkRow
  readonly ours: (unsigned: Unsigned) => EvmUnsigned
}): FeeRules => {
  const { rpc, row, ours } = input
  return {
    isWithinFeeCap: (intent) => isWithinCap(intent, row),
    excess: async ({ intent, ordinary, times }) => excessOf(intent, { ordinary: ours(ordinary), times }),
    feesOf: (unsigned) => {
      const { maxFeePerGas, maxPriorityFeePerGas } = ours(unsigned)
      return { maxFeePerGas, maxPriorityFeePerGas }
    },
    gasFee: (unsigned) => ours(unsigned).gasLimit * ours(unsigned).maxFeePerGas,
    surcharge: async (unsigned) => {
      const answers = await rpc.tryAll(surchargeQuestions(row, ours(unsigned)))
      return surchargeFrom(rpc, answers)(ours(unsigned).gasLimit)
    },
    ordinaryFee: async () => {
      const [history, ...answers] = await rpc.tryAll([historyQuestion(), ...surchargeQuestions(row, PAYMENT)])
      const { maxFeePerGas } = marketFees(await marketOf(input, rpc.need(history)))
      return ORDINARY_GAS * maxFeePerGas + surchargeFrom(rpc, answers)(ORDINARY_GAS)
    },
  }
}
