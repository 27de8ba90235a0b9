// The error texts of failed executions, from the built-in errors and those that the operator declared.

import type { Hex } from '../chain.ts'
import type { RpcError } from '../node/rpc.ts'
import { readDeclared } from './declared.ts'
import type { NodeContext } from './limits.ts'
import { isRevert, revertData } from './node-errors.ts'
import { customErrorIn, describeFailure, revertFailure } from './reverts.ts'
import type { SimulatedCall } from './simulate.ts'

/** The text by the built-in errors, and the bytes that a revert returned (`0x` if none, or for a halt). */
export type Failed = { readonly failure: string; readonly reverted: Hex }

type Context = Omit<NodeContext, 'limits'>

/** From the node's error for one call. Pure. */
export const failedBy = (error: RpcError): Failed => ({
  failure: describeFailure(error),
  reverted: (isRevert(error) ? revertData(error) : null) ?? '0x',
})

/** From the result of a simulation; null for a call that succeeded. Pure. */
export const failedIn = ({ failure, returnData }: Pick<SimulatedCall, 'failure' | 'returnData'>): Failed | null =>
  failure === null ? null : { failure, reverted: returnData }

/** The error text for each end, null for a success. Makes one query if there are custom errors. */
export const describeFailures = async (
  context: Context,
  ends: readonly { readonly to: string | null; readonly failed: Failed | null }[],
): Promise<readonly (string | null)[]> => {
  const declared = await readDeclared(context, {
    kind: 'error',
    sites: ends.map(({ to, failed }) => {
      const selector = failed === null ? null : customErrorIn(failed.reverted)
      return selector === null ? null : { to, selector }
    }),
  })
  return ends.map(({ failed }, index) => {
    if (failed === null || customErrorIn(failed.reverted) === null) return failed?.failure ?? null
    return revertFailure(failed.reverted, declared[index])
  })
}
