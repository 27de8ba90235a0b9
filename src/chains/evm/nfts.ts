// Tokens of ERC-721 and ERC-1155 collections: the URIs of their metadata, transfers, and our own collection contract.

import { decodeAbiParameters, encodeDeployData, encodeFunctionData, parseAbi } from 'viem/utils'
import { AppError } from '../../platform/errors.ts'
import type { AddressFacts, CollectionRequest, Hex, Intent, TransferNftRequest } from '../chain.ts'
import type { Answer, Rpc } from '../node/rpc.ts'
import { hexText } from '../node/wire.ts'
import { decoded, readQuestion, returned } from './call.ts'
import { collectionAbi, collectionBytecode } from './contracts/collection.generated.ts'
import { editionsAbi, editionsBytecode } from './contracts/editions.generated.ts'

/** Some contracts return the whole image as a data URI. A longer URI is not shown. */
const URI_LIMIT = 65_536

const ABI = parseAbi([
  'function tokenURI(uint256 tokenId) view returns (string)',
  'function uri(uint256 id) view returns (string)',
  'function contractURI() view returns (string)',
  'function safeTransferFrom(address from, address to, uint256 tokenId)',
  'function safeTransferFrom(address from, address to, uint256 id, uint256 value, bytes data)',
])

const read = (to: string, data: Hex) => readQuestion({ to, data })

const readUri = (rpc: Rpc, answer: Answer<Hex>): string | null => {
  const uri = decoded(returned(rpc, answer), (data) => decodeAbiParameters([{ type: 'string' }], data)[0])
  return uri === null || uri === '' || uri.length > URI_LIMIT ? null : uri
}

/** EIP-1155, "Metadata": clients replace `{id}` by the id as 64 lower-case hex digits. */
const withId = (uri: string | null, tokenId: bigint): string | null =>
  uri?.replaceAll('{id}', tokenId.toString(16).padStart(64, '0')) ?? null

/** tokenURI (EIP-721), otherwise uri (EIP-1155), of each token in order; null if there is none. */
export const readTokenUris = async (
  rpc: Rpc,
  tokens: readonly { readonly contract: string; readonly tokenId: bigint }[],
): Promise<readonly (string | null)[]> => {
  const answers: readonly Answer<Hex>[] = await rpc.tryAll(
    tokens.flatMap(({ contract, tokenId }) => [
      read(contract, encodeFunctionData({ abi: ABI, functionName: 'tokenURI', args: [tokenId] })),
      read(contract, encodeFunctionData({ abi: ABI, functionName: 'uri', args: [tokenId] })),
    ]),
  )
  const uris = answers.map((answer) => readUri(rpc, answer))
  return tokens.map(({ tokenId }, index) => uris[2 * index] ?? withId(uris[2 * index + 1] ?? null, tokenId))
}

/** contractURI (ERC-7572): the URI of a collection's own metadata; null if it has none. */
export const readContractUri = async (rpc: Rpc, contract: string): Promise<string | null> =>
  readUri(rpc, await rpc.try(read(contract, encodeFunctionData({ abi: ABI, functionName: 'contractURI' }))))

export const transferNftIntent = (request: TransferNftRequest, facts: AddressFacts | undefined): Intent => {
  const { contract, tokenId, amount } = request
  const from = hexText(request.from)
  const to = hexText(request.recipient)
  const call = (input: Hex): Intent => ({ to: contract, value: 0n, input })
  switch (facts?.standard) {
    case 'erc721':
      if (amount !== 1n)
        throw new AppError('invalid_input', 'Field "amount" must be 1 for a token of an ERC-721 collection.')
      return call(encodeFunctionData({ abi: ABI, functionName: 'safeTransferFrom', args: [from, to, tokenId] }))
    case 'erc1155': {
      const args = [from, to, tokenId, amount, '0x'] as const
      return call(encodeFunctionData({ abi: ABI, functionName: 'safeTransferFrom', args }))
    }
    default:
      throw new AppError('invalid_input', 'contract_address must be an ERC-721 or ERC-1155 collection.')
  }
}

export const collectionIntent = (request: CollectionRequest): Intent => {
  const { name, symbol, baseUri, contractUri, royalty, isSoulbound = false, standard = 'erc721' } = request
  const owner = hexText(request.owner)
  const { recipient, basisPoints } = royalty ?? { recipient: owner, basisPoints: 0 }
  const royalties = [hexText(recipient), BigInt(basisPoints)] as const
  const args = [name, symbol, baseUri, contractUri, owner, ...royalties, isSoulbound] as const
  const input =
    standard === 'erc721'
      ? encodeDeployData({ abi: collectionAbi, bytecode: collectionBytecode, args })
      : encodeDeployData({ abi: editionsAbi, bytecode: editionsBytecode, args })
  return { to: null, value: 0n, input }
}
