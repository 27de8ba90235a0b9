// A message signed for a Safe (ERC-1271). Its fallback handler takes a signature of EIP-712's SafeMessage over the digest
// that it is asked about, so that what a key signs for one Safe holds for no other, and not for the key itself. Without code
// there is nobody to ask: the signature then carries the deployment along (ERC-6492).

import { hashMessage, hashTypedData, serializeErc6492Signature } from 'viem'
import type { Hex } from '../../chain.ts'
import type { ContractWallet, Signable } from '../../contract-wallets.ts'
import { hexText } from '../../node/wire.ts'
import { signable } from '../signable.ts'
import { deploymentData, SAFE_ADDRESSES } from './settings.ts'

/** The message as bytes, not as text. Pure. */
export const contractMessage = (
  chainId: number,
  wallet: ContractWallet,
  { message, isDeployed }: { readonly message: Uint8Array; readonly isDeployed: boolean },
): Signable<Hex> => {
  const digest = hashTypedData({
    domain: { chainId, verifyingContract: hexText(wallet.address) },
    // CompatibilityFallbackHandler.sol 1.4.1, SAFE_MSG_TYPEHASH; a bytes32 is its own ABI encoding.
    types: { SafeMessage: [{ name: 'message', type: 'bytes' }] },
    primaryType: 'SafeMessage',
    message: { message: hashMessage({ raw: message }) },
  })
  return signable(digest, (signature) =>
    isDeployed
      ? signature
      : serializeErc6492Signature({ address: SAFE_ADDRESSES.proxyFactory, data: deploymentData(wallet), signature }),
  )
}
