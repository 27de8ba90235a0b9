// Two flags that the browser keeps between visits. They setSession no token and no personal data.

type Flag = 'has a passkey here' | 'wants no passkey'

const keyOf = (projectId: string, flag: Flag): string => `strongroom: ${flag}: ${projectId}`

/** Without storage the flag is lost, and the page works without it. */
export const setFlag = (projectId: string, flag: Flag): void => {
  try {
    localStorage.setItem(keyOf(projectId, flag), 'yes')
  } catch {
    // Some browsers refuse storage in private windows.
  }
}

export const hasFlag = (projectId: string, flag: Flag): boolean => {
  try {
    return localStorage.getItem(keyOf(projectId, flag)) !== null
  } catch {
    return false
  }
}
