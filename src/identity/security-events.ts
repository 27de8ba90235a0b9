// The trail of attacks. An error that may be part of an attack carries a security event (`AppError.event`). Where
// errors become answers, this file records the event with the caller's address: in the metrics, and at once in the log,
// at most 10 new ones of a kind in half a minute. Twice a minute a process writes the kinds that belong to it to the
// audit, one row for each kind, project, actor, subject and address, with their number and time
// (platform/audit/counted-events.ts bounds the rows). The vault writes its own refusals (vault/rooms/refusals.ts).
//
// A killed process loses the counts of its last half minute; the log has the lines. No event contains a credential, a
// token or an e-mail address; an owner's id is the project's own name of the owner.

import type { HasDb } from '../../db/client.ts'
import { type AuditRecord, listSecurityRows } from '../../db/queries/audit-rows.ts'
import { findProject } from '../../db/queries/projects.ts'
import type { SecurityEventKind } from '../../db/words.ts'
import type { Audit } from '../platform/audit/audit.ts'
import { actOf, type Counted, createCounts, describeEvent, rowsOf } from '../platform/audit/counted-events.ts'
import { noSuchProject, type SecurityEvent } from '../platform/errors.ts'
import type { Metrics } from '../platform/metrics/metrics.ts'
import type { Log } from '../platform/process/log.ts'
import { within } from '../platform/queue.ts'

const WRITE_INTERVAL_MS = 30_000
const LAST_WRITE_MAX_MS = 2_000
const LINES_OF_A_KIND_MAX = 10

export type SecurityEvents = {
  /** Never throws. */
  record(occurrence: Occurrence): void
  /** Writes the events since the last time; if that fails, they are kept for the next. Never rejects. */
  flush(): Promise<void>
}

export type HasSecurityEvents = { readonly securityEvents: SecurityEvents }

/** @param from an IPv4 address or the /64 of an IPv6 one; '' if unknown. */
type Occurrence = { readonly event: SecurityEvent; readonly from: string }

/** @param ctx.written the kinds of which this process writes audit rows. */
export const createSecurityEvents = <Kind extends SecurityEventKind>(ctx: {
  readonly written: readonly Kind[]
  readonly audit: Pick<Audit<NoInfer<Kind>>, 'commit'>
  readonly metrics: Pick<Metrics, 'securityEvents'>
  readonly log: Pick<Log, 'warn'>
  readonly now: () => Date
}): SecurityEvents => {
  let counts = createCounts()
  let lines = new Map<SecurityEventKind, number>()
  let flushing = Promise.resolve()

  const isWritten = (counted: Counted): counted is Counted<Kind> =>
    ctx.written.some((kind: SecurityEventKind) => kind === counted.kind)

  const writeRow = async (row: Counted<Kind>): Promise<void> => {
    try {
      await ctx.audit.commit(actOf(row))
    } catch (err) {
      ctx.log.warn({ err }, 'could not write a security event')
      counts.add(row, row)
    }
  }

  const flush = async (): Promise<void> => {
    const rows = rowsOf(counts.values().filter(isWritten))
    counts = createCounts()
    lines = new Map()
    await Promise.all(rows.map(writeRow))
  }

  return {
    record: (occurrence) => {
      const described = describeEvent(occurrence)
      const nowMs = ctx.now().getTime()
      ctx.metrics.securityEvents.inc({ kind: described.kind })
      const isFirst = counts.add(described, { count: 1, sinceMs: nowMs, untilMs: nowMs })
      const before = lines.get(described.kind) ?? 0
      if (!isFirst || before >= LINES_OF_A_KIND_MAX) return
      lines.set(described.kind, before + 1)
      ctx.log.warn({ securityEvent: described }, 'security event')
    },
    flush: () => {
      flushing = flushing.then(flush)
      return flushing
    },
  }
}

export const listSecurityEvents = async (
  ctx: HasDb,
  input: { readonly projectId: string | null; readonly kind: SecurityEventKind | null; readonly limit: number },
): Promise<readonly AuditRecord[]> => {
  const { projectId } = input
  if (projectId !== null && (await findProject(ctx.db, projectId)) === null) throw noSuchProject()
  return listSecurityRows(ctx.db, input)
}

/** Writes events periodically. @returns a function that stops this and writes a last time, for at most two seconds. */
export const startWritingEvents = (events: Pick<SecurityEvents, 'flush'>): (() => Promise<void>) => {
  const timer = setInterval(() => void events.flush(), WRITE_INTERVAL_MS)
  return async () => {
    clearInterval(timer)
    await within(LAST_WRITE_MAX_MS, events.flush())
  }
}
