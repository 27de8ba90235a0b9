import type { NodelessChain } from '../../chains/chain.ts'
import { provided } from '../../chains/provided.ts'
import type { TypedData } from '../../vault/language/payload.ts'
import { checkTypedData, requireChainId } from '../../vault/language/typed-data.ts'
import type { TypedDataField } from './schema.ts'

/**
 * Checks typed data for a network. The vault makes the same checks.
 * @returns it, with what signs it for the address of a key.
 * @throws not_implemented for a network without typed data; invalid_input, with the field, for data that does not fit its types
 */
export const parseTypedData = (
  { network, chainId, typedData: byKey }: Pick<NodelessChain, 'network' | 'chainId' | 'typedData'>,
  typedData: TypedDataField,
) => {
  const refusal = `${network} has no typed data (EIP-712): only EVM networks have it.`
  const parts = { keyTypedData: provided(byKey, refusal), chainId: provided(chainId, refusal) }
  checkTypedData(typedData)
  requireChainId(typedData, parts.chainId)
  return { typedData: typedData satisfies TypedData, ...parts }
}
