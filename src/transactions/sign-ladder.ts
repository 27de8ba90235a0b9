import type { insertAttempts } from '../../db/queries/transactions.ts'
import type { Chain, Ladder, Unsigned } from '../chains/chain.ts'
import type { KeyHandle } from '../custody/vault.ts'

type SignedAttempts = Parameters<typeof insertAttempts>[2]

/** The most that a ladder can pay for gas: only one attempt of a nonce is mined, at worst the dearest. Pure. */
export const dearestGasFee = ({ terms }: Pick<Chain, 'terms'>, { rungs, cancel }: Ladder): bigint =>
  [...rungs, ...(cancel === null ? [] : [cancel])]
    .map((unsigned) => terms.gasFee(unsigned))
    .reduce((one, other) => (one > other ? one : other), 0n)

/** Signs all attempts: the rungs from the lowest on, then the cancel. */
export const signLadder = (
  { chain, key }: { readonly chain: Chain; readonly key: KeyHandle },
  input: {
    readonly ladder: Ladder
    /** The number of the first new rung. */
    readonly firstRung: number
  },
): SignedAttempts => {
  const { ladder, firstRung } = input
  const sign = (unsigned: Unsigned) => ({
    ...chain.assemble(unsigned, key.sign(chain.payloadOf(unsigned))),
    maxFeePerGas: chain.terms.feesOf(unsigned)?.maxFeePerGas ?? null,
  })
  return [
    ...ladder.rungs.map((unsigned, index) => ({ ...sign(unsigned), kind: 'rung', rung: firstRung + index }) as const),
    ...(ladder.cancel === null ? [] : [{ ...sign(ladder.cancel), kind: 'cancel', rung: 0 } as const]),
  ]
}
