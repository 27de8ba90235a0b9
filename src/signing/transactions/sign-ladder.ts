import type { Chain, Ladder, Unsigned } from '../../chains/chain.ts'
import type { KeyUse } from '../../vault/contract/vault.ts'
import type { Signing } from '../policies/delegated.ts'
import { type About, type AttemptPlace, type SignedAttempt, textOfAbout } from './recorded.ts'

const unsignedIn = ({ rungs, cancel }: Ladder): readonly Unsigned[] => (cancel === null ? rungs : [...rungs, cancel])

/** Words for the audit if the vault cannot read what it signs. It then marks them as the API's. Pure. */
export const wordsOf = (unsigned: Unsigned | undefined): KeyUse['details'] => {
  if (unsigned === undefined) return {}
  const { to, value, nonce } = unsigned
  return { to: to ?? '', value: String(value), nonce: String(nonce) }
}

/** The most that a ladder can pay for gas: only one attempt of a nonce is mined, at worst the dearest. Pure. */
export const dearestGasFee = ({ feeRules }: Pick<Chain, 'feeRules'>, ladder: Ladder): bigint =>
  unsignedIn(ladder)
    .map((unsigned) => feeRules.gasFee(unsigned))
    .reduce((one, other) => (one > other ? one : other), 0n)

type LadderUse = Pick<KeyUse, 'action' | 'details'> &
  Pick<About, 'rows' | 'answer'> & {
    readonly ladder: Ladder
    /** The number of the first new rung. */
    readonly firstRung: number
  }

const placesOf = (chain: Chain, { ladder, firstRung }: LadderUse): readonly AttemptPlace[] =>
  unsignedIn(ladder).map((unsigned, index) => {
    const maxFeePerGas = chain.feeRules.feesOf(unsigned)?.maxFeePerGas ?? null
    return index < ladder.rungs.length
      ? { maxFeePerGas, kind: 'rung', rung: firstRung + index }
      : { maxFeePerGas, kind: 'cancel', rung: 0 }
  })

const attemptsOf = (
  chain: Chain,
  { use, places }: { readonly use: LadderUse; readonly places: readonly AttemptPlace[] },
  signatures: readonly Uint8Array[],
): readonly SignedAttempt[] =>
  unsignedIn(use.ladder).map((unsigned, index) => {
    const [signature, place] = [signatures[index], places[index]]
    if (signature === undefined || place === undefined) throw new Error('custody returned too few signatures')
    return { ...chain.assemble(unsigned, signature), ...place }
  })

/**
 * Signs the attempts of several ladders together: of each the rungs from the lowest on, then the cancel.
 * @param input.fee the most that all can pay, in base units.
 */
export const signLadders = async (input: {
  readonly chain: Chain
  readonly key: Signing
  readonly fee: bigint
  readonly uses: readonly LadderUse[]
}): Promise<readonly (readonly SignedAttempt[])[]> => {
  const { chain, key, fee } = input
  const uses = input.uses.map((use) => ({ use, places: placesOf(chain, use) }))
  const signatures = await key.sign(
    fee,
    ...uses.map(({ use: { ladder, action, details, rows, answer }, places }) => ({
      action,
      details: { ...details, ...wordsOf(ladder.rungs[0]) },
      about: textOfAbout({ rows, places, answer }),
      payloads: unsignedIn(ladder).map((unsigned) => chain.payloadOf(unsigned)),
    })),
  )
  return uses.map((use, index) => attemptsOf(chain, use, signatures[index] ?? []))
}
