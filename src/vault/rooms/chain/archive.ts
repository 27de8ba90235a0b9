// What `cli audit archive` asks of a vault: which rows can be archived, their lines, a checkpoint, and the deletion.

import { createHash } from 'node:crypto'
import {
  type Checkpoint,
  dropArchivedRows,
  insertCheckpoint,
  lastOldPosition,
  listCheckpoints,
} from '../../../../db/queries/vault/audit.ts'
import { listChains, readLinks } from '../../../../db/queries/vault/audit-chain.ts'
import { AppError } from '../../../platform/errors.ts'
import type { RoomCtx } from '../ctx.ts'
import {
  type Broken,
  beginWalk,
  chainCheck,
  createCheckpointSigner,
  createKept,
  LINKS_A_PAGE,
  lineOf,
  pagesOfLinks,
  walkOn,
} from './verify.ts'

/** Status questions, and people who look into something, need the newest rows. */
const KEPT_DAYS = 30
const DAY_MS = 86_400_000

export type { Checkpoint }

type ArchiveCtx = Pick<RoomCtx, 'db' | 'deploymentKey' | 'now'>

export type Archivable = { readonly chain: string; readonly fromPosition: bigint; readonly position: bigint }

const requireOld = (ctx: ArchiveCtx, before: Date): void => {
  if (before.getTime() <= ctx.now().getTime() - KEPT_DAYS * DAY_MS) return
  throw new AppError('invalid_input', `Rows of the last ${KEPT_DAYS} days stay: name an earlier time.`)
}

/** The rows of each chain that are older than `before` and that no checkpoint covers. @throws `invalid_input` */
export const planArchive = async (
  ctx: ArchiveCtx,
  { before }: { readonly before: Date },
): Promise<readonly Archivable[]> => {
  requireOld(ctx, before)
  const checkpoints = await listCheckpoints(ctx.db, { chain: null })
  const plan: Archivable[] = []
  for (const chain of await listChains(ctx.db)) {
    const after = checkpoints.findLast((each) => each.chain === chain)?.position ?? 0n
    const position = await lastOldPosition(ctx.db, { chain, after, before })
    if (position > after) plan.push({ chain, fromPosition: after + 1n, position })
  }
  return plan
}

/** The lines of an archive after a position, some at a time, not verified yet (`signCheckpoint`). Empty at the end. */
export const archiveLines = async (
  ctx: ArchiveCtx,
  range: { readonly chain: string; readonly after: bigint; readonly upTo: bigint },
): Promise<{ readonly lines: string; readonly after: bigint }> => {
  const links = await readLinks(ctx.db, { ...range, limit: LINKS_A_PAGE })
  const lines = links.map((link) => (link.row === null ? '' : lineOf(link, link.row)))
  return { lines: lines.join(''), after: links.at(-1)?.position ?? range.after }
}

const refuse = ({ chain, position, trouble }: Broken): never => {
  throw new AppError(
    'invalid_input',
    `The chain ${chain} is broken at position ${position}: ${trouble}. Nothing was archived.`,
  )
}

/** Verifies a chain up to a position first. @throws `invalid_input` for a broken chain or other lines */
export const signCheckpoint = async (
  ctx: ArchiveCtx,
  part: { readonly chain: string; readonly position: bigint; readonly before: Date; readonly linesHash: Uint8Array },
): Promise<Checkpoint> => {
  requireOld(ctx, part.before)
  const { chain, position, before, linesHash } = part
  const check = chainCheck(ctx, { heads: [] })
  const begun = await beginWalk(ctx, check, chain)
  if (begun.broken !== null) return refuse(begun.broken)
  const after = begun.end?.position ?? 0n
  if (position <= after || position > (await lastOldPosition(ctx.db, { chain, after, before }))) {
    throw new AppError('invalid_input', 'Other rows can be archived by now: run it again.')
  }
  const lines = createHash('sha256')
  const walked = await walkOn(ctx, check, { ...begun, chain, upTo: position }, (link, row) => {
    lines.update(lineOf(link, row))
    begun.kept.add(link, row)
  })
  if (walked.broken !== null) return refuse(walked.broken)
  if (walked.end?.position !== position || Buffer.compare(lines.digest(), linesHash) !== 0) {
    throw new AppError('invalid_input', `The lines of the chain ${chain} are not those that the vault has verified.`)
  }
  const unsigned = { chain, fromPosition: after + 1n, position, before, head: walked.end.head, linesHash }
  const signed = createCheckpointSigner(ctx.deploymentKey).sign({ ...unsigned, keptHash: begun.kept.hash() })
  await insertCheckpoint(ctx.db, signed)
  return signed
}

/** Can be killed at any point, and run again. @throws `invalid_input` if the checkpoint or a row before it differs */
export const dropArchived = async (
  ctx: ArchiveCtx,
  { chain }: { readonly chain: string },
): Promise<{ readonly dropped: number }> => {
  const begun = await beginWalk(ctx, chainCheck(ctx, { heads: [] }), chain)
  if (begun.broken !== null) return refuse(begun.broken)
  const upTo = begun.end?.position ?? 0n
  const kept = createKept()
  let dropped = 0
  for await (const links of pagesOfLinks(ctx.db, { chain, after: 0n, upTo })) {
    const ids = links.flatMap((link) => (link.row === null || kept.add(link, link.row) ? [] : [link.auditId]))
    if (ids.length > 0) dropped += await dropArchivedRows(ctx.db, { chain, ids })
  }
  return { dropped }
}

/** All checkpoints (`verifyAudit` says whether they are valid), and the Ed25519 key that has signed them, 32 bytes. */
export const auditCheckpoints = async (
  ctx: ArchiveCtx,
): Promise<{ readonly publicKey: Uint8Array; readonly checkpoints: readonly Checkpoint[] }> => ({
  publicKey: createCheckpointSigner(ctx.deploymentKey).publicKey,
  checkpoints: await listCheckpoints(ctx.db, { chain: null }),
})
