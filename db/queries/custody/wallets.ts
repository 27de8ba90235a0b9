import { sql } from 'drizzle-orm'
import type { Queryable } from '../../client.ts'

/**
 * `unfinished`: it has a sealed key and no row, and was never used. The API was stopped before it wrote the row, or somebody
 * deleted the row. `unknown`: the audit does not tell of it. `other`: the audit tells of another owner, network, control mode or
 * keyring.
 */
export type WalletContradiction = {
  readonly id: string
  readonly projectId: string
  readonly is: 'gone' | 'unfinished' | 'unknown' | 'other'
}

/** The wallets that are not as the audit tells. @param of.projectId null: of all projects. */
export const contradictedWallets = async (
  db: Queryable,
  of: { readonly projectId: string | null },
): Promise<readonly WalletContradiction[]> => {
  const { rows } = await db.execute<WalletContradiction>(sql`
    with told as (
      select a.subject as id, a.project_id, a.details
      from audit a
      where a.action in ('wallet_created', 'wallet_imported')
        and a.project_id = coalesce(${of.projectId}::uuid, a.project_id)
    ), present as (
      select w.id::text as id, w.project_id, w.network, w.owner_id, w.control_mode, w.keyring_id::text as keyring_id
      from wallets w
      where w.project_id = coalesce(${of.projectId}::uuid, w.project_id)
    ), judged as (
      select coalesce(told.id, p.id) as id, coalesce(told.project_id, p.project_id) as project_id, case
          when p.id is null and exists (select from wallet_keys k where k.wallet_id::text = told.id) and not exists
            (select from audit u where u.subject = told.id and u.action not in ('wallet_created', 'wallet_imported', 'control_shared'))
            then 'unfinished'
          when p.id is null then 'gone'
          when told.id is null then 'unknown'
          when (p.project_id, p.network, p.owner_id, p.control_mode, p.keyring_id) is distinct from
            (told.project_id, told.details->>'network', told.details->>'owner_id', told.details->>'control_mode',
              told.details->>'keyring_id') then 'other'
        end as "is"
      from told full join present p on p.id = told.id
    )
    select id, project_id as "projectId", "is" from judged where "is" is not null order by id`)
  return [...rows]
}
