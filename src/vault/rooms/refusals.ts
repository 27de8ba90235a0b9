// Refusals that may be part of an attack: wrong credentials, locked owners, forged rows. The vault records them itself,
// because an attacker who controls an API would not.
//
// The vault writes the first of each group (counted-events.ts) to the audit before it answers the request. Those that
// follow within half a minute share one row. At most ten groups of a kind get a row at once in that time, so repeated
// attempts do not fill the audit. Each row has its own statement, so that a failure affects no other request. A vault
// that is killed loses what it has only counted.

import type { Db } from '../../../db/client.ts'
import { type AuditRow, commitAuditRows } from '../../../db/queries/vault/audit.ts'
import { isReferenceMissing } from '../../../db/trouble.ts'
import { type SecurityEventKind, VAULT_EVENTS, type VaultEventKind } from '../../../db/words.ts'
import { NotWritten } from '../../../db/written.ts'
import type { Audit, AuditAct } from '../../platform/audit/audit.ts'
import {
  actOf,
  type Counted,
  createCounts,
  describeEvent,
  groupOf,
  rowsOf,
} from '../../platform/audit/counted-events.ts'
import { AppError, type SecurityEvent } from '../../platform/errors.ts'

const WINDOW_MS = 30_000
const AT_ONCE_OF_A_KIND_MAX = 10

export type Refusals = ReturnType<typeof createRefusals>

export type RefusalsLog = Readonly<Record<'error', (facts: object, sentence: string) => void>>

type VaultEvent = SecurityEvent & { readonly kind: VaultEventKind }

const isOfVault = (event: SecurityEvent): event is VaultEvent =>
  VAULT_EVENTS.some((each: SecurityEventKind) => each === event.kind)

/** The row of a request that names a project that does not exist. It belongs to the deployment. */
const ofNoProject = ({ projectId, details, ...act }: AuditAct): AuditAct => ({
  ...act,
  projectId: null,
  details: { ...details, project: projectId ?? '' },
})

/** The database says that it wrote something, and did not. */
const undone = (cause: NotWritten): AppError => {
  const { table, projectId, subject } = cause
  const sentence = `The database did not keep what the vault wrote in ${table}, so nothing was done with it.`
  const event = { kind: 'write_undone', projectId, actor: 'system', subject, details: { table } } as const
  return new AppError('internal', sentence, { event, cause })
}

export const createRefusals = (parts: {
  readonly db: Db
  readonly audit: Pick<Audit, 'commitBy'>
  readonly log: RefusalsLog
  readonly now: () => Date
  readonly windowMs?: number
}) => {
  const { db, audit, log, now, windowMs = WINDOW_MS } = parts
  const recorded = new WeakSet<SecurityEvent>()
  let counts = createCounts<VaultEventKind>()
  let atOnce = new Map<VaultEventKind, Set<string>>()
  let timer: NodeJS.Timeout | null = null
  let writing = Promise.resolve()

  const commit = (act: AuditAct) =>
    audit.commitBy(
      async (rows: readonly AuditRow[]) => {
        await commitAuditRows(db, rows)
        return true
      },
      [act],
    )

  const write = async (counted: Counted<VaultEventKind>): Promise<void> => {
    const act = actOf(counted)
    try {
      await commit(act).catch((error: unknown) => {
        if (!isReferenceMissing(error)) throw error
        return commit(ofNoProject(act))
      })
    } catch (err) {
      log.error({ err, kind: counted.kind, count: counted.count }, 'a refusal is not in the audit yet')
      counts.add(counted, counted)
      begin()
    }
  }

  const begin = (): void => {
    timer ??= setTimeout(end, windowMs).unref()
  }

  /** Writes the counts. A group that was counted gets no row at once in the next window. */
  const end = (): void => {
    const counted = counts.values()
    if (timer !== null) clearTimeout(timer)
    timer = null
    counts = createCounts()
    atOnce = new Map()
    for (const each of counted) groupsOf(each.kind).add(groupOf(each))
    if (counted.length > 0) begin()
    writing = Promise.all([writing, ...rowsOf(counted).map(write)]).then(() => {})
  }

  const groupsOf = (kind: VaultEventKind): Set<string> => {
    const groups = atOnce.get(kind) ?? new Set()
    atOnce.set(kind, groups)
    return groups
  }

  const record = async (event: VaultEvent): Promise<void> => {
    const described = describeEvent({ event, from: '' })
    const atMs = now().getTime()
    const once = { count: 1, sinceMs: atMs, untilMs: atMs }
    const [groups, group] = [groupsOf(described.kind), groupOf(described)]
    begin()
    if (groups.has(group) || groups.size >= AT_ONCE_OF_A_KIND_MAX) {
      counts.add(described, once)
      return
    }
    groups.add(group)
    await write({ ...described, ...once })
  }

  return {
    /** Runs `work`. A refusal is recorded or counted before the error is thrown on. */
    recording: async <Result>(work: () => Promise<Result>): Promise<Result> => {
      try {
        return await work()
      } catch (thrown) {
        const error = thrown instanceof NotWritten ? undone(thrown) : thrown
        const event = error instanceof AppError ? error.event : null
        if (event !== null && isOfVault(event) && !recorded.has(event)) {
          recorded.add(event)
          await record(event)
        }
        throw error
      }
    },
    /** Writes the counts, and returns when all rows are written. */
    flush: async (): Promise<void> => {
      end()
      await writing
    },
  }
}
