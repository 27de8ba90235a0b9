// Finds who pays the fee of an extrinsic: usually the signer. On Vara the account of a voucher pays the fee, the tip and the
// gas of `gear_voucher.call`, if the signer may use the voucher for the inner call (pallet_gear_voucher, Call::get_sponsor;
// the runtime's DelegateFee).

import type { BlockRef, Hex } from '../chain.ts'
import { programAddress } from './address.ts'
import { treeOf } from './decode.ts'
import { entryQuestion } from './entries.ts'
import type { SubstrateNode } from './node.ts'
import type { Runtime } from './runtime.ts'
import { fieldOf, integerIn, isTrueIn, itemsOf, type Value } from './values.ts'

const bytesOf = (value: Value): string | null => (value.kind === 'bytes' ? value.value : null)

/** Whether a stored voucher pays for an inner call. */
const covers = (voucher: Value, inner: Value, number: bigint): boolean => {
  if (inner.kind !== 'variant' || number >= integerIn(voucher, 'expiry')) return false
  const programs = fieldOf(voucher, 'programs')
  switch (inner.name) {
    case 'UploadCode':
      return isTrueIn(voucher, 'code_uploading')
    case 'SendMessage': {
      const program = bytesOf(fieldOf(inner.of, 'destination'))
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

/** The address that pays the fee of a call. */
export const payerOf = async (
  node: Pick<SubstrateNode, 'rpc' | 'row'>,
  {
    runtime,
    from,
    call,
    block,
  }: { runtime: Runtime; from: string; call: Hex; block: Pick<BlockRef, 'number' | 'hash'> },
): Promise<string> => {
  const tree = treeOf(runtime, call)
  const id = tree?.functionName === 'gear_voucher.call' ? bytesOf(fieldOf(tree, 'voucher_id')) : null
  if (id === null) return from
  const question = entryQuestion(runtime, { pallet: 'gearVoucher', entry: 'vouchers', parts: [from, id] }, block.hash)
  const voucher = question === null ? null : await node.rpc.ask(question)
  if (voucher === null || !covers(voucher, fieldOf(tree, 'call'), block.number)) return from
  return programAddress(node.row, id)
}
