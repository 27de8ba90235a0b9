// The parts of an EVM network that need no node: addresses, and messages of keys.

import { randomBytes } from 'node:crypto'
import type { EvmNetworkRow } from '../../platform/networks.ts'
import type { NodelessChain } from '../chain.ts'
import { ABI_FILE_BYTES_MAX, parseAbiFile } from './abi-file.ts'
import { addressOf, parseAddress } from './address.ts'
import { isSignedByKey, keyMessage, keyTypedData } from './messages.ts'

const accountOf = (text: string): string | null => {
  try {
    return parseAddress(text, 'address')
  } catch {
    return null
  }
}

export const createNodelessEvmChain = (row: EvmNetworkRow): NodelessChain => ({
  network: row.network,
  family: row.family,
  chainId: row.chainId,
  coin: row.coin,
  knownTokens: row.knownTokens,
  hasNames: row.nameRegistry !== null,
  withoutRecipient: 'creation',
  hasTransactionTypes: true,
  delegation: { chainId: row.chainId },
  isMortal: false,
  addressKind: 'address',
  parseAddress,
  parseContract: parseAddress,
  // The checksum is not checked, because shown addresses come from elsewhere.
  parseShown: (text, field) => parseAddress(text.toLowerCase(), field),
  feeAssets: null,
  isContractId: () => false,
  isPrefixedAddress: () => false,
  accountOf,
  addressOf,
  // Uncompressed keys begin with 4 (SEC 1 §2.3.3).
  randomAddress: () => addressOf(Uint8Array.of(4, ...randomBytes(64))),
  message: keyMessage,
  typedData: keyTypedData,
  contractSigner: (address) => `eip155:${row.chainId}:${address}`,
  verifyMessage: async (signed) => ((await isSignedByKey(signed)) ? 'key' : null),
  abiFiles: { bytesMax: ABI_FILE_BYTES_MAX, parse: parseAbiFile },
  isCallName: () => true,
  contractWallets: null,
})
