import type { UnsettledRow } from '../../db/queries/mined.ts'
import type { Chain, HashStatus, Hex } from '../chains/chain.ts'
import type { ContractWallet, ContractWallets } from '../chains/contract-wallets.ts'
import type { News } from './learn.ts'

type Failure = Extract<News, { kind: 'confirmed' }>['failure']

const isHex = (text: string): text is Hex => text.startsWith('0x')

/**
 * How a mined execution failed, null where it did not. A receipt is the word on what a key sent; on what a contract wallet
 * was to do only the wallet's own event is, and why it could not is asked of the calls within.
 * @throws node_unavailable.
 */
export const failureOf = async (
  { contractWallets }: Pick<Chain, 'contractWallets'>,
  { row, status }: { readonly row: UnsettledRow; readonly status: Extract<HashStatus, { kind: 'mined' }> },
): Promise<Failure> => {
  const { kind, contractWallet: address, input } = row
  const isExecuted = address === null || kind === 'deployment' || status.executedBy.includes(address)
  if (status.success && isExecuted) return null
  if (address === null || kind === 'deployment' || contractWallets === null) {
    return { code: 'execution_reverted', reason: status.reason }
  }
  const wallet = { address, owner: row.signerAddress }
  if (status.success) {
    const reason = await changeOf(contractWallets, wallet)
    // A call of an address without code succeeds, and does nothing.
    return { code: reason === null ? 'contract_wallet_not_deployed' : 'execution_reverted', reason }
  }
  const { blockNumber } = status
  const intents = isHex(input) ? contractWallets.executed(input) : null
  const hindrance = intents === null ? null : await contractWallets.hindrance({ address, intents, blockNumber })
  return { code: 'execution_reverted', reason: hindrance?.reason ?? (await changeOf(contractWallets, wallet)) }
}

/**
 * Whether it no longer obeys its key alone, as it stands now: a Safe says that in numbers (GS026), or not at all. null also
 * where it cannot be told, so that nobody's end waits for it.
 */
const changeOf = async (contractWallets: ContractWallets, wallet: ContractWallet): Promise<string | null> => {
  const state = await contractWallets.state(wallet).catch(() => null)
  return state?.kind === 'changed' ? `the contract wallet no longer obeys its key alone: ${state.how}` : null
}
