// The file of a journal. A record is one line, appended and synced before the vault answers:
//
//   MAC in hex (64) | ' ' | JSON | '\n'      MAC(n) = HMAC-SHA-256(key, MAC(n - 1) | JSON)
//
// So a line that somebody edited, added, removed or moved is noticed. What a killed process had not synced may be cut off or
// wrong at the end of the file; nobody was answered for it, and it is removed. The first record names the journal.
//
// It may be written to several files, for instance on two disks. At the start the longest one is right, and replaces the others.

import { randomUUID, timingSafeEqual } from 'node:crypto'
import { copyFile, type FileHandle, open } from 'node:fs/promises'
import { hmac } from '../sealing/kdf.ts'

const CHUNK_BYTES = 4 * 1024 * 1024
const NEWLINE = 0x0a
const MAC_HEX = 64
/** Of how many records one is remembered with its place, to find the others from there. */
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

const lineOf = (mac: Uint8Array, text: Uint8Array): Buffer =>
  Buffer.concat([Buffer.from(`${Buffer.from(mac).toString('hex')} `), text, Buffer.of(NEWLINE)])

/** @returns the line's MAC and its text; null if the line does not follow on the one before. */
const readLine = (chain: Chained, { bytes }: Line): { readonly mac: Uint8Array; readonly text: Buffer } | null => {
  const text = bytes.subarray(MAC_HEX + 1)
  const mac = Buffer.from(bytes.subarray(0, MAC_HEX).toString('latin1'), 'hex')
  const expected = macOf(chain, text)
  return mac.length === expected.length && timingSafeEqual(mac, expected) ? { mac, text } : null
}

const NO_MAC = new Uint8Array(0)

type Scanned = {
  /** null: the file is empty. */
  readonly id: string | null
  readonly records: number
  /** Of the last good line. */
  readonly mac: Uint8Array
  readonly end: number
  /** Where the record with the number `index × RECORDS_A_PLACE` begins. */
  readonly places: readonly number[]
}

type OnRecord = (text: string, number: number) => void

/** Reads a file up to its end or to the first line that is not as it was written. */
const scan = async (handle: FileHandle, key: Uint8Array, onRecord: OnRecord): Promise<Scanned> => {
  let id: string | null = null
  let mac: Uint8Array = NO_MAC
  let [end, records] = [0, 0]
  const places: number[] = []
  for await (const line of linesFrom(handle, 0)) {
    const read = readLine({ key, before: mac }, line)
    if (read === null) break
    const text = read.text.toString()
    if (records === 0) id = (JSON.parse(text) as { readonly journal: string }).journal
    if (records % RECORDS_A_PLACE === 0) places.push(end)
    onRecord(text, records)
    mac = read.mac
    end = line.end
    records += 1
  }
  return { id, records, mac, end, places }
}

type OpenInput = {
  /** The same journal in each. */
  readonly paths: readonly string[]
  readonly key: Uint8Array
  readonly now: () => Date
  /** How many records of a journal the database knows: so many must be there. */
  readonly knownOf: (id: string) => Promise<number>
  /** Called for each record, from the first one on. */
  readonly onRecord: OnRecord
}

export type JournalFile = {
  readonly id: string
  /** How many records are there. */
  readonly records: () => number
  /** Appends records and syncs them. If it throws, nothing may be appended any more. */
  readonly append: (texts: readonly string[]) => Promise<void>
  /** The records from a number on. */
  readonly read: (from: number) => AsyncGenerator<{ readonly number: number; readonly text: string }>
  readonly close: () => Promise<void>
}

const sizeOf = async (handle: FileHandle): Promise<number> => (await handle.stat()).size

/** Makes the shorter files like the longest one. */
const alike = async (files: readonly { readonly path: string; readonly scanned: Scanned }[]): Promise<Scanned> => {
  const [longest, ...others] = files.toSorted((a, b) => b.scanned.records - a.scanned.records)
  if (longest === undefined) throw new Error('VAULT_JOURNAL must name a file.')
  for (const { path, scanned } of others) {
    const isOther =
      scanned.records === longest.scanned.records && Buffer.compare(scanned.mac, longest.scanned.mac) !== 0
    if (scanned.id !== null && (scanned.id !== longest.scanned.id || isOther)) {
      throw new Error(`VAULT_JOURNAL: ${path} and ${longest.path} are two journals, and must be one.`)
    }
    if (scanned.records < longest.scanned.records) await copyFile(longest.path, path)
  }
  return longest.scanned
}

const openFile = async (path: string): Promise<FileHandle> => {
  try {
    return await open(path, 'a+', 0o600)
  } catch (error) {
    const why = error instanceof Error && 'code' in error ? ` (${error.code})` : ''
    throw new Error(`VAULT_JOURNAL must be a file that the vault can write: ${path} is not${why}.`)
  }
}

/**
 * Opens a journal, or begins one in files that are empty.
 * @throws Error with a sentence for the operator if it is not the one that the database knows, or was changed.
 */
export const openJournalFile = async (input: OpenInput): Promise<JournalFile> => {
  const { paths, key, now, knownOf, onRecord } = input
  await using opened = new AsyncDisposableStack()
  const handles: FileHandle[] = []
  for (const path of paths) {
    const handle = await openFile(path)
    opened.defer(() => handle.close())
    handles.push(handle)
  }
  const scans = await Promise.all(handles.map((handle) => scan(handle, key, () => {})))
  const [first, ...rest] = handles
  if (first === undefined) throw new Error('VAULT_JOURNAL must name a file.')
  const longest = await alike(scans.map((scanned, index) => ({ path: paths[index] ?? '', scanned })))
  const known = longest.id === null ? 0 : await knownOf(longest.id)
  if (longest.records < known || (longest.id === null && (await sizeOf(first)) > 0)) {
    throw new Error(
      `VAULT_JOURNAL ends at record ${longest.records}, or was changed there, and the database knows ${known}: put the newest copy there, or name a new file.`,
    )
  }
  for (const handle of handles) if ((await sizeOf(handle)) > longest.end) await handle.truncate(longest.end)
  const scanned = await scan(first, key, onRecord)
  let { mac, end, records } = scanned
  const places = [...scanned.places]

  const append: JournalFile['append'] = async (texts) => {
    const lines: Buffer[] = []
    let at = end
    for (const each of texts) {
      const text = Buffer.from(each)
      mac = macOf({ key, before: mac }, text)
      const line = lineOf(mac, text)
      if ((records + lines.length) % RECORDS_A_PLACE === 0) places.push(at)
      at += line.length
      lines.push(line)
    }
    const bytes = Buffer.concat(lines)
    await Promise.all(
      [first, ...rest].map(async (handle) => {
        if ((await sizeOf(handle)) !== end) throw new Error('Somebody else has written to VAULT_JOURNAL.')
        await handle.appendFile(bytes)
        await handle.datasync()
      }),
    )
    end = at
    records += texts.length
  }

  const id = scanned.id ?? randomUUID()
  if (scanned.id === null) await append([JSON.stringify({ journal: id, began: now().toISOString() })])

  async function* read(from: number): AsyncGenerator<{ readonly number: number; readonly text: string }> {
    const place = Math.min(Math.floor(from / RECORDS_A_PLACE), places.length - 1)
    let number = place * RECORDS_A_PLACE
    for await (const { bytes } of linesFrom(first as FileHandle, places[place] ?? 0)) {
      if (number >= records) return
      if (number >= from) yield { number, text: bytes.subarray(MAC_HEX + 1).toString() }
      number += 1
    }
  }

  const files = opened.move()
  return {
    id,
    records: () => records,
    append,
    read,
    close: () => files.disposeAsync(),
  }
}
