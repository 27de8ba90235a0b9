import type { insertAttempts } from '../../db/queries/transactions.ts'
import type { Chain, Ladder, Unsigned } from '../chains/chain.ts'
import type { KeyUse } from '../custody/vault.ts'
import type { Signing } from '../policies/delegated.ts'

type SignedAttempts = Parameters<typeof insertAttempts>[2]

const unsignedIn = ({ rungs, cancel }: Ladder): readonly Unsigned[] => (cancel === null ? rungs : [...rungs, cancel])

/** The most that a ladder can pay for gas: only one attempt of a nonce is mined, at worst the dearest. Pure. */
export const dearestGasFee = ({ terms }: Pick<Chain, 'terms'>, ladder: Ladder): bigint =>
  unsignedIn(ladder)
    .map((unsigned) => terms.gasFee(unsigned))
    .reduce((one, other) => (one > other ? one : other), 0n)

type LadderUse = Omit<KeyUse, 'payloads'> & {
  readonly ladder: Ladder
  /** The number of the first new rung. */
  readonly firstRung: number
}

const attemptsOf = (
  chain: Chain,
  { ladder, firstRung }: LadderUse,
  signatures: readonly Uint8Array[],
): SignedAttempts => {
  const signed = unsignedIn(ladder).map((unsigned, index) => {
    const signature = signatures[index]
    if (signature === undefined) throw new Error('custody returned too few signatures')
    return {
      ...chain.assemble(unsigned, signature),
      maxFeePerGas: chain.terms.feesOf(unsigned)?.maxFeePerGas ?? null,
    }
  })
  return signed.map((attempt, index) =>
    index < ladder.rungs.length
      ? { ...attempt, kind: 'rung', rung: firstRung + index }
      : { ...attempt, kind: 'cancel', rung: 0 },
  )
}

/**
 * Signs the attempts of several ladders together: of each the rungs from the lowest on, then the cancel.
 * @param input.fee the most that all can pay, in base units.
 */
export const signLadders = async (input: {
  readonly chain: Chain
  readonly key: Signing
  readonly fee: bigint
  readonly uses: readonly LadderUse[]
}): Promise<readonly SignedAttempts[]> => {
  const { chain, key, fee, uses } = input
  const signatures = await key.sign(
    fee,
    ...uses.map(({ ladder, action, details }) => ({
      action,
      details,
      payloads: unsignedIn(ladder).map((unsigned) => chain.payloadOf(unsigned)),
    })),
  )
  return uses.map((use, index) => attemptsOf(chain, use, signatures[index] ?? []))
}
