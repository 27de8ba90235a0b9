import type { Hex, Intent } from '../chain.ts'
import { type Question, question } from '../node/rpc.ts'
import { bytes, hexText, type JsonRecord, toQuantity } from '../node/wire.ts'

/** The fields of an intent that affect its execution. `from` is set if it differs from the sender of the other calls. */
export type Call = Pick<Intent, 'to' | 'value' | 'input' | 'gasLimit'> & { readonly from?: string }

/**
 * A transaction object of the execution API. It has no fees: with fees the node would also require the balance for gas, and
 * the result of the execution must not depend on that. It has no nonce: the order of the calls gives it.
 */
export const transactionObject = (from: string, call: Call): JsonRecord => ({
  from: call.from ?? from,
  ...(call.to === null ? {} : { to: call.to }),
  ...(call.value === 0n ? {} : { value: toQuantity(call.value) }),
  ...(call.input === '0x' ? {} : { data: call.input }),
  ...(call.gasLimit === undefined ? {} : { gas: toQuantity(call.gasLimit) }),
})

/** Reads a contract; the result is the returned bytes. `gasLimit` bounds what a hostile contract may cost the node. */
export const readQuestion = (input: {
  readonly to: string
  readonly data: Hex
  readonly gasLimit?: bigint
  /** The newest block if absent. */
  readonly blockNumber?: bigint
}): Question<Hex> =>
  question(
    'eth_call',
    [
      {
        to: hexText(input.to),
        data: input.data,
        ...(input.gasLimit === undefined ? {} : { gas: toQuantity(input.gasLimit) }),
      },
      input.blockNumber === undefined ? 'latest' : toQuantity(input.blockNumber),
    ],
    bytes,
  )
