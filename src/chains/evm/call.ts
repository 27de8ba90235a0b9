import { encodeFunctionData, parseAbi } from 'viem/utils'
import type { Hex, Intent } from '../chain.ts'
import { type Answer, type Question, question, type Rpc } from '../node/rpc.ts'
import { bytes, hexText, type JsonRecord, toQuantity } from '../node/wire.ts'
import { checksum, ZERO_ADDRESS } from './address.ts'
import { isExecutionFailure } from './node-errors.ts'

/** The fields of an intent that affect its execution. `from` is set if it is not the sender of the other calls. */
export type Call = Pick<Intent, 'to' | 'value' | 'input' | 'gasLimit' | 'accessList'> & { readonly from?: string }

/**
 * A transaction object of the execution API. It has no fees: with fees the node would also require the balance for gas,
 * and the result of the execution must not depend on that. It has no nonce: the order of the calls gives it.
 */
export const transactionObject = (from: string, call: Call): JsonRecord => ({
  from: call.from ?? from,
  ...(call.to === null ? {} : { to: call.to }),
  ...(call.value === 0n ? {} : { value: toQuantity(call.value) }),
  ...(call.input === '0x' ? {} : { data: call.input }),
  ...(call.gasLimit === undefined ? {} : { gas: toQuantity(call.gasLimit) }),
  ...(call.accessList === undefined ? {} : { accessList: call.accessList }),
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

/** The bytes that a contract returned; null if the call failed there. Throws if the node refused to run it. */
export const returned = (rpc: Rpc, answer: Answer<Hex>): Hex | null => {
  if (answer.ok) return answer.value
  if (isExecutionFailure(answer.error)) return null
  throw rpc.refusal(answer.error)
}

/** Decodes bytes from a contract; null for no bytes, or for bytes of another form. */
export const decoded = <Value>(data: Hex | null | undefined, decode: (data: Hex) => Value): Value | null => {
  if (data === null || data === undefined) return null
  try {
    return decode(data)
  } catch {
    return null
  }
}

/** The checksummed address in exactly one word; null for anything else, and for the zero address. Pure. */
export const addressIn = (word: unknown): string | null => {
  if (typeof word !== 'string' || !/^0x0{24}[0-9a-f]{40}$/i.test(word)) return null
  const address = checksum(`0x${word.slice(26).toLowerCase()}`)
  return address === ZERO_ADDRESS ? null : address
}

/** The number in exactly one word; null for anything else. Pure. */
export const wordIn = (data: Hex | null | undefined): bigint | null => (data?.length === 66 ? BigInt(data) : null)

const ABI = parseAbi(['function supportsInterface(bytes4 interfaceID) view returns (bool)'])

const READ_GAS_LIMIT = 2_000_000n

/** Whether a contract says that it has an interface (ERC-165). */
export const supportsInterface = async (
  rpc: Rpc,
  { contract, interfaceId }: { readonly contract: string; readonly interfaceId: Hex },
): Promise<boolean> => {
  const data = encodeFunctionData({ abi: ABI, args: [interfaceId] })
  const answer = await rpc.try(readQuestion({ to: contract, data, gasLimit: READ_GAS_LIMIT }))
  return wordIn(returned(rpc, answer)) === 1n
}
