// The built-in functions and errors, by selector.
// If a function belongs to two standards (transferFrom of ERC-20 and ERC-721), the contract's standard decides.

import { parseAbi } from 'viem'
import type { AssetStandard } from '../../../db/words.ts'
import type { AbiInput, AbiItem } from '../chain.ts'
import { selectorOf, signatureOf } from './abi-types.ts'
import { ERROR_DECLARATIONS } from './error-declarations.ts'
import { STANDARD_DECLARATIONS } from './function-declarations.ts'
import { PROTOCOL_DECLARATIONS } from './protocol-declarations.ts'

/** A function, and the standard that declares it. */
type KnownFunction = AbiItem & { readonly standard: AssetStandard }

type Parameter = {
  readonly name?: string | undefined
  readonly type: string
  readonly components?: readonly Parameter[]
}

const inputOf = ({ name = '', type, components }: Parameter): AbiInput => ({
  name,
  type,
  ...(components === undefined ? {} : { components: components.map(inputOf) }),
})

/** Parses declarations, in order; structs among them are skipped. */
const parsed = (declarations: readonly string[]): readonly AbiItem[] =>
  parseAbi(declarations).flatMap((item) =>
    item.type === 'function' || item.type === 'error' ? [{ name: item.name, inputs: item.inputs.map(inputOf) }] : [],
  )

const bySelector = <Item extends AbiItem>(items: readonly Item[]): ReadonlyMap<string, readonly Item[]> =>
  Map.groupBy(items, (item) => selectorOf(signatureOf(item)))

const FUNCTIONS = bySelector(
  [...STANDARD_DECLARATIONS, ...PROTOCOL_DECLARATIONS].flatMap(({ standard, structs = [], functions }) =>
    parsed([...structs, ...functions]).map((item): KnownFunction => ({ ...item, standard })),
  ),
)

const ERRORS = bySelector(parsed(ERROR_DECLARATIONS.flatMap(({ errors }) => errors.map((error) => `error ${error}`))))

/** All built-in functions with this selector, in the order of the declarations. */
export const knownFunctions = (selector: string): readonly KnownFunction[] => FUNCTIONS.get(selector) ?? []

const BY_NAME: ReadonlyMap<string, readonly KnownFunction[]> = Map.groupBy(
  [...FUNCTIONS.values()].flat(),
  ({ name }) => name,
)

/** All built-in functions with this name. */
export const functionsNamed = (name: string): readonly KnownFunction[] => BY_NAME.get(name) ?? []

/** All built-in errors with this selector, in the order of the declarations. */
export const knownErrors = (selector: string): readonly AbiItem[] => ERRORS.get(selector) ?? []

/** The selectors of all built-in functions and errors. */
export const knownSelectors = (): { readonly functions: readonly string[]; readonly errors: readonly string[] } => ({
  functions: [...FUNCTIONS.keys()],
  errors: [...ERRORS.keys()],
})
