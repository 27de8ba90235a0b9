// The chain over the audit: each project's rows, and the deployment's, in one order, each bound to all before it.
//
//   head(n) = HMAC-SHA-256(HKDF(SERVICE_KEY, "audit chain"), chain, n, head(n - 1), audit id, MAC of the row)
//
// A row's own MAC says that it was written by someone with the service key. A head says that these rows and no others came
// before, in this order: whoever has noted a head, from the log or from elsewhere, proves with it that nothing behind it
// was changed, removed, added or swapped. For somebody who has the service key too can write every MAC and every head
// anew; but not so that the noted head comes out again. What has been noted nowhere, such a one can rewrite.
//
// The order is the chain's own: position after position as rows become visible, and by id among those that are chained
// together. Ids are drawn before their transactions commit, so a row can appear behind a higher id: it gets the next
// position, and nothing waits for it.

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
import type { Sealer } from '../custody/sealer.ts'
import type { Log } from '../log.ts'

const NO_HEAD = new Uint8Array(0)

export type LinkMaker = (input: {
  readonly previous: Link | null
  readonly row: Pick<AuditRecord, 'id' | 'projectId' | 'mac'>
}) => Link

/** Makes the link of a row that comes after another one, or first. */
export const createLinkMaker = (sealer: Pick<Sealer, 'authenticator'>): LinkMaker => {
  const authenticate = sealer.authenticator('audit chain')
  return ({ previous, row }) => {
    const chain = chainOf(row)
    const position = (previous?.position ?? 0n) + 1n
    const fields = [chain, String(position), previous?.head ?? NO_HEAD, String(row.id), row.mac]
    return { chain, position, auditId: row.id, head: authenticate(fields) }
  }
}

/** As it is published, and as it is given back to be proved. */
export const shownHead = (link: Pick<Link, 'chain' | 'position' | 'head'>): string =>
  `${link.chain}:${link.position}:${Buffer.from(link.head).toString('hex')}`

/** A chain that moves all the time is told of this often, and however many move, so many of them at a time. */
const PAUSE_MS = 10_000
const HEADS_AT_ONCE_MAX = 20

type HeadPublisher = {
  /** The newest links of chains, in order: the last one of each is its head. */
  note(links: readonly Link[]): void
  /** Writes heads that moved to the log: whoever keeps the log can prove them later. Bounded in rate. */
  publish(): void
}

const createHeadPublisher = (input: { readonly log: Log; readonly now: () => Date }): HeadPublisher => {
  const due = new Map<string, Link>()
  const publishedAtMs = new Map<string, number>()

  return {
    note: (links) => {
      // A chain that is due keeps its turn.
      for (const link of links) due.set(link.chain, link)
    },
    publish: () => {
      const nowMs = input.now().getTime()
      for (const [chain, at] of publishedAtMs) if (nowMs - at >= PAUSE_MS) publishedAtMs.delete(chain)
      const turn = [...due.values()].filter(({ chain }) => !publishedAtMs.has(chain)).slice(0, HEADS_AT_ONCE_MAX)
      for (const link of turn) {
        due.delete(link.chain)
        publishedAtMs.set(link.chain, nowMs)
        const { chain, position } = link
        input.log.info({ chain, position: String(position), head: shownHead(link) }, 'audit head')
      }
    },
  }
}

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
