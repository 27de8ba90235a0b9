import { BaseError, type Chain, getAddress, SwitchChainError } from 'viem'
import { createProvider, type ProviderOptions } from './eip1193.ts'

type Listener = (value: unknown) => void

/** What wagmi's storage keeps while the app is connected with the wallet. */
type Mark = { readonly chainId: number }

/**
 * As much of what wagmi gives to a connector as is used here. Neither code nor types come from `@wagmi/core`: npm puts
 * it below the app's `wagmi`, where this package does not find it. Its `createConnector` only returns what it is given.
 */
type ConnectorConfig = {
  readonly chains: readonly Chain[]
  readonly emitter: { emit(event: 'change', change: { readonly chainId: number }): void }
  readonly storage?:
    | {
        getItem(name: string): unknown
        setItem(name: string, value: unknown): unknown
        removeItem(name: string): unknown
      }
    | null
    | undefined
}

type Connecting = {
  readonly chainId?: number | undefined
  readonly isReconnecting?: boolean | undefined
  readonly withCapabilities?: boolean | undefined
}

const isMark = (value: unknown): value is Mark =>
  typeof value === 'object' && value !== null && 'chainId' in value && typeof value.chainId === 'number'

/** Of the name of wagmi's own. */
const chainNotConfigured = () => new BaseError('Chain not configured.', { name: 'ChainNotConfiguredError' })

/** A connector for wagmi: the wallet of one user, without a browser extension. */
export const strongroom = (options: ProviderOptions) => {
  const provider = createProvider(options)
  const address = getAddress(options.address)
  // After a reload wagmi finds the connector by its id, so each wallet has one of its own.
  const id = `strongroom.${address.toLowerCase()}`
  const markName = `${id}.connected`

  const getChainId = async () => Number(await provider.request({ method: 'eth_chainId' }))
  const switchTo = async (chainId: number): Promise<void> => {
    const params = [{ chainId: `0x${chainId.toString(16)}` }]
    try {
      await provider.request({ method: 'wallet_switchEthereumChain', params })
    } catch (error) {
      throw new SwitchChainError(error instanceof Error ? error : new Error(String(error)))
    }
  }

  return ({ chains, emitter, storage }: ConnectorConfig) => {
    let isConnected = false
    const readMark = async (): Promise<Mark | null> => {
      const mark = await storage?.getItem(markName)
      return isMark(mark) ? mark : null
    }
    const onChainChanged = (chainId: string) => {
      emitter.emit('change', { chainId: Number(chainId) })
      if (isConnected) storage?.setItem(markName, { chainId: Number(chainId) })
    }
    const listener: Listener = (chainId) => onChainChanged(String(chainId))
    /** The chain that the user had chosen before a reload; the app may not have it any more. */
    const resume = async (): Promise<void> => {
      const mark = await readMark()
      if (mark !== null && Object.hasOwn(options.chains, mark.chainId)) await switchTo(mark.chainId)
    }
    return {
      id,
      name: 'Strongroom',
      type: 'strongroom',
      connect: async ({ chainId, isReconnecting, withCapabilities }: Connecting = {}) => {
        if (chainId !== undefined) await switchTo(chainId)
        else if (isReconnecting) await resume()
        const selected = await getChainId()
        await storage?.setItem(markName, { chainId: selected })
        provider.removeListener('chainChanged', listener)
        provider.on('chainChanged', listener)
        isConnected = true
        const accounts = withCapabilities ? [{ address, capabilities: {} }] : [address]
        // wagmi's type depends on the flag, which the compiler cannot follow.
        return { accounts: accounts as never, chainId: selected }
      },
      disconnect: async () => {
        provider.removeListener('chainChanged', listener)
        isConnected = false
        await storage?.removeItem(markName)
      },
      getAccounts: async () => [address],
      getChainId,
      getProvider: async () => provider,
      isAuthorized: async () => isConnected || (await readMark()) !== null,
      switchChain: async ({ chainId }: { readonly chainId: number }) => {
        const chain = chains.find((each) => each.id === chainId)
        if (chain === undefined) throw new SwitchChainError(chainNotConfigured())
        await switchTo(chainId)
        return chain
      },
      onAccountsChanged: () => {},
      onChainChanged,
      onDisconnect: () => {},
    }
  }
}
