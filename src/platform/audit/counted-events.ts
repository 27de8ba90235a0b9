// Counts security events in groups, and makes one audit row of each group, with its number and time. An attacker who
// keeps changing the subject or address fills neither memory nor the table: each kind has a limited number of groups.
// Further events of a kind share one row of their project with the subject "others". So events of one kind or project
// hide no other kind or project. Only if more projects are attacked than there are rows, some share a row of no
// project.

import type { SecurityEventKind } from '../../../db/words.ts'
import type { SecurityEvent } from '../errors.ts'

const SUBJECTS_OF_A_KIND_MAX = 200
/** Projects beyond that number get no group of their own for their first subject. */
const PROJECTS_OF_A_KIND_MAX = 1_000
const ROWS_A_WRITE_MAX = 25
const OTHERS = 'others'
/** More than any name of the service: an attacker who controls an API may send a long one. */
const TEXT_LENGTH_MAX = 512
const STRANGER = 'stranger'

type Seen<Kind extends SecurityEventKind = SecurityEventKind> = {
  readonly kind: Kind
  readonly projectId: string | null
  readonly actor: string
  readonly subject: string
  readonly details: Readonly<Record<string, string>>
}

type Times = { readonly count: number; readonly sinceMs: number; readonly untilMs: number }

export type Counted<Kind extends SecurityEventKind = SecurityEventKind> = Seen<Kind> & Times

type EventOf<Kind extends SecurityEventKind> = SecurityEvent & { readonly kind: Kind }

/** A cut through a character would not come back from the database as it was written. */
const cut = (text: string): string =>
  text.length <= TEXT_LENGTH_MAX ? text : text.slice(0, TEXT_LENGTH_MAX).toWellFormed()

/** Long texts are cut. @param input.from an IPv4 address or the /64 of an IPv6 one; '' if unknown. */
export const describeEvent = <Kind extends SecurityEventKind>(input: {
  readonly event: EventOf<Kind>
  readonly from: string
}): Seen<Kind> => {
  const { event, from } = input
  const { kind, projectId, actor = STRANGER, subject, details } = event
  const where = from === '' ? {} : { from }
  const what = subject ?? (from === '' ? 'unknown' : from)
  const texts = Object.entries({ ...details, ...where }).map(([name, text]) => [name, cut(text)])
  return { kind, projectId, actor: cut(actor), subject: cut(what), details: Object.fromEntries(texts) }
}

const othersOf = <Kind extends SecurityEventKind>(kind: Kind, projectId: string | null): Seen<Kind> => {
  return { kind, projectId, actor: STRANGER, subject: OTHERS, details: {} }
}

export const groupOf = ({ kind, projectId, actor, subject, details }: Seen): string =>
  JSON.stringify([kind, projectId, actor, subject, details])

export const createCounts = <Kind extends SecurityEventKind>() => {
  const counts = new Map<string, Counted<Kind>>()
  const subjects = new Map<Kind, number>()
  const projects = new Map<Kind, Set<string | null>>()
  /** The first subject of a project has room although other projects have filled the kind. */
  const isFirstOfProject = ({ kind, projectId }: Seen<Kind>): boolean => {
    const known = projects.get(kind) ?? new Set()
    projects.set(kind, known)
    const isFirst = !known.has(projectId) && known.size < PROJECTS_OF_A_KIND_MAX
    if (isFirst) known.add(projectId)
    return isFirst
  }
  /** @returns whether this event starts a new group. */
  const add = (event: Seen<Kind>, times: Times): boolean => {
    const { kind } = event
    const isFirst = isFirstOfProject(event)
    const hasRoom = isFirst || (subjects.get(kind) ?? 0) < SUBJECTS_OF_A_KIND_MAX
    const ofProject = projects.get(kind)?.has(event.projectId) ? event.projectId : null
    const place = counts.has(groupOf(event)) || hasRoom ? event : othersOf(kind, ofProject)
    const group = groupOf(place)
    const was = counts.get(group)
    if (was === undefined) subjects.set(kind, (subjects.get(kind) ?? 0) + 1)
    counts.set(group, {
      ...place,
      count: (was?.count ?? 0) + times.count,
      sinceMs: Math.min(was?.sinceMs ?? times.sinceMs, times.sinceMs),
      untilMs: Math.max(was?.untilMs ?? times.untilMs, times.untilMs),
    })
    return was === undefined
  }
  return { add, values: (): readonly Counted<Kind>[] => [...counts.values()] }
}

/** The first of each part, then the second of each, and so on; within a part in the order given. */
const inTurn = <Row>(parts: Iterable<readonly Row[]>): readonly Row[] =>
  [...parts]
    .flatMap((rows) => rows.map((row, place) => ({ row, place })))
    .toSorted((a, b) => a.place - b.place)
    .map(({ row }) => row)

/** The groups that get a row of their own: the kinds take turns, and in each kind the projects. */
const chosenOf = <Kind extends SecurityEventKind>(apart: readonly Counted<Kind>[]): ReadonlySet<Counted<Kind>> => {
  const ofKinds = [...Map.groupBy(apart, ({ kind }) => kind).values()]
  const fair = ofKinds.map((rows) => inTurn(Map.groupBy(rows, ({ projectId }) => projectId).values()))
  return new Set(inTurn(fair).slice(0, ROWS_A_WRITE_MAX))
}

/** A row for each frequent group, then for each kind one per project with such a row, and one for all other events. */
export const rowsOf = <Kind extends SecurityEventKind>(counted: readonly Counted<Kind>[]): readonly Counted<Kind>[] => {
  const apart = counted.filter(({ subject }) => subject !== OTHERS).toSorted((a, b) => b.count - a.count)
  const chosen = chosenOf(apart)
  const partOf = ({ kind, projectId }: Seen) => `${kind} ${projectId}`
  const chosenParts = new Set([...chosen].map(partOf))
  const rest = createCounts<Kind>()
  const others = [...counted.filter(({ subject }) => subject === OTHERS), ...apart.filter((each) => !chosen.has(each))]
  for (const each of others) rest.add(othersOf(each.kind, chosenParts.has(partOf(each)) ? each.projectId : null), each)
  return [...apart.filter((each) => chosen.has(each)), ...rest.values()]
}

const instant = (ms: number): string => new Date(ms).toISOString()

export const actOf = <Kind extends SecurityEventKind>(counted: Counted<Kind>) => {
  const { kind: action, projectId, actor, subject, details, count, sinceMs, untilMs } = counted
  const times = { count: String(count), since: instant(sinceMs), until: instant(untilMs) }
  return { action, projectId, actor, subject, details: { ...details, ...times } }
}
