// Jobs: each task's payload schema, and the one function that adds a job. Payloads contain ids only, no secrets.

import { type Static, Type } from '@sinclair/typebox'
import { sql } from 'drizzle-orm'
import type { Queryable } from './client.ts'

const networkPayload = Type.Object({ network: Type.String() })

export const JOB_PAYLOADS = {
  broadcast_transaction: Type.Object({
    transactionId: Type.String(),
    network: Type.String(),
    /** How often sending has failed. */
    tries: Type.Optional(Type.Integer({ minimum: 0, maximum: 1_000 })),
  }),
  /** Follows a network's blocks and settles the transactions found in them. */
  track_blocks: networkPayload,
  /** Follows a network's blocks and keeps the movements that touch known addresses. */
  index_blocks: networkPayload,
  /** Finds what an address moved before it became a wallet's. */
  backfill_wallet: Type.Object({ ...networkPayload.properties, address: Type.String() }),
  /** Finds work in our tables whose job was lost, and starts it again. */
  reconcile: Type.Object({ again: Type.Boolean() }),
  drop_idempotency_keys: Type.Object({}),
  clean_logins: Type.Object({}),
  drop_events: Type.Object({}),
  expire_approvals: Type.Object({}),
  note_heads: Type.Object({}),
  send_mail: Type.Object({ mailId: Type.String() }),
  deliver_webhooks: Type.Object({ endpointId: Type.String() }),
} as const

export type JobName = keyof typeof JOB_PAYLOADS
export type JobPayload<Name extends JobName> = Static<(typeof JOB_PAYLOADS)[Name]>

type JobOptions = {
  /** At most one waiting job has this key. */
  readonly key?: string
  /**
   * `replace` updates a waiting job with the key. `keep` leaves it, but makes a failed one due at once. `new` is for a
   * key that no job can have yet, and is five times faster.
   */
  readonly whenKeyed?: 'replace' | 'keep' | 'new'
  readonly delaySeconds?: number
}

/** graphile-worker waits e^attempt seconds between tries: 25 is about a fortnight. */
const MAX_ATTEMPTS = 25

/** Adds a job in the caller's transaction: it exists if and only if that commits. */
export const addJob = async <Name extends JobName>(
  db: Queryable,
  name: Name,
  payload: JobPayload<Name>,
  options: JobOptions = {},
): Promise<void> => {
  const { whenKeyed = 'replace' } = options
  const mode = whenKeyed === 'replace' ? 'replace' : 'unsafe_dedupe'
  if (whenKeyed === 'keep') await takeUpAgain(db, options.key ?? '')
  await db.execute(sql`select public.add_strongroom_job(
    ${name}, ${JSON.stringify(payload)}::json, ${options.key ?? null}, ${options.key === undefined ? null : mode},
    now() + make_interval(secs => ${options.delaySeconds ?? 0}), ${MAX_ATTEMPTS})`)
}

/** Makes a failed job due at once: the queue would wait up to days, or has given it up. Leaves a running job alone. */
const takeUpAgain = async (db: Queryable, key: string): Promise<void> => {
  await db.execute(sql`select graphile_worker.reschedule_jobs(
    array(select id from graphile_worker._private_jobs where key = ${key} and (last_error is not null or not is_available)),
    run_at := now(), attempts := 0)`)
}
