// Finds deleted rows of custody: those that the audit names and that are gone.

import { sql } from 'drizzle-orm'
import type { Queryable } from '../../client.ts'

/** `id`: the primary key within its project. */
type GoneRow = { readonly table: string; readonly projectId: string; readonly id: string }

/**
 * The service never deletes these rows, and writes each in the transaction of its audit row. Other checks cover wallets and their
 * locks, policies, and a count of wrong PINs whose owner still has a user key.
 * @param of.projectId null: of all projects.
 */
export const goneCustodyRows = async (
  db: Queryable,
  of: { readonly projectId: string | null },
): Promise<readonly GoneRow[]> => {
  const { rows } = await db.execute<GoneRow>(sql`
    with audited as (
      select a.action, a.project_id, a.subject, a.details from audit a
      where a.action in ('project_created', 'project_activated', 'project_key_rotated', 'wallet_created', 'wallet_imported')
        and a.project_id = coalesce(${of.projectId}::uuid, a.project_id)
    ), wallets_told as (
      select project_id, subject as id, details->>'owner_id' as owner_id, details->>'keyring_id' as keyring_id,
        details->>'control_mode' = 'user' as has_pin
      from audited where action in ('wallet_created', 'wallet_imported')
    ), owners as (
      select w.project_id, w.owner_id, exists (
          select from user_keys u where u.project_id = w.project_id and u.owner_id = w.owner_id) as has_key
      from (select distinct project_id, owner_id from wallets_told where has_pin) w
    )
    select 'projects' as "table", project_id as "projectId", subject as id from audited
      where action = 'project_created' and not exists (select from projects p where p.id = audited.project_id)
    union all
    select 'project_keys', project_id, coalesce(details->>'version', '1') from audited
      where action in ('project_created', 'project_key_rotated') and not exists (
        select from project_keys k where k.project_id = audited.project_id and k.version::text = coalesce(details->>'version', '1'))
    union all
    select 'developer_keys', project_id, subject from audited
      where (action = 'project_activated' or details->>'activated' = 'yes')
        and not exists (select from developer_keys k where k.project_id = audited.project_id)
    union all
    select 'user_keys', project_id, owner_id from owners where not has_key
    union all
    select 'pin_guesses', project_id, owner_id from owners
      where not has_key and not exists (
        select from pin_guesses g where g.project_id = owners.project_id and g.owner_id = owners.owner_id)
    union all
    select distinct 'keyrings', project_id, keyring_id from wallets_told w
      where not exists (select from keyrings k where k.id::text = w.keyring_id)
    union all
    select 'wallet_keys', project_id, id from wallets_told w
      where not exists (select from wallet_keys k where k.wallet_id::text = w.id)
    order by 1, 2, 3`)
  return [...rows]
}
