import { displayAmount } from '../chains/amount.ts'
import type { NodelessChain } from '../chains/chain.ts'
import { nativeToken, tokenOf } from '../tokens/token.ts'
import type { Activity } from './list.ts'
import type { WalletActivityItem } from './schema.ts'

/** An activity as callers see it. Pure. */
export const itemOf = (chain: NodelessChain, { movement, facts, display }: Activity): WalletActivityItem => {
  const { network, contract, tokenId, direction } = movement
  const shown = {
    uuid: movement.id,
    network,
    timestamp: movement.at.toISOString(),
    wallet_address: movement.address,
    transaction_hash: movement.transactionHash,
  }
  if (contract === null || facts === null) {
    const token = nativeToken(chain)
    const amount = displayAmount(movement.amount, token.decimals)
    return { ...shown, type: direction === 'in' ? 'receive_token' : 'send_token', metadata: { amount }, token }
  }
  if (tokenId === null) {
    const token = tokenOf({ network, address: contract, facts, display })
    const amount = displayAmount(movement.amount, token.decimals)
    return { ...shown, type: direction === 'in' ? 'receive_token' : 'send_token', metadata: { amount }, token }
  }
  return {
    ...shown,
    type: direction === 'in' ? 'receive_nft' : 'send_nft',
    metadata: { amount: movement.amount.toString(), token_id: tokenId.toString() },
    // A contract may claim decimals that an NFT cannot have.
    token: tokenOf({ network, address: contract, facts: { ...facts, decimals: 0 }, display }),
  }
}
