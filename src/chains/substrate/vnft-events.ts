// Reads movements from the events of VNFT programs on Vara. A Sails event is a message to the actor of zeros. Many programs
// report a mint with the token's metadata but without its id; such a mint gives no movement.
//
// A program may emit any event, as a contract may emit any Transfer on an EVM network. It only affects that program's tokens.

import type { SubstrateNetworkRow } from '../../platform/networks.ts'
import type { Hex, Movement } from '../chain.ts'
import { bytes, hash, isRecord } from '../node/wire.ts'
import { programAddress } from './address.ts'
import type { CodecValue } from './events.ts'
import { decodePayload, type SailsItem } from './sails.ts'

const ACTOR = '[u8;32]'
const ZEROS: Hex = `0x${'00'.repeat(32)}`
/** "Vnft" as text in SCALE. */
const SERVICE_PREFIX = '0x10566e6674'

const event = (name: string, ...types: readonly string[]): SailsItem => ({ service: 'Vnft', name, types })
const TRANSFER = event('Transfer', ACTOR, ACTOR, 'U256')
const TRANSFERRED = event('Transferred', ACTOR, ACTOR, 'U256')
const BURNED = event('Burned', ACTOR, 'U256')
const MINTED = event('Minted', ACTOR, 'U256')
/** Name, description, media and reference. Short texts may take exactly the bytes of an id, so this form is tried first. */
const MINTED_WITH_METADATA = event('Minted', ACTOR, '(Text,Text,Text,Text)')

type Transfer = { readonly from: unknown; readonly to: unknown; readonly tokenId: unknown }

const transferIn = (payload: Hex): Transfer | null => {
  const transfer = decodePayload(TRANSFER, payload) ?? decodePayload(TRANSFERRED, payload)
  if (transfer !== null) return { from: transfer[0], to: transfer[1], tokenId: transfer[2] }
  const burnt = decodePayload(BURNED, payload)
  if (burnt !== null) return { from: burnt[0], to: ZEROS, tokenId: burnt[1] }
  const minted = decodePayload(MINTED_WITH_METADATA, payload) === null ? decodePayload(MINTED, payload) : null
  return minted === null ? null : { from: ZEROS, to: minted[0], tokenId: minted[1] }
}

/** The movement that a VNFT event reports; null for any other event. @param input.message the event's first field. Pure. */
export const vnftTransfer = (
  row: SubstrateNetworkRow,
  input: { readonly pallet: string; readonly name: string; readonly message: CodecValue | undefined },
): Movement | null => {
  if (input.pallet !== 'Gear' || input.name !== 'UserMessageSent') return null
  const message = input.message?.toJSON()
  if (!isRecord(message) || message.destination !== ZEROS) return null
  const payload = bytes(message.payload)
  const transfer = payload.startsWith(SERVICE_PREFIX) ? transferIn(payload) : null
  if (transfer === null) return null
  const account = (actor: unknown) => programAddress(row, hash(actor))
  return {
    standard: 'erc721',
    contract: hash(message.source),
    tokenId: BigInt(String(transfer.tokenId)),
    from: account(transfer.from),
    to: account(transfer.to),
    amount: 1n,
  }
}
