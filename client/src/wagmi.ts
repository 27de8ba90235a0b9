import { createConnector } from '@wagmi/core'
import { getAddress } from 'viem'
import { createProvider, type Provider, type ProviderOptions } from './eip1193.ts'

type Listener = (value: unknown) => void

/** A connector for wagmi: the wallet of one user, without a browser extension. */
export const strongroom = (options: ProviderOptions) => {
  const provider = createProvider(options)
  return createConnector<Provider>((config) => {
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
      connect: async ({ chainId, withCapabilities } = {}) => {
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
      switchChain: async ({ chainId }) => {
        const chain = config.chains.find(({ id }) => id === chainId)
        if (chain === undefined) throw new Error(`wagmi's configuration has no chain ${chainId}.`)
        await switchTo(chainId)
        return chain
      },
      onAccountsChanged: () => {},
      onChainChanged,
      onDisconnect: () => {},
    }
  })
}
