import {
  type AuditRecord,
  chainOf,
  countUnchained,
  type Link,
  listAuditRows,
  listChains,
  listUnchained,
  type ReadLink,
  readLinks,
} from '../../db/queries/audit-chain.ts'
import { findProject } from '../../db/queries/projects.ts'
import type { WorkerCtx } from '../context.ts'
import { auditVerifier } from '../custody/audit.ts'
import { noSuchProject } from '../errors.ts'
import { createLinkMaker, type LinkMaker } from './chain.ts'

const LINKS_A_PAGE = 1_000

/** A head that was kept outside the database. */
export type NotedHead = { readonly chain: string; readonly position: bigint; readonly head: Uint8Array }

/** The first defect of a chain, or of the rows that are not chained yet. */
export type Broken = {
  readonly chain: string
  /** null: not chained yet. */
  readonly position: bigint | null
  /** null if the link itself is missing. */
  readonly auditId: bigint | null
  readonly trouble: string
}

export type Verification = {
  /** The last link of each intact chain. */
  readonly ends: readonly Link[]
  readonly broken: readonly Broken[]
  readonly rows: bigint
  readonly unchained: { readonly rows: number; readonly oldest: Date | null }
}

type Check = {
  readonly makeLink: LinkMaker
  readonly isAsWritten: (row: AuditRecord) => boolean
  readonly heads: readonly NotedHead[]
  readonly onProgress: (rows: bigint) => void
}

const same = (one: Uint8Array, other: Uint8Array): boolean => Buffer.compare(one, other) === 0

/** The defect of a link that comes after `previous`, or null. */
const troubleOf = (
  check: Check,
  input: { readonly chain: string; readonly previous: Link | null; readonly link: ReadLink },
): string | null => {
  const { chain, previous, link } = input
  const { row } = link
  if (row === null) return 'its audit row is gone'
  if (chainOf(row) !== chain) return 'its audit row belongs to another chain'
  if (!row.exactTime || !check.isAsWritten(row)) return 'its audit row is not as it was written'
  if (!same(check.makeLink({ previous, row }).head, link.head)) return 'it does not follow from what comes before it'
  const noted = check.heads.filter((head) => head.chain === chain && head.position === link.position)
  if (noted.some(({ head }) => !same(head, link.head))) return 'its head is not the one that was noted'
  return null
}

type Walk = { readonly end: Link | null; readonly broken: Broken | null }

/** Checks a chain from its first link to its end or its first defect. */
const walk = async (ctx: Pick<WorkerCtx, 'db'>, check: Check, chain: string): Promise<Walk> => {
  let end: Link | null = null
  for (;;) {
    const after: bigint = end?.position ?? 0n
    const links = await readLinks(ctx.db, { chain, after, limit: LINKS_A_PAGE })
    for (const link of links) {
      const expected: bigint = (end?.position ?? 0n) + 1n
      if (link.position !== expected) {
        const trouble = `the links up to position ${link.position - 1n} are gone`
        return { end, broken: { chain, position: expected, auditId: null, trouble } }
      }
      const trouble = troubleOf(check, { chain, previous: end, link })
      const { position, auditId } = link
      if (trouble !== null) return { end, broken: { chain, position, auditId, trouble } }
      end = link
    }
    check.onProgress(BigInt(links.length))
    if (links.length < LINKS_A_PAGE) return { end, broken: missingHead(check, { chain, end }) }
  }
}

/** The defect if a noted head lies after the chain's end: links were removed. */
const missingHead = (check: Check, of: { readonly chain: string; readonly end: Link | null }): Broken | null => {
  const last = of.end?.position ?? 0n
  const beyond = check.heads.find((head) => head.chain === of.chain && head.position > last)
  if (beyond === undefined) return null
  const trouble = `the chain ends here, and a head was noted at position ${beyond.position}`
  return { chain: of.chain, position: last + 1n, auditId: null, trouble }
}

/** The first changed row among those that are not chained yet. */
const brokenTail = async (
  ctx: Pick<WorkerCtx, 'db'>,
  check: Check,
  input: { readonly chain: string | null },
): Promise<Broken | null> => {
  for (let above = 0n; ; ) {
    const rows = await listUnchained(ctx.db, { chain: input.chain, above, upTo: null, limit: LINKS_A_PAGE })
    const row = rows.find((each) => !check.isAsWritten(each))
    if (row !== undefined) {
      return { chain: chainOf(row), position: null, auditId: row.id, trouble: 'the audit row is not as it was written' }
    }
    const last = rows.at(-1)
    if (last === undefined || rows.length < LINKS_A_PAGE) return null
    above = last.id
  }
}

/**
 * Recomputes the MAC of every audit row and every link, and compares the links with the given heads.
 * @param input.chain a project's id, `deployment`, or null for all.
 */
export const verifyAudit = async (
  ctx: Pick<WorkerCtx, 'db' | 'sealer'>,
  input: {
    readonly chain: string | null
    readonly heads: readonly NotedHead[]
    readonly onProgress: (rows: bigint) => void
  },
): Promise<Verification> => {
  let rows = 0n
  const onProgress = (more: bigint) => {
    rows += more
    input.onProgress(rows)
  }
  const makeLink = createLinkMaker(ctx.sealer)
  const check = { makeLink, isAsWritten: auditVerifier(ctx.sealer), heads: input.heads, onProgress }
  const known = input.chain === null ? await listChains(ctx.db) : [input.chain]
  const ends: Link[] = []
  const broken: Broken[] = []
  for (const chain of new Set([...known, ...input.heads.map((head) => head.chain)])) {
    const walked = await walk(ctx, check, chain)
    if (walked.broken !== null) broken.push(walked.broken)
    else if (walked.end !== null) ends.push(walked.end)
  }
  const tail = await brokenTail(ctx, check, input)
  if (tail !== null) broken.push(tail)
  return { ends, broken, rows, unchained: await countUnchained(ctx.db, input) }
}

/** For operators: the newest audit rows of a project, newest first. */
export const listAudit = async (
  ctx: Pick<WorkerCtx, 'db'>,
  input: { readonly projectId: string; readonly limit: number },
): Promise<readonly AuditRecord[]> => {
  if ((await findProject(ctx.db, input.projectId)) === null) throw noSuchProject()
  return listAuditRows(ctx.db, { chain: input.projectId, limit: input.limit })
}
