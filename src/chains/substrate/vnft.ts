// VNFT programs (Vara's standard for NFTs). The items are those of service Vnft in the IDL of the extended VNFT
// (wiki.vara.network, Standards, VNFT; gear-foundation/standards, extended-vnft).

import { AppError } from '../../errors.ts'
import type { Hex, Intent, MintRequest, TransferNftRequest } from '../chain.ts'
import { readNow } from './blocks.ts'
import { actorId, askPrograms, type Reply } from './gear.ts'
import type { SubstrateNode } from './node.ts'
import type { Runtime } from './runtime.ts'
import { decodePayload, encodePayload, isOf, type SailsItem } from './sails.ts'

const ACTOR_ID = '[u8;32]'
/** name, description, media, reference. */
const TOKEN_METADATA = '(Text,Text,Text,Text)'
const U256_END = 2n ** 256n

const item = (name: string, ...types: readonly string[]): SailsItem => ({ service: 'Vnft', name, types })

const MINT = item('Mint', ACTOR_ID, TOKEN_METADATA)
const TRANSFER = item('Transfer', ACTOR_ID, 'u256')
const MINTERS = item('Minters')
const MINTERS_REPLY = item('Minters', `Vec<${ACTOR_ID}>`)
const NAME = item('Name')
const SYMBOL = item('Symbol')
const METADATA = item('TokenMetadataById', 'u256')
const METADATA_REPLY = item('TokenMetadataById', `Option<${TOKEN_METADATA}>`)

/** The sender of queries; programs do not look at it. */
const NOBODY: Hex = `0x${'00'.repeat(32)}`

/** The address of a program. @param contract its id in hex, as parseContract returns it */
type AddressOf = (contract: string) => string

const mintPayload = ({ recipient, uri, metadata }: MintRequest): Hex => {
  const { name = '', description = '', image = '' } = metadata ?? {}
  return encodePayload(MINT, [actorId(recipient), [name, description, image, uri]])
}

const mintRefusal = (from: string, mint: Reply | null, minters: Reply | null): AppError => {
  const listed = minters === null ? null : decodePayload(MINTERS_REPLY, minters.payload)?.[0]
  if (minters?.failure === null && Array.isArray(listed) && !listed.includes(actorId(from))) {
    return new AppError(
      'mint_unauthorized',
      `Only the minters of contract_address may mint, and ${from} is none of them.`,
    )
  }
  const why =
    mint === null
      ? 'no program of this network answers there'
      : (mint.failure ?? 'it does not answer as a VNFT program does')
  return new AppError('mint_unsupported', `contract_address does not mint by Vnft.Mint: ${why}.`)
}

/**
 * Mints a token, after a simulation on the program. The program stores the metadata's name and description, its image as `media`
 * and its URI as `reference`. Without metadata it stores only the `reference`.
 */
export const mintIntent = async (
  node: SubstrateNode,
  { request, addressOf }: { readonly request: MintRequest; readonly addressOf: AddressOf },
): Promise<Intent> => {
  const { from } = request
  const to = addressOf(request.contract)
  const input = mintPayload(request)
  const { head, runtime } = await readNow(node)
  const [mint = null, minters = null] = await askPrograms(node, {
    runtime,
    blockHash: head.hash,
    messages: [
      { from, to, input, value: 0n },
      { from, to, input: encodePayload(MINTERS, []), value: 0n },
    ],
  })
  const isDone = mint !== null && mint.failure === null && isOf(MINT, mint.payload)
  if (!isDone) throw mintRefusal(from, mint, minters)
  return { to, value: 0n, input }
}

/** Transfers a token. Pure. */
export const transferIntent = (
  { contract, recipient, tokenId, amount }: TransferNftRequest,
  addressOf: AddressOf,
): Intent => {
  if (amount !== 1n) throw new AppError('invalid_input', 'Field "amount" must be 1 for a token of a VNFT program.')
  if (tokenId >= U256_END) throw new AppError('invalid_input', 'Field "token_id" must be below 2^256.')
  return { to: addressOf(contract), value: 0n, input: encodePayload(TRANSFER, [actorId(recipient), tokenId]) }
}

const isText = (value: unknown): value is string => typeof value === 'string'

/** A data URI with the metadata that the program stores; without name and image, the `reference`. */
const uriOf = (reply: Reply | null): string | null => {
  const [metadata] = (reply?.failure === null && decodePayload(METADATA_REPLY, reply.payload)) || []
  if (!Array.isArray(metadata) || !metadata.every(isText)) return null
  const [name = '', description = '', image = '', reference = ''] = metadata
  if (name === '' && image === '') return reference === '' ? null : reference
  const body = JSON.stringify({ name, description, image })
  return `data:application/json;base64,${Buffer.from(body).toString('base64')}`
}

/** The URI of each token; null if the program has no metadata for it. */
export const tokenUris = async (
  node: SubstrateNode,
  {
    tokens,
    addressOf,
  }: { readonly tokens: readonly { contract: string; tokenId: bigint }[]; readonly addressOf: AddressOf },
): Promise<readonly (string | null)[]> => {
  const { head, runtime } = await readNow(node)
  const messages = tokens.map(({ contract, tokenId }) => ({
    from: addressOf(NOBODY),
    to: addressOf(contract),
    input: encodePayload(METADATA, [tokenId]),
    value: 0n,
  }))
  return (await askPrograms(node, { runtime, blockHash: head.hash, messages })).map(uriOf)
}

const textOf = (query: SailsItem, reply: Reply | null | undefined): string | null => {
  const [text] = (reply?.failure === null && decodePayload({ ...query, types: ['Text'] }, reply.payload)) || []
  return isText(text) ? text : null
}

/** Asks programs for their names and symbols; null for a program that does not answer these queries of VNFT. */
export const programNames = async (
  node: SubstrateNode,
  input: {
    readonly runtime: Runtime
    readonly blockHash: Hex
    readonly contracts: readonly string[]
    readonly addressOf: AddressOf
  },
): Promise<readonly ({ readonly name: string; readonly symbol: string } | null)[]> => {
  const { contracts, addressOf } = input
  if (contracts.length === 0) return []
  const from = addressOf(NOBODY)
  const messages = contracts.flatMap((contract) =>
    [NAME, SYMBOL].map((query) => ({ from, to: addressOf(contract), input: encodePayload(query, []), value: 0n })),
  )
  const replies = await askPrograms(node, { ...input, messages })
  return contracts.map((_, index) => {
    const [name, symbol] = [textOf(NAME, replies[2 * index]), textOf(SYMBOL, replies[2 * index + 1])]
    return name === null || symbol === null ? null : { name, symbol }
  })
}
