// What the database returns of a row that it says it wrote. Its owner can plant a trigger, a rule or a policy that
// keeps an earlier value, or none, and the statement succeeds all the same. So what decides is returned, and compared
// with what was meant.

/** The database has written something else than it was told. The transaction must not commit. */
export class NotWritten extends Error {
  readonly projectId: string | null
  /** The row, as far as it is known. */
  readonly subject: string

  /** @param meant values of the row. */
  constructor(
    readonly table: string,
    meant: object = {},
  ) {
    super(`The database did not write a row of ${table} as it was told to.`)
    this.name = 'NotWritten'
    const row = new Map(Object.entries(meant))
    const ids = ['ownerId', 'walletId', 'keyringId', 'policyId', 'id'].map((name) => row.get(name))
    const projectId = row.get('projectId')
    this.projectId = typeof projectId === 'string' ? projectId : null
    this.subject = ids.find((id) => typeof id === 'string') ?? table
  }
}

const textOf = (value: unknown): string => {
  if (value === null || value === undefined) return 'null'
  if (value instanceof Uint8Array) return `bytes ${Buffer.from(value).toString('hex')}`
  if (value instanceof Date) return `time ${value.getTime()}`
  if (Array.isArray(value)) return `[${value.map(textOf).join(',')}]`
  if (typeof value !== 'object') return `${typeof value} ${JSON.stringify(String(value))}`
  const fields = Object.entries(value).filter(([, field]) => field !== undefined)
  return `{${fields
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, field]) => `${JSON.stringify(name)}:${textOf(field)}`)
    .join(',')}}`
}

type Written<Row> = {
  readonly table: string
  readonly meant: Row
  readonly returned: Readonly<Record<keyof Row, unknown>>
}

/** Whether each value of `meant` is also in `found`. */
export const isSame = <Row extends object>(meant: Row, found: Readonly<Record<keyof Row, unknown>>): boolean =>
  (Object.keys(meant) as (keyof Row)[]).every((name) => textOf(meant[name]) === textOf(found[name]))

/** Dates are equal by their time, bytes by their content, and JSON in any order of its names. @throws NotWritten */
export const requireWritten = <Row extends object>({ table, meant, returned }: Written<Row>): void => {
  if (!isSame(meant, returned)) throw new NotWritten(table, meant)
}
