// A Substrate network as a Chain: so far its addresses, which need no node. What needs one is not served yet.

import { AppError } from '../../errors.ts'
import type { Chain } from '../chain.ts'
import type { SubstrateNetworkRow } from '../networks.ts'
import { addressOf, parseAddress } from './address.ts'
import { isSignedByKey } from './messages.ts'

/** Free of keys; it connects to nothing. */
export const createSubstrateChain = (row: SubstrateNetworkRow): Chain => {
  const refuse = (): never => {
    throw new AppError('not_implemented', `${row.network} is served for wallets and their addresses only.`)
  }
  const refuseLater = async (): Promise<never> => refuse()
  return {
    network: row.network,
    family: row.family,
    chainId: 0,
    depth: { confirmations: 1, final: 1 },
    wholeBackfillBlocks: 0,
    pollIntervalMs: 6_000,
    patience: { climbAfterSeconds: 60, expireAfterSeconds: 3_600 },
    parseAddress: (text, field) => parseAddress(row, { text, field }),
    addressOf: (publicKey) => addressOf(row, publicKey),
    complete: refuse,
    prepare: refuseLater,
    fill: refuseLater,
    transactionCounts: refuseLater,
    standing: refuseLater,
    finalTransactionCount: refuseLater,
    withNonce: refuse,
    worstCost: refuse,
    ladder: refuse,
    cancel: refuse,
    signingBytes: refuse,
    assemble: refuse,
    disassemble: refuse,
    verifyMessage: async (signed) => (isSignedByKey(signed) ? 'key' : null),
    broadcast: refuseLater,
    status: refuseLater,
    statuses: refuseLater,
    preview: refuseLater,
    decode: refuse,
    readCall: refuseLater,
    isWithinFeeCap: refuse,
    facts: refuseLater,
    balances: refuseLater,
    addressOfName: refuseLater,
    tokenUris: refuseLater,
    contractUri: refuseLater,
    mintIntent: refuseLater,
    transferNftIntent: refuseLater,
    collectionIntent: refuse,
    head: refuseLater,
    block: refuseLater,
    movements: refuseLater,
    eventMovements: refuseLater,
    history: refuseLater,
    nodeChainId: refuseLater,
    confirmNode: refuse,
  }
}
