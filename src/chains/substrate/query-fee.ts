// Asks the runtime for the fee of an extrinsic. The runtime decodes the whole extrinsic for that. So it also finds
// errors that the types in the metadata do not show: a list that is too long, or a share above 100 %.

import { AppError } from '../../platform/errors.ts'
import type { BlockRef, Hex, SubstrateUnsigned } from '../chain.ts'
import { NodeUnavailable, type Question, question, RpcError } from '../node/rpc.ts'
import { bytes, decoded, MalformedAnswer } from '../node/wire.ts'
import { programAddress } from './address.ts'
import { encodeCall, treeOf } from './codec.ts'
import { assemble } from './extrinsic.ts'
import type { SubstrateNode } from './node.ts'
import type { Runtime } from './runtime.ts'
import { fixedWidth, fromHex, littleEndian, toHex } from './scale.ts'
import { converted, entryQuestion } from './storage.ts'
import { fieldOf, integerIn, isTrueIn, itemsOf, type Value } from './values.ts'

/** A placeholder: the fee does not depend on the signature. */
export const NO_SIGNATURE = new Uint8Array(64).fill(1)
const U128_BYTES = 16

/** The answer is RuntimeDispatchInfo: the weight, the class, and the fee without the tip. */
const infoQuestion = (unsigned: SubstrateUnsigned, blockHash: Hex): Question<Hex> => {
  const raw = fromHex(assemble(unsigned, NO_SIGNATURE).raw)
  const input = toHex(Buffer.concat([raw, fixedWidth(BigInt(raw.length), 4)]))
  return question('state_call', ['TransactionPaymentApi_query_info', input, blockHash], (result) => {
    const info = bytes(result)
    if (info.length < 2 + 2 * U128_BYTES) throw new MalformedAnswer('the fee of an extrinsic')
    return info
  })
}

/** The last field of RuntimeDispatchInfo in any of its versions. */
const feeIn = (info: Hex): bigint => littleEndian(fromHex(info).subarray(-U128_BYTES))

/** The fee without the tip. */
export const feeQuestion = (unsigned: SubstrateUnsigned, blockHash: Hex): Question<bigint> =>
  converted(infoQuestion(unsigned, blockHash), feeIn)

/** A call without effect that every runtime can decode: System.remark. */
export const harmlessCall = (runtime: Runtime): Hex =>
  encodeCall(runtime, { pallet: 'system', name: 'remark', values: ['0x'] })

/**
 * Runs `ask`. If the node refuses it, asks for the fee of each draft and of a harmless call.
 * @param input.field the request's field with the call, for errors.
 * @throws invalid_input if the runtime can decode the harmless call, but not a draft.
 */
export const unlessUndecodable = async <Answer>(
  { rpc }: Pick<SubstrateNode, 'rpc'>,
  input: { readonly runtime: Runtime; readonly drafts: () => readonly SubstrateUnsigned[]; readonly field?: string },
  ask: () => Promise<Answer>,
): Promise<Answer> => {
  try {
    return await ask()
  } catch (error) {
    if (!(error instanceof NodeUnavailable && error.cause instanceof RpcError)) throw error
    const { runtime, drafts, field = 'unsigned_transaction.input' } = input
    const unsigned = drafts()
    const [first] = unsigned
    if (first === undefined) throw error
    const questions = [{ ...first, call: harmlessCall(runtime) }, ...unsigned].map((draft) =>
      feeQuestion(draft, draft.blockHash),
    )
    const [harmless, ...own] = await rpc.tryAll(questions)
    if (harmless?.ok !== true || own.every(({ ok }) => ok)) throw error
    throw new AppError(
      'invalid_input',
      `Field "${field}" must be a call that the runtime can read: a list is too long, or a number too large for its type.`,
      { cause: error },
    )
  }
}

// Finds who pays the fee of an extrinsic: usually the signer. On Vara the account of a voucher pays the fee, the tip
// and the gas of `gear_voucher.call`, if the signer may use the voucher for the inner call (pallet_gear_voucher,
// Call::get_sponsor; the runtime's DelegateFee).

const bytesOf = (value: Value): string | null => (value.kind === 'bytes' ? value.value : null)

const covers = (voucher: Value, inner: Value, number: bigint): boolean => {
  if (inner.kind !== 'variant' || number >= integerIn(voucher, 'expiry')) return false
  const programs = fieldOf(voucher, 'programs')
  switch (inner.name) {
    case 'UploadCode':
      return isTrueIn(voucher, 'code_uploading')
    case 'SendMessage': {
      const program = bytesOf(fieldOf(inner.content, 'destination'))
      if (programs.kind === 'nothing') return true
      return program !== null && itemsOf(programs).some((each) => bytesOf(each) === program)
    }
    // The receiver of a reply is in the chain's mailbox. The chain refuses it if the voucher is not for that program.
    case 'SendReply':
    case 'DeclineVoucher':
      return true
    default:
      return false
  }
}

export const readPayer = async (
  node: Pick<SubstrateNode, 'rpc' | 'row'>,
  input: { runtime: Runtime; from: string; call: Hex; head: BlockRef },
): Promise<string> => {
  const { runtime, from, call, head } = input
  const tree = treeOf(runtime, call)
  const id = tree?.functionName === 'gear_voucher.call' ? bytesOf(fieldOf(tree, 'voucher_id')) : null
  if (id === null) return from
  const question = entryQuestion(runtime, { pallet: 'gearVoucher', entry: 'vouchers', parts: [from, id] }, head.hash)
  const voucher = question === null ? null : await node.rpc.ask(question)
  if (voucher === null || !covers(voucher, fieldOf(tree, 'call'), head.number)) return from
  return programAddress(node.row, id)
}

// Whether a block can hold a call at all. A node refuses what it cannot, but only after it was signed
// (frame_system, CheckWeight: ExhaustsResources).

/** The codec's values, in two dimensions since 2022. Runtimes before that have one, and are not judged. */
type Weight = { readonly refTime: { toBigInt(): bigint }; readonly proofSize: { toBigInt(): bigint } }
type Limit = { readonly isSome: boolean; unwrap(): Weight }
type ClassLimits = { readonly maxExtrinsic: Limit; readonly maxTotal: Limit }
type BlockWeights = { readonly maxBlock: Weight; readonly perClass: Readonly<Record<DispatchClass, ClassLimits>> }

const CLASSES = ['normal', 'operational', 'mandatory'] as const
type DispatchClass = (typeof CLASSES)[number]

type Info = { readonly weight: Weight; readonly class: { readonly index: number } }

const hasTwoDimensions = (weight: object): weight is Weight => 'refTime' in weight && 'proofSize' in weight

const weightTooGreat = ({ registry, constants }: Runtime, info: Hex): string | null => {
  const limits = constants.system?.blockWeights as unknown as BlockWeights | undefined
  if (limits === undefined || !hasTwoDimensions(limits.maxBlock)) return null
  const { weight, class: dispatchClass } = decoded(
    'the weight of an extrinsic',
    () => registry.createType('RuntimeDispatchInfo', info) as unknown as Info,
  )
  const { maxExtrinsic, maxTotal } = limits.perClass[CLASSES[dispatchClass.index] ?? 'normal']
  const most = [maxExtrinsic, maxTotal].find(({ isSome }) => isSome)?.unwrap() ?? limits.maxBlock
  /** In percent of what is allowed; null if that is not too much. */
  const excess = (part: keyof Weight): bigint | null => {
    const [own, allowed] = [weight[part].toBigInt(), most[part].toBigInt()]
    return own > allowed ? (own * 100n) / (allowed === 0n ? 1n : allowed) : null
  }
  const time = excess('refTime')
  const percent = time ?? excess('proofSize')
  if (percent === null) return null
  const what = time === null ? 'its proof may be' : 'it may take'
  return `no block holds this call: ${what} ${percent} % of what a block allows for one. Split it`
}

/**
 * Asks for the fee without the tip, and for the weight. `tooGreat`: why no block can hold the extrinsic; null if one
 * can, or if that is not known.
 */
export const dispatchQuestion = (
  runtime: Runtime,
  unsigned: SubstrateUnsigned,
  blockHash: Hex,
): Question<{ readonly fee: bigint; readonly tooGreat: string | null }> =>
  converted(infoQuestion(unsigned, blockHash), (info) => ({
    fee: feeIn(info),
    tooGreat: weightTooGreat(runtime, info),
  }))
