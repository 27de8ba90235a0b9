// The audit's hash chains: one for each project and one for the deployment. Each link covers all rows before it.
//
//   head(n) = HMAC-SHA-256(HKDF(the deployment's key, "audit chain"),
//     chain, n, head(n - 1), audit id, MAC of the row, the row)
//
// Vaults make them. A row's MAC proves who wrote it (platform/audit/audit.ts), and its link what a vault has seen. So
// only a holder of the deployment's key can change, remove, add or move a row before the last link, or make a link. An
// attacker who removes the end of a chain, or has the key, still cannot get a head again that was published elsewhere,
// for instance in the log.
//
// Rows get their positions as they become visible, in the order of their ids. Ids are assigned before a transaction
// commits, so a row can appear after one with a higher id: it gets the next position, and nothing waits for it.

import type { Db } from '../../../../db/client.ts'
import { type AuditRecord, chainOf } from '../../../../db/queries/audit-rows.ts'
import {
  insertLinks,
  type Link,
  lastLinks,
  listUnchained,
  newestChainedId,
  recentChains,
} from '../../../../db/queries/vault/audit-chain.ts'
import { violatedConstraint } from '../../../../db/trouble.ts'
import { auditVerifier, contentOf, isVaultAction } from '../../../platform/audit/audit.ts'
import type { DeploymentKey } from '../root/root-key.ts'

const NO_HEAD = new Uint8Array(0)

/** `previous`: null for the first link of a chain. */
export const createLinkMaker = (deploymentKey: DeploymentKey) => {
  const authenticate = deploymentKey.authenticator('audit chain')
  return ({ previous, row }: { readonly previous: Link | null; readonly row: AuditRecord }): Link => {
    const chain = chainOf(row)
    const position = (previous?.position ?? 0n) + 1n
    const fields = [chain, String(position), previous?.head ?? NO_HEAD, String(row.id), row.mac, contentOf(row)]
    return { chain, position, auditId: row.id, head: authenticate(fields) }
  }
}

/** The text of a head in the log, and as an argument of `audit verify`. */
export const shownHead = (link: Pick<Link, 'chain' | 'position' | 'head'>): string =>
  `${link.chain}:${link.position}:${Buffer.from(link.head).toString('hex')}`

/** A chain's head is logged at most this often, and at most so many heads at once. */
const PAUSE_MS = 10_000
const HEADS_AT_ONCE_MAX = 20

type Log = Readonly<Record<'info' | 'error', (facts: object, sentence: string) => void>>

const createHeadPublisher = (input: { readonly log: Log; readonly now: () => Date }) => {
  const due = new Map<string, Link>()
  const publishedAtMs = new Map<string, number>()
  return {
    /** Takes new links in order: the last one of each chain is its head. A waiting chain keeps its place. */
    add: (links: readonly Link[]): void => {
      for (const link of links) due.set(link.chain, link)
    },
    /** Logs new heads, so that the log proves the rows later. Limited in rate. */
    publish: (): void => {
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

/** So few that signatures hardly wait for a step. */
const ROWS_A_STEP = 250
/** How far behind the newest link a step looks for rows whose transactions were slow to commit. */
const LOOK_BACK_IDS = 5_000
/** Each step also reads one slice of the older ids, from the newest down, and so finds even slower rows in the end. */
const SLICE_IDS = 5_000n
const RECENT_LINKS = 1_000
const ONCE = new Set(['audit_chain_chain_position_pk', 'audit_chain_once'])

export type ChainParts = {
  readonly db: Db
  readonly deploymentKey: DeploymentKey
  readonly log: Log
  readonly now: () => Date
}

/** `advanced`: there may be more. `overtaken`: another vault has done this step. */
type StepResult = 'advanced' | 'caught_up' | 'overtaken'

/** A step adds a bounded number of links in one statement, and logs new heads. */
export const createChainer = (parts: ChainParts): { step(): Promise<StepResult> } => {
  const { db, log, deploymentKey } = parts
  const makeLink = createLinkMaker(deploymentKey)
  const isAsWritten = auditVerifier(deploymentKey)
  const publisher = createHeadPublisher(parts)
  let sliceTop = 0n
  let begun = false

  const olderRows = async (below: bigint): Promise<readonly AuditRecord[]> => {
    const upTo = sliceTop > 0n && sliceTop < below ? sliceTop : below
    if (upTo <= 0n) return []
    const above = upTo - SLICE_IDS
    const { rows, isFull } = await listUnchained(db, { chain: null, above, upTo, limit: ROWS_A_STEP })
    sliceTop = isFull ? upTo : above
    return rows
  }

  const nextRows = async () => {
    const below = (await newestChainedId(db)) - BigInt(LOOK_BACK_IDS)
    const newer = await listUnchained(db, { chain: null, above: below, upTo: null, limit: ROWS_A_STEP })
    return newer.isFull ? newer : { ...newer, rows: [...(await olderRows(below)), ...newer.rows] }
  }

  const append = async (rows: readonly AuditRecord[]): Promise<readonly Link[] | null> => {
    const last = await lastLinks(db, [...new Set(rows.map(chainOf))])
    const ends = new Map(last.map((link) => [link.chain, link]))
    const links = rows.map((row) => {
      const link = makeLink({ previous: ends.get(chainOf(row)) ?? null, row })
      ends.set(link.chain, link)
      return link
    })
    try {
      await insertLinks(db, links)
      return links
    } catch (error) {
      if (ONCE.has(violatedConstraint(error) ?? '')) return null
      throw error
    }
  }

  return {
    step: async () => {
      if (!begun) {
        // The last process may have been killed before it published these.
        publisher.add(await lastLinks(db, await recentChains(db, { links: RECENT_LINKS })))
        begun = true
      }
      const { rows, isFull } = await nextRows()
      // A forged row is chained all the same: `audit verify` finds it.
      const forged = rows.filter((row) => isVaultAction(row.action) && !isAsWritten(row))
      const facts = { rows: forged.length, auditId: String(forged[0]?.id) }
      if (forged.length > 0) log.error(facts, 'an audit row says that a vault wrote it, and none did')
      if (rows.length > 0) {
        const links = await append(rows)
        if (links === null) return 'overtaken'
        publisher.add(links)
      }
      publisher.publish()
      return isFull ? 'advanced' : 'caught_up'
    },
  }
}
