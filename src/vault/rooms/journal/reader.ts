// What is asked of a journal by operators (`cli restore` and `cli journal`), and by APIs after a failover.

import type { Db } from '../../../../db/client.ts'
import { listJournals, markRetired, readMark, unrecordedIds } from '../../../../db/queries/custody/journal.ts'
import { AppError } from '../../../platform/errors.ts'
import type { Lacking } from '../../contract/contract.ts'
import type { JournalFile } from './journal-file.ts'
import { type Note, readRecord } from './records.ts'
import { replayAudit, replayRows } from './replay.ts'

type JournalState = {
  readonly id: string
  /** The number of the first record, and of the next one. */
  readonly first: number
  readonly records: number
  /** How many of them the database knows. */
  readonly known: number
  readonly isBehind: boolean
  /** The ids of other journals that the database knows, but for retired ones. */
  readonly others: readonly string[]
}

export type JournalReader = {
  /** Which journal the vault has, and what of it the database has. */
  readonly journalState: () => Promise<JournalState>
  /**
   * The notes on transactions, wallets and projects, from a record on. null: from the first record whose notes the database may
   * lack.
   */
  readonly journalNotes: (input: { readonly from: number | null }) => Promise<NotesPage>
  /** Records that another journal belongs to a vault that is gone for good. If that vault starts again, the record is removed. */
  readonly retireJournal: (input: { readonly id: string }) => Promise<{ readonly wasKnown: boolean }>
  /** Writes the rows of custody that the database lacks. */
  readonly replayJournal: () => Promise<{ readonly rows: number }>
  /**
   * Leaves out records that are older than a time, if the database knows them. Then only a backup that knows them, too, can be
   * brought to the present.
   */
  readonly compactJournal: (input: { readonly before: Date }) => Promise<{ readonly leftOut: number }>
  /**
   * Marks that the database has everything now, including what the notes contain, and writes the audit rows that it lacks. They come
   * last, so that an interrupted restore leaves the database behind. From then on keys are opened again.
   */
  readonly finishRestore: () => Promise<{ readonly audit: number }>
  /** For APIs: what they must write anew before keys are opened again. */
  readonly unrecorded: () => Promise<Unrecorded>
  /**
   * The same as `journalNotes`, never from an earlier record than the first whose notes the database may lack, and only while it
   * lacks their rows: an API that somebody else controls would read what all projects have signed. @throws unavailable
   */
  readonly recentNotes: (input: { readonly from: number | null }) => Promise<NotesPage>
  /** Opens keys again, if only rows of notes were missing. */
  readonly finishRecording: () => Promise<void>
}

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
  /** Leaves out the records up to a number. */
  readonly compact: (upTo: number) => Promise<void>
  readonly marks: {
    readonly compare: () => Promise<void>
    readonly require: () => Promise<void>
    readonly finish: (of?: Lacking) => Promise<void>
    readonly lacking: () => Lacking
    readonly known: () => number
  }
}

/** Reads notes. */
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

export const createReader = ({ db, file, compact, marks }: Parts): JournalReader => {
  const { firstNote, notesFrom } = createNotes({ db, file })

  const from = async () => (await readMark(db, file.id)) ?? 0

  const replayedFrom = async (): Promise<number> => {
    const known = await from()
    if (known < file.first()) throw compacted(file.first(), known)
    return known
  }

  const firstSince = async (timeMs: number): Promise<number> => {
    for await (const { number, text } of file.read(0)) {
      if (Date.parse(readRecord(text).at) >= timeMs) return number
    }
    return file.records()
  }

  const listOthers = async () => (await listJournals(db)).filter((other) => other !== file.id)

  return {
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
    journalNotes: async ({ from: first }) => notesFrom(first ?? (await firstNote())),
    retireJournal: async ({ id }) => {
      if (id === file.id) throw new AppError('invalid_input', 'This is the journal of a vault that runs.')
      return { wasKnown: await markRetired(db, { id }) }
    },
    replayJournal: async () => ({ rows: await replayRows(db, { file, from: await replayedFrom() }) }),
    compactJournal: async ({ before }) => {
      await marks.require()
      const end = Math.min(await firstSince(before.getTime()), marks.known())
      const was = file.first()
      if (end - 1 > was) await compact(end - 1)
      return { leftOut: file.first() - was }
    },
    finishRestore: async () => {
      const audit = await replayAudit(db, { file, from: await replayedFrom() })
      await marks.finish()
      return { audit }
    },
    unrecorded: async () => {
      await marks.compare()
      const lacking = marks.lacking()
      const state = { lacking, journal: file.id }
      if (lacking !== 'rows_of_notes') return { ...state, ids: [], others: [] }
      return { ...state, ids: await unrecordedIds(db, { withinMs: NOTES_BEFORE_MS }), others: await listOthers() }
    },
    recentNotes: async ({ from: first }) => {
      if (marks.lacking() !== 'rows_of_notes')
        throw new AppError('unavailable', 'The vault shows its notes only while the database lacks rows of them.')
      return notesFrom(Math.max(first ?? 0, await firstNote()))
    },
    finishRecording: () => marks.finish('rows_of_notes'),
  }
}
