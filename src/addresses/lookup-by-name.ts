import { provided } from '../chains/provided.ts'
import type { Ctx } from '../context.ts'

/** The address of an ENS name, null where it has none. @throws invalid_input, not_implemented (no Ethereum node), node_unavailable. */
export const lookupByName = async (
  ctx: Pick<Ctx, 'chains'>,
  input: { readonly name: string },
): Promise<string | null> => {
  const { names, network } = ctx.chains.withNode('Ethereum')
  return provided(names, `${network} has no registry of names.`).addressOfName(input.name)
}
