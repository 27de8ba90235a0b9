import type { NodelessChain } from '../../chains/chain.ts'
import { provided } from '../../chains/provided.ts'
import type { TypedData } from '../../vault/language/payload.ts'
import { checkTypedData, requireChainId } from '../../vault/language/typed-data.ts'
import { readStructs, type ValueType } from '../../vault/language/typed-data-types.ts'
import type { TypedDataField } from './schema.ts'

type Value = { readonly effect: 'states'; readonly path: string; readonly type: string; readonly value: string }

/** All values of a message in the order of its types, each with its path. Pure. @param typedData checked before */
export const listValues = ({ types, primaryType, message }: TypedData): readonly Value[] => {
  // The data can be a domain alone.
  if (!Object.hasOwn(types, primaryType)) return []
  const structs = readStructs(types, primaryType)
  const values: Value[] = []
  const add = (type: ValueType, text: string, value: unknown, path: string): void => {
    if (type.kind === 'list' && Array.isArray(value)) {
      const element = text.slice(0, text.lastIndexOf('['))
      for (const [index, each] of value.entries()) add(type.of, element, each, `${path}.${index}`)
      return
    }
    if (type.kind !== 'struct') {
      values.push({ effect: 'states', path, type: text, value: String(value) })
      return
    }
    const members = new Map(Object.entries(Object(value)))
    for (const { name, type: fieldType, text: fieldText } of structs.get(type.name)?.fields ?? []) {
      add(fieldType, fieldText, members.get(name), path === '' ? name : `${path}.${name}`)
    }
  }
  add({ kind: 'struct', name: primaryType }, primaryType, message, '')
  return values
}

/**
 * The vault makes the same checks. @returns the data, with what signs it for the address of a key.
 * @throws not_implemented for a network without typed data; invalid_input for data that does not fit its types
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
