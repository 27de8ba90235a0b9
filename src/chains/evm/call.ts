import type { Hex, Intent } from '../chain.ts'
import { type Question, question } from '../node/rpc.ts'
import { bytes, hexText, type JsonRecord, toQuantity } from '../node/wire.ts'

/** What of an intent matters to its execution. `from` is named where it is not the sender of all calls. */
export type Call = Pick<Intent, 'to' | 'value' | 'input' | 'gasLimit'> & { readonly from?: string }

/**
 * A transaction object of the execution API. It names no fees: with them a node also asks for gas money, and whether
 * an execution succeeds must not depend on that. It names no nonce: the order of calls gives it.
 */
export const transactionObject = (from: string, call: Call): JsonRecord => ({
  from: call.from ?? from,
  ...(call.to === null ? {} : { to: call.to }),
  ...(call.value === 0n ? {} : { value: toQuantity(call.value) }),
  ...(call.input === '0x' ? {} : { data: call.input }),
  ...(call.gasLimit === undefined ? {} : { gas: toQuantity(call.gasLimit) }),
})

/** One read of a contract; its bytes. `gasLimit` bounds what a hostile contract may cost the node. */
export const readQuestion = (input: {
  readonly to: string
  readonly data: Hex
  readonly gasLimit?: bigint
  /** The newest one where it is absent. */
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
