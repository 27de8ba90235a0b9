// Contract wallets of an EVM network: Safes, each verb a file of this folder, put together here.

import type { Network } from '../../../../db/words.ts'
import type { ChainMemory } from '../../chain.ts'
import type { ContractWallets } from '../../contract-wallets.ts'
import type { Rpc } from '../../node/rpc.ts'
import type { SimulationLimits } from '../limits.ts'
import { deployAndExecute } from './deploy-and-execute.ts'
import { executed, execution } from './execution.ts'
import { findFailingCall } from './failing-call.ts'
import { contractMessage } from './message.ts'
import { contractWalletOf, deployment } from './settings.ts'
import { isDeployed, readState, type SafesSeen } from './state.ts'

/** Free of keys; asks the node only where a verb says so. */
export const createContractWallets = (context: {
  readonly rpc: Rpc
  readonly network: Network
  readonly chainId: number
  readonly limits: SimulationLimits
  readonly memory: Pick<ChainMemory, 'readAbiItems'>
}): ContractWallets => {
  const { rpc, network, chainId } = context
  const seen: SafesSeen = { contracts: false }
  return {
    of: contractWalletOf,
    state: (wallet) => readState({ rpc, network, seen }, wallet),
    isDeployed: (input) => isDeployed(rpc, input),
    deployment,
    execution,
    deployAndExecute: (wallet, input) => deployAndExecute(chainId, wallet, input),
    executed,
    failingCall: (input) => findFailingCall(context, input),
    message: (wallet, input) => contractMessage(chainId, wallet, input),
  }
}
