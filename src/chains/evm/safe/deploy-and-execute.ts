// Deployment and execution in one transaction, for a wallet that is not deployed yet. MultiSendCallOnly calls the Safe,
// not the owner, so the owner must sign the Safe's transaction (EIP-712). Anyone who sees this signature can use it.
// safeTxGas is above 0, so that the signature is used up (the inner nonce grows) even if the execution fails.

import type { Intent } from '../../chain.ts'
import type { ContractWallet, Signable } from '../../contract-wallets.ts'
import { hexText } from '../../node/wire.ts'
import { ZERO_ADDRESS } from '../address.ts'
import { signable } from '../messages.ts'
import { combine, executionData, multiSendData, pickSenderPart } from './execution.ts'
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
]

/** A Safe's first transaction. */
const INNER_NONCE = 0n

export const deployAndExecute = (
  chainId: number,
  wallet: ContractWallet,
  { intents, gas }: { readonly intents: readonly Intent[]; readonly gas: bigint },
): Signable<Intent> => {
  // With 0 a failing execution would revert everything, and the signature could be used later.
  if (gas <= 0n) throw new Error('expected gas for the execution')
  const address = hexText(wallet.address)
  const operation = combine(intents)
  const typedData = {
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
  }
  return signable({ kind: 'typed_data', typedData }, (signatures) => {
    const calls = [
      { to: SAFE_ADDRESSES.proxyFactory, value: 0n, data: deploymentData(wallet) },
      { to: address, value: 0n, data: executionData(operation, { safeTxGas: gas, signatures }) },
    ]
    const input = multiSendData(calls)
    return { to: SAFE_ADDRESSES.multiSendCallOnly, value: 0n, input, ...pickSenderPart(intents) }
  })
}
