import type { Identity } from '../node/identity.ts'
import { question } from '../node/rpc.ts'
import { smallQuantity } from '../node/wire.ts'

/** EIP-155's chain id, as the node itself says it. */
export const identityOf = (chainId: number): Identity<number> => ({
  question: question('eth_chainId', [], smallQuantity),
  right: chainId,
  word: 'chain id',
})
