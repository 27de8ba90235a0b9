// Compares the catalogue of the database with what the migrations make. A trigger, a rule or a function that an
// attacker planted there would change what the vault reads, or undo what it writes, although each row has its MAC.
// While the catalogue differs in what concerns a vault, the vault opens no key. It goes on to serve, so that operators
// can ask what is wrong.

import { catalogueDifferences, type Difference } from '../../../db/catalogue.ts'
import type { Db } from '../../../db/client.ts'
import { AppError } from '../../platform/errors.ts'
import type { Refusals, RefusalsLog } from './refusals.ts'

const RETRY_SECONDS = 60
/** An exclusive lock of a table stops a look, and must not hide for long what an attacker plants meanwhile. */
const UNREAD_MAX_MS = 600_000

export type Catalogue = ReturnType<typeof createCatalogue>

const changed = (differences: readonly Difference[]): AppError => {
  const [first = ''] = differences.map(({ found }) => found)
  const more = differences.length === 1 ? '' : ` (and ${differences.length - 1} more)`
  const sentence = `No key is opened, because the database could mislead the vault: ${first}${more}. An operator must put that right: "cli doctor" names all.`
  const event = { kind: 'catalogue_changed', projectId: null, actor: 'system', subject: first } as const
  return new AppError('unavailable', sentence, { retryAfterSeconds: RETRY_SECONDS, event })
}

const UNREAD =
  'No key is opened, because the vault could not read the catalogue of the database for ten minutes. An operator must end what locks its tables.'

/** Knows the catalogue as of the last look; before the first one, it is believed to be the same. */
export const createCatalogue = (parts: { readonly db: Db; readonly refusals: Refusals; readonly log: RefusalsLog }) => {
  const { db, refusals, log } = parts
  let differences: readonly Difference[] = []
  let readAtMs: number | null = null
  /** @throws unavailable while it differs, as of the last look, and if that was ten minutes ago. */
  const requireSame = (): void => {
    if (differences.length > 0) throw changed(differences)
    if (readAtMs === null || performance.now() - readAtMs <= UNREAD_MAX_MS) return
    throw new AppError('unavailable', UNREAD, { retryAfterSeconds: RETRY_SECONDS })
  }
  return {
    requireSame,
    look: async (): Promise<void> => {
      const were = differences.map(({ found }) => found)
      const begunAtMs = performance.now()
      differences = (await catalogueDifferences(db)).filter(({ concernsVault }) => concernsVault)
      readAtMs = begunAtMs
      const are = differences.map(({ found }) => found)
      if (are.join() === were.join()) return
      if (are.length === 0) return log.error({ were }, 'the catalogue of the database is right again: keys are opened')
      log.error({ differences: are }, 'the catalogue of the database was changed: no key is opened')
      // This writes the refusal to the audit, also if no request asks for a key.
      await refusals.recording(async () => requireSame()).catch(() => {})
    },
  }
}
