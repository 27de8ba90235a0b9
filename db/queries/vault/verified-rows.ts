// What `audit verify` compares: the audit and the rows of the vault, each read once, whole, as they were at one moment.
// The comparison is made in memory (src/vault/rooms/contradictions.ts): a statement for each defect would tell a
// dishonest database what to hide.

import { type SQL, sql } from 'drizzle-orm'
import type { Db, Tx } from '../../client.ts'
import { type ControlMode, type UserSecretKind, VAULT_ACTIONS } from '../../words.ts'

/** So few that signatures hardly wait for what is made of them. */
const ROWS_A_FETCH = 500

type OfProject = { readonly projectId: string }
type OfOwner = OfProject & { readonly ownerId: string }

/** Numbers of PostgreSQL's `bigint` are text. */
export type VerifiedRows = {
  readonly audit: OfProject & {
    readonly id: string
    readonly atMs: number
    readonly action: string
    readonly subject: string
    readonly details: Readonly<Record<string, string>>
  }
  readonly projects: OfProject
  readonly project_keys: OfProject & { readonly version: number }
  readonly developer_keys: OfProject & { readonly version: number }
  readonly user_keys: OfOwner & { readonly version: number }
  readonly pin_guesses: OfOwner & { readonly revision: string; readonly total: number }
  readonly user_key_locks: OfOwner & {
    readonly kind: UserSecretKind
    readonly passkeyId: string
    readonly version: number
    readonly isThere: boolean
  }
  readonly keyrings: OfProject & { readonly id: string }
  readonly owner_locks: OfProject & {
    readonly id: string
    readonly keyringId: string
    readonly controlMode: ControlMode
    readonly version: number
  }
  readonly wallet_keys: OfProject & { readonly id: string }
  readonly wallets: OfProject & {
    readonly id: string
    readonly owner: string
    readonly network: string
    readonly controlMode: ControlMode
    readonly keyring: string
    readonly type: string
    readonly publicKey: string
    readonly address: string
  }
  readonly policies: OfProject & {
    readonly id: string
    readonly uses: string
    readonly isRevoked: boolean
    readonly expiresAtMs: number | null
  }
  readonly used_approvals: OfProject & { readonly id: string }
  readonly delegate_lists: OfProject & { readonly version: number }
}

/** @param projectId null: of all projects. */
const buildQueries = (projectId: string | null): Readonly<Record<keyof VerifiedRows, SQL>> => {
  const isIn = (column: SQL): SQL =>
    projectId === null ? sql`${column} is not null` : sql`${column} = ${projectId}::uuid`
  const ofProject = isIn(sql`project_id`)
  // A row whose keyring was deleted belongs to no project.
  const ofKeyring = sql`(k.id is null or ${isIn(sql`k.project_id`)})`
  return {
    // Other actions are not written by vaults, and decide nothing here.
    audit: sql`select project_id as "projectId", id, (extract(epoch from at) * 1000)::float8 as "atMs", action, subject,
        case jsonb_typeof(details) when 'object' then details else '{}' end as details from public.audit
      where ${ofProject} and action = any(${sql.param([...VAULT_ACTIONS])}::text[]) order by id`,
    projects: sql`select id as "projectId" from public.projects where ${isIn(sql`id`)}`,
    project_keys: sql`select project_id as "projectId", version from public.project_keys where ${ofProject}`,
    developer_keys: sql`select project_id as "projectId", version from public.developer_keys where ${ofProject}`,
    user_keys: sql`select project_id as "projectId", owner_id as "ownerId", version from public.user_keys where ${ofProject}`,
    pin_guesses: sql`select project_id as "projectId", owner_id as "ownerId", revision, total from public.pin_guesses where ${ofProject}`,
    user_key_locks: sql`select project_id as "projectId", owner_id as "ownerId", kind, passkey_id as "passkeyId", version,
      sealed is not null as "isThere" from public.user_key_locks where ${ofProject}`,
    keyrings: sql`select project_id as "projectId", id from public.keyrings where ${ofProject}`,
    owner_locks: sql`select k.project_id as "projectId", l.id, keyring_id as "keyringId", control_mode as "controlMode", version
      from public.owner_locks l left join public.keyrings k on k.id = keyring_id where ${ofKeyring}`,
    wallet_keys: sql`select k.project_id as "projectId", wallet_id as id
      from public.wallet_keys w left join public.keyrings k on k.id = keyring_id where ${ofKeyring}`,
    wallets: sql`select project_id as "projectId", id, owner_id as owner, network, control_mode as "controlMode", keyring_id as keyring,
      type, encode(public_key, 'hex') as "publicKey", address from public.wallets where ${ofProject}`,
    used_approvals: sql`select project_id as "projectId", approval_id as id from public.used_approvals where ${ofProject}`,
    policies: sql`select project_id as "projectId", id, uses, revoked_at is not null as "isRevoked",
      (extract(epoch from expires_at) * 1000)::float8 as "expiresAtMs" from public.policies where ${ofProject}`,
    delegate_lists: sql`select project_id as "projectId", version from public.delegate_lists where ${ofProject}`,
  }
}

type Table = keyof VerifiedRows
type See = { readonly [Each in Table]: (row: VerifiedRows[Each]) => void }

/** Reads a table through a cursor, so that no process has all of its rows in memory. */
const readTable = async <Each extends Table>(
  tx: Tx,
  input: { readonly table: Each; readonly query: SQL; readonly see: See },
) => {
  const { table, query, see } = input
  const cursor = sql.identifier(`verified_${table}`)
  await tx.execute(sql`declare ${cursor} no scroll cursor for ${query}`)
  for (;;) {
    const { rows } = await tx.execute(sql`fetch ${sql.raw(String(ROWS_A_FETCH))} from ${cursor}`)
    for (const row of rows) see[table](row as VerifiedRows[Each])
    if (rows.length < ROWS_A_FETCH) break
  }
  await tx.execute(sql`close ${cursor}`)
}

/** Reads the audit, oldest first, and then the tables. @param input.projectId null: of all projects. */
export const readVerifiedRows = (
  db: Db,
  { projectId, see }: { readonly projectId: string | null; readonly see: See },
) => {
  const queries = buildQueries(projectId)
  return db.transaction(
    async (tx) => {
      for (const table of Object.keys(queries) as Table[]) await readTable(tx, { table, query: queries[table], see })
    },
    { isolationLevel: 'repeatable read', accessMode: 'read only' },
  )
}
