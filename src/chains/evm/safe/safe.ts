// The contract wallets of an EVM network, which are Safes. Each operation is in a file of this folder.

import { LRUCache } from 'lru-cache'
import type { ContractWallet, ContractWallets } from '../../contract-wallets.ts'
import type { NodeContext } from '../limits.ts'
import { deployAndExecute } from './deploy-and-execute.ts'
import { callsOf, executed, execution } from './execution.ts'
import { findFailingCall } from './failing-call.ts'
import { contractMessage, contractTypedData } from './message.ts'
import { contractWalletOf, deployment } from './settings.ts'
import { isDeployed, readState, type SafesSeen } from './state.ts'

const KEPT_MAX = 10_000

/** It holds no keys. */
export const createContractWallets = (context: NodeContext & { readonly chainId: number }): ContractWallets => {
  const { rpc, network, chainId } = context
  const seen: SafesSeen = { contracts: false }
  // A wallet's address takes four hashes, and each judged call asks for its signer's.
  const kept = new LRUCache<string, ContractWallet>({ max: KEPT_MAX, memoMethod: contractWalletOf })
  return {
    of: (owner) => kept.memo(owner),
    state: (wallet) => readState({ rpc, network, seen }, wallet),
    isDeployed: (input) => isDeployed(rpc, input),
    deployment,
    execution,
    deployAndExecute: (wallet, input) => deployAndExecute(chainId, wallet, input),
    executed,
    callsOf,
    failingCall: (input) => findFailingCall(context, input),
    message: (wallet, input) => contractMessage(chainId, wallet, input),
    typedData: (wallet, input) => contractTypedData(chainId, wallet, input),
  }
}
