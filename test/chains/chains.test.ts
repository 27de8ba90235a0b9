import { beforeAll, describe, expect, test } from 'bun:test'
import type { Network } from '../../db/words.ts'
import type { NodelessChain } from '../../src/chains/chain.ts'
import { type Chains, createChains, type NodeInput } from '../../src/chains/chains.ts'
import { provided } from '../../src/chains/provided.ts'
import { EVM_NETWORKS, networkRows, SUBSTRATE_NETWORKS } from '../../src/platform/networks.ts'
import { createMemory } from './evm/memory.ts'

const NODE: NodeInput = { rpcUrl: 'http://127.0.0.1:1', timeoutMs: 1, onTrouble: () => {} }
const ALL = [...EVM_NETWORKS, ...SUBSTRATE_NETWORKS]

const chainsWith = (...withNode: readonly Network[]) =>
  createChains({
    rows: networkRows({ environment: 'testnet', devnet: false }),
    memory: createMemory(),
    nodeOf: (network) => (withNode.includes(network) ? NODE : null),
  })

const names = (chains: readonly NodelessChain[]) => chains.map(({ network }) => network)

describe('the networks of a deployment', () => {
  let chains: Chains

  beforeAll(async () => {
    chains = await chainsWith('Base', 'Vara')
  })

  test('have wallets if there is a node, and on Substrate networks also without one', () => {
    expect(names(chains.all)).toEqual(['Base', 'Vara'])
    expect(names(chains.served)).toEqual(['Base', 'Polkadot', 'Vara'])
    expect(names(chains.known)).toEqual(ALL)
  })

  test('without a node are refused for what needs a node', () => {
    expect(() => chains.withNode('Polkadot')).toThrow('Polkadot has no node in this deployment.')
    expect(() => chains.get('Ethereum')).toThrow('Ethereum is not served by this deployment.')
    expect(chains.withNode('Base').head).toBeFunction()
    const refused = { code: 'not_implemented', status: 501 }
    expect(() => chains.withNode('Polkadot')).toThrow(expect.objectContaining(refused))
    expect(() => provided(chains.withNode('Base').names, 'Base has no registry of names.')).toThrow(
      expect.objectContaining({ ...refused, message: 'Base has no registry of names.' }),
    )
  })

  test('accept addresses and verify messages without a node', async () => {
    for (const chain of (await chainsWith()).known) {
      const address = chain.randomAddress()
      expect(chain.parseAddress(address, 'address')).toBe(address)
      expect(await chain.verifyMessage({ address, message: 'x', signature: `0x${'00'.repeat(65)}` })).toBeNull()
    }
  })

  test('of one family have the same text for an account', () => {
    const [polkadot, vara] = [chains.of('Polkadot'), chains.of('Vara')]
    const key = new Uint8Array(32).fill(7)
    expect(vara.accountOf(vara.addressOf(key))).toBe(polkadot.addressOf(key))
    expect(chains.known.map((chain) => chain.accountOf('nothing'))).toEqual(chains.known.map(() => null))
    const address = chains.of('Base').randomAddress()
    expect(names(chains.known.filter((chain) => chain.accountOf(address) === address))).toEqual([...EVM_NETWORKS])
  })
})
