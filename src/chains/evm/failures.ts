// Why executions failed, as every caller is told: by the errors that are built in, and by those that the operator declared.

import type { Network } from '../../../db/words.ts'
import type { ChainMemory, Hex } from '../chain.ts'
import type { Rpc, RpcError } from '../node/rpc.ts'
import { readDeclared } from './declared.ts'
import { isRevert, revertData } from './node-errors.ts'
import { customErrorIn, failureOf, revertFailure } from './reverts.ts'
import type { SimulatedCall } from './simulate.ts'

/** An execution that failed: the sentence by what is built in, and what a revert returned (`0x` for nothing and for a halt). */
export type Failed = { readonly failure: string; readonly reverted: Hex }

type Context = {
  readonly rpc: Rpc
  readonly memory: Pick<ChainMemory, 'readAbiItems'>
  readonly network: Network
}

/** As the node told it of one call. Pure. */
export const failedBy = (error: RpcError): Failed => ({
  failure: failureOf(error),
  reverted: (isRevert(error) ? revertData(error) : null) ?? '0x',
})

/** As a simulation told it; null for a call that succeeded. Pure. */
export const failedIn = ({ failure, returnData }: Pick<SimulatedCall, 'failure' | 'returnData'>): Failed | null =>
  failure === null ? null : { failure, reverted: returnData }

/** The sentence of each, by place; null for what did not fail. One query where there are custom errors. @throws NodeUnavailable. */
export const tellFailures = async (
  context: Context,
  ends: readonly { readonly to: string | null; readonly failed: Failed | null }[],
): Promise<readonly (string | null)[]> => {
  const declared = await readDeclared(context, {
    kind: 'error',
    places: ends.map(({ to, failed }) => {
      const selector = failed === null ? null : customErrorIn(failed.reverted)
      return selector === null ? null : { to, selector }
    }),
  })
  return ends.map(({ failed }, index) => {
    if (failed === null || customErrorIn(failed.reverted) === null) return failed?.failure ?? null
    return revertFailure(failed.reverted, declared[index])
  })
}
