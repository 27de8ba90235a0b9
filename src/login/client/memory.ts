// Two words that the browser keeps from one visit to the next. No token is among them, and nothing that tells of the user.

type Word = 'has a passkey here' | 'wants no passkey'

const keyOf = (projectId: string, word: Word): string => `strongroom: ${word}: ${projectId}`

/** Where there is no storage nothing is kept, and the page does without. */
export const remember = (projectId: string, word: Word): void => {
  try {
    localStorage.setItem(keyOf(projectId, word), 'yes')
  } catch {
    // Some browsers refuse it in private windows.
  }
}

export const remembers = (projectId: string, word: Word): boolean => {
  try {
    return localStorage.getItem(keyOf(projectId, word)) !== null
  } catch {
    return false
  }
}
