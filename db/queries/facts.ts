import { and, eq, inArray } from 'drizzle-orm'
import type { Queryable } from '../client.ts'
import { contractFacts, tokenUris } from '../schema.ts'
import type { AssetStandard, Network } from '../words.ts'

export type ContractFactsRow = {
  readonly isContract: true
  readonly standard: AssetStandard
  readonly name: string
  readonly symbol: string
  readonly decimals: number
}

/** What is remembered of some contracts, by address. */
export const readFacts = async (
  db: Queryable,
  input: { readonly network: Network; readonly addresses: readonly string[] },
): Promise<ReadonlyMap<string, ContractFactsRow>> => {
  if (input.addresses.length === 0) return new Map()
  const rows = await db
    .select()
    .from(contractFacts)
    .where(and(eq(contractFacts.network, input.network), inArray(contractFacts.address, [...input.addresses])))
  return new Map(
    rows.map(({ address, standard, name, symbol, decimals }) => [
      address,
      { isContract: true, standard, name, symbol, decimals },
    ]),
  )
}

/** Remembers a contract; what was known before stays. */
export const writeFacts = async (
  db: Queryable,
  input: {
    readonly network: Network
    readonly address: string
    readonly facts: Pick<ContractFactsRow, 'standard' | 'name' | 'symbol' | 'decimals'>
  },
): Promise<void> => {
  const { standard, name, symbol, decimals } = input.facts
  await db
    .insert(contractFacts)
    .values({ network: input.network, address: input.address, standard, name, symbol, decimals })
    .onConflictDoNothing()
}

type TokenRef = { readonly contract: string; readonly tokenId: bigint }

/** Remembered token URIs, by `contract/tokenId`. */
export const readTokenUris = async (
  db: Queryable,
  input: { readonly network: Network; readonly tokens: readonly TokenRef[] },
): Promise<ReadonlyMap<string, string>> => {
  if (input.tokens.length === 0) return new Map()
  const rows = await db
    .select()
    .from(tokenUris)
    .where(
      and(
        eq(tokenUris.network, input.network),
        inArray(tokenUris.contract, [...new Set(input.tokens.map((token) => token.contract))]),
        inArray(tokenUris.tokenId, [...new Set(input.tokens.map((token) => token.tokenId))]),
      ),
    )
  return new Map(rows.map((row) => [`${row.contract}/${row.tokenId}`, row.uri]))
}

export const writeTokenUris = async (
  db: Queryable,
  input: { readonly network: Network; readonly uris: readonly (TokenRef & { readonly uri: string })[] },
): Promise<void> => {
  if (input.uris.length === 0) return
  await db
    .insert(tokenUris)
    .values(input.uris.map((token) => ({ network: input.network, ...token })))
    .onConflictDoNothing()
}
