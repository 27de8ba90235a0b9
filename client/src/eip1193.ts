// An EIP-1193 provider, as a dapp knows it from a browser's wallet. It signs and sends by the service, which chooses
// nonces and raises fees; what only reads goes to a node.

import { createBatches } from './batches.ts'
import {
  type EvmTransaction,
  type EvmWallet,
  type Hex,
  signMessage,
  signTransaction,
  signTypedData,
} from './evm-wallet.ts'
import { createListeners, type EventSource } from './listeners.ts'
import { askNode } from './node.ts'
import { asRpcError, INTERNAL, ProviderError } from './provider-error.ts'
import { objectAt, personalMessageAt, readChainId, textAt, transactionAt, typedDataAt } from './provider-parameters.ts'
import { explainReverts } from './revert-data.ts'
import { createSender } from './send.ts'
import type { BatchStorage } from './sent-batches.ts'

export type ProviderChain = {
  /** As the service names it. */
  readonly network: string
  /** The URL of a node, for what only reads. */
  readonly rpcUrl: string
}

export type ProviderOptions = Omit<EvmWallet, 'network'> & {
  /** By chain id. A wallet has the same address on all of them. */
  readonly chains: Readonly<Record<number, ProviderChain>>
  /**
   * The chain that is selected at the beginning. It must be given beside several chains: the order in which they are
   * written is lost, as an object sorts such keys.
   */
  readonly initialChainId?: number
  /** `contract` wallets send several calls as one transaction (`wallet_sendCalls`). */
  readonly type?: 'eoa' | 'contract'
  /** Keeps the ids that the app chose in `wallet_sendCalls`. By default the page's localStorage, if there is one. */
  readonly storage?: BatchStorage
}

export type RequestArguments = { readonly method: string; readonly params?: unknown }

export type Provider = EventSource & {
  request(request: RequestArguments): Promise<unknown>
}

const hexNumber = (value: number): Hex => `0x${value.toString(16)}`

/** @throws TypeError where the first transaction could go to a chain that nobody has chosen */
const readChains = ({ chains, initialChainId }: Pick<ProviderOptions, 'chains' | 'initialChainId'>) => {
  const ids = Object.keys(chains).map(Number)
  const initial = initialChainId ?? ids[0]
  if (initialChainId === undefined && ids.length > 1)
    throw new TypeError(`Say by initialChainId which of the chains ${ids.join(', ')} is selected at the beginning.`)
  if (initial === undefined || chains[initial] === undefined)
    throw new TypeError('The chains need at least one, by its chain id, and initialChainId must be among them.')
  return { ids, initial }
}

/** The chains of a provider, of which one is selected, and what it knows of its wallet on them. */
const createChains = (options: ProviderOptions) => {
  const { ids, initial } = readChains(options)
  let selected = initial
  const on = (id: number): ProviderChain => {
    const chain = options.chains[id]
    if (chain === undefined) throw new ProviderError(4902, `The chain ${id} is not among those of this provider.`)
    return chain
  }
  return {
    ids,
    selected: () => selected,
    /** @returns whether it was another one */
    select: (id: number): boolean => {
      on(id)
      const isOther = id !== selected
      selected = id
      return isOther
    },
    walletOn: (id: number): EvmWallet => ({ ...options, network: on(id).network }),
    wallet: (): EvmWallet => ({ ...options, network: on(selected).network }),
    ask: async (request: RequestArguments, id = selected) => {
      try {
        return await askNode(on(id).rpcUrl, request)
      } catch (cause) {
        if (cause instanceof ProviderError) throw cause
        throw Object.assign(new ProviderError(INTERNAL, `The node of the chain ${id} did not answer as nodes do.`), {
          cause,
        })
      }
    },
    /** Refuses another account than the wallet's. */
    own: (address: unknown) => {
      if (address === undefined || String(address).toLowerCase() === options.address.toLowerCase()) return
      throw new ProviderError(4100, `The account ${address} is not this wallet.`)
    },
  }
}

type Chains = ReturnType<typeof createChains>
type Answer = (params: unknown) => unknown

/** Signing and sending on the selected chain. */
const createMethods = ({ wallet, own, selected, ask }: Chains): Readonly<Record<string, Answer>> => {
  const ownTransactionAt = (params: unknown): EvmTransaction => {
    const { from, chainId, transaction } = transactionAt(params, 0)
    own(from)
    if (chainId !== undefined && chainId !== selected())
      throw new ProviderError(4901, `The provider is connected to the chain ${selected()}.`)
    return transaction
  }
  const explain = explainReverts({ from: wallet().address, ask })
  const send = createSender()
  return {
    personal_sign: (params) => {
      const { message, account } = personalMessageAt(params)
      own(account)
      return signMessage(wallet(), message)
    },
    eth_signTypedData_v4: (params) => {
      own(textAt(params, 0))
      return signTypedData(wallet(), typedDataAt(params, 1))
    },
    eth_signTransaction: (params) => {
      const transaction = ownTransactionAt(params)
      return explain(transaction, () => signTransaction(wallet(), transaction))
    },
    eth_sendTransaction: (params) => {
      const transaction = ownTransactionAt(params)
      return explain(transaction, () => send(wallet(), transaction))
    },
  }
}

/** Signatures that would say less than they seem to, and wallets' own methods that this provider lacks. */
const isRefused = (method: string) => /^(?:wallet_|eth_sign|eth_getEncryptionPublicKey|eth_decrypt)/.test(method)

/** A provider for one wallet. */
export const createProvider = (options: ProviderOptions): Provider => {
  const { source, emit } = createListeners()
  const chains = createChains(options)
  const { ids, walletOn, own, ask, selected } = chains
  const receipt = (id: number, hash: string) => ask({ method: 'eth_getTransactionReceipt', params: [hash] }, id)
  const { address, type = 'eoa', storage } = options
  const batches = createBatches({ address, walletOn, own, chainIds: ids, type, receipt, storage })
  const switchTo = (params: unknown): null => {
    const id = readChainId(objectAt(params, 0).chainId)
    if (chains.select(id)) emit('chainChanged', hexNumber(id))
    return null
  }
  const addChain = (params: unknown): null => {
    const id = readChainId(objectAt(params, 0).chainId)
    if (ids.includes(id)) return null
    throw new ProviderError(
      4200,
      `The chain ${id} cannot be added: the app gives the chains when it makes the provider.`,
    )
  }
  const methods = new Map<string, Answer>(
    Object.entries({
      ...createMethods(chains),
      eth_accounts: () => [options.address],
      eth_requestAccounts: () => [options.address],
      eth_coinbase: () => options.address,
      eth_chainId: () => hexNumber(selected()),
      net_version: () => String(selected()),
      wallet_switchEthereumChain: switchTo,
      wallet_addEthereumChain: addChain,
      wallet_sendCalls: (params) => batches.send(objectAt(params, 0)),
      wallet_getCallsStatus: (params) => batches.status(textAt(params, 0)),
      wallet_getCapabilities: batches.capabilities,
    } satisfies Record<string, Answer>),
  )
  return {
    request: async (request) => {
      const method = methods.get(request.method)
      try {
        if (method !== undefined) return await method(request.params)
        if (isRefused(request.method)) throw new ProviderError(4200, `${request.method} is not supported.`)
        return await ask(request)
      } catch (error) {
        throw asRpcError(error)
      }
    },
    ...source,
  }
}
