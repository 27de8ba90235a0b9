// Asks the runtime for the fee of an extrinsic. The runtime decodes the whole extrinsic for that. So it also finds errors that
// the types in the metadata do not show: a list that is too long, or a share above 100 %.

import { AppError } from '../../platform/errors.ts'
import type { Hex, SubstrateUnsigned } from '../chain.ts'
import { NodeUnavailable, type Question, question, RpcError } from '../node/rpc.ts'
import { bytes, MalformedAnswer } from '../node/wire.ts'
import { encodeCall } from './encode-call.ts'
import { assemble } from './extrinsic.ts'
import type { SubstrateNode } from './node.ts'
import type { Runtime } from './runtime.ts'
import { fixedWidth, fromHex, littleEndian, toHex } from './scale.ts'
import { converted } from './storage.ts'

/** A placeholder: the fee does not depend on the signature. */
export const NO_SIGNATURE = new Uint8Array(64).fill(1)
const U128_BYTES = 16

/** RuntimeDispatchInfo: the weight, the class, and the fee without the tip. */
type DispatchInfo = { readonly fee: bigint; readonly encoded: Hex }

/** Asks for the fee, the last field of RuntimeDispatchInfo in any of its versions, and for all of it. */
export const dispatchQuestion = (unsigned: SubstrateUnsigned, blockHash: Hex): Question<DispatchInfo> => {
  const raw = fromHex(assemble(unsigned, NO_SIGNATURE).raw)
  const input = toHex(Buffer.concat([raw, fixedWidth(BigInt(raw.length), 4)]))
  return question('state_call', ['TransactionPaymentApi_query_info', input, blockHash], (result) => {
    const info = bytes(result)
    if (info.length < 2 + 2 * U128_BYTES) throw new MalformedAnswer('the fee of an extrinsic')
    return { fee: littleEndian(fromHex(info).subarray(-U128_BYTES)), encoded: info }
  })
}

/** Asks for the fee without the tip. */
export const feeQuestion = (unsigned: SubstrateUnsigned, blockHash: Hex): Question<bigint> =>
  converted(dispatchQuestion(unsigned, blockHash), ({ fee }) => fee)

/** A call without effect that every runtime can decode: System.remark. */
export const harmlessCall = (runtime: Runtime): Hex =>
  encodeCall(runtime, { pallet: 'system', name: 'remark', values: ['0x'] })

/**
 * Runs `ask`. If the node refuses it, asks for the fee of each draft and of a harmless call.
 * @throws invalid_input if the runtime can decode the harmless call, but not a draft.
 */
export const unlessUndecodable = async <Answer>(
  { rpc }: Pick<SubstrateNode, 'rpc'>,
  {
    runtime,
    drafts,
    field = 'unsigned_transaction.input',
  }: {
    readonly runtime: Runtime
    readonly drafts: () => readonly SubstrateUnsigned[]
    /** The request's field with the call, for errors. */
    readonly field?: string
  },
  ask: () => Promise<Answer>,
): Promise<Answer> => {
  try {
    return await ask()
  } catch (error) {
    if (!(error instanceof NodeUnavailable && error.cause instanceof RpcError)) throw error
    const unsigned = drafts()
    const [first] = unsigned
    if (first === undefined) throw error
    const asked = [{ ...first, call: harmlessCall(runtime) }, ...unsigned].map((draft) =>
      feeQuestion(draft, draft.blockHash),
    )
    const [harmless, ...own] = await rpc.tryAll(asked)
    if (harmless?.ok !== true || own.every(({ ok }) => ok)) throw error
    throw new AppError(
      'invalid_input',
      `Field "${field}" must be a call that the runtime can read: a list is too long, or a number too large for its type.`,
      { cause: error },
    )
  }
}
