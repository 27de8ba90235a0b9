// The rows with a MAC under the identity key that get another one when it is changed. Facts of contracts are not among them: the
// service reads those without a valid MAC again. Nonces and mailed codes expire within minutes.

import {
  type Page,
  pageOfApiKeys,
  pageOfPasskeys,
  pageOfProjects,
  pageOfSessionChallenges,
  pageOfSessions,
  pageOfUsers,
  pageOfWallets,
} from '../../db/queries/caller-rows.ts'
import { type MacTable, replaceMacs, replaceOperatorMac } from '../../db/queries/key-rotation.ts'
import { allOperatorRows } from '../../db/queries/operators.ts'
import {
  apiKeyMac,
  operatorMac,
  operatorPasskeyMac,
  passkeyMac,
  projectMac,
  type RowMac,
  sessionChallengeMac,
  sessionMac,
  userMac,
  walletMac,
} from '../auth/row-macs.ts'
import type { Ctx } from '../context.ts'
import type { SealingKey } from '../custody/sealer.ts'
import type { ForgedRow } from '../custody/verify-rows.ts'

const ROWS_A_PAGE = 1_000

export type Remade = {
  readonly rows: number
  /** Rows that got another MAC. */
  readonly remade: number
  /** Rows that did not get one. */
  readonly forged: readonly ForgedRow[]
}

type Stored = { readonly id: string; readonly projectId: string; readonly mac: Uint8Array | null }

/** Says why a row gets no MAC under the next key, or null. */
type Refusal<Row> = (row: Row) => string | null

type Work = {
  readonly db: Ctx['db']
  readonly to: SealingKey
  /** Adds the number of rows that were read. */
  readonly onRows: (rows: number) => void
}

const remakeTable = async <Row extends Stored>(
  { db, onRows }: Work,
  of: {
    readonly table: MacTable
    readonly next: RowMac<Row>
    readonly refusalOf: Refusal<Row>
    readonly readPage: (db: Ctx['db'], page: Page) => Promise<readonly Row[]>
  },
): Promise<Remade> => {
  const { table, next, refusalOf } = of
  const forged: ForgedRow[] = []
  let [rows, remade] = [0, 0]
  for (let after: string | null = null; ; ) {
    const page: readonly Row[] = await of.readPage(db, { projectId: null, after, limit: ROWS_A_PAGE })
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

type OperatorTable<Facts> = {
  readonly table: 'operators' | 'operator_passkeys'
  readonly macs: Readonly<Record<'from' | 'to', RowMac<Facts>>>
  readonly rows: readonly (Facts & { readonly mac: Uint8Array })[]
  readonly nameOf: (row: Facts) => string
}

const remakeOperatorTable = async <Facts>(
  { db, onRows }: Work,
  { table, macs, rows, nameOf }: OperatorTable<Facts>,
): Promise<Remade> => {
  const forged: ForgedRow[] = []
  let remade = 0
  for (const row of rows) {
    if (macs.to.holds(row)) continue
    if (macs.from.holds(row)) remade += await replaceOperatorMac(db, { table, before: row.mac, after: macs.to.of(row) })
    else forged.push({ table, id: nameOf(row), projectId: null, trouble: NOT_OURS })
  }
  onRows(rows.length)
  return { rows: rows.length, remade, forged }
}

/** Operators of the console, who are few. */
const remakeOperators = async (work: Work & { readonly from: SealingKey }): Promise<readonly Remade[]> => {
  const { from, to } = work
  const { operators, passkeys } = await allOperatorRows(work.db)
  return [
    await remakeOperatorTable(work, {
      table: 'operators',
      macs: { from: operatorMac(from), to: operatorMac(to) },
      rows: operators,
      nameOf: ({ name }) => name,
    }),
    await remakeOperatorTable(work, {
      table: 'operator_passkeys',
      macs: { from: operatorPasskeyMac(from), to: operatorPasskeyMac(to) },
      rows: passkeys,
      nameOf: ({ operatorName }) => operatorName,
    }),
  ]
}

/** Gives each row that the present key verifies a MAC under the next one. It may be killed and run again. */
export const remakeRows = async (work: Work & { readonly from: SealingKey }): Promise<Remade> => {
  const { from, to } = work
  const given = <Row>(macOf: (key: SealingKey) => RowMac<Row>) => {
    const before = macOf(from)
    const refusalOf = (row: Row & Stored) => (before.holds(row) ? null : NOT_OURS)
    return { next: macOf(to), refusalOf }
  }
  return sumOf([
    ...(await remakeOperators(work)),
    await remakeTable(work, { table: 'projects', readPage: pageOfProjects, ...given(projectMac) }),
    await remakeTable(work, { table: 'api_keys', readPage: pageOfApiKeys, ...given(apiKeyMac) }),
    await remakeTable(work, { table: 'passkeys', readPage: pageOfPasskeys, ...given(passkeyMac) }),
    await remakeTable(work, { table: 'users', readPage: pageOfUsers, ...given(userMac) }),
    await remakeTable(work, { table: 'wallets', readPage: pageOfWallets, ...given(walletMac) }),
    await remakeTable(work, { table: 'sessions', readPage: pageOfSessions, ...given(sessionMac) }),
    await remakeTable(work, {
      table: 'session_challenges',
      readPage: pageOfSessionChallenges,
      ...given(sessionChallengeMac),
    }),
  ])
}

/** Gives rows a MAC without the key of their present one: projects and users as they are, and wallets that the vault confirms. */
export const acceptRows = async (
  work: Work & { readonly walletTroubles: ReadonlyMap<string, string> },
): Promise<Remade> => {
  const { to, walletTroubles } = work
  const given = <Row>(next: RowMac<Row>, refusalOf: (row: Row & Stored) => string | null) => ({ next, refusalOf })
  const accepted = () => null
  const ofWallet = ({ id }: Stored) => walletTroubles.get(id) ?? null
  return sumOf([
    await remakeTable(work, { table: 'projects', readPage: pageOfProjects, ...given(projectMac(to), accepted) }),
    await remakeTable(work, { table: 'users', readPage: pageOfUsers, ...given(userMac(to), accepted) }),
    await remakeTable(work, { table: 'wallets', readPage: pageOfWallets, ...given(walletMac(to), ofWallet) }),
  ])
}
