// What a process has in its memory, read from outside as whoever controls its machine would. Linux.

import { closeSync, openSync, readFileSync, readSync } from 'node:fs'

const PAGE_BYTES = 4096
/** An entry of /proc/<pid>/pagemap, little-endian. The last byte says whether the page is in memory, or swapped out. */
const ENTRY_BYTES = 8
const IS_THERE = 0xc0
const PIECE_BYTES = 64 * 1024 * 1024
/** A phrase of 24 words, two bytes a character. */
const TEXT_BYTES_MAX = 512

type Range = { readonly from: number; readonly to: number }

const writableOf = (pid: number): readonly Range[] =>
  readFileSync(`/proc/${pid}/maps`, 'utf8')
    .split('\n')
    .flatMap((line) => {
      const [, from = '', to = '', mode = ''] = /^([0-9a-f]+)-([0-9a-f]+) (\S+)/.exec(line) ?? []
      return mode.startsWith('rw') ? [{ from: Number.parseInt(from, 16), to: Number.parseInt(to, 16) }] : []
    })

/** The parts of a range that are there: most of it is only reserved. */
const partsOf = (pagemap: number, { from, to }: Range): readonly Range[] => {
  const entries = Buffer.alloc(((to - from) / PAGE_BYTES) * ENTRY_BYTES)
  const length = readSync(pagemap, entries, 0, entries.length, (from / PAGE_BYTES) * ENTRY_BYTES)
  const parts: { from: number; to: number }[] = []
  for (let at = 0; at < length; at += ENTRY_BYTES) {
    if (((entries[at + ENTRY_BYTES - 1] ?? 0) & IS_THERE) === 0) continue
    const page = from + (at / ENTRY_BYTES) * PAGE_BYTES
    const last = parts.at(-1)
    if (last?.to === page) last.to += PAGE_BYTES
    else parts.push({ from: page, to: page + PAGE_BYTES })
  }
  return parts
}

/** How often each is in the memory that the process can write. */
export const timesInMemory = (pid: number, texts: readonly (string | Uint8Array)[]): readonly number[] => {
  const memory = openSync(`/proc/${pid}/mem`, 'r')
  const pagemap = openSync(`/proc/${pid}/pagemap`, 'r')
  const times = texts.map(() => 0)
  const piece = Buffer.alloc(PIECE_BYTES)
  try {
    for (const { from, to } of writableOf(pid).flatMap((range) => partsOf(pagemap, range))) {
      // They overlap, for a text across two pieces.
      for (let at = from; at < to; at += PIECE_BYTES - TEXT_BYTES_MAX) {
        const found = piece.subarray(0, readSync(memory, piece, 0, Math.min(PIECE_BYTES, to - at), at))
        for (const [index, text] of texts.entries()) {
          for (let next = found.indexOf(text); next >= 0; next = found.indexOf(text, next + 1)) {
            times[index] = (times[index] ?? 0) + 1
          }
        }
      }
    }
  } finally {
    closeSync(memory)
    closeSync(pagemap)
  }
  return times
}
