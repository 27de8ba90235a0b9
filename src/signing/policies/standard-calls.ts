// The functions of ERC-20, ERC-721 and ERC-1155 by their signatures: what they do, and what their arguments mean. A
// function has this meaning only on a contract of the standard.

import type { AssetStandard } from '../../../db/words.ts'

export type StandardCall = {
  readonly effect: 'sends' | 'destroys' | 'makes' | 'approves' | 'approves all' | 'disapproves'
  /** Completes "the function …, which …". */
  readonly does: string
  /** Indices of arguments. */
  readonly amountAt?: number
  readonly recipientAt?: number
  readonly spenderAt?: number
  readonly approvedAt?: number
}

type StandardCalls = Readonly<Record<string, StandardCall>>

const TAKE_ALL = { effect: 'approves all', does: 'lets somebody else take every NFT of the collection' } as const

const ALLOWS = { effect: 'approves', spenderAt: 0, amountAt: 1 } as const

const ERC20: StandardCalls = {
  'transfer(address,uint256)': { effect: 'sends', does: 'sends tokens', recipientAt: 0, amountAt: 1 },
  'transferFrom(address,address,uint256)': { effect: 'sends', does: 'sends tokens', recipientAt: 1, amountAt: 2 },
  'approve(address,uint256)': { ...ALLOWS, does: 'lets somebody else take tokens' },
  'increaseAllowance(address,uint256)': { ...ALLOWS, does: 'lets somebody else take more tokens' },
  'decreaseAllowance(address,uint256)': {
    ...ALLOWS,
    effect: 'disapproves',
    does: 'lets somebody else take fewer tokens',
  },
  'batchTransfer(address[],uint256[])': { effect: 'sends', does: 'sends tokens to several recipients' },
  'burn(uint256)': { effect: 'destroys', does: 'destroys tokens', amountAt: 0 },
  'burnFrom(address,uint256)': { effect: 'destroys', does: 'destroys tokens', amountAt: 1 },
  'mint(address,uint256)': { effect: 'makes', does: 'makes tokens', recipientAt: 0, amountAt: 1 },
}

const GIVES = { effect: 'sends', does: 'gives an NFT away', recipientAt: 1 } as const
const MAKES = { effect: 'makes', does: 'makes an NFT', recipientAt: 0 } as const

const ERC721: StandardCalls = {
  'transferFrom(address,address,uint256)': GIVES,
  'safeTransferFrom(address,address,uint256)': GIVES,
  'safeTransferFrom(address,address,uint256,bytes)': GIVES,
  'approve(address,uint256)': { effect: 'approves', does: 'lets somebody else take an NFT', spenderAt: 0 },
  'setApprovalForAll(address,bool)': { ...TAKE_ALL, spenderAt: 0, approvedAt: 1 },
  'burn(uint256)': { effect: 'destroys', does: 'destroys an NFT' },
  'safeMint(address)': MAKES,
  'safeMint(address,string)': MAKES,
  'safeMint(address,uint256)': MAKES,
  'safeMint(address,uint256,string)': MAKES,
  'safeMintBatch(address[],bytes32[],string,string)': { effect: 'makes', does: 'makes NFTs' },
  'mint(address)': MAKES,
  'mint(address,string)': MAKES,
  'mint(address,uint256)': MAKES,
  'mintTo(address)': MAKES,
  'mintTo(address,string)': MAKES,
  'mintNFT(address,string)': MAKES,
  'awardItem(address,string)': MAKES,
}

const ERC1155: StandardCalls = {
  'safeTransferFrom(address,address,uint256,uint256,bytes)': GIVES,
  'safeBatchTransferFrom(address,address,uint256[],uint256[],bytes)': { ...GIVES, does: 'gives NFTs away' },
  'setApprovalForAll(address,bool)': { ...TAKE_ALL, spenderAt: 0, approvedAt: 1 },
  'burn(address,uint256,uint256)': { effect: 'destroys', does: 'destroys NFTs' },
  'mint(address,uint256,uint256,bytes)': { ...MAKES, does: 'makes NFTs' },
  'mintTo(address,uint256,string,uint256)': { ...MAKES, does: 'makes NFTs' },
}

const CALLS: Readonly<Partial<Record<AssetStandard, StandardCalls>>> = {
  erc20: ERC20,
  erc721: ERC721,
  erc1155: ERC1155,
}

const APPROVAL_NAMES = /^(?:approve|increaseAllowance|increaseApproval|setApprovalForAll|permit)/i

/** Treat functions with these names as approvals, whatever their contract and arguments are. Pure. */
export const isNamedLikeApproval = (functionName: string): boolean => APPROVAL_NAMES.test(functionName)

/** null for a function that the standard does not have. Pure. */
export const standardCallOf = (standard: AssetStandard, signature: string): StandardCall | null => {
  const calls = CALLS[standard] ?? {}
  return Object.hasOwn(calls, signature) ? (calls[signature] ?? null) : null
}
