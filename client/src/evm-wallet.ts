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

const WHOLE = /^(?:0x[0-9a-f]+|[0-9]+)$/i

const isWhole = (value: unknown): value is bigint | number | string => {
  if (typeof value === 'string') return WHOLE.test(value)
  return typeof value === 'bigint' ? value >= 0n : Number.isSafeInteger(value) && Number(value) >= 0
}

/**
 * The quantity of JSON-RPC or of a library as a decimal number. `BigInt` alone takes an empty text for 0, and throws an
 * error without a code for others.
 * @throws StrongroomError `invalid_input`
 */
export const readQuantity = ({ name, value }: { readonly name: string; readonly value: unknown }) => {
  if (value === undefined || value === null) return undefined
  if (isWhole(value)) return String(BigInt(value))
  throw new StrongroomError(
    'invalid_input',
    `Field "${name}" must be a whole number of 0 or more, for instance "0x5208".`,
  )
}

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

type QuantityName = 'value' | 'gas' | 'gasPrice' | 'maxFeePerGas' | 'maxPriorityFeePerGas' | 'nonce' | 'type'

/** Beside a gas price the service makes a transaction with a list of type 1, and without one of type 0. */
const accessListFor = (type: string | undefined, list: EvmTransaction['accessList']): EvmTransaction['accessList'] => {
  if (type === '0' && list?.length === 0) return undefined
  return type === '1' ? (list ?? []) : list
}

/** The service's `unsigned_transaction`. */
export const unsignedOf = (transaction: EvmTransaction) => {
  refuseOtherTypes(transaction)
  const quantity = (name: QuantityName) => readQuantity({ name, value: transaction[name] })
  const type = quantity('type')
  return present({
    to: transaction.to,
    value: quantity('value'),
    input: transaction.data,
    gasLimit: quantity('gas'),
    // The service fixes the fees of type 2 itself where a library has filled in both kinds.
    gasPrice: quantity('maxFeePerGas') === undefined ? quantity('gasPrice') : undefined,
    maxFeePerGas: quantity('maxFeePerGas'),
    maxPriorityFeePerGas: quantity('maxPriorityFeePerGas'),
    nonce: quantity('nonce'),
    accessList: accessListFor(type, transaction.accessList),
    type,
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
  const [actual, expected] = [signed.chainId, wanted].map((value) => readQuantity({ name: 'chainId', value }))
  if (expected === undefined || actual === expected) return
  throw new StrongroomError(
    'network_mismatch',
    `The wallet's network has the chain id ${signed.chainId}, not ${wanted}.`,
  )
}
