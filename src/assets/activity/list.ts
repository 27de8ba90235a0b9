import type { HasDb } from '../../../db/client.ts'
import { findListKey, listMovements, type MovementRow } from '../../../db/queries/movements.ts'
import type { Reach } from '../../../db/queries/wallets.ts'
import type { Network } from '../../../db/words.ts'
import type { AddressFacts } from '../../chains/chain.ts'
import type { HasChains } from '../../chains/chains.ts'
import { displayAmount } from '../../platform/amount.ts'
import { AppError } from '../../platform/errors.ts'
import type { TokenDisplay } from '../../platform/networks.ts'
import type { HasIdentity } from '../../platform/sealing/sealer.ts'
import { type CoinOfNetwork, nativeToken, tokenDisplays, tokenOf } from '../../signing/token.ts'
import { type HasWallets, ownWallet } from '../../signing/wallets/get.ts'
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

export const describeActivity = (chain: CoinOfNetwork, { movement, facts, display }: Activity): WalletActivityItem => {
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

/**
 * Newest first.
 * @param input.before the uuid of an item: only older ones. So a caller sees each item once, and each page is equally
 * fast.
 */
export const listActivity = async (
  ctx: HasDb & HasChains & HasWallets & HasIdentity,
  input: Reach & {
    readonly network: Network
    readonly walletAddress: string
    readonly before: string | null
    readonly limit: number
    readonly offset: number
  },
): Promise<readonly Activity[]> => {
  const { network, limit, offset } = input
  const { chain, address } = await ownWallet(ctx, input)
  const before = input.before === null ? null : await findListKey(ctx.db, { network, address, id: input.before })
  if (before === null && input.before !== null) {
    // A reorganisation may have removed it.
    const sentence = 'Field "before" must be the uuid of an item in this list; start again without it.'
    throw new AppError('invalid_input', sentence)
  }
  const rows = await listMovements(ctx.db, { network, address, before, limit, offset })
  const contracts = new Set(rows.flatMap((row) => row.contract ?? []))
  const [facts, displays] = await Promise.all([
    chain.facts([...contracts]),
    tokenDisplays(ctx, { chain, addresses: [...contracts], projectId: input.projectId }),
  ])
  return rows.map((movement) => {
    const known = facts.get(movement.contract ?? '')
    if (known === undefined && movement.contract !== null) {
      throw new Error('the chain returned no facts about a requested contract')
    }
    return { movement, facts: known ?? null, display: displays.get(movement.contract ?? '') }
  })
}
