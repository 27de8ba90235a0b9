const violated = (error: unknown, sqlState: string): string | null => {
  for (let at: unknown = error; at instanceof Error; at = at.cause) {
    if ('code' in at && at.code === sqlState && 'constraint' in at && typeof at.constraint === 'string') {
      return at.constraint
    }
  }
  return null
}

/** The name of the unique constraint that was violated, or null. */
export const violatedConstraint = (error: unknown): string | null => violated(error, '23505')

/** Whether a row refers to one that is not there. */
export const isReferenceMissing = (error: unknown): boolean => violated(error, '23503') !== null
