// Verifies the audit's chains, and their checkpoints. Rows that no check reads may be moved to an archive, a file for
// each checkpoint. A checkpoint says for a chain what was there up to a position, and a vault signs it after it has
// verified that:
//
//   Ed25519(HKDF(the deployment's key, "audit checkpoint"),
//     version, chain, first position, last position, time, head of the last one,
//     SHA-256 of the file's lines, SHA-256 of what stays)
//
// Each field has its length before it, as four bytes. The positions of a chain's checkpoints follow each other, from 1
// on. So a removed or edited checkpoint, file, or row that stays is found.

import { createHash } from 'node:crypto'
import { ed25519 } from '@noble/curves/ed25519.js'
import { type AuditRecord, chainOf } from '../../../../db/queries/audit-rows.ts'
import { type Checkpoint, listCheckpoints } from '../../../../db/queries/vault/audit.ts'
import {
  countUnchained,
  type Link,
  listChains,
  listUnchained,
  type ReadLink,
  readLinks,
} from '../../../../db/queries/vault/audit-chain.ts'
import { ARCHIVED_ACTIONS } from '../../../../db/words.ts'
import { auditVerifier, contentOf, isVaultAction } from '../../../platform/audit/audit.ts'
import { encodeFields } from '../../../platform/sealing/bytes.ts'
import type { RoomCtx } from '../ctx.ts'
import type { DeploymentKey } from '../root/root-key.ts'
import { createLinkMaker, shownHead } from './chain.ts'

const VERSION = 'strongroom audit checkpoint 1'

type Unsigned = Omit<Checkpoint, 'signature'>

const signedBytes = ({ chain, fromPosition, position, before, head, linesHash, keptHash }: Unsigned): Uint8Array => {
  const range = [chain, String(fromPosition), String(position), before.toISOString()]
  return encodeFields([VERSION, ...range, head, linesHash, keptHash])
}

export const createCheckpointSigner = (deploymentKey: DeploymentKey) => {
  const seed = deploymentKey.derive('audit checkpoint')
  const publicKey = ed25519.getPublicKey(seed)
  return {
    publicKey,
    sign: (made: Unsigned): Checkpoint => ({ ...made, signature: ed25519.sign(signedBytes(made), seed) }),
    isSigned: (checkpoint: Checkpoint): boolean =>
      checkpoint.signature.length === 64 && ed25519.verify(checkpoint.signature, signedBytes(checkpoint), publicKey),
  }
}

export const lineOf = (link: Link, row: AuditRecord): string => {
  const { actor, action, subject, details } = row
  const [mac, head] = [row.mac, link.head].map((bytes) => Buffer.from(bytes).toString('hex'))
  const place = { chain: link.chain, position: String(link.position), id: String(row.id), project_id: row.projectId }
  return `${JSON.stringify({ ...place, at: row.at.toISOString(), actor, action, subject, details, mac, head })}\n`
}

/** Takes a chain's rows in order. Rows that a check reads stay: uses by a policy, and the first use of a wallet. */
export const createKept = () => {
  const used = new Set<string>()
  const stays = ({ action, details, subject }: AuditRecord): boolean => {
    if (!ARCHIVED_ACTIONS.has(action) || details.policy !== undefined) return true
    const isFirst = !used.has(subject)
    used.add(subject)
    return isFirst
  }
  const hash = createHash('sha256')
  return {
    /** @returns whether the row stays. */
    add: (link: Link, row: AuditRecord): boolean => {
      if (!stays(row)) return false
      hash.update(encodeFields([String(link.position), String(row.id), link.head, row.mac, contentOf(row)]))
      return true
    },
    /** SHA-256 of the rows so far that stay. */
    hash: (): Uint8Array => new Uint8Array(hash.copy().digest()),
  }
}

type Kept = ReturnType<typeof createKept>

/** So few that signatures hardly wait for a page. */
export const LINKS_A_PAGE = 250

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

type Verification = {
  /** The head of each intact chain. */
  readonly heads: readonly string[]
  readonly broken: readonly Broken[]
  readonly rows: bigint
  readonly unchained: { readonly rows: number; readonly oldest: Date | null }
}

type Check = ReturnType<typeof chainCheck>

const same = (one: Uint8Array, other: Uint8Array): boolean => Buffer.compare(one, other) === 0

const GONE = 'its audit row is gone'

const rowTroubleOf = (check: Check, { chain, row }: ReadLink): string | null => {
  if (row === null) return GONE
  if (chainOf(row) !== chain) return 'its audit row belongs to another chain'
  return row.exactTime && check.isAsWritten(row) ? null : 'its audit row is not as it was written'
}

const notedTroubleOf = (check: Check, link: Link): string | null => {
  const noted = check.heads.filter(({ chain, position }) => chain === link.chain && position === link.position)
  return noted.some(({ head }) => !same(head, link.head)) ? 'its head is not the one that was noted' : null
}

const troubleOf = (check: Check, input: { readonly previous: Link | null; readonly link: ReadLink }): string | null => {
  const { previous, link } = input
  const trouble = rowTroubleOf(check, link)
  if (trouble !== null || link.row === null) return trouble
  const isNext = same(check.makeLink({ previous, row: link.row }).head, link.head)
  return isNext ? notedTroubleOf(check, link) : 'it does not follow from what comes before it'
}

type Walk = { readonly end: Link | null; readonly broken: Broken | null }

/** Where a chain begins: at its start, or with its newest checkpoint. `kept`: the rows up to there that stay. */
type Begun = Walk & { readonly kept: Kept }

type Range = { readonly chain: string; readonly after: bigint; readonly upTo: bigint | null }

/** All links of a range in pages; an empty page for none. */
export async function* pagesOfLinks(db: RoomCtx['db'], range: Range): AsyncGenerator<readonly ReadLink[]> {
  for (let { after } = range; ; ) {
    const links = await readLinks(db, { ...range, after, limit: LINKS_A_PAGE })
    yield links
    const last = links.at(-1)
    if (last === undefined || links.length < LINKS_A_PAGE) return
    after = last.position
  }
}

/** In place of an audit row: the link was archived. */
const CHECKPOINTS = 0n

const NOT_SIGNED = 'its checkpoint is not as a vault signed it'
const NOT_KEPT = 'the rows that stay before its checkpoint are not those that were there'

/** Checks the checkpoints of a chain, and the rows before the newest one. */
export const beginWalk = async (ctx: Pick<RoomCtx, 'db'>, check: Check, chain: string): Promise<Begun> => {
  const kept = createKept()
  let newest: Checkpoint | null = null
  const failed = (position: bigint, trouble: string, auditId: bigint | null = null): Begun => ({
    kept,
    end: null,
    broken: { chain, position, auditId, trouble },
  })
  for (const checkpoint of await listCheckpoints(ctx.db, { chain })) {
    const expected: bigint = (newest?.position ?? 0n) + 1n
    if (!check.isSigned(checkpoint)) return failed(checkpoint.position, NOT_SIGNED)
    if (checkpoint.fromPosition !== expected) return failed(expected, 'its checkpoint is gone')
    newest = checkpoint
  }
  if (newest === null) return { kept, end: null, broken: null }
  const { position: upTo, head } = newest
  for await (const links of pagesOfLinks(ctx.db, { chain, after: 0n, upTo })) {
    for (const link of links) {
      const trouble = rowTroubleOf(check, link) ?? notedTroubleOf(check, link)
      if (trouble !== null || link.row === null) return failed(link.position, trouble ?? GONE, link.auditId)
      kept.add(link, link.row)
    }
    check.onProgress(BigInt(links.length))
  }
  if (!same(kept.hash(), newest.keptHash)) return failed(upTo, NOT_KEPT)
  return { kept, end: { chain, position: upTo, auditId: CHECKPOINTS, head }, broken: null }
}

/** Checks a chain from where it begins to its end, to a position, or to its first defect. */
export const walkOn = async (
  ctx: Pick<RoomCtx, 'db'>,
  check: Check,
  from: Pick<Begun, 'end'> & { readonly chain: string; readonly upTo: bigint | null },
  onLink: (link: Link, row: AuditRecord) => void = () => {},
): Promise<Walk> => {
  const { chain, upTo } = from
  let { end } = from
  for await (const links of pagesOfLinks(ctx.db, { chain, after: end?.position ?? 0n, upTo })) {
    for (const link of links) {
      const expected: bigint = (end?.position ?? 0n) + 1n
      if (link.position !== expected) {
        const trouble = `the links up to position ${link.position - 1n} are gone`
        return { end, broken: { chain, position: expected, auditId: null, trouble } }
      }
      const trouble = troubleOf(check, { previous: end, link })
      const { position, auditId, row } = link
      if (trouble !== null || row === null)
        return { end, broken: { chain, position, auditId, trouble: trouble ?? GONE } }
      onLink(link, row)
      end = link
    }
    check.onProgress(BigInt(links.length))
  }
  return { end, broken: null }
}

const walk = async (ctx: Pick<RoomCtx, 'db'>, check: Check, chain: string): Promise<Walk> => {
  const begun = await beginWalk(ctx, check, chain)
  const walked = begun.broken === null ? await walkOn(ctx, check, { ...begun, chain, upTo: null }) : begun
  return walked.broken === null ? { ...walked, broken: missingHead(check, { chain, end: walked.end }) } : walked
}

/** The defect if a noted head lies after the chain's end, or if nothing follows its checkpoint: links were removed. */
const missingHead = (check: Check, input: { readonly chain: string; readonly end: Link | null }): Broken | null => {
  const last = input.end?.position ?? 0n
  const missing = { chain: input.chain, position: last + 1n, auditId: null }
  if (input.end?.auditId === CHECKPOINTS) return { ...missing, trouble: 'the links after its checkpoint are gone' }
  const beyond = check.heads.find((head) => head.chain === input.chain && head.position > last)
  if (beyond === undefined) return null
  return { ...missing, trouble: `the chain ends here, and a head was noted at position ${beyond.position}` }
}

/** The first changed row of each chain among those that are not chained yet. */
const brokenTails = async (
  ctx: Pick<RoomCtx, 'db'>,
  check: Check,
  input: { readonly chain: string | null },
): Promise<readonly Broken[]> => {
  const broken = new Map<string, Broken>()
  for (let above = 0n; ; ) {
    const { rows, isFull } = await listUnchained(ctx.db, { chain: input.chain, above, upTo: null, limit: LINKS_A_PAGE })
    for (const row of rows) {
      const chain = chainOf(row)
      if (broken.has(chain) || check.isAsWritten(row)) continue
      broken.set(chain, { chain, position: null, auditId: row.id, trouble: 'its audit row is not as it was written' })
    }
    const last = rows.at(-1)
    if (last === undefined || !isFull) return [...broken.values()]
    above = last.id
  }
}

export const chainCheck = (
  { deploymentKey }: Pick<RoomCtx, 'deploymentKey'>,
  input: { readonly heads: readonly NotedHead[]; readonly onProgress?: (rows: bigint) => void },
) => {
  const { heads, onProgress = () => {} } = input
  const isAsVaultWrote = auditVerifier(deploymentKey)
  const isAsWritten = (row: AuditRecord) => !isVaultAction(row.action) || isAsVaultWrote(row)
  const { isSigned } = createCheckpointSigner(deploymentKey)
  return { makeLink: createLinkMaker(deploymentKey), isAsWritten, isSigned, heads, onProgress }
}

/** Of rows that no vault writes it checks only that they are as chained. @param input.chain null for all */
export const verifyAudit = async (
  ctx: Pick<RoomCtx, 'db' | 'deploymentKey'>,
  input: { readonly chain: string | null; readonly heads: readonly NotedHead[] },
  onRows: (progress: { readonly rows: bigint }) => void = () => {},
): Promise<Verification> => {
  let rows = 0n
  const onProgress = (more: bigint) => {
    rows += more
    onRows({ rows })
  }
  const check = chainCheck(ctx, { heads: input.heads, onProgress })
  const known = input.chain === null ? await listChains(ctx.db) : [input.chain]
  // All links of a chain with checkpoints may be gone.
  const checkpoints = await listCheckpoints(ctx.db, { chain: input.chain })
  // First the rows that are in no chain yet: one that is chained meanwhile would be in neither.
  const tails = await brokenTails(ctx, check, input)
  const heads: string[] = []
  const broken: Broken[] = []
  for (const chain of new Set([...known, ...[...checkpoints, ...input.heads].map((each) => each.chain)])) {
    const walked = await walk(ctx, check, chain)
    if (walked.broken !== null) broken.push(walked.broken)
    else if (walked.end !== null) heads.push(shownHead(walked.end))
  }
  broken.push(...tails.filter((tail) => !broken.some(({ auditId }) => auditId === tail.auditId)))
  return { heads, broken, rows, unchained: await countUnchained(ctx.db, input) }
}
