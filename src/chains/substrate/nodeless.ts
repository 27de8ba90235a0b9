// The verbs of a Substrate network that need no node.

import { randomBytes } from 'node:crypto'
import type { SubstrateNetworkRow } from '../../platform/networks.ts'
import type { NodelessChain } from '../chain.ts'
import { accountAddress, addressOf, isLikeSs58, parseAddress } from './address.ts'
import { isContractId, isShownId, parseContract, parseFeeAsset } from './contracts.ts'
import { isSignedByKey, keyMessage } from './messages.ts'

/** A call's name, `pallet.call`. Policies compare names exactly, so they accept only this spelling. */
const PALLET_CALL = /^[a-z0-9_]+\.[a-z0-9_]+$/

export const createNodelessSubstrateChain = (row: SubstrateNetworkRow): NodelessChain => ({
  network: row.network,
  family: row.family,
  chainId: null,
  coin: row.coin,
  knownTokens: row.knownTokens,
  hasNames: false,
  withoutRecipient: 'runtime_call',
  hasTransactionTypes: false,
  delegation: null,
  isMortal: true,
  addressKind: 'account',
  parseAddress: (text, field) => parseAddress(row, { text, field }),
  parseContract: (text, field) => parseContract(row, { text, field }),
  feeAssets: { parse: parseFeeAsset },
  parseShown: (text, field) => (isShownId(text) ? text : parseAddress(row, { text, field })),
  isContractId: (text) => isContractId(row, text),
  isPrefixedAddress: isLikeSs58,
  accountOf: accountAddress,
  addressOf: (publicKey) => addressOf(row, publicKey),
  randomAddress: () => addressOf(row, randomBytes(32)),
  message: keyMessage,
  typedData: null,
  contractSigner: () => null,
  verifyMessage: async (signed) => (isSignedByKey(signed) ? 'key' : null),
  abiFiles: null,
  isCallName: (text) => PALLET_CALL.test(text),
  contractWallets: null,
})
