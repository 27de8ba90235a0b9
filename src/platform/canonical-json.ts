// Canonical JSON (RFC 8785): one text for each value. Policies bind this text and approvers sign it, so the format
// never changes.
//
// Texts and numbers are written as JSON.stringify writes them, which is what the RFC asks for (§3.2.2). Names are
// sorted by their UTF-16 code units (§3.2.3), as Array.sort does it. Values that JSON lacks are refused, so that no two
// values share a text.

const isPlain = (value: object): value is Record<string, unknown> =>
  Object.getPrototypeOf(value) === Object.prototype || Object.getPrototypeOf(value) === null

/** Leaves out fields that are undefined. @throws Error for a value that JSON lacks. */
export const canonicalJson = (value: unknown): string => {
  if (Array.isArray(value)) return `[${Array.from(value, (each) => canonicalJson(each)).join(',')}]`
  if (typeof value === 'object' && value !== null && isPlain(value)) {
    const names = Object.keys(value).filter((name) => value[name] !== undefined)
    return `{${names
      .sort()
      .map((name) => `${canonicalJson(name)}:${canonicalJson(value[name])}`)
      .join(',')}}`
  }
  const isScalar =
    value === null ||
    typeof value === 'boolean' ||
    (typeof value === 'number' && Number.isFinite(value)) ||
    (typeof value === 'string' && value.isWellFormed())
  if (!isScalar) throw new Error('A value cannot be written as JSON.')
  return JSON.stringify(value)
}
