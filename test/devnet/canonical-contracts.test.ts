import { expect, test } from 'bun:test'
import { getProxyFactoryDeployment, getSafeL2SingletonDeployment } from '@safe-global/safe-deployments'
import { deployCanonicalContracts } from '../../devnet/canonical-contracts.ts'
import { startChain } from '../support/chains.ts'
import { shared } from '../support/shared.ts'

const chain = await shared(startChain('Avalanche'))

test('Safe 1.4.1 is deployed once at its canonical addresses', async () => {
  await deployCanonicalContracts(chain.rpcUrl)
  const blocks = await chain.publicClient.getBlockNumber()
  expect(blocks).toBe(9n)
  for (const deploymentOf of [getSafeL2SingletonDeployment, getProxyFactoryDeployment]) {
    const address = deploymentOf({ version: '1.4.1', network: '43113' })?.networkAddresses['43113']
    expect(await chain.rpc('eth_getCode', [address, 'latest'])).not.toBe('0x')
  }
  await deployCanonicalContracts(chain.rpcUrl)
  expect(await chain.publicClient.getBlockNumber()).toBe(blocks)
})
