// Combines the journals of several vaults: which journals are missing, and in which order notes and transactions are
// restored. Pure.

import type { JournalNote } from '../../vault/contract/vault.ts'

type State = { readonly id: string; readonly others: readonly string[] }

/** The journals that the database knows, and that none of these vaults has. */
export const journalsElsewhere = (states: readonly State[]): readonly string[] => {
  const others = new Set(states.flatMap((state) => state.others))
  for (const { id } of states) others.delete(id)
  return [...others]
}

type Unrecorded = Pick<State, 'others'> & { readonly journal: string | null; readonly ids: readonly string[] }

/** What the database lacks, no note is about, and perhaps a journal has that is known and that no vault here has. */
export const perhapsElsewhere = (
  vaults: readonly Unrecorded[],
  noted: ReadonlySet<string | undefined>,
): readonly string[] => {
  const states = vaults.map(({ journal, others }) => ({ id: journal ?? '', others }))
  if (journalsElsewhere(states).length === 0) return []
  return [...new Set(vaults.flatMap(({ ids }) => ids))].filter((id) => !noted.has(id))
}

/**
 * The notes of several journals, oldest first. Within a journal the order of its records decides, even if its clock was
 * set back; between journals the clocks of their vaults.
 */
export const notesByAge = (journals: readonly (readonly JournalNote[])[]): readonly JournalNote[] =>
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

type NonceOfSigner = {
  readonly network: string
  readonly signerAddress: string
  readonly nonce: number
  /** The first block that could include it; null if it is not mortal. */
  readonly bornAtBlock?: bigint | null | undefined
}

const IMMORTAL = -1n

/**
 * Selects the signed transactions that may have been recorded, in the order in which to restore them: for one nonce the
 * last one. A mortal transaction releases its nonce when it expires, so all mortal ones are restored: the one that was
 * born last gets the nonce, and the other ones come at the end without a nonce, and without an answer that another
 * transaction has.
 * @param signed oldest first. @param nonceOf null for what has no nonce of its own.
 */
export const recordedInTurn = <Signed>(
  signed: readonly Signed[],
  nonceOf: (each: Signed) => NonceOfSigner | null,
): readonly Signed[] => {
  const last = new Map<string, { readonly each: Signed; readonly bornAt: bigint }>()
  const placed = signed.map((each) => {
    const used = nonceOf(each)
    const nonce = used && `${used.network} ${used.signerAddress} ${used.nonce}`
    return { each, nonce, bornAt: used?.bornAtBlock ?? IMMORTAL }
  })
  for (const { each, nonce, bornAt } of placed) {
    if (nonce !== null && bornAt >= (last.get(nonce)?.bornAt ?? IMMORTAL)) last.set(nonce, { each, bornAt })
  }
  const isLast = ({ each, nonce }: (typeof placed)[number]) => nonce === null || last.get(nonce)?.each === each
  const others = placed.filter((one) => !isLast(one) && one.bornAt !== IMMORTAL)
  return [...placed.filter(isLast), ...others].map(({ each }) => each)
}
