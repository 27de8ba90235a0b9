type Variables = Readonly<Record<string, string | undefined>>

/** @throws Error if there is one, because an attacker who runs code in an API or a worker must not find it. */
export const refuseRootKey = (variables: Variables): void => {
  const name = ['ROOT_KEY', 'ROOT_KEY_NEXT'].find((each) => variables[each]?.trim())
  if (name === undefined) return
  throw new Error(
    `${name} must not be set in this process: only the vault may have it. Remove it from the environment.`,
  )
}
