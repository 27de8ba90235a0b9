import { and, eq, inArray, type SQL, sql } from 'drizzle-orm'
import type { Queryable } from '../client.ts'
import { contractFacts, tokenUris } from '../schema.ts'
import type { Network } from '../words.ts'

export type ContractFacts = Pick<
  typeof contractFacts.$inferSelect,
  'network' | 'address' | 'standard' | 'name' | 'symbol' | 'decimals'
>

type StoredFacts = ContractFacts & Pick<typeof contractFacts.$inferSelect, 'mac'>

/** A new proxy has neither name nor decimals: facts without a name are read again after this time. */
const NAMELESS_MINUTES = 10

const isNameless = (): SQL => sql`${contractFacts.name} = '' and ${contractFacts.symbol} = ''`

/** The stored facts of some contracts. Doubtful ones should be read again. */
export const readFacts = async (
  db: Queryable,
  input: { readonly network: Network; readonly addresses: readonly string[] },
): Promise<readonly (StoredFacts & { readonly isDoubtful: boolean })[]> => {
  if (input.addresses.length === 0) return []
  const { network, address, standard, name, symbol, decimals, mac } = contractFacts
  const isOld = sql`${contractFacts.readAt} < now() - make_interval(mins => ${NAMELESS_MINUTES})`
  const isDoubtful = sql<boolean>`${isNameless()} and ${isOld}`
  return db
    .select({ network, address, standard, name, symbol, decimals, mac, isDoubtful })
    .from(contractFacts)
    .where(and(eq(network, input.network), inArray(address, [...input.addresses])))
}

/** 7 parameters each, of the 65,535 that one statement may have. */
const ROWS_A_STATEMENT = 5_000

const { standard, name, symbol, decimals, mac } = contractFacts
const stored = sql.join([standard, name, symbol, decimals, mac], sql`, `)
const excluded = {
  standard: sql`excluded.standard`,
  name: sql`excluded.name`,
  symbol: sql`excluded.symbol`,
  decimals: sql`excluded.decimals`,
  mac: sql`excluded.mac`,
}

/** Stores facts of contracts. Facts with a name are kept, but facts with a MAC replace those that differ. */
export const writeFacts = async (db: Queryable, facts: readonly StoredFacts[]) => {
  // Always in the same order, to avoid deadlocks.
  const rows = facts.toSorted((a, b) => (a.address < b.address ? -1 : 1))
  for (let from = 0; from < rows.length; from += ROWS_A_STATEMENT) {
    await db
      .insert(contractFacts)
      .values(rows.slice(from, from + ROWS_A_STATEMENT))
      .onConflictDoUpdate({
        target: [contractFacts.network, contractFacts.address],
        set: { ...excluded, readAt: sql`now()` },
        setWhere: sql`(${isNameless()}) or (excluded.mac is not null and (${stored}) is distinct from (${sql.join(Object.values(excluded), sql`, `)}))`,
      })
  }
}

type TokenRef = { readonly contract: string; readonly tokenId: bigint }

/** Stored token URIs, by `contract/tokenId`. */
export const readTokenUris = async (
  db: Queryable,
  input: { readonly network: Network; readonly tokens: readonly TokenRef[] },
): Promise<ReadonlyMap<string, string>> => {
  if (input.tokens.length === 0) return new Map()
  const pairs = input.tokens.map(({ contract, tokenId }) => sql`(${contract}, ${tokenId.toString()}::numeric)`)
  const rows = await db
    .select()
    .from(tokenUris)
    .where(
      and(
        eq(tokenUris.network, input.network),
        sql`(${tokenUris.contract}, ${tokenUris.tokenId}) in (values ${sql.join(pairs, sql`, `)})`,
      ),
    )
  return new Map(rows.map((row) => [`${row.contract}/${row.tokenId}`, row.uri]))
}

export const writeTokenUris = async (
  db: Queryable,
  input: { readonly network: Network; readonly uris: readonly (TokenRef & { readonly uri: string })[] },
) => {
  if (input.uris.length === 0) return
  await db
    .insert(tokenUris)
    .values(input.uris.map((token) => ({ network: input.network, ...token })))
    .onConflictDoNothing()
}
