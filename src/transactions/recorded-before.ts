import { setTimeout as sleep } from 'node:timers/promises'
import { type Signer, type UnminedRow, unminedBefore } from '../../db/queries/transactions.ts'
import type { Hex, RecordedIntent } from '../chains/chain.ts'
import type { Ctx } from '../context.ts'

/** Of more than this the oldest are left out: nodes bound the gas of a simulation. */
const LIMIT = 500
/** What another signer has just been promised is sent within milliseconds; what has waited for longer is stuck. */
const BROADCAST_WITHIN_SECONDS = 2
const POLL_MS = 20

const intentOf = (row: UnminedRow): RecordedIntent => ({
  from: row.signerAddress,
  nonce: row.nonce,
  to: row.to,
  value: row.value,
  input: row.input.startsWith('0x') ? (row.input as Hex) : '0x',
  gasLimit: row.gasLimit,
})

/**
 * What an intent of a signer may depend on and the chain does not have yet: the signer's own live transactions, which its
 * nonces keep in order, and those of the project's other signers that go to the same address or create a contract. These
 * have no order but that of being sent: they count once a node has them, for which it waits a moment.
 * @param input.to where the intent goes, and for a contract wallet where its calls go; a creation goes nowhere.
 */
export const recordedBefore = async (
  ctx: Pick<Ctx, 'db'>,
  input: { readonly signer: Signer; readonly projectId: string; readonly to: readonly string[] },
): Promise<readonly RecordedIntent[]> => {
  const isOwn = (row: UnminedRow) => row.signerAddress === input.signer.address
  const isUnsent = (row: UnminedRow) => !isOwn(row) && row.status === 'submitted'
  for (const endsAt = Date.now() + BROADCAST_WITHIN_SECONDS * 1_000; ; await sleep(POLL_MS)) {
    const rows = await unminedBefore(ctx.db, { ...input, limit: LIMIT })
    const isWorthWaiting = rows.some((row) => isUnsent(row) && row.ageSeconds < BROADCAST_WITHIN_SECONDS)
    if (isWorthWaiting && Date.now() < endsAt) continue
    const inNonceOrder = rows.filter(isOwn).sort((one, other) => one.nonce - other.nonce)
    return rows
      .filter((row) => !isUnsent(row))
      .flatMap((row) => (isOwn(row) ? (inNonceOrder.shift() ?? []) : row))
      .map(intentOf)
  }
}
