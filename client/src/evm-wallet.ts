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
  /** 0, 1 or 2. By default the other fields decide. */
  readonly type?: Quantity
  /** Of the types 3 and 4, which the service does not sign. */
  readonly blobs?: readonly unknown[] | null | undefined
  readonly blobVersionedHashes?: readonly unknown[] | null | undefined
  readonly authorizationList?: readonly unknown[] | null | undefined
}

/** EIP-712. */
export type TypedData = components['schemas']['TypedData']

/** Without absent fields. */
const present = (fields: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined && value !== null))

const quantity = (value: Quantity) => (value === undefined || value === null ? undefined : String(BigInt(value)))

/** They would be lost otherwise. */
const refuseOtherTypes = (transaction: EvmTransaction): void => {
  const names = ['blobs', 'blobVersionedHashes', 'authorizationList'] as const
  const found = names.find((name) => (transaction[name] ?? []).length > 0)
  if (found === undefined) return
  throw new StrongroomError(
    'invalid_input',
    `The service signs transactions of the types 0, 1 and 2, without "${found}".`,
  )
}

/** The service's `unsigned_transaction`. */
export const unsignedOf = (transaction: EvmTransaction) => {
  refuseOtherTypes(transaction)
  const isLegacy = quantity(transaction.type) === '0'
  return present({
    to: transaction.to,
    value: quantity(transaction.value),
    input: transaction.data,
    gasLimit: quantity(transaction.gas),
    // The service fixes the fees of type 2 itself where a library has filled in both kinds.
    gasPrice: quantity(transaction.maxFeePerGas) === undefined ? quantity(transaction.gasPrice) : undefined,
    maxFeePerGas: quantity(transaction.maxFeePerGas),
    maxPriorityFeePerGas: quantity(transaction.maxPriorityFeePerGas),
    nonce: quantity(transaction.nonce),
    // Beside a gas price an empty one makes a transaction of type 1.
    accessList: isLegacy && transaction.accessList?.length === 0 ? undefined : transaction.accessList,
    type: quantity(transaction.type),
  })
}

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

type SignedAuthorization = {
  readonly chainId: number
  readonly address: Hex
  readonly nonce: number
  readonly yParity: number
  readonly r: Hex
  readonly s: Hex
}

/** EIP-7702: lets the account run the code of a contract that the operator allowed for the project. */
export const signAuthorization = async (
  wallet: EvmWallet,
  { address, chainId, nonce }: Pick<SignedAuthorization, 'address' | 'chainId' | 'nonce'>,
): Promise<SignedAuthorization> => {
  const fields = await signerFields(wallet)
  const authorization = { contract_address: address, chain_id: String(chainId), nonce: String(nonce) }
  const signed = await wallet.client.transactions.signAuthorization({ ...fields, authorization })
  return {
    chainId: signed.chain_id,
    address: hexOf(signed.address),
    nonce: signed.nonce,
    yParity: signed.y_parity,
    r: hexOf(signed.r),
    s: hexOf(signed.s),
  }
}

/** Refuses a transaction that was signed for another chain than the caller has in mind. */
export const checkChain = (signed: { readonly chainId?: number | bigint | undefined }, wanted: Quantity): void => {
  if (quantity(wanted) === undefined || quantity(signed.chainId) === quantity(wanted)) return
  throw new StrongroomError(
    'network_mismatch',
    `The wallet's network has the chain id ${signed.chainId}, not ${wanted}.`,
  )
}
