import type { Network } from '../../db/words.ts'
import { AppError } from '../errors.ts'

const networkIn = (input: unknown): unknown =>
  typeof input === 'object' && input !== null && 'network' in input ? input.network : undefined

/** Checks that the network in a body or a query is one of this deployment. */
export const checkNetwork = (networks: readonly Network[], input: unknown): void => {
  const network = networkIn(input)
  if (network === undefined || networks.some((each) => each === network)) return
  throw new AppError('invalid_input', `Field "network" must be one of ${networks.join(', ')}.`)
}
