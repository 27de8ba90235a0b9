// Finds who pays the fee of an extrinsic: usually the signer. On Vara the account of a voucher pays the fee, the tip and the
// gas of `gear_voucher.call`, if the signer may use the voucher for the inner call (pallet_gear_voucher, Call::get_sponsor;
// the runtime's DelegateFee).

import type { Hex } from '../chain.ts'
import { addressOf } from './address.ts'
import { type CallTree, treeOf } from './decode.ts'
import { entryQuestion } from './entries.ts'
import type { SubstrateNode } from './node.ts'
import type { Runtime } from './runtime.ts'
import { fieldOf, type Value } from './values.ts'

type Asked = {
  readonly runtime: Runtime
  readonly from: string
  readonly call: Hex
  readonly block: { readonly number: bigint; readonly hash: Hex }
}

const bytesOf = (value: Value): string | null => (value.kind === 'bytes' ? value.value : null)

const includes = (programs: Value, program: string): boolean =>
  programs.kind === 'list' && programs.items.some((each) => bytesOf(each) === program)

/** Whether a stored voucher pays for an inner call. */
const covers = (voucher: Value, inner: Value, number: bigint): boolean => {
  const expiry = fieldOf(voucher, 'expiry')
  if (inner.kind !== 'variant' || expiry.kind !== 'integer' || number >= expiry.value) return false
  const programs = fieldOf(voucher, 'programs')
  switch (inner.name) {
    case 'UploadCode': {
      const allowed = fieldOf(voucher, 'code_uploading')
      return allowed.kind === 'bool' && allowed.value === 'true'
    }
    case 'SendMessage':
      return programs.kind === 'nothing' || includes(programs, bytesOf(fieldOf(inner.of, 'destination')) ?? '')
    // The receiver of a reply is in the chain's mailbox. The chain refuses it if the voucher is not for that program.
    case 'SendReply':
    case 'DeclineVoucher':
      return true
    default:
      return false
  }
}

/** The id of the voucher that a call names; null for any other call. */
const voucherOf = (tree: CallTree | null): Hex | null => {
  const id = tree?.functionName === 'gear_voucher.call' ? bytesOf(fieldOf(tree, 'voucher_id')) : null
  return id === null ? null : `0x${id.slice(2)}`
}

/** The address that pays the fee of a call. */
export const payerOf = async (node: Pick<SubstrateNode, 'rpc' | 'row'>, asked: Asked): Promise<string> => {
  const { runtime, from, call, block } = asked
  const tree = treeOf(runtime, call)
  const id = voucherOf(tree)
  if (id === null || tree === null) return from
  const question = entryQuestion(runtime, { pallet: 'gearVoucher', entry: 'vouchers', parts: [from, id] }, block.hash)
  const voucher = question === null ? null : await node.rpc.ask(question)
  if (voucher === null || !covers(voucher, fieldOf(tree, 'call'), block.number)) return from
  return addressOf(node.row, Buffer.from(id.slice(2), 'hex'))
}
