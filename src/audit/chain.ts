import { violatedConstraint } from '../../db/client.ts'
import {
  type AuditRecord,
  chainOf,
  insertLinks,
  type Link,
  lastLinks,
  listUnchained,
  newestChainedId,
  recentChains,
} from '../../db/queries/audit-chain.ts'
import type { StepResult } from '../blocks/follow.ts'
import type { WorkerCtx } from '../context.ts'
import { auditVerifier } from '../custody/audit.ts'
import { createLinkMaker, type LinkMaker } from './link.ts'
import { createHeadPublisher } from './publish-heads.ts'

const ROWS_A_STEP = 1_000
/** How far behind the newest link a step looks for rows whose transactions were slow to commit. */
const LOOK_BACK_IDS = 5_000
/** And besides, the older ids, slice by slice from the newest down: a row that was slower still is found in its turn. */
const SLICE_IDS = 5_000n
const RECENT_LINKS = 1_000
const ONCE = new Set(['audit_chain_chain_position_pk', 'audit_chain_once'])

type ChainCtx = Pick<WorkerCtx, 'db' | 'sealer' | 'log' | 'now'>

/** Links for rows of many chains, each chain going on from where it ended. */
const linksFor = (
  makeLink: LinkMaker,
  input: { readonly rows: readonly AuditRecord[]; readonly ends: readonly Link[] },
): readonly Link[] => {
  const ends = new Map(input.ends.map((link) => [link.chain, link]))
  return input.rows.map((row) => {
    const link = makeLink({ previous: ends.get(chainOf(row)) ?? null, row })
    ends.set(link.chain, link)
    return link
  })
}

/**
 * Chains audit rows as they come. One step adds a bounded number of links, all in one statement; two processes that chain
 * at the same time cannot both do so, and the one that comes too late is `overtaken`. Heads that moved go to the log.
 */
export const createChainer = (ctx: ChainCtx): { step(): Promise<StepResult> } => {
  const { db, log } = ctx
  const makeLink = createLinkMaker(ctx.sealer)
  const isAsWritten = auditVerifier(ctx.sealer)
  const publisher = createHeadPublisher({ log, now: ctx.now })
  let sliceTop = 0n
  let begun = false

  const olderRows = async (below: bigint): Promise<readonly AuditRecord[]> => {
    const upTo = sliceTop > 0n && sliceTop < below ? sliceTop : below
    if (upTo <= 0n) return []
    sliceTop = upTo - SLICE_IDS
    return listUnchained(db, { chain: null, above: sliceTop, upTo, limit: ROWS_A_STEP })
  }

  const nextRows = async (): Promise<readonly AuditRecord[]> => {
    const below = (await newestChainedId(db)) - BigInt(LOOK_BACK_IDS)
    const rows = await listUnchained(db, { chain: null, above: below, upTo: null, limit: ROWS_A_STEP })
    return rows.length === ROWS_A_STEP ? rows : [...(await olderRows(below)), ...rows]
  }

  const append = async (rows: readonly AuditRecord[]): Promise<readonly Link[] | null> => {
    const ends = await lastLinks(db, [...new Set(rows.map(chainOf))])
    const links = linksFor(makeLink, { rows, ends })
    try {
      await insertLinks(db, links)
      return links
    } catch (error) {
      if (ONCE.has(violatedConstraint(error) ?? '')) return null
      throw error
    }
  }

  /** It is chained all the same: what the command that verifies tells is where it lies. */
  const raiseAlarm = (rows: readonly AuditRecord[]): void => {
    const [first] = rows
    if (first === undefined) return
    log.error({ rows: rows.length, auditId: String(first.id) }, 'an audit row was not written by this service')
  }

  return {
    step: async () => {
      if (!begun) {
        // What a process that was killed did not come to publish.
        publisher.note(await lastLinks(db, await recentChains(db, { links: RECENT_LINKS })))
        begun = true
      }
      const rows = await nextRows()
      raiseAlarm(rows.filter((row) => !isAsWritten(row)))
      if (rows.length > 0) {
        const links = await append(rows)
        if (links === null) return 'overtaken'
        publisher.note(links)
      }
      publisher.publish()
      return rows.length >= ROWS_A_STEP ? 'advanced' : 'caught_up'
    },
  }
}
