// What every adapter for EVM networks does: it turns a library's values into a call of the service.

import type { Client } from './client.ts'
import { type CredentialSource, credentialOf } from './credential.ts'
import type { components } from './document.generated.ts'
import { StrongroomError } from './errors.ts'

export type Hex = `0x${string}`

/** A wallet that the service keeps, on one EVM network. */
export type EvmWallet = {
  readonly client: Client
  /** As the service names it, for instance `Ethereum`. */
  readonly network: string
  readonly address: string
  readonly credential: CredentialSource
}

type Quantity = bigint | number | string | null | undefined

/** A transaction in the words of JSON-RPC, which viem and ethers share but for the name of the gas limit. */
export type EvmTransaction = {
  readonly to?: string | null | undefined
  readonly value?: Quantity
  readonly data?: string | null | undefined
  readonly gas?: Quantity
  readonly gasPrice?: Quantity
  readonly maxFeePerGas?: Quantity
  readonly maxPriorityFeePerGas?: Quantity
  readonly nonce?: Quantity
  readonly accessList?: readonly unknown[] | null | undefined
}

/** EIP-712. */
export type TypedData = components['schemas']['TypedData']

/** Without absent fields. */
const present = (fields: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined && value !== null))

const quantity = (value: Quantity) => (value === undefined || value === null ? undefined : String(BigInt(value)))

/** The service's `unsigned_transaction`. */
export const unsignedOf = (transaction: EvmTransaction) =>
  present({
    to: transaction.to,
    value: quantity(transaction.value),
    input: transaction.data,
    gasLimit: quantity(transaction.gas),
    // The service fixes the fees of type 2 itself where a library has filled in both kinds.
    gasPrice: quantity(transaction.maxFeePerGas) === undefined ? quantity(transaction.gasPrice) : undefined,
    maxFeePerGas: quantity(transaction.maxFeePerGas),
    maxPriorityFeePerGas: quantity(transaction.maxPriorityFeePerGas),
    nonce: quantity(transaction.nonce),
    accessList: transaction.accessList?.length ? transaction.accessList : undefined,
  })

/** The fields of every request that signs. */
export const signerFields = async ({ network, address, credential }: EvmWallet) => ({
  network,
  signer_wallet_address: address,
  ...(await credentialOf(credential)),
})

const isHex = (value: unknown): value is Hex => typeof value === 'string' && /^0x[0-9a-f]*$/i.test(value)

const hexOf = (value: unknown): Hex => {
  if (isHex(value)) return value
  throw new StrongroomError('answer_unreadable', 'The service answered with no hex.')
}

/** Signs bytes by EIP-191; of a contract wallet by ERC-1271. */
export const signMessage = async (wallet: EvmWallet, message: Hex): Promise<Hex> => {
  const fields = await signerFields(wallet)
  const { signature } = await wallet.client.transactions.signMessage({ ...fields, message, message_type: 'bytes' })
  return hexOf(signature)
}

/** @returns the raw transaction, for any node */
export const signTransaction = async (wallet: EvmWallet, transaction: EvmTransaction): Promise<Hex> => {
  const fields = await signerFields(wallet)
  return hexOf(await wallet.client.transactions.sign({ ...fields, unsigned_transaction: unsignedOf(transaction) }))
}

/** EIP-712. The message's numbers are text. */
export const signTypedData = async (wallet: EvmWallet, typedData: TypedData): Promise<Hex> => {
  const { domain, types, primaryType, message } = typedData
  const typed_data = { domain, types, primaryType, message }
  const fields = await signerFields(wallet)
  const { signature } = await wallet.client.transactions.signTypedData({ ...fields, typed_data })
  return hexOf(signature)
}

/** Refuses a transaction that was signed for another chain than the caller has in mind. */
export const checkChain = (signed: { readonly chainId?: number | bigint | undefined }, wanted: Quantity): void => {
  if (quantity(wanted) === undefined || quantity(signed.chainId) === quantity(wanted)) return
  throw new StrongroomError(
    'network_mismatch',
    `The wallet's network has the chain id ${signed.chainId}, not ${wanted}.`,
  )
}
