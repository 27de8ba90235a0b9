import {
  AbstractSigner,
  accessListify,
  getAddress,
  hexlify,
  type Provider,
  resolveAddress,
  resolveProperties,
  Transaction,
  type TransactionRequest,
  TypedDataEncoder,
  toUtf8Bytes,
} from 'ethers'
import { checkChain, type EvmWallet, type Hex, signMessage, signTransaction, signTypedData } from './evm-wallet.ts'

type Parameters712 = Parameters<AbstractSigner['signTypedData']>

const hex = (bytes: string | Uint8Array): Hex => `0x${hexlify(bytes).slice(2)}`

/**
 * A signer for ethers v6: ethers asks the node for nonce, gas and fees, the service signs, and ethers sends. Only for
 * wallets of type `eoa`.
 */
export class StrongroomSigner extends AbstractSigner {
  readonly #wallet: EvmWallet

  constructor(wallet: EvmWallet, provider?: Provider | null) {
    super(provider)
    this.#wallet = wallet
  }

  override async getAddress(): Promise<string> {
    return getAddress(this.#wallet.address)
  }

  override connect(provider: Provider | null): StrongroomSigner {
    return new StrongroomSigner(this.#wallet, provider)
  }

  override async signTransaction(request: TransactionRequest): Promise<string> {
    // Not by spreading: a `Transaction` has its fields as getters.
    const { to, from, data, gasLimit, accessList } = request
    const addresses = await resolveProperties({
      to: to ? resolveAddress(to, this.provider) : undefined,
      from: from ? resolveAddress(from, this.provider) : undefined,
    })
    const own = await this.getAddress()
    if (addresses.from !== undefined && getAddress(addresses.from) !== own)
      throw new Error(`The transaction is from ${addresses.from}, and the wallet is ${own}.`)
    const signed = await signTransaction(this.#wallet, {
      to: addresses.to,
      value: request.value,
      data: data ? hex(data) : undefined,
      gas: gasLimit,
      gasPrice: request.gasPrice,
      maxFeePerGas: request.maxFeePerGas,
      maxPriorityFeePerGas: request.maxPriorityFeePerGas,
      nonce: request.nonce,
      accessList: accessList ? accessListify(accessList) : undefined,
      type: request.type,
      blobs: request.blobs,
      blobVersionedHashes: request.blobVersionedHashes,
      authorizationList: request.authorizationList,
    })
    checkChain(Transaction.from(signed), request.chainId)
    return signed
  }

  override signMessage(message: string | Uint8Array): Promise<string> {
    return signMessage(this.#wallet, hex(typeof message === 'string' ? toUtf8Bytes(message) : message))
  }

  override signTypedData(...[domain, types, value]: Parameters712): Promise<string> {
    return signTypedData(this.#wallet, TypedDataEncoder.getPayload(domain, types, value))
  }
}
