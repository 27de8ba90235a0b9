import { type AuditRecord, chainOf } from '../../../db/queries/audit-rows.ts'
import {
  countUnchained,
  type Link,
  listChains,
  listUnchained,
  type ReadLink,
  readLinks,
} from '../../../db/queries/custody/audit-chain.ts'
import { auditVerifier, isCustodys } from '../audit.ts'
import type { CustodyCtx } from '../ctx.ts'
import { createLinkMaker, type LinkMaker, shownHead } from './chain.ts'

/** So few that signatures hardly wait for it. */
const LINKS_A_PAGE = 250

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
  /** The head of each intact chain. */
  readonly heads: readonly string[]
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
const walk = async (ctx: Pick<CustodyCtx, 'db'>, check: Check, chain: string): Promise<Walk> => {
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

/** The first changed row of each chain among those that are not chained yet. */
const brokenTails = async (
  ctx: Pick<CustodyCtx, 'db'>,
  check: Check,
  input: { readonly chain: string | null },
): Promise<readonly Broken[]> => {
  const broken = new Map<string, Broken>()
  for (let above = 0n; ; ) {
    const rows = await listUnchained(ctx.db, { chain: input.chain, above, upTo: null, limit: LINKS_A_PAGE })
    for (const row of rows) {
      const chain = chainOf(row)
      if (broken.has(chain) || check.isAsWritten(row)) continue
      broken.set(chain, { chain, position: null, auditId: row.id, trouble: 'its audit row is not as it was written' })
    }
    const last = rows.at(-1)
    if (last === undefined || rows.length < LINKS_A_PAGE) return [...broken.values()]
    above = last.id
  }
}

/**
 * Recomputes every link and the MAC of every row that a vault writes, and compares the links with the given heads. For other rows it
 * checks only that they were not changed since a vault chained them, not who wrote them.
 * @param input.chain a project's id, `deployment`, or null for all.
 */
export const verifyAudit = async (
  ctx: Pick<CustodyCtx, 'db' | 'deploymentKey'>,
  input: { readonly chain: string | null; readonly heads: readonly NotedHead[] },
  onRows: (progress: { readonly rows: bigint }) => void = () => {},
): Promise<Verification> => {
  let rows = 0n
  const onProgress = (more: bigint) => {
    rows += more
    onRows({ rows })
  }
  const isAsVaultWrote = auditVerifier(ctx.deploymentKey)
  const isAsWritten = (row: AuditRecord) => !isCustodys(row.action) || isAsVaultWrote(row)
  const check = { makeLink: createLinkMaker(ctx.deploymentKey), isAsWritten, heads: input.heads, onProgress }
  const known = input.chain === null ? await listChains(ctx.db) : [input.chain]
  const heads: string[] = []
  const broken: Broken[] = []
  for (const chain of new Set([...known, ...input.heads.map((head) => head.chain)])) {
    const walked = await walk(ctx, check, chain)
    if (walked.broken !== null) broken.push(walked.broken)
    else if (walked.end !== null) heads.push(shownHead(walked.end))
  }
  broken.push(...(await brokenTails(ctx, check, input)))
  return { heads, broken, rows, unchained: await countUnchained(ctx.db, input) }
}
