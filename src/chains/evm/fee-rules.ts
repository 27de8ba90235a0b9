import type { EvmUnsigned, Intent, Unsigned } from '../chain.ts'
import type { Excess, FeeRules } from '../fee-rules.ts'
import type { EvmNetworkRow } from '../networks.ts'
import type { Rpc } from '../node/rpc.ts'
import { ZERO_ADDRESS } from './address.ts'
import { isWithinCap, marketFees } from './fees.ts'
import { l1FeeQuestion } from './l1-fee.ts'
import { historyQuestion, marketOf } from './market.ts'

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
      const asked = l1FeeQuestion(row, ours(unsigned))
      return asked === null ? 0n : rpc.ask(asked)
    },
    ordinaryFee: async () => {
      const [history, l1Fee] = await rpc.askAll([historyQuestion(), l1FeeQuestion(row, PAYMENT)])
      return ORDINARY_GAS * marketFees(await marketOf(input, history)).maxFeePerGas + (l1Fee ?? 0n)
    },
  }
}
