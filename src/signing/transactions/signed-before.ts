// A speed-up signs what is in rows that the worker may write, so rows alone must not cause a signature. An earlier signature
// of the same key proves what its owner asked for: nobody else can make one.

import type { AttemptRow } from '../../../db/queries/transactions.ts'
import type { WalletRow } from '../../../db/queries/wallets.ts'
import type { Chain, Hex, Replacement, Unsigned } from '../../chains/chain.ts'
import { signerAddressOf } from '../wallets/contract-wallet.ts'

/**
 * Requires that the wallet's key signed the same transaction before, at any fees, and that all attempts, whose fees the new
 * one must exceed, are of this key. @throws Error if the rows were changed.
 */
export const requireSignedBefore = async (input: {
  readonly chain: Chain
  readonly replacement: Replacement
  readonly wallet: WalletRow
  /** The signer. */
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
