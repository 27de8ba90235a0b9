import type { Chain, Ladder, Unsigned } from '../../chains/chain.ts'
import type { KeyUse } from '../../vault/contract/vault.ts'
import type { Signing } from '../policies/delegated.ts'
import { type About, type AttemptPlace, type SignedAttempt, textOfAbout } from './recorded.ts'

const listUnsigned = ({ rungs, cancel }: Ladder): readonly Unsigned[] => (cancel === null ? rungs : [...rungs, cancel])

/** Words for the audit if the vault cannot read what it signs. It then marks them as the API's. Pure. */
const describeUnsigned = (unsigned: Unsigned | undefined): KeyUse['details'] => {
  if (unsigned === undefined) return {}
  const { to, value, nonce } = unsigned
  return { to: to ?? '', value: String(value), nonce: String(nonce) }
}

/** The most that a ladder can pay for gas: only one attempt of a nonce is mined, at worst the dearest. Pure. */
export const dearestGasFee = ({ feeRules }: Pick<Chain, 'feeRules'>, ladder: Ladder): bigint =>
  listUnsigned(ladder)
    .map((unsigned) => feeRules.gasFee(unsigned))
    .reduce((one, other) => (one > other ? one : other), 0n)

/** The words for a transaction that is only signed. `status-by-hash` uses the block until which it is valid. */
export const describeSigned = (chain: Pick<Chain, 'lifetimeOf'>, unsigned: Unsigned): KeyUse['details'] => {
  const lifetime = chain.lifetimeOf(unsigned)
  return { ...describeUnsigned(unsigned), ...(lifetime && { valid_until_block: String(lifetime.validUntilBlock) }) }
}

type LadderUse = Pick<KeyUse, 'action' | 'details'> &
  Pick<About, 'rows' | 'answer'> & {
    readonly ladder: Ladder
    /** The number of the first new rung. */
    readonly firstRung: number
  }

const planPlaces = (chain: Chain, { ladder, firstRung }: LadderUse): readonly AttemptPlace[] =>
  listUnsigned(ladder).map((unsigned, index) => {
    const maxFeePerGas = chain.feeRules.feesOf(unsigned)?.maxFeePerGas ?? null
    return index < ladder.rungs.length
      ? { maxFeePerGas, kind: 'rung', rung: firstRung + index }
      : { maxFeePerGas, kind: 'cancel', rung: 0 }
  })

const assembleAttempts = (
  chain: Chain,
  { use, places }: { readonly use: LadderUse; readonly places: readonly AttemptPlace[] },
  signatures: readonly Uint8Array[],
): readonly SignedAttempt[] =>
  listUnsigned(use.ladder).map((unsigned, index) => {
    const [signature, place] = [signatures[index], places[index]]
    if (signature === undefined || place === undefined) throw new Error('the vault returned too few signatures')
    return { ...chain.assemble(unsigned, signature), ...place }
  })

/** Signs of each ladder the rungs from the lowest on, then the cancel. @param input.fee the most that all can pay */
export const signLadders = async (input: {
  readonly chain: Chain
  readonly key: Signing
  readonly fee: bigint
  readonly uses: readonly LadderUse[]
}): Promise<readonly (readonly SignedAttempt[])[]> => {
  const { chain, key, fee } = input
  const uses = input.uses.map((use) => ({ use, places: planPlaces(chain, use) }))
  const signatures = await key.sign(
    fee,
    ...uses.map(({ use: { ladder, action, details, rows, answer }, places }) => ({
      action,
      details: { ...details, ...describeUnsigned(ladder.rungs[0]) },
      about: textOfAbout({ rows, places, answer }),
      payloads: listUnsigned(ladder).map((unsigned) => chain.payloadOf(unsigned)),
    })),
  )
  return uses.map((use, index) => assembleAttempts(chain, use, signatures[index] ?? []))
}
