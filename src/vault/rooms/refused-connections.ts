// Connections that were closed for bad input, for the log and the audit. A client that reaches the socket can spoil
// connections without end, so they are counted: the first of each reason is in the audit at once, and later ones share
// a row for half a minute. The vault chooses the reasons, so there are few. A vault that is killed loses what it has
// only counted.

import type { Audit } from '../../platform/audit/audit.ts'

const WINDOW_MS = 30_000
const LINES_A_WINDOW_MAX = 10

type Refused = { readonly why: string; readonly name: string | null }
type Counted = { readonly client: string; readonly count: number; readonly since: Date; readonly until: Date }
type Window = { readonly seen: number; readonly waiting: Counted | null; readonly timer: NodeJS.Timeout }

export const createRefusedConnections = (parts: {
  readonly audit: Audit
  readonly log: Readonly<Record<'warn' | 'error', (facts: object, sentence: string) => void>>
  readonly now: () => Date
  readonly windowMs?: number
}) => {
  const { audit, log, now, windowMs = WINDOW_MS } = parts
  const windows = new Map<string, Window>()
  const writing = new Set<Promise<void>>()

  const add = async (why: string, { client, count, since, until }: Counted): Promise<void> => {
    const times = { count: String(count), since: since.toISOString(), until: until.toISOString() }
    const scope = { projectId: null, actor: 'stranger', action: 'vault_connection_refused', subject: 'vault' } as const
    try {
      await audit.commit({ ...scope, details: { why, client, ...times } })
    } catch (err) {
      log.error({ err, why, count }, 'refused connections are not in the audit')
    }
  }

  const write = (why: string, counted: Counted): void => {
    const added = add(why, counted).finally(() => writing.delete(added))
    writing.add(added)
  }

  const begin = (why: string): void => {
    windows.set(why, { seen: 1, waiting: null, timer: setTimeout(() => end(why), windowMs) })
  }

  const end = (why: string): void => {
    const waiting = windows.get(why)?.waiting
    windows.delete(why)
    if (!waiting) return
    begin(why)
    write(why, waiting)
  }

  return {
    /** Never throws. */
    record: ({ why, name }: Refused): void => {
      const [client, at] = [name ?? '', now()]
      const open = windows.get(why)
      if ((open?.seen ?? 0) < LINES_A_WINDOW_MAX) log.warn({ why, client }, 'closed a connection for bad input')
      if (open === undefined) {
        begin(why)
        write(why, { client, count: 1, since: at, until: at })
        return
      }
      const before = open.waiting ?? { client, count: 0, since: at }
      windows.set(why, { ...open, seen: open.seen + 1, waiting: { ...before, count: before.count + 1, until: at } })
    },
    /** Writes what was only counted, and returns when all is written. */
    stop: async (): Promise<void> => {
      const open = [...windows]
      windows.clear()
      for (const [, { timer }] of open) clearTimeout(timer)
      for (const [why, { waiting }] of open) if (waiting) write(why, waiting)
      await Promise.all(writing)
    },
  }
}
