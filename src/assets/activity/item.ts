import type { MovementRow } from '../../../db/queries/movements.ts'
import type { AddressFacts } from '../../chains/chain.ts'
import { displayAmount } from '../../platform/amount.ts'
import type { TokenDisplay } from '../../platform/networks.ts'
import { type CoinOfNetwork, nativeToken, tokenOf } from '../../signing/token.ts'
import type { WalletActivityItem } from './schema.ts'

export type Activity = {
  readonly movement: Pick<
    MovementRow,
    | 'id'
    | 'network'
    | 'at'
    | 'address'
    | 'direction'
    | 'contract'
    | 'tokenId'
    | 'amount'
    | 'transactionHash'
    | 'initiatedBy'
  > & {
    /** The other end; null if an event does not say it. */
    readonly counterparty: MovementRow['counterparty'] | null
  }
  /** Facts about the contract of the token or the collection; null for the native coin. */
  readonly facts: Pick<AddressFacts, 'name' | 'symbol' | 'decimals'> | null
  /** How a token list shows the contract's tokens. */
  readonly display?: TokenDisplay | undefined
}

/** An activity as callers see it. Pure. */
export const itemOf = (chain: CoinOfNetwork, { movement, facts, display }: Activity): WalletActivityItem => {
  const { network, contract, tokenId, direction, address, counterparty, initiatedBy } = movement
  const [from, to] = direction === 'in' ? [counterparty, address] : [address, counterparty]
  const shown = {
    uuid: movement.id,
    network,
    timestamp: movement.at.toISOString(),
    wallet_address: movement.address,
    transaction_hash: movement.transactionHash,
    ...(from === null || to === null ? {} : { from, to }),
    ...(initiatedBy === null ? {} : { initiated_by: initiatedBy }),
  }
  const isCoin = contract === null || facts === null
  if (isCoin || tokenId === null) {
    const token = isCoin ? nativeToken(chain) : tokenOf({ network, address: contract, facts, display })
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
