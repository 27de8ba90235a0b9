// The trail of attacks. A refusal that may be part of an attack carries a security event (`AppError.event`). Where failures
// become answers, the event is recorded here with the caller's address. Events are counted, and written twice a minute: one
// audit row for each kind, project, actor, subject and address, with their number and time. So a thousand wrong PINs of one
// API key for one owner are one row in half a minute.
//
// An attacker who keeps changing subject or address fills neither memory nor table: a process keeps 200 subjects of a kind
// and writes 25 rows each time. The rest of a kind share one more row, with the subject "others". The log gets a line at
// once for a new event, at most 10 of a kind in half a minute. Many events of one kind hide no other kind: each kind has its
// own limit, and its most frequent subjects are written first.
//
// A killed process loses the counts of its last half minute; the log has the lines. No credential, token or e-mail address
// is ever part of an event; an owner's id is the project's own name of the owner.

import { type AuditRecord, listSecurityRows } from '../../db/queries/audit-rows.ts'
import { findProject } from '../../db/queries/projects.ts'
import type { SecurityEventKind, ServiceAction } from '../../db/words.ts'
import type { WorkerCtx } from '../context.ts'
import type { Audit, AuditAct } from '../custody/vault.ts'
import { noSuchProject, type SecurityEvent } from '../errors.ts'
import type { Metrics } from '../metrics/metrics.ts'
import type { Log } from './log.ts'

const WRITE_INTERVAL_MS = 30_000
const LAST_WRITE_MAX_MS = 2_000
const SUBJECTS_OF_A_KIND_MAX = 200
const ROWS_A_FLUSH_MAX = 25
const LINES_OF_A_KIND_MAX = 10
const OTHERS = 'others'
/** The actor of an event without a valid credential. */
const STRANGER = 'stranger'

export type SecurityEvents = ReturnType<typeof createSecurityEvents>

/** @param from an IPv4 address or the /64 of an IPv6 one; '' if unknown. */
type Occurrence = { readonly event: SecurityEvent; readonly from: string }

/** The fields by which events are counted together. */
type Seen = Pick<AuditAct<ServiceAction>, 'projectId' | 'actor' | 'subject' | 'details'> & {
  readonly kind: SecurityEventKind
}
type Counted = Seen & { readonly count: number; readonly sinceMs: number; readonly untilMs: number }

const keyOf = ({ kind, projectId, actor, subject, details }: Seen): string =>
  JSON.stringify([kind, projectId, actor, subject, details])

const seenOf = ({ event, from }: Occurrence): Seen => {
  const { kind, projectId, actor = STRANGER, subject, details } = event
  const where = from === '' ? {} : { from }
  const what = subject ?? (from === '' ? 'unknown' : from)
  return { kind, projectId, actor, subject: what, details: { ...details, ...where } }
}

const othersOf = (kind: SecurityEventKind): Seen => {
  return { kind, projectId: null, actor: STRANGER, subject: OTHERS, details: {} }
}

/** Counts events in a bounded number of groups for each kind. */
const createCounts = () => {
  const counts = new Map<string, Counted>()
  const subjects = new Map<SecurityEventKind, number>()
  /** @returns whether this event starts a new group. */
  const add = (seen: Seen, times: Pick<Counted, 'count' | 'sinceMs' | 'untilMs'>): boolean => {
    const { kind } = seen
    const hasRoom = (subjects.get(kind) ?? 0) < SUBJECTS_OF_A_KIND_MAX
    const place = counts.has(keyOf(seen)) || hasRoom ? seen : othersOf(kind)
    const key = keyOf(place)
    const was = counts.get(key)
    if (was === undefined) subjects.set(kind, (subjects.get(kind) ?? 0) + 1)
    counts.set(key, {
      ...place,
      count: (was?.count ?? 0) + times.count,
      sinceMs: Math.min(was?.sinceMs ?? times.sinceMs, times.sinceMs),
      untilMs: Math.max(was?.untilMs ?? times.untilMs, times.untilMs),
    })
    return was === undefined
  }
  return { add, values: (): readonly Counted[] => [...counts.values()] }
}

/** The groups that get a row of their own: the first one of each kind, then the second of each, and so on. */
const chosenOf = (apart: readonly Counted[]): ReadonlySet<Counted> => {
  const ofKinds = Map.groupBy(apart, ({ kind }) => kind)
  const places = [...ofKinds.values()].flatMap((rows) => rows.map((row, place) => ({ row, place })))
  const inTurn = places.toSorted((a, b) => a.place - b.place)
  return new Set(inTurn.slice(0, ROWS_A_FLUSH_MAX).map(({ row }) => row))
}

/** A row for each of the most frequent groups, and one for the rest of each kind. */
const rowsOf = (counted: readonly Counted[]): readonly Counted[] => {
  const apart = counted.filter(({ subject }) => subject !== OTHERS).toSorted((a, b) => b.count - a.count)
  const chosen = chosenOf(apart)
  const rest = createCounts()
  const others = [...counted.filter(({ subject }) => subject === OTHERS), ...apart.filter((each) => !chosen.has(each))]
  for (const each of others) rest.add(othersOf(each.kind), each)
  return [...apart.filter((each) => chosen.has(each)), ...rest.values()]
}

const instant = (ms: number): string => new Date(ms).toISOString()

const actOf = ({ kind: action, projectId, actor, subject, details, ...times }: Counted): AuditAct<ServiceAction> => {
  const [count, since, until] = [String(times.count), instant(times.sinceMs), instant(times.untilMs)]
  return { action, projectId, actor, subject, details: { ...details, count, since, until } }
}

export const createSecurityEvents = (ctx: {
  readonly audit: Pick<Audit<ServiceAction>, 'commit'>
  readonly metrics: Pick<Metrics, 'securityEvents'>
  readonly log: Pick<Log, 'warn'>
  readonly now: () => Date
}) => {
  let counts = createCounts()
  let lines = new Map<SecurityEventKind, number>()
  let flushing = Promise.resolve()

  const writeRow = async (row: Counted): Promise<void> => {
    try {
      await ctx.audit.commit(actOf(row))
    } catch (err) {
      ctx.log.warn({ err }, 'could not write a security event')
      counts.add(row, row)
    }
  }

  const flush = async (): Promise<void> => {
    const rows = rowsOf(counts.values())
    counts = createCounts()
    lines = new Map()
    await Promise.all(rows.map(writeRow))
  }

  return {
    /** Never throws. */
    record: (occurrence: Occurrence): void => {
      const seen = seenOf(occurrence)
      const nowMs = ctx.now().getTime()
      ctx.metrics.securityEvents.inc({ kind: seen.kind })
      const isFirst = counts.add(seen, { count: 1, sinceMs: nowMs, untilMs: nowMs })
      const before = lines.get(seen.kind) ?? 0
      if (!isFirst || before >= LINES_OF_A_KIND_MAX) return
      lines.set(seen.kind, before + 1)
      ctx.log.warn({ securityEvent: seen }, 'security event')
    },
    /** Writes the events since the last time; if that fails, they are kept for the next. Never rejects. */
    flush: (): Promise<void> => {
      flushing = flushing.then(flush)
      return flushing
    },
  }
}

/** For operators: the newest security events of all projects or of one, newest first. */
export const listSecurityEvents = async (
  ctx: Pick<WorkerCtx, 'db'>,
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
    const { promise: waited, resolve } = Promise.withResolvers<void>()
    const givenUp = setTimeout(resolve, LAST_WRITE_MAX_MS)
    await Promise.race([events.flush(), waited])
    clearTimeout(givenUp)
  }
}
