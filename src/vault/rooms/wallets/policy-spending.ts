// The spending of a policy. It has a MAC (sealing/row-mac.ts) that is renewed with each charge, so that an attacker
// with the database cannot lower it. A charge is computed here, from the terms that opened the key, while the row is
// locked.
//
// Uses only grow, so each state has another MAC. An earlier row with its MAC is accepted if it is written back whole;
// but the audit has more uses than it counts, so `audit verify` names it.

import type { Tx } from '../../../../db/client.ts'
import { readClock } from '../../../../db/queries/server.ts'
import type { AuditRow } from '../../../../db/queries/vault/audit.ts'
import {
  chargeWithAudit,
  lockSpending,
  type PolicyTerms,
  type Spending,
  type SpendingRow,
  writeSpending,
} from '../../../../db/queries/vault/policies.ts'
import type { AuditAct } from '../../../platform/audit/audit.ts'
import { withClocks } from '../../client/clocks.ts'
import type { Spends } from '../../contract/vault.ts'
import { areRolling, countUse } from '../../language/policy-limits.ts'
import type { Tokens } from '../../language/token-calls.ts'
import type { RoomCtx } from '../ctx.ts'
import { identityOf } from '../sealing/hierarchy.ts'
import type { BoundRow, RowMacs } from '../sealing/row-mac.ts'
import { boundList, PolicyClosed, PolicyForged } from './policy-terms.ts'

const UINT256_MAX = (1n << 256n) - 1n

export const NOTHING_SPENT: Spending = { uses: 0, spentValue: 0n, spentFee: 0n, limitCounts: [] }

type PolicyOf = { readonly projectId: string; readonly policyId: string }

/** The spending that the MAC covers. */
export const boundSpending = (scope: PolicyOf, { uses, spentValue, spentFee, limitCounts }: Spending): BoundRow => ({
  identity: identityOf.policySpending(scope),
  fields: { uses, spent_value: spentValue, spent_fee: spentFee, limit_counts: boundList(limitCounts) },
})

/** `uses`: 0 for more of a use that was charged before. */
type Charge = Spends & { readonly uses: number; readonly tokens: Tokens }

type ChargeInput = { readonly terms: PolicyTerms; readonly use: Charge; readonly at: Date }

/** What is spent after a use; null if the terms do not allow it. */
const afterUse = (
  { uses, spentValue, spentFee, limitCounts: counts }: Spending,
  { terms, use, at }: ChargeInput,
): Spending | null => {
  const { maxUses, maxTotalValue, maxTotalFee } = terms
  const value = spentValue + use.value
  const limitCounts = countUse(terms, { counts, at, use })
  if (typeof limitCounts === 'string') return null
  const after = {
    uses: uses + use.uses,
    // Without a limit, signatures that no wallet can pay for could sum up to more than the column holds.
    spentValue: value > UINT256_MAX ? UINT256_MAX : value,
    spentFee: spentFee + use.fee,
    limitCounts,
  }
  const isWithin =
    (maxUses === null || after.uses <= maxUses) &&
    (maxTotalValue === null || value <= maxTotalValue) &&
    after.spentFee <= maxTotalFee
  return isWithin ? after : null
}

type Charged = {
  readonly projectId: string
  readonly actor: string
  readonly terms: PolicyTerms
}

/**
 * What charges uses to a policy, after its row was read. It needs no root key, so it works in a transaction. Its end
 * zeroes its key.
 * @throws PolicyForged if what was spent is not as it was written.
 */
export const openSpending = async (ctx: RoomCtx, input: Charged & { readonly row: SpendingRow }) => {
  const { projectId, actor, terms, row } = input
  const scope = { projectId, policyId: terms.id }
  const forged = () => new PolicyForged({ ...scope, actor })
  const isWritten = (macs: RowMacs, { mac, ...spending }: SpendingRow) =>
    mac !== null && macs.holds({ row: boundSpending(scope, spending), mac })
  using held = new DisposableStack()
  const opened = row.mac === null ? null : await ctx.projectKeys.rowMacsOf({ projectId, mac: row.mac })
  if (opened === null) throw forged()
  const macs = held.use(opened)
  if (!isWritten(macs, row)) throw forged()
  /** The database refuses by its clock: over is what is over by either. */
  const refuseExpired = (): void => {
    if (terms.expiresAt !== null && terms.expiresAt <= ctx.now()) throw new PolicyClosed()
  }
  const commonTime = async (tx: Tx): Promise<Date> =>
    (await withClocks(ctx.now, async () => ({ now: await readClock(tx) }))).found.now
  /**
   * Each state of a policy is followed by one other. A database that puts a state back lets several uses read it at
   * once, and each writes what it meant: only the first of them may sign.
   */
  const consume = (before: SpendingRow): void => {
    const state = `${terms.id} ${Buffer.from(before.mac ?? []).toString('hex')}`
    if (ctx.consumed.get(state)) throw forged()
    ctx.consumed.set(state, true)
  }
  /** @returns what must be called after the commit, before a signature leaves. */
  const charge = async (tx: Tx, use: Charge): Promise<() => void> => {
    const locked = await lockSpending(tx, terms.id)
    if (locked === null) throw new PolicyClosed()
    if (!isWritten(macs, locked)) throw forged()
    // An earlier row, which was written back. A row that is not locked may be earlier by another use alone.
    if (locked.uses < ctx.journal.floorOf('policies', [terms.id])) throw forged()
    refuseExpired()
    const at = areRolling(terms) ? await commonTime(tx) : ctx.now()
    const spending = afterUse(locked, { terms, use, at })
    if (spending === null) throw new PolicyClosed()
    const { id, expiresAt } = terms
    const mac = macs.of(boundSpending(scope, spending))
    const written = await writeSpending(tx, { id, expiresAt, ...spending, mac })
    if (written === null) throw new PolicyClosed()
    tx.afterCommit(() => ctx.journal.wrote(written))
    return () => consume(locked)
  }
  let isFirst = true
  /**
   * Charges the first use together with its audit rows in one statement, if the row is still as it was read: no two
   * states have the same MAC.
   * @returns false if nothing was charged. `charge` then finds out why.
   */
  const chargeAtOnce = async (use: Charge, acts: readonly AuditAct[]): Promise<boolean> => {
    const { id, expiresAt } = terms
    const isCurrent = isFirst && row.uses >= ctx.journal.floorOf('policies', [id])
    isFirst = false
    // Rolling limits use the database's clock, which is read while the row is locked.
    const spending = isCurrent && !areRolling(terms) ? afterUse(row, { terms, use, at: ctx.now() }) : null
    if (spending === null) return false
    const after = { ...spending, mac: macs.of(boundSpending(scope, spending)) }
    refuseExpired()
    return await ctx.audit.commitBy(async (rows: readonly AuditRow[]) => {
      const written = await chargeWithAudit(ctx.db, { id, expiresAt, before: row, after, rows })
      if (written === null) return false
      ctx.journal.wrote(written)
      consume(row)
      return true
    }, acts)
  }
  const keys = held.move()
  return { charge, chargeAtOnce, [Symbol.dispose]: () => keys.dispose() }
}
