// What operators (`cli restore` and `cli journal`), and APIs after a failover, ask of a journal. A replay brings its
// records into the database: each row in its newest state, where it is missing or older there.

import type { Db, Tx } from '../../../../db/client.ts'
import { type AuditJson, applyAudit, type MissingAudit, missingAudit } from '../../../../db/queries/vault/audit.ts'
import {
  applyImages,
  JOURNAL_TABLES,
  listJournals,
  markRetired,
  readImage,
  readMark,
  unrecordedIds,
} from '../../../../db/queries/vault/journal.ts'
import { isReferenceMissing } from '../../../../db/trouble.ts'
import { AppError } from '../../../platform/errors.ts'
import type { Lacking } from '../../contract/contract.ts'
import type { Marks } from './journal.ts'
import type { JournalFile } from './journal-file.ts'
import { type Note, readRecord } from './records.ts'

const ROWS_A_STATEMENT = 500

type Image = { readonly text: string; readonly age: number; readonly isSeen?: true }

/** An image that a vault wrote counts more than one that it only saw. */
const isNewer = (image: Image, than: Image | undefined): boolean =>
  than === undefined || (image.isSeen === than.isSeen ? image.age >= than.age : than.isSeen === true)

type Collected = Awaited<ReturnType<typeof collect>>

/** The newest image of each row, by table, and all audit rows. */
const collect = async (file: JournalFile, from: number) => {
  const images = new Map(JOURNAL_TABLES.map((table) => [table, new Map<string, Image>()]))
  const audit: AuditJson[] = []
  for await (const { text } of file.read(from)) {
    const record = readRecord(text)
    for (const image of record.rows ?? []) {
      const { key, age } = readImage(image)
      const ofTable = images.get(image.table)
      // The last one may be an earlier state that was written back. It has the newest seal of its state.
      if (isNewer({ ...image, age }, ofTable?.get(key))) ofTable?.set(key, { ...image, age })
    }
    audit.push(...(record.audit ?? []))
  }
  return { images, audit }
}

function* pagesOf<Item>(items: readonly Item[]): Generator<readonly Item[]> {
  for (let start = 0; start < items.length; start += ROWS_A_STATEMENT)
    yield items.slice(start, start + ROWS_A_STATEMENT)
}

const writeRows = async (tx: Tx, { images }: Collected): Promise<number> => {
  let written = 0
  for (const [table, rows] of images) {
    const texts = [...rows.values()].map(({ text }) => text)
    for (const page of pagesOf(texts)) written += await applyImages(tx, table, page)
  }
  return written
}

const writeAudit = async (tx: Tx, { audit }: Collected): Promise<number> => {
  let written = 0
  for (const page of pagesOf(audit)) written += await applyAudit(tx, page)
  return written
}

/** Ends a transaction in which everything was tried. */
class Tried extends Error {
  constructor(readonly written: number) {
    super('only tried')
  }
}

/** The audit rows of all records that the table lacks: they were deleted, or the database never kept them. */
export const findMissingAudit = async (db: Db, file: JournalFile): Promise<readonly MissingAudit[]> => {
  const missing: MissingAudit[] = []
  let waiting: AuditJson[] = []
  for await (const { text } of file.read(0)) {
    waiting.push(...(readRecord(text).audit ?? []))
    if (waiting.length < ROWS_A_STATEMENT) continue
    for (const page of pagesOf(waiting)) missing.push(...(await missingAudit(db, page)))
    waiting = []
  }
  return [...missing, ...(await missingAudit(db, waiting))]
}

/** Whether a replay from a record on would write something. */
export const lacksAny = async (
  db: Db,
  { file, from }: { readonly file: JournalFile; readonly from: number },
): Promise<boolean> => {
  const collected = await collect(file, from)
  try {
    return await db.transaction(async (tx) => {
      throw new Tried((await writeRows(tx, collected)) + (await writeAudit(tx, collected)))
    })
  } catch (error) {
    if (error instanceof Tried) return error.written > 0
    // A row that other rows refer to is missing, such as a project's.
    if (isReferenceMissing(error)) return true
    throw error
  }
}

export type JournalReader = ReturnType<typeof createReader>

type Unrecorded = {
  readonly lacking: Lacking
  /** null: the vault has none. */
  readonly journal: string | null
  /** The ids of transactions and wallets, if `rows_of_notes` are lacking. */
  readonly ids: readonly string[]
  /** Likewise the ids of other journals that the database knows, but for retired ones. */
  readonly others: readonly string[]
}

/** `next`: null at the end of the journal. */
type NotesPage = { readonly notes: readonly Note[]; readonly next: number | null }

/** A note may be older than the mark, because its rows are written after the vault has answered. */
export const NOTES_BEFORE_MS = 120_000
/** The first record since a time is looked for in steps of so many, from the end. */
const RECORDS_A_STEP = 256
/** The size of one answer, without its last record. */
const CHARACTERS_A_PAGE = 1_000_000

const compacted = (first: number, known: number): AppError =>
  new AppError(
    'invalid_input',
    `The journal was compacted and begins with record ${first}; this database knows ${known}: restore a newer backup, or put the older file there.`,
  )

type Parts = {
  readonly db: Db
  readonly file: JournalFile
  readonly compact: (upTo: number) => Promise<void>
  readonly marks: Marks
}

const createNotes = ({ db, file }: Pick<Parts, 'db' | 'file'>) => {
  const timeOf = async (wanted: number): Promise<number> => {
    for await (const { text } of file.read(wanted)) return Date.parse(readRecord(text).at)
    return Number.NaN
  }

  /** Or up to 255 records before it. The head of the journal has no time. */
  const firstNote = async (): Promise<number> => {
    const mark = (await readMark(db, file.id)) ?? 0
    let number = Math.max(mark - 1, file.first())
    const untilMs = (await timeOf(number)) - NOTES_BEFORE_MS
    while (number > file.first() && !((await timeOf(number)) < untilMs)) {
      number = Math.max(number - RECORDS_A_STEP, file.first())
    }
    return number
  }

  const notesFrom = async (first: number): Promise<NotesPage> => {
    const notes: Note[] = []
    let characters = 0
    for await (const { number, text } of file.read(first)) {
      if (characters > CHARACTERS_A_PAGE) return { notes, next: number }
      const found = readRecord(text).notes ?? []
      if (found.length > 0) characters += text.length
      notes.push(...found)
    }
    return { notes, next: null }
  }

  return { firstNote, notesFrom }
}

const createReplay = ({ db, file, compact, marks }: Parts) => {
  /** Writes what the records have that the database does not know. @returns how many rows were missing. */
  const replay = async (write: (tx: Tx, collected: Collected) => Promise<number>): Promise<number> => {
    const known = (await readMark(db, file.id)) ?? 0
    if (known < file.first()) throw compacted(file.first(), known)
    const collected = await collect(file, known)
    return db.transaction((tx) => write(tx, collected))
  }

  const firstSince = async (timeMs: number): Promise<number> => {
    for await (const { number, text } of file.read(0)) {
      if (Date.parse(readRecord(text).at) >= timeMs) return number
    }
    return file.records()
  }

  return {
    /** Writes the rows of the vault that the database lacks. */
    replayJournal: async (): Promise<{ readonly rows: number }> => ({ rows: await replay(writeRows) }),
    /** Leaves out older records that the database knows. Older backups cannot be brought to the present any more. */
    compactJournal: async ({ before }: { readonly before: Date }): Promise<{ readonly leftOut: number }> => {
      await marks.require()
      const end = Math.min(await firstSince(before.getTime()), marks.known())
      const was = file.first()
      if (end - 1 > was) await compact(end - 1)
      return { leftOut: file.first() - was }
    },
    /** Writes the missing audit rows, and last marks that the database has everything: then the vault opens keys. */
    finishRestore: async (): Promise<{ readonly audit: number }> => {
      const audit = await replay(writeAudit)
      await marks.finish()
      return { audit }
    },
  }
}

export const createReader = (parts: Parts) => {
  const { db, file, marks } = parts
  const { firstNote, notesFrom } = createNotes(parts)
  const listOthers = async () => (await listJournals(db)).filter((other) => other !== file.id)

  return {
    /**
     * Which journal the vault has, and what of it the database has.
     * @returns `first`, `records`: the number of the first record, and of the next one. `known`: as far as the database
     * knows. `others`: the ids of other journals that the database knows, but for retired ones.
     */
    journalState: async () => {
      await marks.compare()
      const { id } = file
      return {
        id,
        first: file.first(),
        records: file.records(),
        known: marks.known(),
        isBehind: marks.lacking() !== null,
        others: await listOthers(),
      }
    },
    /** @param input.from null: the first record whose notes the database may lack. */
    journalNotes: async ({ from }: { readonly from: number | null }): Promise<NotesPage> =>
      notesFrom(from ?? (await firstNote())),
    /** Marks the journal of a vault that is gone for good. If that vault starts again, the mark is removed. */
    retireJournal: async ({ id }: { readonly id: string }): Promise<{ readonly wasKnown: boolean }> => {
      if (id === file.id) throw new AppError('invalid_input', 'This is the journal of a vault that runs.')
      return { wasKnown: await markRetired(db, { id }) }
    },
    ...createReplay(parts),
    /** For APIs: what they must write anew before the vault opens keys again. */
    unrecorded: async (): Promise<Unrecorded> => {
      await marks.compare()
      const lacking = marks.lacking()
      const state = { lacking, journal: file.id }
      if (lacking !== 'rows_of_notes') return { ...state, ids: [], others: [] }
      return { ...state, ids: await unrecordedIds(db, { withinMs: NOTES_BEFORE_MS }), others: await listOthers() }
    },
    /** Only what the database may lack, and only while it does: an API could be an attacker's. @throws unavailable */
    recentNotes: async ({ from }: { readonly from: number | null }): Promise<NotesPage> => {
      if (marks.lacking() !== 'rows_of_notes')
        throw new AppError('unavailable', 'The vault shows its notes only while the database lacks rows of them.')
      return notesFrom(Math.max(from ?? 0, await firstNote()))
    },
    /** Opens keys again, if only rows of notes were missing. */
    finishRecording: (): Promise<void> => marks.finish('rows_of_notes'),
  }
}
