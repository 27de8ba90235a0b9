// Operators of the console, and what admits their browsers.

import { and, asc, eq, gt, inArray, lte, sql } from 'drizzle-orm'
import type { Db, Queryable, Tx } from '../client.ts'
import { deleteRows, insertUnlessThere, updateRows, upsertRow } from '../deciding-rows.ts'
import { firstRow } from '../rows.ts'
import { audit, operatorPasskeys, operators, operatorTokens } from '../schema.ts'
import type { OperatorTokenKind } from '../words.ts'

type OperatorRow = typeof operators.$inferSelect
type PasskeyRow = typeof operatorPasskeys.$inferSelect
type TokenRow = typeof operatorTokens.$inferSelect

export type OperatorFacts = Pick<OperatorRow, 'name' | 'role'>
export type OperatorPasskeyFacts = Pick<PasskeyRow, 'operatorName' | 'credentialId' | 'publicKey' | 'backupEligible'>
export type OperatorTokenFacts = Pick<TokenRow, 'hash' | 'kind' | 'operatorName' | 'expiresAt'>

export const saveOperator = async (tx: Tx, row: OperatorFacts & Pick<OperatorRow, 'mac'>) => {
  const { role, mac } = row
  await upsertRow(tx, operators, { values: row, target: [operators.name], set: { role, mac } })
}

/** Deletes an operator, and with it their passkeys and tokens. @returns false if there is none. */
export const deleteOperator = async (tx: Tx, name: string) =>
  (await deleteRows(tx, operators, { where: eq(operators.name, name) })).length === 1

const passkeys = sql<number>`(
  select count(*)::int from public.operator_passkeys p where p.operator_name = operators.name)`
const sessions = sql<number>`(
  select count(*)::int from public.operator_tokens t
  where t.operator_name = operators.name and t.kind = 'session' and t.expires_at > now())`

export type ListedOperator = OperatorRow & { readonly passkeys: number; readonly sessions: number }

export const listOperators = (db: Queryable): Promise<readonly ListedOperator[]> =>
  db
    .select({
      name: operators.name,
      role: operators.role,
      createdAt: operators.createdAt,
      mac: operators.mac,
      passkeys,
      sessions,
    })
    .from(operators)
    .orderBy(asc(operators.name))

/** Also removes the tokens that have ended. */
export const insertToken = async (tx: Tx, row: OperatorTokenFacts & Pick<TokenRow, 'mac'>) => {
  await tx.delete(operatorTokens).where(lte(operatorTokens.expiresAt, sql`now()`))
  const there = eq(operatorTokens.hash, row.hash)
  return (await insertUnlessThere(tx, operatorTokens, { values: row, there })) !== null
}

export type FoundToken = { readonly token: TokenRow; readonly operator: OperatorRow }

export const findToken = (
  db: Queryable,
  { kind, hash }: { readonly kind: OperatorTokenKind; readonly hash: Uint8Array },
): Promise<FoundToken | null> =>
  firstRow(
    db
      .select({ token: operatorTokens, operator: operators })
      .from(operatorTokens)
      .innerJoin(operators, eq(operators.name, operatorTokens.operatorName))
      .where(
        and(eq(operatorTokens.hash, hash), eq(operatorTokens.kind, kind), gt(operatorTokens.expiresAt, sql`now()`)),
      ),
  )

/** @returns false if it was deleted before: a link logs in only once. */
export const deleteToken = async (db: Db | Tx, { kind, hash }: Pick<TokenRow, 'kind' | 'hash'>) => {
  const where = and(eq(operatorTokens.hash, hash), eq(operatorTokens.kind, kind))
  return (await deleteRows(db, operatorTokens, { where, final: kind === 'session' ? 'ended' : 'once' })).length === 1
}

export const insertOperatorPasskey = async (
  tx: Tx,
  row: OperatorPasskeyFacts & Pick<PasskeyRow, 'signCount' | 'mac'>,
) => {
  const there = eq(operatorPasskeys.credentialId, row.credentialId)
  return (await insertUnlessThere(tx, operatorPasskeys, { values: row, there })) !== null
}

export const findOperatorPasskey = async (
  db: Queryable,
  credentialId: Uint8Array,
): Promise<{
  readonly passkey: PasskeyRow
  readonly operator: OperatorRow
  /** The audit has the removal of its operator after it has the passkey: an attacker has put the row back. */
  readonly wasRemoved: boolean
} | null> => {
  const ofOperator = sql`project_id is null and subject = ${operatorPasskeys.operatorName}`
  const added = sql`select max(id) from public.audit where ${ofOperator} and action = 'operator_passkey_added'
    and details->>'credential_id' = ${Buffer.from(credentialId).toString('base64url')}`
  const wasRemoved = sql<boolean>`exists (select from public.audit where ${ofOperator} and action = 'operator_removed'
    and id > coalesce((${added}), 0))`
  return firstRow(
    db
      .select({ passkey: operatorPasskeys, operator: operators, wasRemoved })
      .from(operatorPasskeys)
      .innerJoin(operators, eq(operators.name, operatorPasskeys.operatorName))
      .where(eq(operatorPasskeys.credentialId, credentialId)),
  )
}

export const passkeysOfOperator = (
  db: Queryable,
  operatorName: string,
): Promise<readonly Pick<PasskeyRow, 'credentialId'>[]> =>
  db
    .select({ credentialId: operatorPasskeys.credentialId })
    .from(operatorPasskeys)
    .where(eq(operatorPasskeys.operatorName, operatorName))

export const recordOperatorPasskeyUse = async (
  tx: Tx,
  { credentialId, signCount }: Pick<PasskeyRow, 'credentialId' | 'signCount'>,
) => {
  const where = eq(operatorPasskeys.credentialId, credentialId)
  await updateRows(tx, operatorPasskeys, { set: { signCount, lastUsedAt: sql`now()` }, where })
}

/** All rows that admit operators, for `audit verify`: there are few. */
export const allOperatorRows = async (db: Queryable) => {
  const [rows, theirPasskeys, tokens] = await Promise.all([
    db.select().from(operators),
    db.select().from(operatorPasskeys),
    db.select().from(operatorTokens),
  ])
  return { operators: rows, passkeys: theirPasskeys, tokens }
}

export const operatorActs = (db: Queryable) =>
  db
    .select({
      name: audit.subject,
      action: audit.action,
      role: sql<string | null>`details->>'role'`,
      credentialId: sql<string | null>`details->>'credential_id'`,
    })
    .from(audit)
    .where(inArray(audit.action, ['operator_invited', 'operator_passkey_added', 'operator_removed']))
    .orderBy(asc(audit.id))
