import type { WalletRow } from '../../../db/queries/wallets.ts'
import type { Chain } from '../../chains/chain.ts'
import type { ContractWallet, ContractWallets } from '../../chains/contract-wallets.ts'
import { AppError } from '../../platform/errors.ts'

export type ReadContractWallet = {
  readonly wallet: ContractWallet
  readonly isDeployed: boolean
  /** The contract wallets of its chain. */
  readonly contractWallets: ContractWallets
}

/** The address of a wallet's key, whose nonces and coins are used. Pure. */
export const signerAddressOf = (
  chain: Pick<Chain, 'addressOf'>,
  { type, address, publicKey }: Pick<WalletRow, 'type' | 'address' | 'publicKey'>,
): string => (type === 'contract' ? chain.addressOf(publicKey) : address)

/** Reads a contract wallet and whether it has code; null for an eoa wallet, without asking a node. */
export const readContractWallet = async (
  chain: Pick<Chain, 'contractWallets' | 'addressOf'>,
  row: Pick<WalletRow, 'type' | 'address' | 'publicKey'>,
): Promise<ReadContractWallet | null> => {
  if (row.type !== 'contract') return null
  const { contractWallets } = chain
  if (contractWallets === null) throw new Error('a contract wallet on a network without contract wallets')
  const wallet = { address: row.address, owner: signerAddressOf(chain, row) }
  const state = await contractWallets.state(wallet)
  if (state.kind === 'changed') {
    throw new AppError(
      'contract_wallet_changed',
      `The contract wallet ${wallet.address} no longer obeys its key alone: ${state.how}. Strongroom does not sign for it.`,
    )
  }
  return { wallet, isDeployed: state.kind === 'ready', contractWallets }
}
