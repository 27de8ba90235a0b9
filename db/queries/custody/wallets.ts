import { sql } from 'drizzle-orm'
import type { Queryable } from '../../client.ts'

/**
 * `unfinished`: it has a sealed key and no row, and was never used. The API was stopped before it wrote the row, or somebody
 * deleted the row. `unknown`: the audit does not name it. `other`: the audit has another value for the columns in `others`.
 */
export type WalletContradiction = {
  readonly id: string
  readonly projectId: string
  readonly is: 'gone' | 'unfinished' | 'unknown' | 'other'
  readonly others: readonly string[]
}

/** The columns that decide, by the names that operators read, with the comparison of column and audit. */
const COMPARED = {
  project: sql`p.project_id is distinct from audited.project_id`,
  owner: sql`p.owner_id is distinct from audited.details->>'owner_id'`,
  network: sql`p.network is distinct from audited.details->>'network'`,
  'control mode': sql`p.control_mode is distinct from audited.details->>'control_mode'`,
  keyring: sql`p.keyring_id::text is distinct from audited.details->>'keyring_id'`,
  type: sql`p.type is distinct from audited.details->>'type'`,
  'public key': sql`encode(p.public_key, 'hex') is distinct from audited.details->>'public_key'`,
  address: sql`p.address is distinct from audited.details->>'address'`,
}

const others = sql.join(
  Object.entries(COMPARED).map(([name, isOther]) => sql`case when ${isOther} then ${name} end`),
  sql`, `,
)

/** The wallets that contradict the audit. @param of.projectId null: of all projects. */
export const contradictedWallets = async (
  db: Queryable,
  of: { readonly projectId: string | null },
): Promise<readonly WalletContradiction[]> => {
  const { rows } = await db.execute<WalletContradiction>(sql`
    with audited as (
      select a.subject as id, a.project_id, a.details
      from audit a
      where a.action in ('wallet_created', 'wallet_imported')
        and a.project_id = coalesce(${of.projectId}::uuid, a.project_id)
    ), present as (
      select w.id::text as key, w.* from wallets w where w.project_id = coalesce(${of.projectId}::uuid, w.project_id)
    ), compared as (
      select audited.id as audited_id, p.key, coalesce(audited.project_id, p.project_id) as project_id,
        array_remove(array[${others}], null) as others
      from audited full join present p on p.key = audited.id
    ), judged as (
      select coalesce(audited_id, key) as id, project_id, others, case
          when key is null and exists (select from wallet_keys k where k.wallet_id::text = audited_id) and not exists
            (select from audit u where u.subject = audited_id and u.action not in ('wallet_created', 'wallet_imported', 'control_shared'))
            then 'unfinished'
          when key is null then 'gone'
          when audited_id is null then 'unknown'
          when others <> '{}' then 'other'
        end as "is"
      from compared
    )
    select id, project_id as "projectId", "is", others from judged where "is" is not null order by id`)
  return [...rows]
}
