type State = { readonly id: string; readonly others: readonly string[] }

/** The journals that the database knows, and that none of these vaults has. */
export const journalsElsewhere = (states: readonly State[]): readonly string[] => {
  const others = new Set(states.flatMap((state) => state.others))
  for (const { id } of states) others.delete(id)
  return [...others]
}
