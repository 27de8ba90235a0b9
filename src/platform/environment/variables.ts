// Reads single variables of the environment. An error names the variable and what it must be, never its value.

export type Variables = Readonly<Record<string, string | undefined>>

export const problem = (name: string, right: string): Error => new Error(`${name} must be ${right}.`)

export const required = (variables: Variables, name: string, right: string): string => {
  const value = variables[name]?.trim()
  if (!value) throw problem(name, right)
  return value
}

export const oneOf = <Word extends string>(
  variables: Variables,
  name: string,
  words: readonly Word[],
  fallback?: Word,
): Word => {
  const value = variables[name]?.trim() || fallback
  const word = words.find((each) => each === value)
  if (word === undefined) throw problem(name, `one of ${words.join(', ')}`)
  return word
}

export const wholeNumber = (variables: Variables, name: string, fallback: number, most: number, least = 1): number => {
  const text = variables[name]?.trim()
  if (!text) return fallback
  const value = /^[0-9]{1,9}$/.test(text) ? Number(text) : Number.NaN
  if (!(value >= least && value <= most)) throw problem(name, `a whole number from ${least} to ${most}`)
  return value
}

export const url = (name: string, text: string, protocols: readonly string[]): string => {
  const parsed = URL.canParse(text) ? new URL(text) : null
  if (parsed === null || !protocols.includes(parsed.protocol)) {
    throw problem(name, `a URL that begins with ${protocols.map((each) => `${each}//`).join(' or ')}`)
  }
  return text
}

export const flag = (variables: Variables, name: string, fallback: 'true' | 'false' = 'false'): boolean =>
  oneOf(variables, name, ['true', 'false'], fallback) === 'true'
