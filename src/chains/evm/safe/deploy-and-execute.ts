// Deployment and execution in one transaction, for whoever wants a single raw transaction of a wallet without code. Within
// MultiSendCallOnly it is not the owner who calls the Safe, so the owner's signature must be a real one (EIP-712). Whoever
// sees it may use it: safeTxGas is above 0, so that it is used up (the inner nonce grows) even where what it does fails.

import { hashTypedData } from 'viem'
import type { Intent } from '../../chain.ts'
import type { ContractWallet, Signable } from '../../contract-wallets.ts'
import { hexText } from '../../node/wire.ts'
import { ZERO_ADDRESS } from '../address.ts'
import { signable } from '../signable.ts'
import { executionData, multiSendData, operationOf, senderPartOf } from './execution.ts'
import { deploymentData, SAFE_ADDRESSES } from './settings.ts'

/** Safe.sol 1.4.1, SAFE_TX_TYPEHASH. */
const SAFE_TX = [
  { name: 'to', type: 'address' },
  { name: 'value', type: 'uint256' },
  { name: 'data', type: 'bytes' },
  { name: 'operation', type: 'uint8' },
  { name: 'safeTxGas', type: 'uint256' },
  { name: 'baseGas', type: 'uint256' },
  { name: 'gasPrice', type: 'uint256' },
  { name: 'gasToken', type: 'address' },
  { name: 'refundReceiver', type: 'address' },
  { name: 'nonce', type: 'uint256' },
] as const

/** A Safe's first transaction. */
const INNER_NONCE = 0n

/** Pure. */
export const deployAndExecute = (
  chainId: number,
  wallet: ContractWallet,
  { intents, gas }: { readonly intents: readonly Intent[]; readonly gas: bigint },
): Signable<Intent> => {
  // At 0 a failure within would revert the whole, and leave a signature that can be used later.
  if (gas <= 0n) throw new Error('expected gas for what the wallet does')
  const address = hexText(wallet.address)
  const operation = operationOf(intents)
  const digest = hashTypedData({
    domain: { chainId, verifyingContract: address },
    types: { SafeTx: SAFE_TX },
    primaryType: 'SafeTx',
    message: {
      ...operation,
      safeTxGas: gas,
      baseGas: 0n,
      gasPrice: 0n,
      gasToken: ZERO_ADDRESS,
      refundReceiver: ZERO_ADDRESS,
      nonce: INNER_NONCE,
    },
  })
  return signable(digest, (signatures) => {
    const calls = [
      { to: SAFE_ADDRESSES.proxyFactory, value: 0n, data: deploymentData(wallet) },
      { to: address, value: 0n, data: executionData(operation, { safeTxGas: gas, signatures }) },
    ]
    const input = multiSendData(calls)
    return { to: SAFE_ADDRESSES.multiSendCallOnly, value: 0n, input, ...senderPartOf(intents) }
  })
}
