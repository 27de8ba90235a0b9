import type { AddressFacts, ChainMemory } from '../../../src/chains/chain.ts'

/** A memory that lasts as long as the test; `reads` counts how often it was read. */
export const createMemory = (): ChainMemory & { readonly kept: Map<string, AddressFacts> } => {
  const kept = new Map<string, AddressFacts>()
  return {
    kept,
    readAbiItems: async () => [],
    readCollectionNames: async () => new Map(),
    noteDispute: () => {},
    readFacts: async ({ addresses }) =>
      new Map(
        addresses.flatMap((address) => {
          const known = kept.get(address)
          return known === undefined ? [] : [[address, { ...known, isDoubtful: false, isOwn: true }] as const]
        }),
      ),
    writeFacts: async ({ sure, unsure }) => {
      for (const [address, read] of [...sure, ...unsure]) kept.set(address, read)
    },
  }
}
