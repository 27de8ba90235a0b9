// What the runtime says that an extrinsic weighs: its fee. It reads the whole extrinsic for that, and so also finds what the
// types in its metadata do not say: that a list is longer than the runtime takes, or a share larger than the whole.

import { AppError } from '../../errors.ts'
import type { Hex, SubstrateUnsigned } from '../chain.ts'
import { NodeUnavailable, type Question, question, RpcError } from '../node/rpc.ts'
import { bytes, MalformedAnswer } from '../node/wire.ts'
import { assemble, toHex } from './extrinsic.ts'
import { madeCall } from './made-call.ts'
import type { SubstrateNode } from './node.ts'
import type { Runtime } from './runtime.ts'
import { littleEndian } from './storage.ts'

/** For what is weighed and not sent: a fee does not depend on the signature. */
const NO_SIGNATURE = new Uint8Array(64).fill(1)
const U128_BYTES = 16

const lengthOf = (raw: Hex): Hex => {
  const length = Buffer.alloc(4)
  length.writeUInt32LE((raw.length - 2) / 2)
  return toHex(length)
}

/** What the runtime would take for it, without the tip: the last field of RuntimeDispatchInfo, in any of its forms. */
export const feeQuestion = (unsigned: SubstrateUnsigned, blockHash: Hex): Question<bigint> => {
  const { raw } = assemble(unsigned, NO_SIGNATURE)
  const input = `${raw}${lengthOf(raw).slice(2)}`
  return question('state_call', ['TransactionPaymentApi_query_info', input, blockHash], (result) => {
    const info = bytes(result)
    if (info.length < 2 + 2 * U128_BYTES) throw new MalformedAnswer('the fee of an extrinsic')
    return littleEndian(`0x${info.slice(-2 * U128_BYTES)}`)
  })
}

/** A call that every runtime reads, and that does nothing: System.remark. */
export const harmlessCall = (runtime: Runtime): Hex =>
  madeCall(runtime, { pallet: 'system', name: 'remark', values: ['0x'] })

/**
 * What is asked about extrinsics. Where the node refuses, it is asked what each of them weighs, and one that the runtime reads
 * for certain beside them.
 * @throws invalid_input where the runtime cannot read one of them; what `ask` throws.
 */
export const unlessUndecodable = async <Told>(
  { rpc }: Pick<SubstrateNode, 'rpc'>,
  { runtime, drafts }: { readonly runtime: Runtime; readonly drafts: () => readonly SubstrateUnsigned[] },
  ask: () => Promise<Told>,
): Promise<Told> => {
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
      'Field "unsigned_transaction.input" must be a call that the runtime can read: a list is too long, or a number too large for its type.',
      { cause: error },
    )
  }
}
