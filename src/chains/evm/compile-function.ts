// Finds the one function that a policy's rule names. A wrong guess would be a security hole, so an ambiguous name is
// refused. First the declarations that the operator bound to the called contract decide, then those of its standard. If
// neither has the name, all added declarations count, for any contract.

import { AppError } from '../../platform/errors.ts'
import type { AbiItem, AddedAbiItem, CompiledFunction, DeclaredCalls, Facts, Hex } from '../chain.ts'
import { question } from '../node/rpc.ts'
import { bytes } from '../node/wire.ts'
import { selectorOf, signatureOf } from './abi-types.ts'
import { functionsNamed, knownFunctions } from './abis.ts'
import { agreedInputs, parseDeclaration, writeDeclaration } from './declaration.ts'
import type { NodeContext } from './limits.ts'
import { readerOf } from './read-call.ts'

type Context = Pick<NodeContext, 'memory' | 'network' | 'rpc'> & Pick<Facts, 'facts'>
type Named = { readonly name: string; readonly to: string | null; readonly field: string }
type Known = { readonly selector: Hex; readonly signature: string; readonly item: AbiItem }

const LISTED_MAX = 20
const BARE = /^[A-Za-z_$][A-Za-z0-9_$]*$/

const refuse = (field: string, sentence: string): never => {
  throw new AppError('invalid_input', `Field "${field}" ${sentence}`)
}

const describe = ({ name, inputs }: AbiItem): Known => {
  const signature = signatureOf({ name, inputs })
  return { selector: selectorOf(signature), signature, item: { name, inputs } }
}

/** The canonical form of a full signature; null for a bare name. */
const wholeIn = ({ name, field }: Named): Known | null => {
  if (BARE.test(name)) return null
  const item = parseDeclaration(name)
  if (item === null) return refuse(field, 'must be a function: its name, or all of it as transfer(address,uint256).')
  const whole = describe(item)
  return whole.signature === name ? whole : refuse(field, `must be written as ${whole.signature} here.`)
}

const onceEach = <Item>(items: readonly Item[]): readonly Item[] => [...new Set(items)]

/** The known functions with this name, and more with the same selectors, the most certain first. */
const readKnown = async (
  { memory, network, facts }: Context,
  { name, whole, to }: { readonly name: string; readonly whole: Known | null; readonly to: string | null },
): Promise<readonly (readonly Known[])[]> => {
  const named = [...functionsNamed(name).map(describe), ...(whole === null ? [] : [whole])]
  const selectors = onceEach(named.map(({ selector }) => selector))
  const added: readonly AddedAbiItem[] = await memory.readAbiItems({ network, kind: 'function', selectors, name })
  const builtIn = onceEach([...selectors, ...added.map(({ selector }) => selector)]).flatMap(knownFunctions)
  const all = [...builtIn, ...added]
  if (to === null || all.length < 2) return [all.map(describe)]
  const standard = (await facts([to])).get(to)?.standard
  const bound = added.filter(({ addresses }) => addresses.includes(to))
  // Built-in functions of standard 'other' belong to many contracts.
  const own = builtIn.filter((each) => each.standard === standard && standard !== 'other')
  return [bound, own, all].map((items) => items.map(describe))
}

/** The overloads whose selectors the contract's code contains. If it contains only one, that one is meant. */
const inCode = async ({ rpc }: Context, to: string, signatures: ReadonlyMap<string, Known>) => {
  const code = Buffer.from((await rpc.ask(question('eth_getCode', [to, 'latest'], bytes))).slice(2), 'hex')
  return new Map([...signatures].filter(([, { selector }]) => code.includes(Buffer.from(selector.slice(2), 'hex'))))
}

const listed = (texts: readonly string[]): string =>
  `${texts.slice(0, LISTED_MAX).join(', ')}${texts.length > LISTED_MAX ? ', …' : ''}`

const compileFunction = async (
  context: Context,
  named: Named,
): Promise<CompiledFunction & { readonly isKnown: boolean }> => {
  const { to, field } = named
  const whole = wholeIn(named)
  const name = whole?.item.name ?? named.name
  const isMeant = (each: Known) => (whole === null ? each.item.name === name : each.signature === whole.signature)
  const tiers = await readKnown(context, { name, whole, to })
  const at = tiers.findIndex((tier) => tier.some(isMeant))
  const meant = tiers[at]?.filter(isMeant) ?? (whole === null ? [] : [whole])
  if (meant.length === 0) {
    refuse(
      field,
      `names a function that is not known: write its signature, such as ${name}(address,uint256), or have its ABI added.`,
    )
  }
  let signatures: ReadonlyMap<string, Known> = new Map(meant.map((each) => [each.signature, each]))
  if (signatures.size > 1 && to !== null) {
    const present = await inCode(context, to, signatures)
    if (present.size === 1) signatures = present
  }
  const [[signature, { selector }] = ['', { selector: '' }], ...others] = signatures
  if (others.length > 0) {
    refuse(field, `names several functions: write the one that is meant, of ${listed([...signatures.keys()])}.`)
  }
  // If another function has this selector, what a call means is uncertain, unless the contract's declarations decide.
  const rivals = tiers.slice(0, at < 0 ? tiers.length : at + 1).flat()
  const rival = rivals.find((each) => each.selector === selector && each.signature !== signature)
  if (rival !== undefined)
    refuse(field, `has the selector of ${rival.signature}, which is known too: its calls are uncertain.`)
  const inputs = agreedInputs(meant.filter((each) => each.signature === signature).map(({ item }) => item.inputs))
  return { selector, declaration: writeDeclaration({ name, inputs }), isKnown: at >= 0 }
}

/** See `Calls.calls`. */
export const declaredCalls = (context: Context): DeclaredCalls => ({
  by: 'declaration',
  compile: (named) => compileFunction(context, named),
  readerOf,
})
