// VNFT programs on Vara (wiki.vara.network, Standards, VNFT). The items are those of service Vnft in the IDL of the
// extended VNFT (gear-foundation/standards, extended-vnft), which is built with Sails. A payload of Sails has the name
// of the service, the name of the function or event, and the values, in SCALE (gear-tech/sails, js/src/prefix.ts).
// Programs do not describe their types.
//
// An event of Sails is a message to the actor of zeros. Many programs report a mint with the token's metadata but
// without its id; such a mint gives no movement. A program may emit any event, as a contract may emit any Transfer on
// an EVM network: it only affects that program's tokens.

import { TypeRegistry } from '@polkadot/types'
import { AppError } from '../../platform/errors.ts'
import type { SubstrateNetworkRow } from '../../platform/networks.ts'
import type { Hex, Intent, MintRequest, Movement, TransferNftRequest } from '../chain.ts'
import { bytes, hash, isRecord } from '../node/wire.ts'
import { actorId, programAddress } from './address.ts'
import { readFinalState } from './blocks.ts'
import { type ChainEvent, nameOf, valuesOf } from './events.ts'
import { askPrograms, type Reply } from './gear.ts'
import type { SubstrateNode } from './node.ts'
import type { Runtime } from './runtime.ts'
import { fromHex, toHex } from './scale.ts'

/** A function or an event. `types` are the types of its values, as the registry spells them. */
export type SailsItem = { readonly service: string; readonly name: string; readonly types: readonly string[] }

const registry = new TypeRegistry()

const tupleOf = ({ types }: SailsItem): string => `(${['Text', 'Text', ...types].join(',')})`

/** Encodes a payload. @param values text, bytes in hex, integers as bigint, a struct as a list. Pure. */
export const encodePayload = (item: SailsItem, values: readonly unknown[]): Hex => {
  // The registry does not check that there is a value for each type.
  if (values.length !== item.types.length) throw new Error(`expected ${item.types.length} values for ${item.name}`)
  return registry.createType(tupleOf(item), [item.service, item.name, ...values]).toHex()
}

type Decoded = { toJSON(): unknown; toU8a(): Uint8Array }

/** Decodes the values of a payload, as JSON; null unless the bytes are exactly one payload of the item. Pure. */
export const decodePayload = (item: SailsItem, payload: Hex): readonly unknown[] | null => {
  let decoded: Decoded
  try {
    decoded = registry.createType(tupleOf(item), fromHex(payload)) as unknown as Decoded
  } catch {
    return null
  }
  if (toHex(decoded.toU8a()) !== payload) return null
  const [service, name, ...values] = decoded.toJSON() as readonly unknown[]
  return service === item.service && name === item.name ? values : null
}

/** Whether a payload belongs to a function or an event. The values are not decoded. Pure. */
export const isOf = (item: SailsItem, payload: Hex): boolean =>
  payload.startsWith(encodePayload({ ...item, types: [] }, []))

const ACTOR = '[u8;32]'
/** Name, description, media and reference. */
const TOKEN_METADATA = '(Text,Text,Text,Text)'
const U256_END = 2n ** 256n
/** The actor to which programs send their events. Queries are sent in its name; programs do not look at it. */
const NOBODY: Hex = `0x${'00'.repeat(32)}`

const item = (name: string, ...types: readonly string[]): SailsItem => ({ service: 'Vnft', name, types })

const MINT = item('Mint', ACTOR, TOKEN_METADATA)
const TRANSFER = item('Transfer', ACTOR, 'u256')
const MINTERS = item('Minters')
const MINTERS_REPLY = item('Minters', `Vec<${ACTOR}>`)
const NAME = item('Name')
const SYMBOL = item('Symbol')
const METADATA = item('TokenMetadataById', 'u256')
const METADATA_REPLY = item('TokenMetadataById', `Option<${TOKEN_METADATA}>`)

/** "Vnft" as text in SCALE. */
const SERVICE_PREFIX = '0x10566e6674'
const TRANSFER_EVENT = item('Transfer', ACTOR, ACTOR, 'U256')
const TRANSFERRED = item('Transferred', ACTOR, ACTOR, 'U256')
const BURNED = item('Burned', ACTOR, 'U256')
const MINTED = item('Minted', ACTOR, 'U256')
/** Short texts may take exactly the bytes of an id, so this form is tried first. */
const MINTED_WITH_METADATA = item('Minted', ACTOR, TOKEN_METADATA)

/** The sender, the recipient and the token of a VNFT event; null for any other event. */
const transferIn = (payload: Hex): readonly unknown[] | null => {
  if (!payload.startsWith(SERVICE_PREFIX)) return null
  const transfer = decodePayload(TRANSFER_EVENT, payload) ?? decodePayload(TRANSFERRED, payload)
  if (transfer !== null) return transfer
  const burnt = decodePayload(BURNED, payload)
  if (burnt !== null) return [burnt[0], NOBODY, burnt[1]]
  const minted = decodePayload(MINTED_WITH_METADATA, payload) === null ? decodePayload(MINTED, payload) : null
  return minted && [NOBODY, ...minted]
}

/** The movement that an event of a VNFT program reports; null for any other event. Pure. */
export const vnftTransfer = (row: SubstrateNetworkRow, event: ChainEvent): Movement | null => {
  if (nameOf(event) !== 'Gear.UserMessageSent') return null
  const message = valuesOf(event)[0]?.toJSON()
  if (!isRecord(message) || message.destination !== NOBODY) return null
  const transfer = transferIn(bytes(message.payload))
  if (transfer === null) return null
  const [from, to, tokenId] = transfer
  return {
    standard: 'erc721',
    contract: hash(message.source),
    tokenId: BigInt(String(tokenId)),
    from: programAddress(row, hash(from)),
    to: programAddress(row, hash(to)),
    amount: 1n,
  }
}

const query = (item: SailsItem, contract: string, values: readonly unknown[] = [], from: string = NOBODY) => ({
  from,
  to: contract,
  input: encodePayload(item, values),
  value: 0n,
})

const mintRefusal = (from: string, mint: Reply | null, minters: Reply | null): AppError => {
  const listed = minters === null ? null : decodePayload(MINTERS_REPLY, minters.payload)?.[0]
  if (minters?.failure === null && Array.isArray(listed) && !listed.includes(actorId(from))) {
    const sentence = `Only the minters of contract_address may mint, and ${from} is none of them.`
    return new AppError('mint_unauthorized', sentence)
  }
  const why =
    mint === null
      ? 'no program of this network answers there'
      : (mint.failure ?? 'it does not answer as a VNFT program does')
  return new AppError('mint_unsupported', `contract_address does not mint by Vnft.Mint: ${why}.`)
}

/**
 * After a simulation. The program stores the metadata's name and description, its image as `media` and its URI as
 * `reference`.
 */
export const mintIntent = async (node: SubstrateNode, request: MintRequest): Promise<Intent> => {
  const { from, contract, recipient, uri, metadata } = request
  const { name = '', description = '', image = '' } = metadata ?? {}
  const minting = query(MINT, contract, [actorId(recipient), [name, description, image, uri]], from)
  const { head, runtime } = await readFinalState(node)
  const messages = [minting, query(MINTERS, contract, [], from)]
  const [mint = null, minters = null] = await askPrograms(node, { runtime, blockHash: head.hash, messages })
  const isDone = mint !== null && mint.failure === null && isOf(MINT, mint.payload)
  if (!isDone) throw mintRefusal(from, mint, minters)
  return { to: programAddress(node.row, contract), value: 0n, input: minting.input }
}

export const transferIntent = async (
  { row }: SubstrateNode,
  { contract, recipient, tokenId, amount }: TransferNftRequest,
): Promise<Intent> => {
  if (amount !== 1n) throw new AppError('invalid_input', 'Field "amount" must be 1 for a token of a VNFT program.')
  if (tokenId >= U256_END) throw new AppError('invalid_input', 'Field "token_id" must be below 2^256.')
  const input = encodePayload(TRANSFER, [actorId(recipient), tokenId])
  return { to: programAddress(row, contract), value: 0n, input }
}

const isText = (value: unknown): value is string => typeof value === 'string'

/** A data URI with the metadata that the program stores; without name and image, the `reference`. */
const describeToken = (reply: Reply | null): string | null => {
  const [metadata] = (reply?.failure === null && decodePayload(METADATA_REPLY, reply.payload)) || []
  if (!Array.isArray(metadata) || !metadata.every(isText)) return null
  const [name = '', description = '', image = '', reference = ''] = metadata
  if (name === '' && image === '') return reference === '' ? null : reference
  const body = JSON.stringify({ name, description, image })
  return `data:application/json;base64,${Buffer.from(body).toString('base64')}`
}

export const tokenUris = async (
  node: SubstrateNode,
  tokens: readonly { readonly contract: string; readonly tokenId: bigint }[],
): Promise<readonly (string | null)[]> => {
  const { head, runtime } = await readFinalState(node)
  const messages = tokens.map(({ contract, tokenId }) => query(METADATA, contract, [tokenId]))
  return (await askPrograms(node, { runtime, blockHash: head.hash, messages })).map(describeToken)
}

const readText = (item: SailsItem, reply: Reply | null | undefined): string | null => {
  const [text] = (reply?.failure === null && decodePayload({ ...item, types: ['Text'] }, reply.payload)) || []
  return isText(text) ? text : null
}

/** Asks programs for their names and symbols; null for a program that does not answer these queries of VNFT. */
export const programNames = async (
  node: SubstrateNode,
  input: { readonly runtime: Runtime; readonly blockHash: Hex; readonly contracts: readonly string[] },
): Promise<readonly ({ readonly name: string; readonly symbol: string } | null)[]> => {
  const { contracts } = input
  if (contracts.length === 0) return []
  const messages = contracts.flatMap((contract) => [query(NAME, contract), query(SYMBOL, contract)])
  const replies = await askPrograms(node, { ...input, messages })
  return contracts.map((_, index) => {
    const [name, symbol] = [readText(NAME, replies[2 * index]), readText(SYMBOL, replies[2 * index + 1])]
    return name === null || symbol === null ? null : { name, symbol }
  })
}
