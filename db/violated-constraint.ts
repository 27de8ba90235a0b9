/** The name of the unique constraint that was violated, or null. */
export const violatedConstraint = (error: unknown): string | null => {
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    if ('code' in at && at.code === '23505' && 'constraint' in at && typeof at.constraint === 'string') {
      return at.constraint
    }
  }
  return null
}
