import type { Link } from '../../db/queries/audit-chain.ts'
import type { Log } from '../log.ts'
import { shownHead } from './link.ts'

/** A chain that moves all the time is told of this often, and however many move, so many of them at a time. */
const PAUSE_MS = 10_000
const HEADS_AT_ONCE_MAX = 20

export type HeadPublisher = {
  /** The newest links of chains, in order: the last one of each is its head. */
  note(links: readonly Link[]): void
  /** Writes heads that moved to the log: whoever keeps the log can prove them later. Bounded in rate. */
  publish(): void
}

export const createHeadPublisher = (input: { readonly log: Log; readonly now: () => Date }): HeadPublisher => {
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
