// Finds out how an NFT collection mints, by trying the known mint functions.

import { randomBytes } from 'node:crypto'
import { encodeFunctionData, keccak256, parseAbiItem, stringToHex } from 'viem/utils'
import { AppError } from '../../platform/errors.ts'
import type { BatchMintRequest, Hex, Intent, MintRequest } from '../chain.ts'
import { question } from '../node/rpc.ts'
import { bytes, hexText } from '../node/wire.ts'
import { supportsInterface } from './call.ts'
import { collectionAbi } from './contracts/collection.generated.ts'
import { editionsAbi } from './contracts/editions.generated.ts'
import type { NodeContext } from './limits.ts'
import { usableMint } from './mint-trials.ts'

/** thirdweb's TokenERC1155, and our collections: this id creates a new token. */
const NEW_TOKEN_ID = 2n ** 256n - 1n

type Pieces = NonNullable<MintRequest['pieces']>
type Candidate = { readonly name: string; readonly input: Hex }

const encode = (name: string, args: readonly unknown[]): Hex =>
  encodeFunctionData({ abi: [parseAbiItem(`function ${name}`)], args })

/** One URI is one token. */
const hashUri = (uri: string): bigint => BigInt(keccak256(stringToHex(uri)))

/** Pieces of an ERC-1155 token. A new one gets its id from the contract, or that of its URI. */
const pieceCandidates = ({ recipient, uri }: MintRequest, { tokenId, amount }: Pieces): readonly Candidate[] => {
  const [mintTo, mint] = ['mintTo(address,uint256,string,uint256)', 'mint(address,uint256,uint256,bytes)'] as const
  return [
    { name: mintTo, input: encode(mintTo, [recipient, tokenId ?? NEW_TOKEN_ID, uri, amount]) },
    { name: mint, input: encode(mint, [recipient, tokenId ?? hashUri(uri), amount, '0x']) },
  ]
}

/**
 * Functions that take the URI come first. The id of an ERC-1155 token is the digest of the URI, so that one URI is one
 * token. For an ERC-721 function that takes an id and a URI, the id is random, so that no other mint has it.
 * `safeMint(address, uint256)` is not tried: there the id says what the token is, and only its owner knows that.
 */
const candidates = ({ recipient, uri }: MintRequest): readonly Candidate[] => {
  const randomId = BigInt(`0x${randomBytes(16).toString('hex')}`)
  const functions: readonly (readonly [name: string, args: readonly unknown[]])[] = [
    ['safeMint(address,string)', [recipient, uri]],
    ['mint(address,string)', [recipient, uri]],
    ['mintTo(address,string)', [recipient, uri]],
    ['mintNFT(address,string)', [recipient, uri]],
    ['awardItem(address,string)', [recipient, uri]],
    ['safeMint(address,uint256,string)', [recipient, randomId, uri]],
    ['mintTo(address,uint256,string,uint256)', [recipient, NEW_TOKEN_ID, uri, 1n]],
    ['safeMint(address)', [recipient]],
    ['mint(address)', [recipient]],
    ['mintTo(address)', [recipient]],
    ['mint(address,uint256,uint256,bytes)', [recipient, hashUri(uri), 1n, '0x']],
  ]
  return functions.map(([name, args]) => ({ name, input: encode(name, args) }))
}

export const mintIntent = async (context: NodeContext, request: MintRequest): Promise<Intent> => {
  const { contract, from, recipient, pieces } = request
  const code = await context.rpc.ask(question('eth_getCode', [contract, 'latest'], bytes))
  if (code === '0x') throw new AppError('mint_unsupported', 'There is no contract at contract_address.')
  return usableMint(context, {
    contract,
    from,
    recipient,
    standards: pieces === undefined ? ['erc721', 'erc1155'] : ['erc1155'],
    candidates: pieces === undefined ? candidates(request) : pieceCandidates(request, pieces),
  })
}

/** The selectors of the batches of our own collections, which are also their ERC-165 ids. */
const BATCH_MINT = '0x93fe996c'
const BATCH_MINT_PIECES = '0x206a6548'
const NO_DIGEST: Hex = `0x${'00'.repeat(32)}`

const digestWord = ({ digest }: BatchMintRequest['mints'][number]): Hex =>
  digest === null ? NO_DIGEST : hexText(`0x${digest}`)

const singlesBatch = ({ mints, digestUri: { prefix, suffix } }: BatchMintRequest): Candidate => {
  const withPieces = mints.findIndex(({ pieces }) => pieces !== undefined)
  if (withPieces >= 0) {
    const sentence = `Fields "mints.${withPieces}.token_id" and "amount" must be absent: contract_address is an ERC-721 collection.`
    throw new AppError('invalid_input', sentence)
  }
  const args = [mints.map(({ recipient }) => hexText(recipient)), mints.map(digestWord), prefix, suffix] as const
  const input = encodeFunctionData({ abi: collectionAbi, functionName: 'safeMintBatch', args })
  return { name: 'safeMintBatch', input }
}

const piecesBatch = ({ mints, digestUri: { prefix, suffix } }: BatchMintRequest): Candidate => {
  const each = mints.map((mint) => ({
    to: hexText(mint.recipient),
    tokenId: mint.pieces?.tokenId ?? NEW_TOKEN_ID,
    amount: mint.pieces?.amount ?? 1n,
    digest: digestWord(mint),
  }))
  const input = encodeFunctionData({ abi: editionsAbi, functionName: 'mintToBatch', args: [each, prefix, suffix] })
  return { name: 'mintToBatch', input }
}

/** @throws batch_unsupported for a collection that was not created here. */
export const batchMintIntent = async (context: NodeContext, request: BatchMintRequest): Promise<Intent> => {
  const { contract, from, mints } = request
  const [first] = mints
  if (first === undefined) throw new Error('expected at least one mint')
  const has = (interfaceId: Hex) => supportsInterface(context.rpc, { contract, interfaceId })
  const [hasSingles, hasPieces] = await Promise.all([has(BATCH_MINT), has(BATCH_MINT_PIECES)])
  if (!hasSingles && !hasPieces) {
    throw new AppError('batch_unsupported', 'Only a collection that was created here mints several NFTs at once.')
  }
  return usableMint(context, {
    contract,
    from,
    recipient: first.recipient,
    standards: [hasSingles ? 'erc721' : 'erc1155'],
    candidates: [hasSingles ? singlesBatch(request) : piecesBatch(request)],
  })
}
