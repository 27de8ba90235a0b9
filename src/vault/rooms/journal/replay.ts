// Bringing a journal's records into the database: each row in its newest state, where it is missing or older there.

import type { Db, Tx } from '../../../../db/client.ts'
import { type AuditJson, applyAudit, type MissingAudit, missingAudit } from '../../../../db/queries/custody/audit.ts'
import { applyImages, JOURNAL_TABLES, type JournalTable, readImage } from '../../../../db/queries/custody/journal.ts'
import { isReferenceMissing } from '../../../../db/trouble.ts'
import type { JournalFile } from './journal-file.ts'
import { readRecord } from './records.ts'

const ROWS_A_STATEMENT = 500

type Image = { readonly text: string; readonly age: number; readonly isSeen?: true }

type Collected = {
  /** The newest image of each row, by table; one that a vault wrote counts more than one that it only saw. */
  readonly images: ReadonlyMap<JournalTable, ReadonlyMap<string, Image>>
  readonly audit: readonly AuditJson[]
}

const isNewer = (image: Image, than: Image | undefined): boolean =>
  than === undefined || (image.isSeen === than.isSeen ? image.age >= than.age : than.isSeen === true)

const collect = async (file: JournalFile, from: number): Promise<Collected> => {
  const images = new Map(JOURNAL_TABLES.map((table) => [table, new Map<string, Image>()]))
  const audit: AuditJson[] = []
  for await (const { text } of file.read(from)) {
    const record = readRecord(text)
    for (const image of record.rows ?? []) {
      const { key, age } = readImage(image)
      const ofTable = images.get(image.table)
      // The last one may be an earlier state that somebody wrote back. Of the same state it has the newest seal.
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

type From = { readonly file: JournalFile; readonly from: number }

type Replay = (db: Db, from: From) => Promise<number>

const replay =
  (write: (tx: Tx, collected: Collected) => Promise<number>): Replay =>
  async (db, { file, from }) => {
    const collected = await collect(file, from)
    return db.transaction((tx) => write(tx, collected))
  }

/** @param of.from the number of the first record. @returns how many rows of custody were missing. */
export const replayRows = replay(writeRows)

/** The same for audit rows. */
export const replayAudit = replay(writeAudit)

/** The audit rows of all records that the table lacks: somebody has deleted them, or the database never kept them. */
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

/** Whether one of them would write something. */
export const lacksAny = async (db: Db, { file, from }: From): Promise<boolean> => {
  const collected = await collect(file, from)
  try {
    return await db.transaction(async (tx) => {
      throw new Tried((await writeRows(tx, collected)) + (await writeAudit(tx, collected)))
    })
  } catch (error) {
    if (error instanceof Tried) return error.written > 0
    // A row that others refer to is missing, such as a project's.
    if (isReferenceMissing(error)) return true
    throw error
  }
}
