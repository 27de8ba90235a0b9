import type { AddressFacts, Chain } from '../chains/chain.ts'
import type { PreviewContract } from '../transactions/preview-schema.ts'
import { type TokenLook, tokenOf } from './token.ts'

/** A contract as previews and look-ups show it; null for an address without code. Pure. */
export const contractOf = (input: {
  readonly chain: Pick<Chain, 'network' | 'parseContract'>
  readonly address: string
  readonly facts: AddressFacts
  readonly look: TokenLook | undefined
}): PreviewContract | null => {
  const { chain, address, facts, look } = input
  const { network } = chain
  if (!facts.isContract) return null
  const logoUrl = look?.logoUrl ?? ''
  const shown = { network, address, name: facts.name, logo_url: logoUrl }
  if (facts.standard === 'erc20') return { ...shown, type: 'token', token: tokenOf({ ...input, network }), nft: null }
  if (facts.standard !== 'erc721' && facts.standard !== 'erc1155') {
    return { ...shown, type: 'other', token: null, nft: null }
  }
  // A program's address is no contract's word.
  const contract = chain.parseContract(address, 'address')
  const nft = { network, contract_address: contract, name: facts.name, image_url: logoUrl, symbol: facts.symbol }
  return { ...shown, type: 'nft', token: null, nft }
}
