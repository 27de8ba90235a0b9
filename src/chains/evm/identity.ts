import type { Identity } from '../node/identity.ts'
import { question } from '../node/rpc.ts'
import { smallQuantity } from '../node/wire.ts'

/** Identifies a node by its chain id (EIP-155). */
export const identityOf = (chainId: number): Identity<number> => ({
  question: question('eth_chainId', [], smallQuantity),
  right: chainId,
  word: 'chain id',
})
