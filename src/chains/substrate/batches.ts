// Splits a batch into its calls.

import type { Hex } from '../chain.ts'
import { type CallTree, treeOf } from './decode.ts'
import type { Runtime } from './runtime.ts'
import { fieldOf } from './values.ts'

const BATCHES: readonly string[] = ['utility.batch', 'utility.batch_all', 'utility.force_batch']

const unbatched = (tree: CallTree): readonly CallTree[] => {
  if (!BATCHES.includes(tree.functionName)) return [tree]
  const calls = fieldOf(tree, 'calls')
  return calls.kind === 'list' ? calls.items.flatMap((each) => (each.kind === 'call' ? unbatched(each) : [])) : []
}

/** The calls in a batch, in order; any other call alone. Empty if the call cannot be decoded. Pure. */
export const callsOf = (runtime: Runtime, call: Hex): readonly CallTree[] => {
  const tree = treeOf(runtime, call)
  return tree === null ? [] : unbatched(tree)
}
