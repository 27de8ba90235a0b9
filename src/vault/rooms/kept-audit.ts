// The audit rows that this vault has committed, until they have a link of a chain. A trigger can delete a row as soon
// as it is committed, before a vault has chained it; afterwards the chain shows that it is gone. A link that no vault
// has made does not count. While a row is gone, the vault opens no key.

import { clearInterval, setInterval } from 'node:timers'
import type { Db } from '../../../db/client.ts'
import type { AuditRow } from '../../../db/queries/vault/audit.ts'
import { type PresentAudit, presentAudit } from '../../../db/queries/vault/audit-chain.ts'
import { readServer } from '../../../db/queries/vault/journal.ts'
import { AppError } from '../../platform/errors.ts'
import { createLinkMaker } from './chain/chain.ts'
import type { RefusalsLog } from './refusals.ts'
import type { DeploymentKey } from './root/root-key.ts'

const EVERY_MS = 2_500
/** Time for a slow commit, or a chain that lags. */
const AGE_MS = 5_000
/** If vaults cannot chain for long, this vault forgets rows from here on that were there. */
const KEPT_MAX = 50_000
const ROWS_A_STATEMENT = 2_000

type Written = { readonly row: AuditRow; readonly sinceMs: number }

export type KeptAudit = ReturnType<typeof createKeptAudit>

const gone = (rows: number): AppError => {
  const sentence = `The database lacks ${rows} audit rows that this vault has written: an operator must run "cli audit verify", then "cli restore", or without a journal start this vault again.`
  return new AppError('unavailable', sentence, { retryAfterSeconds: 5 })
}

type Parts = { readonly db: Db; readonly deploymentKey: DeploymentKey; readonly log: RefusalsLog }

const createCheck = ({ db, deploymentKey, log }: Parts, written: Map<string, Written>) => {
  const makeLink = createLinkMaker(deploymentKey)
  let missing: ReadonlySet<string> = new Set()
  let server: string | null = null
  /** Earlier rows were written to another server. */
  let sameSinceMs = Number.NEGATIVE_INFINITY

  const isChained = ({ projectId = null, ...row }: AuditRow, { id, link, previousHead }: PresentAudit): boolean => {
    if (link === null) return false
    const { chain, position } = link
    const previous = previousHead && { chain, position: position - 1n, auditId: 0n, head: previousHead }
    const made = makeLink({ previous, row: { ...row, id, projectId } })
    return made.chain === link.chain && made.position === link.position && Buffer.compare(made.head, link.head) === 0
  }

  /** Rows may never have reached a server that took the place of this one: a journal shows that. */
  const forgetOthers = async (absent: Set<string>): Promise<void> => {
    if (server !== null && absent.size === 0) return
    // A server that recovers says nothing yet.
    const now = (await readServer(db))?.started ?? server
    if (server !== null && server !== now) sameSinceMs = performance.now()
    server = now
    const others = [...absent].filter((mac) => (written.get(mac)?.sinceMs ?? 0) <= sameSinceMs)
    for (const mac of others) for (const rows of [written, absent]) rows.delete(mac)
    const rows = others.length
    if (rows > 0) log.error({ rows }, 'another server of the database lacks audit rows of this vault')
  }

  const look = async (): Promise<void> => {
    const before = performance.now() - AGE_MS
    const due = [...written].filter(([, { sinceMs }]) => sinceMs <= before)
    const absent = new Set<string>()
    for (let start = 0; start < due.length; start += ROWS_A_STATEMENT) {
      const page = due.slice(start, start + ROWS_A_STATEMENT)
      const present = await presentAudit(
        db,
        page.map(([mac, { row }]) => ({ mac, at: row.at })),
      )
      for (const [mac, { row }] of page) {
        const found = present.get(mac)
        if (found === undefined || (found.link !== null && !isChained(row, found))) absent.add(mac)
        else if (found.link !== null || written.size > KEPT_MAX) written.delete(mac)
      }
    }
    await forgetOthers(absent)
    const [first] = absent
    if (first !== undefined && !missing.has(first))
      log.error({ rows: absent.size, mac: first }, 'audit rows of this vault are gone: no key is opened')
    missing = absent
  }
  return { look, missing: () => missing.size }
}

export const createKeptAudit = (parts: Parts) => {
  const written = new Map<string, Written>()
  const { look, missing } = createCheck(parts, written)
  let isLooking = false
  const tick = async (): Promise<void> => {
    if (isLooking) return
    isLooking = true
    // A database that is away says nothing: requests report it.
    await look().catch(() => {})
    isLooking = false
  }
  const timer = setInterval(() => void tick(), EVERY_MS)
  timer.unref()

  return {
    /** Takes rows that are committed. */
    add: (rows: readonly AuditRow[]): void => {
      const sinceMs = performance.now()
      for (const row of rows) written.set(Buffer.from(row.mac).toString('hex'), { row, sinceMs })
    },
    /** @throws unavailable while a row is gone. */
    require: (): void => {
      if (missing() > 0) throw gone(missing())
    },
    close: (): void => clearInterval(timer),
  }
}
