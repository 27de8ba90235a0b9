// Finds out how an NFT collection mints, by trying the known mint functions.

import { randomBytes } from 'node:crypto'
import { encodeFunctionData, keccak256, parseAbiItem, stringToHex } from 'viem'
import { AppError } from '../../errors.ts'
import type { Hex, Intent, MintRequest } from '../chain.ts'
import { question } from '../node/rpc.ts'
import { bytes } from '../node/wire.ts'
import type { NodeContext } from './limits.ts'
import { usableMint } from './mint-trials.ts'

/** thirdweb's TokenERC1155: this id creates a new token. */
const NEW_TOKEN_ID = 2n ** 256n - 1n

type Candidate = { readonly name: string; readonly input: Hex }

const encode = (name: string, args: readonly unknown[]): Hex =>
  encodeFunctionData({ abi: [parseAbiItem(`function ${name}`)], args })

/**
 * Functions that take the URI come first. The id of an ERC-1155 token is the digest of the URI, so that one URI is one token.
 * For an ERC-721 function that takes an id and a URI, the id is random, so that no other mint has it. `safeMint(address,
 * uint256)` is not tried: there the id says what the token is, and only the collection's owner knows that.
 */
const candidates = ({ recipient, uri }: MintRequest): readonly Candidate[] => {
  const id = BigInt(keccak256(stringToHex(uri)))
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
    ['mint(address,uint256,uint256,bytes)', [recipient, id, 1n, '0x']],
  ]
  return functions.map(([name, args]) => ({ name, input: encode(name, args) }))
}

export const mintIntent = async (context: NodeContext, request: MintRequest): Promise<Intent> => {
  const { contract, from, recipient } = request
  const code = await context.rpc.ask(question('eth_getCode', [contract, 'latest'], bytes))
  if (code === '0x') throw new AppError('mint_unsupported', 'There is no contract at contract_address.')
  return usableMint(context, {
    contract,
    from,
    recipient,
    standards: ['erc721', 'erc1155'],
    candidates: candidates(request),
  })
}
