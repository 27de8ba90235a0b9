// Names, symbols and reasons are untrusted text. They are cut to a limit, put on one line, and stripped of characters
// that hide, reorder or end text (controls, bidirectional marks, unassigned code points).

const INVISIBLE = /[\p{C}\p{Zl}\p{Zp}]/gu

/** Cleans a text and cuts it to `limit` code points. Pure. */
export const cleanText = (text: string, limit: number): string => {
  // Cut by code units first, to avoid scanning a megabyte for 64 characters.
  const bounded = text.slice(0, limit * 8)
  const visible = bounded
    .replace(/[\s\p{Zl}\p{Zp}]+/gu, ' ')
    .replace(INVISIBLE, '')
    // Spaces between which something invisible stood.
    .replace(/ +/g, ' ')
    .trim()
  return [...visible].slice(0, limit).join('').trim()
}
