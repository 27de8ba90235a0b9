// After a failover that lost only what the API wrote last. A vault then opens no key: its journal and the audit name
// transactions and wallets that the API's tables lack (src/vault/rooms/journal/journal.ts). Each API looks every second
// whether a vault waits for that, writes the rows anew from the notes of all vaults, and then lets the vaults open keys
// again.
//
// Several APIs may do it at once, and any may end in the middle: a row that is there stays as it is, and the signer's
// row is locked while it is decided what has a nonce.
//
// The notes of all journals are needed, because the last one that was signed for a nonce counts. If something is
// missing of which no note was found, it may be in the journal of a vault that cannot be reached. Then nothing is
// written and keys stay closed: an earlier transaction, which had failed, would take its nonce. What a vault signed
// that lacks nothing was not lost: it has just compared the database, and shows no notes.

import { setTimeout as sleep } from 'node:timers/promises'
import { AppError } from '../../platform/errors.ts'
import { readAbout } from '../../signing/transactions/recorded.ts'
import { type Named, openVaults, withEachVault } from '../../vault/client/vaults.ts'
import type { JournalNote, Vault } from '../../vault/contract/vault.ts'
import { perhapsElsewhere } from './journals.ts'
import { type RestoreCtx, readNotes, restoreNoted } from './restore.ts'

const LOOK_EVERY_MS = 1_000
const PAUSE_MAX_MS = 30_000

type FailoverCtx = RestoreCtx & {
  readonly vault: Pick<Vault, 'unrecorded'>
}

const idsOf = (note: JournalNote): readonly (string | undefined)[] => {
  if (note.kind === 'wallet') return [note.wallet.id]
  if (note.kind === 'project') return []
  const { rows } = readAbout(note.about)
  return [rows.kind === 'submitted' ? rows.row.id : rows.ladder.id]
}

/** Asks each vault by itself. Those that do not answer are left out. */
const askEach = async (vaults: readonly Named<Vault>[]) => {
  const answers = await Promise.allSettled(vaults.map(({ vault }) => vault.unrecorded()))
  return answers.flatMap((answer, index) => {
    const named = vaults[index]
    return answer.status === 'fulfilled' && named !== undefined ? [{ vault: named.vault, state: answer.value }] : []
  })
}

/** Writes what the vaults' notes have and the database lacks, or returns what perhaps an unread journal has. */
const restoreAfterFailover = async (ctx: FailoverCtx, vaults: readonly Named<Vault>[]): Promise<readonly string[]> => {
  const reached = await askEach(vaults)
  // If records are missing, too, an operator restores all.
  if (reached.some(({ state }) => state.lacking === 'records')) return []
  const waiting = reached.filter(({ state }) => state.lacking === 'rows_of_notes')
  const notes = await readNotes(waiting, ({ vault }, input) => vault.recentNotes(input))
  const states = reached.map(({ state }) => state)
  const missing = perhapsElsewhere(states, new Set(notes.flatMap(idsOf)))
  if (waiting.length === 0 || missing.length > 0) return missing
  const restored = await restoreNoted(ctx, notes)
  ctx.log.warn(restored, 'restored what the last failover may have lost')
  for (const { vault } of waiting) await vault.finishRecording()
  return []
}

/** Looks every second whether a vault waits for rows, and less often after failed attempts. @returns what stops it. */
export const startRestoring = (ctx: FailoverCtx): (() => Promise<void>) => {
  const stopping = new AbortController()
  let reported = ''
  const look = async (): Promise<void> => {
    // Calls go to the vaults in turn.
    if ((await ctx.vault.unrecorded()).lacking !== 'rows_of_notes') return
    const missing = await withEachVault(openVaults, { config: ctx.config, process: 'failover' }, (vaults) =>
      restoreAfterFailover(ctx, vaults),
    )
    const isNew = missing.join() !== reported
    reported = missing.join()
    if (isNew && missing.length > 0) {
      ctx.log.error(
        { missing },
        'not all vaults can be reached: start them, or run "cli journal retire" for those that are gone',
      )
    }
  }
  const looking = (async () => {
    for (let failed = 0; !stopping.signal.aborted; ) {
      failed = await look().then(
        () => 0,
        (err: unknown) => {
          if (err instanceof AppError && err.code === 'unavailable') return 0
          ctx.log.error({ err }, 'could not restore what is missing')
          return failed + 1
        },
      )
      const pauseMs = Math.min(LOOK_EVERY_MS * 2 ** Math.max(0, failed - 1), PAUSE_MAX_MS)
      await sleep(pauseMs, null, { signal: stopping.signal }).catch(() => {})
    }
  })()
  return async () => {
    stopping.abort()
    await looking
  }
}
