// Messages and typed data signed for a Safe (ERC-1271). The Safe's fallback handler accepts an EIP-712 signature of a SafeMessage with the
// digest of the message or the typed data. So a signature for one Safe is not valid for another one, nor for the key itself. If the Safe is not
// deployed, the signature includes the deployment (ERC-6492).

import { serializeErc6492Signature } from 'viem'
import type { Payload, TypedData } from '../../../vault/language/payload.ts'
import type { Hex } from '../../chain.ts'
import type { ContractWallet, Signable } from '../../contract-wallets.ts'
import { signable } from '../signable.ts'
import { deploymentData, SAFE_ADDRESSES } from './settings.ts'

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

/** Pure. */
export const contractTypedData = (
  chainId: number,
  wallet: ContractWallet,
  { typedData, ...signed }: Signed & { readonly typedData: TypedData },
): Signable<Hex> => accepted({ kind: 'safe_typed_data', chainId, safe: wallet.address, typedData }, wallet, signed)
