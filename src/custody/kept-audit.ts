// The audit rows that this vault has committed, until they have a link of a chain. A trigger can delete a row as soon as it is
// committed, so before a vault has chained it; afterwards the chain shows that it is gone. While a row is gone, no key is opened.

import { clearInterval, setInterval } from 'node:timers'
import type { Db } from '../../db/client.ts'
import type { AuditRow } from '../../db/queries/custody/audit.ts'
import { presentAudit } from '../../db/queries/custody/audit-chain.ts'
import { AppError } from '../errors.ts'
import type { RefusalsLog } from './refusals.ts'

const EVERY_MS = 2_500
/** A slow commit, or a chain that lags. */
const AGE_MS = 5_000
/** If vaults cannot chain for long, rows that were there are forgotten from here on. */
const KEPT_MAX = 50_000
const ROWS_A_STATEMENT = 2_000

type Kept = { readonly at: Date; readonly sinceMs: number }

export type KeptAudit = {
  /** Takes rows that are committed. */
  readonly add: (rows: readonly AuditRow[]) => void
  /** @throws unavailable while a row is gone. */
  readonly require: () => void
  readonly close: () => void
}

const gone = (rows: number): AppError =>
  new AppError(
    'unavailable',
    `The database lacks ${rows} audit rows that the vault has written: an operator must run "cli audit verify" and "cli restore".`,
    { retryAfterSeconds: 5 },
  )

export const createKeptAudit = (input: { readonly db: Db; readonly log: RefusalsLog }): KeptAudit => {
  const { db, log } = input
  const kept = new Map<string, Kept>()
  let missing: ReadonlySet<string> = new Set()

  const check = async (): Promise<void> => {
    const before = performance.now() - AGE_MS
    const due = [...kept].filter(([, { sinceMs }]) => sinceMs <= before)
    const absent = new Set<string>()
    for (let start = 0; start < due.length; start += ROWS_A_STATEMENT) {
      const page = due.slice(start, start + ROWS_A_STATEMENT)
      const present = await presentAudit(
        db,
        page.map(([mac, { at }]) => ({ mac, at })),
      )
      for (const [mac] of page) {
        const isChained = present.get(mac)
        if (isChained === undefined) absent.add(mac)
        else if (isChained || kept.size > KEPT_MAX) kept.delete(mac)
      }
    }
    const found = [...absent].filter((mac) => !missing.has(mac))
    if (found.length > 0)
      log.error({ rows: absent.size, mac: found[0] }, 'audit rows of this vault are gone: no key is opened')
    missing = absent
  }

  let checking = Promise.resolve()
  const timer = setInterval(() => {
    // A database that is away says nothing: requests report it.
    if (kept.size > 0) checking = checking.then(check).catch(() => {})
  }, EVERY_MS)
  timer.unref()

  return {
    add: (rows) => {
      const sinceMs = performance.now()
      for (const { mac, at } of rows) kept.set(Buffer.from(mac).toString('hex'), { at, sinceMs })
    },
    require: () => {
      if (missing.size > 0) throw gone(missing.size)
    },
    close: () => clearInterval(timer),
  }
}
