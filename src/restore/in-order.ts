import type { JournalNote } from '../custody/vault.ts'

/**
 * The notes of several journals, oldest first. Within a journal the order of its records counts: if its clock was set back, the notes
 * before are as old as the next one at least. Between journals there are only the clocks of their vaults.
 */
export const inOrder = (journals: readonly (readonly JournalNote[])[]): readonly JournalNote[] =>
  journals
    .flatMap((notes) => {
      let next = notes.at(-1)?.at ?? ''
      return notes
        .toReversed()
        .map((note) => {
          if (note.at < next) next = note.at
          return { ...note, at: next }
        })
        .reverse()
    })
    .toSorted((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0))
