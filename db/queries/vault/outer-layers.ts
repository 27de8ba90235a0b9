// All that is sealed under a project's key, in whatever table: a rotation of that key finds and replaces these rows.
// The key id of an envelope is its third to sixth byte, big-endian, so comparing the bytes compares the versions.

import { type SQL, sql } from 'drizzle-orm'
import type { Queryable } from '../../client.ts'
import { firstRow, readRows } from '../../rows.ts'
import type { ControlMode, KeyringKind, UserSecretKind } from '../../words.ts'
import { requireWritten } from '../../written.ts'

export type OuterLayer = {
  /** Names the row within its project: the id of the project, the owner, the keyring or the lock. */
  readonly id: string
  /**
   * What the envelope of a developer key or a user key, of a user key's lock, of a keyring or of an owner lock binds;
   * null for other rows.
   */
  readonly version: number | null
  readonly userKeyLock: {
    readonly ownerId: string
    readonly kind: UserSecretKind
    readonly passkeyId: string
    readonly version: number
  } | null
  readonly keyring: { readonly kind: KeyringKind; readonly controlModes: readonly ControlMode[] } | null
  readonly ownerLock: {
    readonly keyringId: string
    readonly controlMode: ControlMode
    readonly policiesOnly: boolean
    readonly version: number
  } | null
  readonly sealed: Uint8Array
}

type Table = {
  readonly name: SQL
  /** The column that distinguishes a project's rows. */
  readonly key: SQL
  readonly type: SQL
  /** Less than or equal to every key. */
  readonly first: string
  /** The columns `version`, `userKeyLock`, `keyring` and `ownerLock` of a layer. */
  readonly binds: SQL
  /** The rows `t` of a project. */
  readonly ofProject: (projectId: string) => SQL
}

const NIL_UUID = '00000000-0000-0000-0000-000000000000'

const describeTable = (
  name: SQL,
  binds: Partial<Record<'version' | 'userKeyLock' | 'keyring' | 'ownerLock', SQL>>,
  others: Partial<Table> = {},
): Table => {
  const { version = sql`null`, userKeyLock = sql`null`, keyring = sql`null`, ownerLock = sql`null` } = binds
  return {
    name,
    key: sql`t.id`,
    type: sql`uuid`,
    first: NIL_UUID,
    binds: sql`${version} as version, ${userKeyLock} as "userKeyLock", ${keyring} as keyring, ${ownerLock} as "ownerLock"`,
    ofProject: (projectId) => sql`t.project_id = ${projectId}::uuid`,
    ...others,
  }
}

const TABLES = {
  developer_key: describeTable(sql`developer_keys`, { version: sql`t.version` }, { key: sql`t.project_id` }),
  user_key: describeTable(
    sql`user_keys`,
    { version: sql`t.version` },
    { key: sql`t.owner_id`, type: sql`text`, first: '' },
  ),
  // A removed lock has no sealed bytes, so no version is newer.
  user_key_lock: describeTable(sql`user_key_locks`, {
    userKeyLock: sql`json_build_object('ownerId', t.owner_id, 'kind', t.kind, 'passkeyId', t.passkey_id,
        'version', t.version)`,
  }),
  keyring: describeTable(sql`keyrings`, {
    keyring: sql`json_build_object('kind', t.kind, 'controlModes', array(
        select l.control_mode from owner_locks l where l.keyring_id = t.id))`,
  }),
  owner_lock: describeTable(
    sql`owner_locks`,
    {
      ownerLock: sql`json_build_object('keyringId', t.keyring_id, 'controlMode', t.control_mode,
        'policiesOnly', t.policies_only, 'version', t.version)`,
    },
    {
      ofProject: (projectId) =>
        sql`exists (select from keyrings k where k.id = t.keyring_id and k.project_id = ${projectId}::uuid)`,
    },
  ),
  policy_lock: describeTable(
    sql`policy_locks`,
    {},
    {
      ofProject: (projectId) =>
        sql`exists (select from policies p where p.id = t.policy_id and p.project_id = ${projectId}::uuid)`,
    },
  ),
} satisfies Record<string, Table>

export type OuterLayerKind = keyof typeof TABLES
export const OUTER_LAYER_KINDS = Object.keys(TABLES) as readonly OuterLayerKind[]

type OfVersion = { readonly kind: OuterLayerKind; readonly projectId: string; readonly olderThan: number }

const isOlder = (version: number): SQL => {
  const keyId = version.toString(16).padStart(8, '0')
  return sql`substring(t.sealed from 3 for 4) < decode(${keyId}, 'hex')`
}

/** In the order of their ids. */
export const listOuterLayers = async (
  db: Queryable,
  input: OfVersion & { readonly after: string | null; readonly limit: number },
): Promise<readonly OuterLayer[]> => {
  const { name, key, type, first, binds, ofProject } = TABLES[input.kind]
  return readRows<OuterLayer>(db)`
    select ${key}::text as id, ${binds}, t.sealed
    from ${name} t
    where ${ofProject(input.projectId)} and ${key} ${input.after === null ? sql`>=` : sql`>`} ${input.after ?? first}::${type}
      and ${isOlder(input.olderThan)}
    order by ${key}
    limit ${input.limit}`
}

export const countOuterLayers = async (db: Queryable, input: OfVersion) => {
  const { name, ofProject } = TABLES[input.kind]
  const row = await firstRow(
    readRows<{ rows: number }>(db)`
    select count(*)::int as rows from ${name} t where ${ofProject(input.projectId)} and ${isOlder(input.olderThan)}`,
  )
  return row?.rows ?? 0
}

const encodeHex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')

/** Replaces sealed bytes that are still `before`. @returns how many rows were replaced. @throws NotWritten */
export const replaceOuterLayers = async (
  db: Queryable,
  input: {
    readonly kind: OuterLayerKind
    readonly projectId: string
    readonly layers: readonly { readonly id: string; readonly before: Uint8Array; readonly after: Uint8Array }[]
  },
) => {
  const { layers } = input
  const { name, key, type, ofProject } = TABLES[input.kind]
  // All rotations lock the rows in the same order, so that two at once do not deadlock.
  const { rows } = await db.execute<{ id: string; sealed: Uint8Array }>(sql`
    with change as (
      select * from unnest(
        ${sql.param(layers.map((layer) => layer.id))}::${type}[],
        ${sql.param(layers.map((layer) => encodeHex(layer.before)))}::text[],
        ${sql.param(layers.map((layer) => encodeHex(layer.after)))}::text[]
      ) as c(id, before, after)
    ), held as (
      select ${key} as id, c.after
      from ${name} t join change c on c.id = ${key} and t.sealed = decode(c.before, 'hex')
      where ${ofProject(input.projectId)}
      order by ${key}
      for no key update of t
    )
    update ${name} t set sealed = decode(held.after, 'hex') from held
    where held.id = ${key} and ${ofProject(input.projectId)}
    returning ${key}::text as id, t.sealed`)
  for (const returned of rows) {
    const sealed = layers.find(({ id }) => id === returned.id)?.after
    requireWritten({ table: `${input.kind}s`, meant: { id: returned.id, sealed }, returned })
  }
  return rows.length
}
