import type { HasDb } from '../../../db/client.ts'
import type { Network } from '../../../db/words.ts'
import type { HasChains } from '../../chains/chains.ts'
import { provided } from '../../chains/provided.ts'
import { AppError } from '../../platform/errors.ts'
import type { HasIdentity } from '../../platform/sealing/sealer.ts'
import { contractOf, tokenDisplays } from '../../signing/token.ts'
import type { PreviewContract } from '../../signing/transactions/preview-schema.ts'

export const ADDRESSES_MAX = 100

/** Resolves an ENS name; null if it has no address. */
export const lookupByName = async (ctx: HasChains, input: { readonly name: string }): Promise<string | null> => {
  const refusal = 'No network here has a registry of names.'
  const { network } = provided(
    ctx.chains.known.find(({ hasNames }) => hasNames),
    refusal,
  )
  return provided(ctx.chains.withNode(network).names, refusal).addressOfName(input.name)
}

/**
 * Describes addresses, keyed by the text of each in the request.
 * @param input.texts EVM addresses may have any letter case; the checksum is not checked
 */
export const addressesMetadata = async (
  ctx: HasDb & HasChains & HasIdentity,
  input: { readonly network: Network; readonly texts: readonly string[] },
): Promise<Record<string, PreviewContract | null>> => {
  const { network, texts } = input
  const chain = ctx.chains.withNode(network)
  if (texts.length > ADDRESSES_MAX) {
    throw new AppError('invalid_input', `Field "addresses" must be a list of 1 to ${ADDRESSES_MAX} addresses.`)
  }
  const canonical = new Map(texts.map((text, index) => [text, chain.parseShown(text, `addresses.${index}`)]))
  const addresses = [...new Set(canonical.values())]
  const [facts, displays] = await Promise.all([chain.facts(addresses), tokenDisplays(ctx, { chain, addresses })])
  return Object.fromEntries(
    [...canonical].map(([text, address]) => {
      const known = facts.get(address)
      return [
        text,
        known === undefined ? null : contractOf({ chain, address, facts: known, display: displays.get(address) }),
      ]
    }),
  )
}
