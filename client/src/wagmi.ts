import { type Chain, getAddress } from 'viem'
import { createProvider, type ProviderOptions } from './eip1193.ts'

type Listener = (value: unknown) => void

/**
 * As much of what wagmi gives to a connector as is used here. Neither code nor types come from `@wagmi/core`: npm puts it below the
 * app's `wagmi`, where this package does not find it. Its `createConnector` only returns what it is given.
 */
type ConnectorConfig = {
  readonly chains: readonly Chain[]
  readonly emitter: { emit(event: 'change', change: { readonly chainId: number }): void }
}

/** A connector for wagmi: the wallet of one user, without a browser extension. */
export const strongroom = (options: ProviderOptions) => {
  const provider = createProvider(options)
  return (config: ConnectorConfig) => {
    const chainIdOf = async () => Number(await provider.request({ method: 'eth_chainId' }))
    const onChainChanged = (chainId: string) => config.emitter.emit('change', { chainId: Number(chainId) })
    const listener: Listener = (chainId) => onChainChanged(String(chainId))
    const switchTo = async (chainId: number) => {
      const params = [{ chainId: `0x${chainId.toString(16)}` }]
      await provider.request({ method: 'wallet_switchEthereumChain', params })
    }
    return {
      id: 'strongroom',
      name: 'Strongroom',
      type: 'strongroom',
      connect: async ({
        chainId,
        withCapabilities,
      }: {
        readonly chainId?: number | undefined
        readonly withCapabilities?: boolean | undefined
      } = {}) => {
        provider.on('chainChanged', listener)
        if (chainId !== undefined) await switchTo(chainId)
        const address = getAddress(options.address)
        const accounts = withCapabilities ? [{ address, capabilities: {} }] : [address]
        // wagmi's type depends on the flag, which the compiler cannot follow.
        return { accounts: accounts as never, chainId: await chainIdOf() }
      },
      disconnect: async () => provider.removeListener('chainChanged', listener),
      getAccounts: async () => [getAddress(options.address)],
      getChainId: chainIdOf,
      getProvider: async () => provider,
      isAuthorized: async () => true,
      switchChain: async ({ chainId }: { readonly chainId: number }) => {
        const chain = config.chains.find(({ id }) => id === chainId)
        if (chain === undefined) throw new Error(`wagmi's configuration has no chain ${chainId}.`)
        await switchTo(chainId)
        return chain
      },
      onAccountsChanged: () => {},
      onChainChanged,
      onDisconnect: () => {},
    }
  }
}
