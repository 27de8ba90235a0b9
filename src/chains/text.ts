// Names, symbols and reasons are written by strangers: they are kept as text, but bounded, on one line, and without
// characters that hide, reorder or end text (controls, bidirectional marks, unassigned code points).

const UNSEEN = /[\p{C}\p{Zl}\p{Zp}]/gu

/** At most `limit` code points. Pure. */
export const cleanText = (text: string, limit: number): string => {
  // Cut first by code units, so that a megabyte is not scanned for 64 characters.
  const bounded = text.slice(0, limit * 8)
  const seen = bounded
    .replace(/[\s\p{Zl}\p{Zp}]+/gu, ' ')
    .replace(UNSEEN, '')
    .trim()
  return [...seen].slice(0, limit).join('').trim()
}
