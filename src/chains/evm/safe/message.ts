// Messages signed for a Safe (ERC-1271). The Safe's fallback handler accepts an EIP-712 signature of a SafeMessage with the
// message's digest. So a signature for one Safe is not valid for another one, nor for the key itself. If the Safe is not
// deployed, the signature includes the deployment (ERC-6492).

import { serializeErc6492Signature } from 'viem'
import type { Hex } from '../../chain.ts'
import type { ContractWallet, Signable } from '../../contract-wallets.ts'
import { signable } from '../signable.ts'
import { deploymentData, SAFE_ADDRESSES } from './settings.ts'

/** The message as bytes, not as text. Pure. */
export const contractMessage = (
  chainId: number,
  wallet: ContractWallet,
  { message, isDeployed }: { readonly message: Uint8Array; readonly isDeployed: boolean },
): Signable<Hex> => {
  const payload = { kind: 'safe_message', chainId, safe: wallet.address, message } as const
  return signable(payload, (signature) =>
    isDeployed
      ? signature
      : serializeErc6492Signature({ address: SAFE_ADDRESSES.proxyFactory, data: deploymentData(wallet), signature }),
  )
}
