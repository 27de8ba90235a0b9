// An EIP-1193 provider, as a dapp knows it from a browser's wallet. It signs and sends by the service, which chooses nonces and
// raises fees; what only reads goes to a node.

import { createBatches } from './batches.ts'
import {
  type EvmTransaction,
  type EvmWallet,
  type Hex,
  signMessage,
  signTransaction,
  signTypedData,
} from './evm-wallet.ts'
import { askNode } from './node.ts'
import { asRpcError, ProviderError } from './provider-error.ts'
import { messageHex, objectAt, textAt, typedDataAt } from './provider-parameters.ts'
import { createSender } from './send.ts'

export type ProviderChain = {
  /** As the service names it. */
  readonly network: string
  /** The URL of a node, for what only reads. */
  readonly rpcUrl: string
}

export type ProviderOptions = Omit<EvmWallet, 'network'> & {
  /** By chain id; the first one is selected at the beginning. A wallet has the same address on all of them. */
  readonly chains: Readonly<Record<number, ProviderChain>>
  /** `contract` wallets send several calls as one transaction (`wallet_sendCalls`). */
  readonly type?: 'eoa' | 'contract'
}

export type RequestArguments = { readonly method: string; readonly params?: unknown }

type Listener = (value: unknown) => void

export type Provider = {
  request(request: RequestArguments): Promise<unknown>
  on(event: string, listener: Listener): void
  removeListener(event: string, listener: Listener): void
}

const hexNumber = (value: number): Hex => `0x${value.toString(16)}`

/** The chains of a provider, of which one is selected, and what it knows of its wallet on them. */
const createChains = (options: ProviderOptions) => {
  const ids = Object.keys(options.chains).map(Number)
  let selected = ids[0] ?? 0
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
    ask: (request: RequestArguments, id = selected) => askNode(on(id).rpcUrl, request),
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
const createMethods = ({ wallet, own, selected }: Chains): Readonly<Record<string, Answer>> => {
  const transactionAt = (params: unknown): EvmTransaction => {
    // The service chooses the fees: a gas price would make a transaction that cannot be sped up.
    const { from, input, data, gasPrice: _price, type: _type, ...rest } = objectAt(params, 0)
    own(from)
    if (rest.chainId !== undefined && Number(rest.chainId) !== selected())
      throw new ProviderError(4901, `The provider is connected to the chain ${selected()}.`)
    return { ...rest, data: String(data ?? input ?? '0x') }
  }
  const send = createSender()
  return {
    personal_sign: (params) => {
      own(textAt(params, 1))
      return signMessage(wallet(), messageHex(textAt(params, 0)))
    },
    eth_signTypedData_v4: (params) => {
      own(textAt(params, 0))
      return signTypedData(wallet(), typedDataAt(params, 1))
    },
    eth_signTransaction: (params) => signTransaction(wallet(), transactionAt(params)),
    eth_sendTransaction: (params) => send(wallet(), transactionAt(params)),
  }
}

/** Signatures that would say less than they seem to, and wallets' own methods that this provider lacks. */
const isRefused = (method: string) => /^(?:wallet_|eth_sign|eth_getEncryptionPublicKey|eth_decrypt)/.test(method)

/** A provider for one wallet. */
export const createProvider = (options: ProviderOptions): Provider => {
  const listeners = new Map<string, Set<Listener>>()
  const chains = createChains(options)
  const { ids, walletOn, own, ask, selected } = chains
  const receipt = (id: number, hash: string) => ask({ method: 'eth_getTransactionReceipt', params: [hash] }, id)
  const batches = createBatches({ walletOn, own, chainIds: ids, type: options.type ?? 'eoa', receipt })
  const switchTo = (params: unknown): null => {
    const id = Number(objectAt(params, 0).chainId)
    if (chains.select(id)) for (const listener of listeners.get('chainChanged') ?? []) listener(hexNumber(id))
    return null
  }
  const methods = new Map<string, Answer>(
    Object.entries({
      ...createMethods(chains),
      eth_accounts: () => [options.address],
      eth_requestAccounts: () => [options.address],
      eth_chainId: () => hexNumber(selected()),
      net_version: () => String(selected()),
      wallet_switchEthereumChain: switchTo,
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
    on: (event, listener) => {
      listeners.set(event, (listeners.get(event) ?? new Set()).add(listener))
    },
    removeListener: (event, listener) => {
      listeners.get(event)?.delete(listener)
    },
  }
}
