// The rows with a MAC under the identity key that get another one when it is changed. Facts of contracts are not among
// them: the service reads those without a valid MAC again. Nonces and mailed codes expire within minutes.

import type { HasDb } from '../../../db/client.ts'
import { allAbiItems } from '../../../db/queries/abis.ts'
import { type DeploymentMacTable, replaceDeploymentMacs, replaceMacs } from '../../../db/queries/key-rotation.ts'
import { allListedTokens } from '../../../db/queries/listed-tokens.ts'
import { allOperatorRows } from '../../../db/queries/operators.ts'
import {
  abiItemMac,
  type CallerRow,
  type CallerTable,
  listedTokenMac,
  operatorMac,
  operatorPasskeyMac,
  type RowMac,
  withEachCallerTable,
} from '../../identity/auth/row-macs.ts'
import type { SealingKey } from '../../platform/sealing/sealer.ts'
import type { ForgedRow } from '../../vault/contract/vault.ts'

const ROWS_A_PAGE = 1_000

export type Remade = {
  readonly rows: number
  readonly remade: number
  readonly forged: readonly ForgedRow[]
}

/** Says why a row gets no MAC under the next key, or null. */
type Refusal<Row> = (row: Row & CallerRow) => string | null

type Work = {
  readonly db: HasDb['db']
  readonly to: SealingKey
  /** Adds the number of rows that were read. */
  readonly onRows: (rows: number) => void
}

const remakeTable = async <Row>(
  { db, to, onRows }: Work,
  { table, macOf, readPage }: CallerTable<Row>,
  refusalOf: Refusal<Row>,
): Promise<Remade> => {
  const next = macOf(to)
  const forged: ForgedRow[] = []
  let [rows, remade] = [0, 0]
  for (let after: string | null = null; ; ) {
    const page: readonly (Row & CallerRow)[] = await readPage(db, { projectId: null, after, limit: ROWS_A_PAGE })
    const given: { id: string; before: Uint8Array | null; after: Uint8Array }[] = []
    for (const row of page) {
      if (next.holds(row)) continue
      const trouble = refusalOf(row)
      if (trouble === null) given.push({ id: row.id, before: row.mac, after: next.of(row) })
      else forged.push({ table, id: row.id, projectId: row.projectId, trouble })
    }
    if (given.length > 0) remade += await replaceMacs(db, { table, rows: given })
    rows += page.length
    onRows(page.length)
    if (page.length < ROWS_A_PAGE) return { rows, remade, forged }
    after = page.at(-1)?.id ?? null
  }
}

const sumOf = (parts: readonly Remade[]): Remade => ({
  rows: parts.reduce((sum, { rows }) => sum + rows, 0),
  remade: parts.reduce((sum, part) => sum + part.remade, 0),
  forged: parts.flatMap(({ forged }) => forged),
})

const NOT_OURS = 'it is not as the service wrote it'

type DeploymentTable<Facts> = {
  readonly table: DeploymentMacTable
  readonly macOf: (key: SealingKey) => RowMac<Facts>
  readonly rows: readonly (Facts & { readonly mac: Uint8Array })[]
  readonly nameOf: (row: Facts) => string
}

const remakeDeploymentTable = async <Facts>(
  { db, from, to, onRows }: Work & { readonly from: SealingKey },
  { table, macOf, rows, nameOf }: DeploymentTable<Facts>,
): Promise<Remade> => {
  const [before, next] = [macOf(from), macOf(to)]
  const old = rows.filter((row) => !next.holds(row))
  const given = old.filter(before.holds).map((row) => ({ before: row.mac, after: next.of(row) }))
  const forged = old
    .filter((row) => !before.holds(row))
    .map((row) => ({ table, id: nameOf(row), projectId: null, trouble: NOT_OURS }))
  const remade = given.length === 0 ? 0 : await replaceDeploymentMacs(db, { table, rows: given })
  onRows(rows.length)
  return { rows: rows.length, remade, forged }
}

/** Operators of the console, ABIs and lists of tokens, which are of no project. */
const remakeDeploymentTables = async (work: Work & { readonly from: SealingKey }): Promise<readonly Remade[]> => {
  const { operators, passkeys } = await allOperatorRows(work.db)
  return [
    await remakeDeploymentTable(work, {
      table: 'operators',
      macOf: operatorMac,
      rows: operators,
      nameOf: ({ name }) => name,
    }),
    await remakeDeploymentTable(work, {
      table: 'operator_passkeys',
      macOf: operatorPasskeyMac,
      rows: passkeys,
      nameOf: ({ operatorName }) => operatorName,
    }),
    await remakeDeploymentTable(work, {
      table: 'abi_items',
      macOf: abiItemMac,
      rows: await allAbiItems(work.db),
      nameOf: ({ abiName, signature }) => `${abiName}: ${signature}`,
    }),
    await remakeDeploymentTable(work, {
      table: 'listed_tokens',
      macOf: listedTokenMac,
      rows: await allListedTokens(work.db),
      nameOf: ({ network, address }) => `${network} ${address}`,
    }),
  ]
}

/** Gives each row that the present key verifies a MAC under the next one. It may be killed and run again. */
export const remakeRows = async (work: Work & { readonly from: SealingKey }): Promise<Remade> => {
  const remade = await withEachCallerTable((table) => {
    const before = table.macOf(work.from)
    return remakeTable(work, table, (row) => (before.holds(row) ? null : NOT_OURS))
  })
  return sumOf([...(await remakeDeploymentTables(work)), ...remade])
}

const NOTHING: Remade = { rows: 0, remade: 0, forged: [] }

/** Gives a MAC to projects and users as they are, and to wallets that the vault confirms; the present key is lost. */
export const acceptRows = async (
  work: Work & { readonly walletTroubles: ReadonlyMap<string, string> },
): Promise<Remade> => {
  const remade = await withEachCallerTable(async (rows) => {
    switch (rows.table) {
      case 'projects':
      case 'users':
        return remakeTable(work, rows, () => null)
      case 'wallets':
        return remakeTable(work, rows, ({ id }) => work.walletTroubles.get(id) ?? null)
      default:
        // They admit a caller by themselves, so they have ended.
        return NOTHING
    }
  })
  return sumOf(remade)
}
