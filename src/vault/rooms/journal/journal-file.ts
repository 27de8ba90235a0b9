// The file of a journal. A record is one line, appended and synced before the vault answers:
//
//   MAC in hex (64) | ' ' | JSON | '\n'      MAC(n) = HMAC-SHA-256(key, MAC(n - 1) | JSON)
//
// So the vault notices a line that an attacker edited, added, removed or moved. A kill may have cut off the last line:
// no request was answered for it, so the vault removes it. If other lines follow a wrong one, it removes nothing.
//
// The first record names the journal. In a journal that was compacted it also has the number of the last record that
// was left out, and the floors that those records raised.
//
// A journal may be written to several files, for instance on two disks. At the start the longest file is right, and the
// vault copies it to the other files.

import { randomUUID, timingSafeEqual } from 'node:crypto'
import { copyFile, type FileHandle, open, realpath, rename, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { AppError } from '../../../platform/errors.ts'
import { hmac } from '../../../platform/sealing/kdf.ts'

const CHUNK_BYTES = 4 * 1024 * 1024
const NEWLINE = 0x0a
const MAC_HEX = 64
/** The vault remembers the place of one record in so many, and finds the other records from there. */
const RECORDS_A_PLACE = 256

type Line = { readonly bytes: Buffer; readonly end: number }

/** @param from where a line begins. The last line is not given if its end is missing. */
async function* linesFrom(handle: FileHandle, from: number): AsyncGenerator<Line> {
  const chunk = Buffer.alloc(CHUNK_BYTES)
  let rest: Buffer = Buffer.alloc(0)
  let read = from
  let end = from
  for (;;) {
    const { bytesRead } = await handle.read(chunk, 0, CHUNK_BYTES, read)
    if (bytesRead === 0) return
    read += bytesRead
    const data = Buffer.concat([rest, chunk.subarray(0, bytesRead)])
    let start = 0
    for (let at = data.indexOf(NEWLINE); at !== -1; at = data.indexOf(NEWLINE, start)) {
      end += at + 1 - start
      yield { bytes: data.subarray(start, at), end }
      start = at + 1
    }
    rest = Buffer.from(data.subarray(start))
  }
}

type Chained = { readonly key: Uint8Array; readonly before: Uint8Array }

const macOf = ({ key, before }: Chained, text: Uint8Array): Uint8Array =>
  hmac({ key, message: Buffer.concat([before, text]) })

/** Makes lines, each of which follows on the one before. */
const createLines = ({ key, before }: Chained) => {
  let mac = before
  return (record: string): Buffer => {
    const text = Buffer.from(record)
    mac = macOf({ key, before: mac }, text)
    return Buffer.concat([Buffer.from(`${Buffer.from(mac).toString('hex')} `), text, Buffer.of(NEWLINE)])
  }
}

/** @returns the line's MAC and its text; null if the line does not follow on the one before. */
const readLine = (chain: Chained, { bytes }: Line): { readonly mac: Uint8Array; readonly text: Buffer } | null => {
  const text = bytes.subarray(MAC_HEX + 1)
  const mac = Buffer.from(bytes.subarray(0, MAC_HEX).toString('latin1'), 'hex')
  const expected = macOf(chain, text)
  return mac.length === expected.length && timingSafeEqual(mac, expected) ? { mac, text } : null
}

const NO_MAC = new Uint8Array(0)

export type JournalHead = {
  readonly journal: string
  readonly began: string
  /** Its own number: those before were left out. Absent: 0. */
  readonly number?: number
  readonly floors?: readonly (readonly [key: string, age: number])[]
}

type Scanned = Awaited<ReturnType<typeof scan>>

type OnRecord = (text: string) => void

const sizeOf = async (handle: FileHandle): Promise<number> => (await handle.stat()).size

/**
 * Reads a file up to its end or to the first damaged line.
 * @returns `mac`, `end`: of the last good line. `isDamaged`: more than one damaged line follows. `places`: where lines
 * with an index `n × RECORDS_A_PLACE` begin.
 */
const scan = async (handle: FileHandle, key: Uint8Array, onRecord: OnRecord) => {
  let head: JournalHead | null = null
  let mac: Uint8Array = NO_MAC
  let [end, lines] = [0, 0]
  let isDamaged = false
  const places: number[] = []
  for await (const line of linesFrom(handle, 0)) {
    const read = readLine({ key, before: mac }, line)
    if (read === null) {
      isDamaged = line.end < (await sizeOf(handle))
      break
    }
    const text = read.text.toString()
    head ??= JSON.parse(text) as JournalHead
    if (lines % RECORDS_A_PLACE === 0) places.push(end)
    onRecord(text)
    mac = read.mac
    end = line.end
    lines += 1
  }
  return { head, records: (head?.number ?? 0) + lines, mac, end, isDamaged, places }
}

export type OpenInput = {
  /** The same journal in each. */
  readonly paths: readonly string[]
  /** Authenticates the records. */
  readonly key: Uint8Array
  readonly now: () => Date
  /** How many records of a journal the database knows: so many must be there. */
  readonly knownOf: (id: string) => Promise<number>
  /** Called for each record of the first file, and again for all if a longer file replaces it. */
  readonly onRecord: OnRecord
}

export type JournalFile = Awaited<ReturnType<typeof openJournalFile>>

const firstOf = ({ head }: Scanned): number => head?.number ?? 0

const copyToDisk = async (from: string, to: string): Promise<void> => {
  await copyFile(from, to)
  await using file = await open(to, 'r+')
  await file.sync()
}

/** Copies the longest file to shorter ones, and a compacted one to those that were not. @returns what each has now. */
const alike = async (files: readonly { readonly path: string; readonly scanned: Scanned }[]) => {
  const replaced: string[] = []
  const [best, ...others] = files.toSorted(
    ({ scanned: a }, { scanned: b }) => b.records - a.records || firstOf(b) - firstOf(a),
  )
  if (best === undefined) throw new Error('VAULT_JOURNAL must name a file.')
  for (const { path, scanned } of others) {
    const isShorter = scanned.records < best.scanned.records
    const isAlike = !isShorter && firstOf(scanned) === firstOf(best.scanned)
    const isOther = isAlike && Buffer.compare(scanned.mac, best.scanned.mac) !== 0
    if (scanned.head !== null && (scanned.head.journal !== best.scanned.head?.journal || isOther)) {
      throw new Error(`VAULT_JOURNAL: ${path} and ${best.path} are two journals, and must be one.`)
    }
    if (isAlike) continue
    await copyToDisk(best.path, path)
    replaced.push(path)
  }
  return { scanned: best.scanned, replaced }
}

const openFile = async (path: string): Promise<FileHandle> => {
  try {
    return await open(path, 'a+', 0o600)
  } catch (error) {
    throw new Error(`VAULT_JOURNAL must be a file that the vault can write: ${path} is not${codeOf(error)}.`)
  }
}

type Opened = {
  readonly handles: readonly [FileHandle, ...FileHandle[]]
  readonly paths: readonly string[]
  readonly scanned: Scanned
}

/** Makes the names of new and replaced files durable, so that they survive a power cut. */
const syncFolders = async (paths: readonly string[]): Promise<void> => {
  for (const path of paths) {
    await using folder = await open(dirname(path))
    await folder.sync()
  }
}

/** Opens the files, and makes them alike. The caller closes them. */
const openAlike = async (input: OpenInput, closing: AsyncDisposableStack): Promise<Opened> => {
  const { paths, key, knownOf, onRecord } = input
  const handles: FileHandle[] = []
  for (const path of paths) {
    const handle = await openFile(path)
    closing.defer(() => handle.close())
    handles.push(handle)
  }
  const scans = await Promise.all(handles.map((handle, index) => scan(handle, key, index === 0 ? onRecord : () => {})))
  const files = scans.map((scanned, index) => ({ path: paths[index] ?? '', scanned }))
  const { scanned: longest, replaced } = await alike(files)
  const [first, ...others] = handles
  if (first === undefined) throw new Error('VAULT_JOURNAL must name a file.')
  const known = longest.head === null ? 0 : await knownOf(longest.head.journal)
  const isForeign = longest.head === null && (await sizeOf(first)) > 0
  if (longest.records < known || isForeign) {
    throw new Error(
      `VAULT_JOURNAL ends at record ${longest.records}, or was changed there, and the database knows ${known}: put the newest copy there, or name a new file.`,
    )
  }
  if (longest.isDamaged) {
    // The records that follow may be in no other place: a restored database knows less.
    throw new Error(
      `VAULT_JOURNAL was changed after record ${longest.records - 1}, and more follows: put a whole copy there. Without one, cut it off there, and what follows is lost.`,
    )
  }
  for (const handle of handles) if ((await sizeOf(handle)) > longest.end) await handle.truncate(longest.end)
  // Links are followed once: what replaces a file is where the file is.
  const realPaths = await Promise.all(paths.map((path) => realpath(path)))
  await syncFolders(realPaths)
  const isReplaced = replaced.some((path) => path === paths[0])
  const scanned = isReplaced ? await scan(first, key, onRecord) : longest
  return { handles: [first, ...others], paths: realPaths, scanned }
}

/** Whether a file has this size, and is still the one of this name: a rotation of logs would lead records away. */
const isSameFile = async (handle: FileHandle, { path, size }: { readonly path: string; readonly size: number }) => {
  const [opened, named] = await Promise.all([handle.stat(), stat(path)])
  return opened.size === size && opened.ino === named.ino && opened.dev === named.dev
}

const createAppender = (key: Uint8Array, { handles, paths, scanned }: Opened) => {
  const places = [...scanned.places]
  const first = firstOf(scanned)
  const nextLine = createLines({ key, before: scanned.mac })
  let { end, records } = scanned
  return {
    places,
    first,
    records: () => records,
    append: async (texts: readonly string[]): Promise<void> => {
      const lines: Buffer[] = []
      let at = end
      for (const each of texts) {
        const line = nextLine(each)
        if ((records - first + lines.length) % RECORDS_A_PLACE === 0) places.push(at)
        at += line.length
        lines.push(line)
      }
      const bytes = Buffer.concat(lines)
      await Promise.all(
        handles.map(async (handle, index) => {
          if (!(await isSameFile(handle, { path: paths[index] ?? '', size: end })))
            throw new Error('Somebody else has written to VAULT_JOURNAL, or has moved it.')
          await handle.appendFile(bytes)
          await handle.datasync()
        }),
      )
      end = at
      records += texts.length
    },
  }
}

type Numbered = { readonly number: number; readonly text: string }

async function* readFrom(
  { places, first, records }: ReturnType<typeof createAppender>,
  { handle, from }: { readonly handle: FileHandle; readonly from: number },
): AsyncGenerator<Numbered> {
  const place = Math.max(0, Math.min(Math.floor((from - first) / RECORDS_A_PLACE), places.length - 1))
  let number = first + place * RECORDS_A_PLACE
  for await (const { bytes } of linesFrom(handle, places[place] ?? 0)) {
    if (number >= records()) return
    if (number >= from) yield { number, text: bytes.subarray(MAC_HEX + 1).toString() }
    number += 1
  }
}

const LINES_A_WRITE = 1_000

type Anew = { readonly key: Uint8Array; readonly head: JournalHead; readonly rest: AsyncGenerator<Numbered> }

const writeAnew = async (path: string, { key, head, rest }: Anew): Promise<void> => {
  await using file = await open(path, 'w', 0o600)
  const nextLine = createLines({ key, before: NO_MAC })
  let lines: Buffer[] = []
  const add = async (text: string): Promise<void> => {
    lines.push(nextLine(text))
    if (lines.length < LINES_A_WRITE) return
    await file.appendFile(Buffer.concat(lines))
    lines = []
  }
  await add(JSON.stringify(head))
  for await (const { text } of rest) await add(text)
  await file.appendFile(Buffer.concat(lines))
  await file.sync()
}

const codeOf = (error: unknown): string => (error instanceof Error && 'code' in error ? ` (${error.code})` : '')

/** For instance because a disk is full. */
export class NotCompacted extends AppError {
  constructor(cause: unknown) {
    super('unavailable', `The journal could not be rewritten${codeOf(cause)}, and is unchanged.`, { cause })
  }
}

/** Writes it beside each of its files. @returns the names of the new files. */
const writeBeside = async (paths: readonly string[], anew: Anew): Promise<readonly string[]> => {
  const names = paths.map((path) => `${path}.new`)
  try {
    const [first = '', ...others] = names
    await writeAnew(first, anew)
    for (const other of others) await copyToDisk(first, other)
    return names
  } catch (error) {
    for (const name of names) await rm(name, { force: true })
    throw new NotCompacted(error)
  }
}

/** Begins a journal in empty files. @throws Error with a sentence for the operator: another one, or a changed one. */
export const openJournalFile = async (input: OpenInput) => {
  const { key, now } = input
  let closing = new AsyncDisposableStack()
  const openAll = async (onRecord: OnRecord) => {
    await using stack = new AsyncDisposableStack()
    const opened = await openAlike({ ...input, onRecord }, stack)
    closing = stack.move()
    const { handles, paths, scanned } = opened
    return { ...createAppender(key, opened), handle: handles[0], paths, head: scanned.head }
  }
  let file = await openAll(input.onRecord)
  const head = file.head ?? { journal: randomUUID(), began: now().toISOString() }
  if (file.head === null) await file.append([JSON.stringify(head)])
  const read = (from: number) => readFrom(file, { handle: file.handle, from })
  return {
    id: head.journal,
    /** The number of the next record. */
    records: (): number => file.records(),
    /** The number of the first record. */
    first: (): number => file.first,
    /** Appends records and syncs them. If it throws, nothing may be appended any more. */
    append: (texts: readonly string[]): Promise<void> => file.append(texts),
    read,
    /**
     * Leaves out the records up to a number. Nothing may be appended meanwhile. Killed at any point, the journal is the
     * old one or the new one. @throws NotCompacted where it is the old one, and goes on. After another error nothing
     * may be appended any more.
     */
    compact: async ({ upTo, floors = [] }: { readonly upTo: number; readonly floors: JournalHead['floors'] }) => {
      const { paths } = file
      const names = await writeBeside(paths, { key, head: { ...head, number: upTo, floors }, rest: read(upTo + 1) })
      await closing.disposeAsync()
      for (const [index, path] of paths.entries()) await rename(names[index] ?? '', path)
      file = await openAll(() => {})
    },
    close: (): Promise<void> => closing.disposeAsync(),
  }
}
