// How rows of the operators' views are printed: aligned for people, with the views' own names for machines.

const snakeCase = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/** A row as JSON: the names of its columns, integers beyond 2^53 as decimal strings, instants as ISO 8601. */
export const shownRow = (row: object): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(row).map(([name, value]) => {
      const shown = typeof value === 'bigint' ? String(value) : value
      return [snakeCase(name), shown instanceof Date ? shown.toISOString() : shown]
    }),
  )

/** Lines of equal columns; the last one is as long as it is. */
export const table = (rows: readonly (readonly string[])[]): string => {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}
