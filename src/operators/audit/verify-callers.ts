import type { HasDb } from '../../../db/client.ts'
import { allAbiItems, removedAbis } from '../../../db/queries/abis.ts'
import {
  goneCallerRows,
  revivedApiKeys,
  revivedIssuers,
  revivedPasskeys,
  revivedSessions,
  revivedUsers,
} from '../../../db/queries/caller-rows.ts'
import type { MacTable } from '../../../db/queries/key-rotation.ts'
import { allListedTokens, removedTokenLists } from '../../../db/queries/listed-tokens.ts'
import { allOperatorRows, operatorActs } from '../../../db/queries/operators.ts'
import { listAllTokenKeys } from '../../../db/queries/token-keys.ts'
import { isOwnTokenKey } from '../../identity/auth/access-token.ts'
import {
  abiItemMac,
  type CallerRow,
  type CallerTable,
  listedTokenMac,
  operatorMac,
  operatorPasskeyMac,
  operatorTokenMac,
  type RowMac,
  withEachCallerTable,
} from '../../identity/auth/row-macs.ts'
import type { HasIdentity } from '../../platform/sealing/sealer.ts'
import type { ForgedRow } from '../../vault/contract/vault.ts'

const ROWS_A_PAGE = 1_000
const NOT_OURS = 'it is not as the service wrote it'
const REVIVED = 'the audit says that it was revoked, removed or ended'
const GONE = 'the audit names it, and it is gone'

export type Callers = { readonly rows: number; readonly forged: readonly ForgedRow[] }

type VerifyCtx = HasDb & HasIdentity
type OfProject = { readonly projectId: string | null }
type Keyed = Pick<CallerRow, 'id' | 'projectId'>

/** The rows that are ended in the audit, where an end is in it. */
const REVIVED_OF: Partial<Record<MacTable, (db: VerifyCtx['db'], scope: OfProject) => Promise<readonly Keyed[]>>> = {
  api_keys: revivedApiKeys,
  issuers: revivedIssuers,
  passkeys: revivedPasskeys,
  sessions: revivedSessions,
  users: revivedUsers,
}

const verifyTable = async <Row>(
  { db, identity }: VerifyCtx,
  { projectId }: OfProject,
  { table, macOf, readPage }: CallerTable<Row>,
): Promise<Callers> => {
  const mac = macOf(identity)
  const named = (trouble: string) => (row: Keyed) => ({ table, id: row.id, projectId: row.projectId, trouble })
  const forged = ((await REVIVED_OF[table]?.(db, { projectId })) ?? []).map(named(REVIVED))
  let rows = 0
  for (let after: string | null = null; ; ) {
    const page: readonly (Row & CallerRow)[] = await readPage(db, { projectId, after, limit: ROWS_A_PAGE })
    rows += page.length
    forged.push(...page.filter((row) => !mac.holds(row)).map(named(NOT_OURS)))
    if (page.length < ROWS_A_PAGE) return { rows, forged }
    after = page.at(-1)?.id ?? null
  }
}

const verifyTokenKeys = async ({ db, identity }: VerifyCtx): Promise<Callers> => {
  const rows = await listAllTokenKeys(db)
  const forged: ForgedRow[] = []
  for (const row of rows) {
    if (await isOwnTokenKey(identity, row)) continue
    forged.push({ table: 'token_keys', id: row.id, projectId: null, trouble: NOT_OURS })
  }
  return { rows: rows.length, forged }
}

type OperatorRows = Awaited<ReturnType<typeof allOperatorRows>>

/** Operators with another role than the one they were given last, and what was removed and is there again. */
const revivedOperators = async (db: VerifyCtx['db'], { operators, passkeys }: OperatorRows) => {
  const known = new Map<string, { readonly role: string | null; readonly credentialIds: ReadonlySet<string | null> }>()
  for (const { name, action, role, credentialId } of await operatorActs(db)) {
    const before = known.get(name) ?? { role: null, credentialIds: new Set() }
    if (action === 'operator_removed') known.delete(name)
    else if (action === 'operator_invited') known.set(name, { ...before, role })
    else known.set(name, { ...before, credentialIds: new Set([...before.credentialIds, credentialId]) })
  }
  const isAdded = ({ operatorName, credentialId }: OperatorRows['passkeys'][number]) =>
    known.get(operatorName)?.credentialIds.has(Buffer.from(credentialId).toString('base64url')) === true
  return {
    operators: operators.flatMap(({ name, role }) => {
      const given = known.get(name)?.role ?? null
      if (given === role) return []
      return [{ name, trouble: given === null ? REVIVED : `the audit says that its role is ${given}` }]
    }),
    passkeys: passkeys.filter((row) => !isAdded(row)),
  }
}

/** What admits operators to the console, which is of no project. */
const verifyOperators = async ({ db, identity }: VerifyCtx): Promise<Callers> => {
  const rows = await allOperatorRows(db)
  const { operators, passkeys, tokens } = rows
  const revived = await revivedOperators(db, rows)
  const named = (table: string, id: string, trouble = NOT_OURS): ForgedRow => ({ table, id, projectId: null, trouble })
  const [operator, passkey, token] = [operatorMac(identity), operatorPasskeyMac(identity), operatorTokenMac(identity)]
  return {
    rows: operators.length + passkeys.length + tokens.length,
    forged: [
      ...revived.operators.map(({ name, trouble }) => named(operator.table, name, trouble)),
      ...revived.passkeys.map((row) => named(passkey.table, row.operatorName, REVIVED)),
      ...operators.filter((row) => !operator.holds(row)).map(({ name }) => named(operator.table, name)),
      ...passkeys.filter((row) => !passkey.holds(row)).map((row) => named(passkey.table, row.operatorName)),
      ...tokens.filter((row) => !token.holds(row)).map((row) => named(token.table, row.operatorName)),
    ],
  }
}

type Named<Row> = {
  readonly mac: RowMac<Row>
  readonly rows: readonly (Row & { readonly mac: Uint8Array })[]
  readonly idOf: (row: Row) => string
  readonly isRemoved: (row: Row) => boolean
}

const verifyNames = <Row>({ mac, rows, idOf, isRemoved }: Named<Row>): Callers => {
  const forged = rows.flatMap((row): readonly ForgedRow[] => {
    const trouble = !mac.holds(row) ? NOT_OURS : isRemoved(row) ? REVIVED : null
    return trouble === null ? [] : [{ table: mac.table, id: idOf(row), projectId: null, trouble }]
  })
  return { rows: rows.length, forged }
}

/** What names functions and tokens to people, which is of no project. */
const verifyAllNames = async ({ db, identity }: VerifyCtx): Promise<readonly Callers[]> => {
  const [abis, lists] = [await removedAbis(db), await removedTokenLists(db)]
  return [
    verifyNames({
      mac: abiItemMac(identity),
      rows: await allAbiItems(db),
      idOf: ({ abiName, signature }) => `${abiName}: ${signature}`,
      isRemoved: ({ abiName }) => abis.has(abiName),
    }),
    verifyNames({
      mac: listedTokenMac(identity),
      rows: await allListedTokens(db),
      idOf: ({ network, address }) => `${network} ${address}`,
      isRemoved: ({ listName }) => lists.has(listName),
    }),
  ]
}

/** Checks that the service wrote the rows, and that none is there or gone against the audit. */
export const verifyCallers = async (ctx: VerifyCtx, scope: OfProject): Promise<Callers> => {
  const tables = [
    ...(scope.projectId === null
      ? [await verifyTokenKeys(ctx), await verifyOperators(ctx), ...(await verifyAllNames(ctx))]
      : []),
    ...(await withEachCallerTable((table) => verifyTable(ctx, scope, table))),
  ]
  return {
    rows: tables.reduce((sum, { rows }) => sum + rows, 0),
    forged: [
      ...tables.flatMap(({ forged }) => forged),
      ...(await goneCallerRows(ctx.db, scope)).map((row) => ({ ...row, trouble: GONE })),
    ],
  }
}
