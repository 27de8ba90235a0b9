// What is kept of service keys and identity keys that were changed.

import { and, eq, gt, isNotNull, sql } from 'drizzle-orm'
import type { Queryable, Tx } from '../client.ts'
import { deployment, retiredKeys } from '../schema.ts'
import type { Secret } from '../words.ts'

export type RetiredKeyRow = typeof retiredKeys.$inferSelect

export const readRetiredKeyIds = async (db: Queryable): Promise<readonly string[]> =>
  (await db.selectDistinct({ id: retiredKeys.keyId }).from(retiredKeys)).map(({ id }) => id)

/** @param input.withinSeconds null: whenever it was retired. */
export const listRetiredKeys = (
  db: Queryable,
  input: { readonly secret: Secret; readonly purpose: string; readonly withinSeconds: number | null },
): Promise<readonly RetiredKeyRow[]> =>
  db
    .select()
    .from(retiredKeys)
    .where(
      and(
        eq(retiredKeys.secret, input.secret),
        eq(retiredKeys.purpose, input.purpose),
        input.withinSeconds === null
          ? undefined
          : gt(retiredKeys.retiredAt, sql`now() - make_interval(secs => ${input.withinSeconds})`),
      ),
    )
    .orderBy(retiredKeys.lastAuditId)

export const listSealedRetiredKeys = (
  db: Queryable,
  input: { readonly secret: Secret },
): Promise<readonly RetiredKeyRow[]> =>
  db
    .select()
    .from(retiredKeys)
    .where(and(eq(retiredKeys.secret, input.secret), isNotNull(retiredKeys.sealed)))

export const resealRetiredKey = async (
  tx: Tx,
  { keyId, purpose, sealed }: Pick<RetiredKeyRow, 'keyId' | 'purpose' | 'sealed'>,
) => {
  await tx
    .update(retiredKeys)
    .set({ sealed })
    .where(and(eq(retiredKeys.keyId, keyId), eq(retiredKeys.purpose, purpose)))
}

/** No program can open what a lost key has sealed. */
export const forgetRetiredKeys = async (tx: Tx, input: { readonly secret: Secret }) => {
  await tx.update(retiredKeys).set({ sealed: null }).where(eq(retiredKeys.secret, input.secret))
}

/** Every row of the audit that is there now may be the key's. */
export const insertRetiredKeys = async (
  tx: Tx,
  rows: readonly Pick<RetiredKeyRow, 'keyId' | 'secret' | 'purpose' | 'sealed'>[],
) => {
  const lastAuditId = sql`(select coalesce(max(id), 0) from public.audit)`
  await tx.insert(retiredKeys).values(rows.map((row) => ({ ...row, lastAuditId })))
}

const BOUND = { SERVICE_KEY: 'serviceKeyId', IDENTITY_KEY: 'identityKeyId' } as const

/** Which key the database belongs to; locks the row until the transaction ends. */
export const lockBoundKeyId = async (tx: Tx, secret: Secret): Promise<string | null> => {
  const [row] = await tx.select({ id: deployment[BOUND[secret]] }).from(deployment).for('update')
  return row?.id ?? null
}

export const bindKey = async (tx: Tx, input: { readonly secret: Secret; readonly id: string }) => {
  await tx.update(deployment).set({ [BOUND[input.secret]]: input.id })
}
