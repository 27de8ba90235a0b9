// Transfers of the coin to several recipients: one batch, all or nothing.

import type { Intent, TransfersRequest } from '../chain.ts'
import { readFinalState } from './blocks.ts'
import { batchAll, encodeCall } from './encode-call.ts'
import type { SubstrateNode } from './node.ts'
import type { Runtime } from './runtime.ts'

/** Balances of the runtime are u128. */
export const AMOUNT_END = 1n << 128n

const intentOf = (runtime: Runtime, input: Intent['input']): Intent => ({
  to: null,
  value: 0n,
  input,
  madeBy: runtime.bytesHash,
})

export const coinTransferIntents = async (
  node: SubstrateNode,
  { transfers }: TransfersRequest,
): Promise<readonly Intent[]> => {
  const [first, ...others] = transfers
  if (first === undefined) throw new Error('expected at least one transfer')
  if (others.length === 0) return [{ to: first.recipient, value: first.amount, input: '0x' }]
  const { runtime } = await readFinalState(node)
  const call = ({ recipient, amount }: typeof first) =>
    encodeCall(runtime, { pallet: 'balances', name: 'transferKeepAlive', values: [recipient, amount] })
  return [intentOf(runtime, batchAll(runtime, [call(first), ...others.map(call)]))]
}
