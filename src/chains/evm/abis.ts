// The built-in functions and errors, by selector. The two JSON files have their declarations, under the source of each:
// functions also under their standard. If a function belongs to two standards (transferFrom of ERC-20 and ERC-721), the
// contract's standard decides. Argument names are those of the EIPs and of the authors, without leading underscores.
// Each error is listed only once. PancakeSwap, SushiSwap and many more have the functions of Uniswap's routers.

import { parseAbi } from 'viem/utils'
import type { AssetStandard } from '../../../db/words.ts'
import type { AbiInput, AbiItem } from '../chain.ts'
import { selectorOf, signatureOf } from './abi-types.ts'
import errors from './known-errors.json' with { type: 'json' }
import functions from './known-functions.json' with { type: 'json' }

/** The declarations of one source, with the structs that they name. */
type BySource = Readonly<Record<string, readonly string[]>>

export const FUNCTION_DECLARATIONS: Readonly<Record<Exclude<AssetStandard, 'native'>, BySource>> = functions
const ERROR_DECLARATIONS: BySource = errors

type KnownFunction = AbiItem & { readonly standard: AssetStandard }

type Parameter = {
  readonly name?: string | undefined
  readonly type: string
  readonly components?: readonly Parameter[]
}

const parseInput = ({ name = '', type, components }: Parameter): AbiInput => ({
  name,
  type,
  ...(components === undefined ? {} : { components: components.map(parseInput) }),
})

/** Parses declarations, in order; structs among them are skipped. */
const parseItems = (declarations: readonly string[]): readonly AbiItem[] =>
  parseAbi(declarations).flatMap((item) =>
    item.type === 'function' || item.type === 'error' ? [{ name: item.name, inputs: item.inputs.map(parseInput) }] : [],
  )

const bySelector = <Item extends AbiItem>(items: readonly Item[]): ReadonlyMap<string, readonly Item[]> =>
  Map.groupBy(items, (item) => selectorOf(signatureOf(item)))

const FUNCTIONS = bySelector(
  (['erc20', 'erc721', 'erc1155', 'other'] as const).flatMap((standard) =>
    Object.values(FUNCTION_DECLARATIONS[standard]).flatMap((declarations) =>
      parseItems(declarations).map((item): KnownFunction => ({ ...item, standard })),
    ),
  ),
)

const ERRORS = bySelector(Object.values(ERROR_DECLARATIONS).flatMap(parseItems))

/** All built-in functions with this selector, in the order of the declarations. */
export const knownFunctions = (selector: string): readonly KnownFunction[] => FUNCTIONS.get(selector) ?? []

const BY_NAME: ReadonlyMap<string, readonly KnownFunction[]> = Map.groupBy(
  [...FUNCTIONS.values()].flat(),
  ({ name }) => name,
)

export const functionsNamed = (name: string): readonly KnownFunction[] => BY_NAME.get(name) ?? []

/** All built-in errors with this selector, in the order of the declarations. */
export const knownErrors = (selector: string): readonly AbiItem[] => ERRORS.get(selector) ?? []

export const knownSelectors = (): { readonly functions: readonly string[]; readonly errors: readonly string[] } => ({
  functions: [...FUNCTIONS.keys()],
  errors: [...ERRORS.keys()],
})
