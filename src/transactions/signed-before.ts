// What is signed anew comes from rows that the worker may write, and a signature must not follow from them. What the key has
// signed before is proof of what its owner asked for: nobody else can make that.

import type { AttemptRow } from '../../db/queries/transactions.ts'
import type { WalletRow } from '../../db/queries/wallets.ts'
import type { Chain, Hex, Unsigned } from '../chains/chain.ts'
import { signerAddressOf } from '../wallets/contract-wallet.ts'

/** Everything that is signed but the fees. */
const effectOf = (unsigned: Unsigned): string => {
  if (unsigned.family !== 'evm') throw new Error('only transactions of EVM networks are signed anew')
  const { chainId, nonce, to, value, input, gasLimit } = unsigned
  return [chainId, nonce, to, value, input, gasLimit].join(' ').toLowerCase()
}

/** On one network, for one nonce. */
const placeOf = (unsigned: Unsigned): string => effectOf(unsigned).split(' ', 2).join(' ')

/**
 * Requires that the wallet's key signed this very transaction before, at whatever fees, and that nobody else signed any of its
 * attempts, above whose fees the new one goes. @throws Error where the rows were changed.
 */
export const requireSignedBefore = async (input: {
  readonly chain: Chain
  readonly wallet: WalletRow
  /** Whose nonce it is. */
  readonly address: string
  readonly offer: { readonly unsigned: Unsigned }
  readonly attempts: readonly AttemptRow[]
}): Promise<void> => {
  const { chain, wallet, address, offer, attempts } = input
  const raws = attempts.flatMap(({ kind, raw }) => (raw === null ? [] : [{ kind, raw: raw as Hex }]))
  const signed = await Promise.all(raws.map(async ({ kind, raw }) => ({ kind, ...(await chain.disassemble(raw)) })))
  const isWhole = signed.every(
    ({ from, unsigned }) => from === address && placeOf(unsigned) === placeOf(offer.unsigned),
  )
  const isKnown = signed.some(
    ({ kind, unsigned }) => kind === 'rung' && effectOf(unsigned) === effectOf(offer.unsigned),
  )
  if (isWhole && isKnown && signerAddressOf(chain, wallet) === address) return
  throw new Error('a recorded transaction is not what its key signed: its rows were changed')
}
