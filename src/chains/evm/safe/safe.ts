// The contract wallets of an EVM network, which are Safes. Each operation is in a file of this folder.

import { LRUCache } from 'lru-cache'
import { serializeErc6492Signature } from 'viem/utils'
import type { Payload, TypedData } from '../../../vault/language/payload.ts'
import type { Hex } from '../../chain.ts'
import type { ContractWallet, ContractWallets, Signable } from '../../contract-wallets.ts'
import type { NodeContext } from '../limits.ts'
import { signable } from '../messages.ts'
import { deployAndExecute } from './deploy-and-execute.ts'
import { callsOf, executed, execution } from './execution.ts'
import { findFailingCall } from './failing-call.ts'
import { deployment, deploymentData, deriveContractWallet, SAFE_ADDRESSES } from './settings.ts'
import { isDeployed, readState, type SafesFound } from './state.ts'

// Messages and typed data signed for a Safe (ERC-1271). The Safe's fallback handler accepts an EIP-712 signature of a
// SafeMessage with the digest of the message or the typed data. So a signature for one Safe is not valid for another
// one, nor for the key itself. If the Safe is not deployed, the signature includes the deployment (ERC-6492).

type Signed = { readonly isDeployed: boolean }

const accepted = (payload: Payload, wallet: ContractWallet, { isDeployed }: Signed): Signable<Hex> =>
  signable(payload, (signature) =>
    isDeployed
      ? signature
      : serializeErc6492Signature({ address: SAFE_ADDRESSES.proxyFactory, data: deploymentData(wallet), signature }),
  )

/** The message as bytes, not as text. Pure. */
export const contractMessage = (
  chainId: number,
  wallet: ContractWallet,
  { message, ...signed }: Signed & { readonly message: Uint8Array },
): Signable<Hex> => accepted({ kind: 'safe_message', chainId, safe: wallet.address, message }, wallet, signed)

const contractTypedData = (
  chainId: number,
  wallet: ContractWallet,
  { typedData, ...signed }: Signed & { readonly typedData: TypedData },
): Signable<Hex> => accepted({ kind: 'safe_typed_data', chainId, safe: wallet.address, typedData }, wallet, signed)

const KEPT_MAX = 10_000

/** It holds no keys. */
export const createContractWallets = (context: NodeContext & { readonly chainId: number }): ContractWallets => {
  const { rpc, network, chainId } = context
  const seen: SafesFound = { contracts: false }
  // A wallet's address takes four hashes, and each judged call asks for its signer's.
  const memo = new LRUCache<string, ContractWallet>({ max: KEPT_MAX, memoMethod: deriveContractWallet })
  return {
    of: (owner) => memo.memo(owner),
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
