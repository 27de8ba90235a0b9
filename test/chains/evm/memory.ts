import type { AddressFacts, ChainMemory } from '../../../src/chains/chain.ts'

/** A memory that lasts as long as the test; `reads` counts how often it was asked. */
export const createMemory = (): ChainMemory & { readonly kept: Map<string, AddressFacts> } => {
  const kept = new Map<string, AddressFacts>()
  return {
    kept,
    readAbiItems: async () => [],
    readFacts: async ({ addresses }) =>
      new Map(
        addresses.flatMap((address) => (kept.has(address) ? [[address, kept.get(address) as AddressFacts]] : [])),
      ),
    writeFacts: async ({ address, facts }) => {
      kept.set(address, facts)
    },
  }
}
