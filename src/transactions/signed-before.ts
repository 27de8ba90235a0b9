// What is signed anew comes from rows that the worker may write, and a signature must not follow from them. What the key has
// signed before is proof of what its owner asked for: nobody else can make that.

import type { AttemptRow } from '../../db/queries/transactions.ts'
import type { WalletRow } from '../../db/queries/wallets.ts'
import type { Chain, Hex, Replacement, Unsigned } from '../chains/chain.ts'
import { signerAddressOf } from '../wallets/contract-wallet.ts'

/**
 * Requires that the wallet's key signed this very transaction before, at whatever fees, and that nobody else signed any of its
 * attempts, above whose fees the new one goes. @throws Error where the rows were changed.
 */
export const requireSignedBefore = async (input: {
  readonly chain: Chain
  readonly replacement: Replacement
  readonly wallet: WalletRow
  /** Whose nonce it is. */
  readonly address: string
  readonly offer: { readonly unsigned: Unsigned }
  readonly attempts: readonly AttemptRow[]
}): Promise<void> => {
  const { chain, replacement, wallet, address, offer, attempts } = input
  const raws = attempts.flatMap(({ kind, raw }) => (raw === null ? [] : [{ kind, raw: raw as Hex }]))
  const wanted = replacement.effectOf(offer.unsigned)
  const signed = await Promise.all(
    raws.map(async ({ kind, raw }) => {
      const { unsigned, from } = await replacement.disassemble(raw)
      return { kind, from, ...replacement.effectOf(unsigned) }
    }),
  )
  const isWhole = signed.every(({ from, place }) => from === address && place === wanted.place)
  const isKnown = signed.some(({ kind, effect }) => kind === 'rung' && effect === wanted.effect)
  if (isWhole && isKnown && signerAddressOf(chain, wallet) === address) return
  throw new Error('a recorded transaction is not what its key signed: its rows were changed')
}
