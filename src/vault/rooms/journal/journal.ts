// The journal: what must survive the loss or the restore of the database, in a file outside of it. It opens nothing: it
// has rows sealed, as their tables do. The vault writes a record after it has committed a change, and before it
// answers:
//   rows    of the vault: those that the vault wrote, as the writing statement returned them and the vault compared them;
//           and those that belong to them, as they are in their tables when the record is written (`isSeen`)
//   audit   the audit rows that the vault wrote
//   notes   what an API has to write anew: signed transactions with their bytes, wallets, projects
//
// The database keeps a mark: how many records it knows. So the vault notices within a second, or at the start, that a
// database was restored or replaced by a late copy: it knows fewer records than were marked, and lacks what the next
// ones contain. Then the vault opens and makes no key, until `cli restore` has inserted the records.
//
// A database on another server, or with another mark than the running vault wrote, may have the records and lack what
// the API wrote last. So the vault compares what vaults have signed and made with the API's tables too. If these lack
// anything, it opens no key until an API has written it anew (src/operators/restore/after-failover.ts).

import { clearInterval, setInterval } from 'node:timers'
import type { Db } from '../../../../db/client.ts'
import type { AuditJson, MissingAudit } from '../../../../db/queries/vault/audit.ts'
import {
  advanceMark,
  type RowImage,
  type RowsWith,
  readImages,
  readMark,
  readServer,
  unrecordedIds,
  writeMark,
} from '../../../../db/queries/vault/journal.ts'
import { AppError } from '../../../platform/errors.ts'
import { createBatcher, createQueue } from '../../../platform/queue.ts'
import { LACKING_WORDS, type Lacking } from '../../contract/contract.ts'
import { type JournalFile, NotCompacted, type OpenInput, openJournalFile } from './journal-file.ts'
import { createReader, findMissingAudit, type JournalReader, lacksAny, NOTES_BEFORE_MS } from './reader.ts'
import { createFloors, type Floors, type JournalRecord, type Note, readRecord } from './records.ts'

/** How long the vault believes that the database is still the same, while no connection is opened. */
const SAME_FOR_MS = 1_000
const TICK_MS = 400
/** How often a database that is behind is compared in full. */
const COMPARED_EVERY_MS = 5_000
const WAITING_MAX = 10_000

export type Journal = {
  /** Adds to the next record. It is durable when a later `sync` or `keep` returns. */
  readonly add: (entry: Pick<JournalRecord, 'audit' | 'notes'>) => void
  /** Adds rows that were written just now, at their commit. From now on the vault notices an earlier state of them. */
  readonly wrote: (...images: readonly RowImage[]) => void
  /** Adds rows that were there before, as they will be when the record is written. They raise no floor. */
  readonly addToRead: (...rows: readonly RowsWith[]) => void
  /** Returns when all that was added is durable. */
  readonly sync: () => Promise<void>
  /** @throws unavailable while the database is behind the journal. */
  readonly requireSame: () => Promise<void>
  /** The lowest number (version, revision, uses) that a row may have: a lower one was written back. 0: not known. */
  readonly floorOf: Floors['floorOf']
  /** As of the last comparison, less than a second ago. */
  readonly lacking: () => Lacking
  /** For `audit verify`: the audit rows that it has and the table lacks. */
  readonly missingAudit: () => Promise<readonly MissingAudit[]>
  /** For APIs and `cli restore`. */
  readonly reader: JournalReader
  /** Ends after what was added is durable, if the database is there. */
  readonly close: () => Promise<void>
}

const noJournal = async (): Promise<never> => {
  throw new AppError('invalid_input', 'This vault has no journal: VAULT_JOURNAL must name its file.')
}

/** For a vault without VAULT_JOURNAL: until it ends, it remembers what it has written itself. */
export const withoutJournal = (): Journal => {
  const floors = createFloors()
  return {
    add: () => {},
    wrote: (...images) => images.forEach(floors.raise),
    addToRead: () => {},
    sync: async () => {},
    requireSame: async () => {},
    floorOf: floors.floorOf,
    missingAudit: async () => [],
    lacking: () => null,
    reader: {
      journalState: noJournal,
      journalNotes: noJournal,
      retireJournal: noJournal,
      replayJournal: noJournal,
      compactJournal: noJournal,
      finishRestore: noJournal,
      unrecorded: async () => ({ lacking: null, journal: null, ids: [], others: [] }),
      recentNotes: async () => ({ notes: [], next: null }),
      finishRecording: async () => {},
    },
    close: async () => {},
  }
}

type Settings = Pick<OpenInput, 'paths' | 'key' | 'now'> & {
  readonly db: Db
  /** Called once, when nothing can be written to it any more: the process must end. */
  readonly onLost: (error: unknown) => void
}

type Opened = Settings & { readonly file: JournalFile; readonly floors: Floors }

const behind = (lacks: NonNullable<Lacking>): AppError =>
  new AppError('unavailable', LACKING_WORDS[lacks], { retryAfterSeconds: lacks === 'records' ? 5 : 1 })

const anotherServer = (): AppError => {
  const sentence = 'Another database has taken the place of the one that was compared: try again.'
  return new AppError('unavailable', sentence, { retryAfterSeconds: 1 })
}

/** The parts of the next record. */
type Pending = { rows: RowImage[]; toRead: RowsWith[]; audit: AuditJson[]; notes: Note[] }

const nothing = (): Pending => ({ rows: [], toRead: [], audit: [], notes: [] })

/** Writes records to the file, those of simultaneous requests together. */
const createWriter = ({ db, now, onLost, file, floors }: Opened) => {
  let pending = nothing()
  let isLost = false
  /** The write that began last. */
  let written = Promise.resolve()

  /** The file is changed by one at a time. */
  const turns = createQueue({ waitMaxMs: Number.POSITIVE_INFINITY })

  const change = async (work: () => Promise<void>): Promise<void> => {
    using _turn = await turns.enter()
    try {
      if (isLost) throw new Error('It was lost before.')
      await work()
    } catch (error) {
      if (error instanceof NotCompacted) throw error
      if (!isLost) onLost(error)
      isLost = true
      throw new AppError('unavailable', 'The vault cannot write to its journal.')
    }
  }

  const write = createBatcher({
    sizeMax: WAITING_MAX,
    run: async () => {
      const { rows: written, toRead, audit, notes } = pending
      pending = nothing()
      const read = await readImages(db, toRead).catch((error: unknown) => {
        // The next record has them: the change is committed, even if the request got an error.
        pending.rows.unshift(...written)
        pending.toRead.unshift(...toRead)
        pending.audit.unshift(...audit)
        pending.notes.unshift(...notes)
        throw error
      })
      const rows = [...written, ...read]
      if (rows.length + audit.length + notes.length === 0) return
      const record: JournalRecord = { at: now().toISOString(), rows, audit, notes }
      await change(() => file.append([JSON.stringify(record)]))
    },
  })

  return {
    add: ({ audit = [], notes = [] }: Pick<JournalRecord, 'audit' | 'notes'>) => {
      pending.audit.push(...audit)
      pending.notes.push(...notes)
    },
    wrote: (...images: readonly RowImage[]) => {
      images.forEach(floors.raise)
      pending.rows.push(...images)
    },
    addToRead: (...rows: readonly RowsWith[]) => {
      pending.toRead.push(...rows)
    },
    compact: (upTo: number) => change(() => file.compact({ upTo, floors: floors.all() })),
    /** What another request has added may be in the write that is under way. It fails only if the journal is lost. */
    sync: (): Promise<void> => {
      if (Object.values(pending).some(({ length }) => length > 0)) written = write(undefined)
      return written
    },
  }
}

/** @param isExpected whether a compared server with this mark needs no comparison of the notes. */
const compareAll = async ({ db, file }: Pick<Opened, 'db' | 'file'>, isExpected: (mark: number) => boolean) => {
  const server = await readServer(db)
  if (server === null) throw anotherServer()
  const { started, isKnown } = server
  const from = (await readMark(db, file.id)) ?? 0
  const lacking = async (): Promise<Lacking> => {
    // What was left out is not known any more.
    if (from < file.first() || (await lacksAny(db, { file, from }))) return 'records'
    if (isKnown && isExpected(from)) return null
    return (await unrecordedIds(db, { withinMs: NOTES_BEFORE_MS })).length > 0 ? 'rows_of_notes' : null
  }
  return { started, from, lacks: await lacking() }
}

/** How many connections were opened: what takes the place of a lost one may lead to another server. */
const countConnections = (db: Db): (() => number) => {
  let opened = 0
  db.onConnect(() => {
    opened += 1
  })
  return () => opened
}

export type Marks = ReturnType<typeof createMarks>

/** Compares the database with the journal, and marks in it what it has. */
const createMarks = ({ db, file }: Opened) => {
  let [known, heardOpened] = [0, 0]
  let lacks: Lacking = null
  let [heardAtMs, comparedAtMs] = [Number.NEGATIVE_INFINITY, Number.NEGATIVE_INFINITY]
  let started: string | null = null
  const opened = countConnections(db)

  /** The mark is written after the rows, so the database may have more than it says. @throws unavailable */
  const catchUp = async (): Promise<void> => {
    const records = file.records()
    // A killed vault had not marked its last records: at the start an earlier mark shows no other database.
    const found = await compareAll({ db, file }, (mark) => lacks === null && (started === null || mark === known))
    if (found.lacks === null && !(await writeMark(db, { ...found, id: file.id, to: records }))) throw anotherServer()
    ;({ started, lacks } = found)
    known = lacks === null ? records : found.from
  }

  /** Whether it is the database of before, by one small statement: then it has what was recorded since. */
  const isSame = async (): Promise<boolean> => {
    if (started === null || performance.now() - heardAtMs > SAME_FOR_MS) return false
    const to = file.records()
    const isKnown = await advanceMark(db, { id: file.id, from: known, to, started })
    if (isKnown) known = to
    return isKnown
  }

  /** Comparing and opening keys again, one after the other. */
  const turns = createQueue({ waitMaxMs: Number.POSITIVE_INFINITY })

  const compare = createBatcher({
    sizeMax: WAITING_MAX,
    run: async () => {
      using _turn = await turns.enter()
      const [askedAtMs, askedOpened] = [performance.now(), opened()]
      const isDue = performance.now() - comparedAtMs > COMPARED_EVERY_MS
      if (lacks === null ? !(await isSame()) : isDue) {
        await catchUp()
        comparedAtMs = askedAtMs
      }
      ;[heardAtMs, heardOpened] = [askedAtMs, askedOpened]
    },
  })

  return {
    /** After a failure another server may answer next: the next request compares again. */
    compare: () =>
      compare(undefined).catch((error: unknown) => {
        heardAtMs = Number.NEGATIVE_INFINITY
        throw error
      }),
    lacking: () => lacks,
    known: () => known,
    require: async (): Promise<void> => {
      if (heardOpened !== opened() || performance.now() - heardAtMs > SAME_FOR_MS) await compare(undefined)
      if (lacks !== null) throw behind(lacks)
    },
    /** Opens keys again on the compared database. @param lacking only if this was lacking. @throws unavailable */
    finish: async (lacking: Lacking = lacks): Promise<void> => {
      using _turn = await turns.enter()
      if (lacks !== lacking) return
      const to = file.records()
      if (started === null || !(await writeMark(db, { id: file.id, from: known, to, started }))) {
        await catchUp()
        throw anotherServer()
      }
      known = to
      lacks = null
    },
  }
}

/** @throws Error with a sentence for the operator if it is not the journal that the database knows. */
export const openJournal = async (settings: Settings): Promise<Journal> => {
  const { db } = settings
  const floors = createFloors()
  const file = await openJournalFile({
    ...settings,
    knownOf: async (id) => (await readMark(db, id)) ?? 0,
    onRecord: (text) => {
      const record = readRecord(text)
      floors.learn(record.floors ?? [])
      record.rows?.forEach(floors.raise)
    },
  })
  const opened = { ...settings, file, floors }
  const writer = createWriter(opened)
  const marks = createMarks(opened)
  await marks.compare()
  const tick = async (): Promise<void> => {
    await writer.sync()
    await marks.compare()
  }
  // Ignore a database that is away: requests report it.
  const timer = setInterval(() => void tick().catch(() => {}), TICK_MS)
  timer.unref()
  return {
    ...writer,
    requireSame: marks.require,
    missingAudit: () => findMissingAudit(db, file),
    lacking: marks.lacking,
    floorOf: floors.floorOf,
    reader: createReader({ ...opened, compact: writer.compact, marks }),
    close: async () => {
      clearInterval(timer)
      // This may fail while the database is away: then no request was answered that depends on it.
      await tick().catch(() => {})
      await file.close()
    },
  }
}
