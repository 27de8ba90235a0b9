// VNFT programs (Vara's standard for NFTs). The items are those of service Vnft in the IDL of the extended VNFT
// (wiki.vara.network, Standards, VNFT; gear-foundation/standards, extended-vnft).

import { AppError } from '../../platform/errors.ts'
import type { Hex, Intent, MintRequest, TransferNftRequest } from '../chain.ts'
import { actorId, programAddress } from './address.ts'
import { readFinalState } from './blocks.ts'
import { askPrograms, type Reply } from './gear.ts'
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

const query = (asked: SailsItem, contract: string, values: readonly unknown[] = [], from: string = NOBODY) => ({
  from,
  to: contract,
  input: encodePayload(asked, values),
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
 * Mints a token, after a simulation on the program. The program stores the metadata's name and description, its image as `media`
 * and its URI as `reference`. Without metadata it stores only the `reference`.
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

/** Transfers a token. */
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
  tokens: readonly { readonly contract: string; readonly tokenId: bigint }[],
): Promise<readonly (string | null)[]> => {
  const { head, runtime } = await readFinalState(node)
  const messages = tokens.map(({ contract, tokenId }) => query(METADATA, contract, [tokenId]))
  return (await askPrograms(node, { runtime, blockHash: head.hash, messages })).map(uriOf)
}

/** A VNFT program has no metadata of the collection. */
export const contractUri = async (): Promise<null> => null

const textOf = (asked: SailsItem, reply: Reply | null | undefined): string | null => {
  const [text] = (reply?.failure === null && decodePayload({ ...asked, types: ['Text'] }, reply.payload)) || []
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
    const [name, symbol] = [textOf(NAME, replies[2 * index]), textOf(SYMBOL, replies[2 * index + 1])]
    return name === null || symbol === null ? null : { name, symbol }
  })
}
