import { randomUUID } from 'node:crypto'
import type { HasDb } from '../../../db/client.ts'
import {
  countWaitingTests,
  type DeliveryRow,
  insertTest,
  replayAfter,
  replayFailed,
  replayOne,
  listDeliveries as selectDeliveries,
} from '../../../db/queries/webhook-deliveries.ts'
import { findEndpoint, listEndpoints as selectEndpoints } from '../../../db/queries/webhooks.ts'
import type { DeliveryState } from '../../../db/words.ts'
import { AppError, notFound } from '../../platform/errors.ts'
import { invalidInput } from '../../signing/schema.ts'
import { lockOwn, type Named, wakeDeliverer } from './change.ts'
import type { WebhookCtx } from './create.ts'

const REPLAYED_MAX = 10_000
/** Without a bound a program that tests a receiver that is down would fill the table. */
const TESTS_MAX = 20

/** What is sent again: one delivery, the events after one, or those that were not taken in time. */
export type Replayed =
  | { readonly what: 'delivery'; readonly deliveryId: string }
  | { readonly what: 'after'; readonly number: bigint }
  | { readonly what: 'failed' }

const disabled = (): AppError => invalidInput('This webhook is disabled: enable it first. It then gets what it missed.')

/** Sends at most 10,000 deliveries again, with the same webhook-ids. @throws not_found, invalid_input */
export const replay = (
  ctx: Pick<WebhookCtx, 'db' | 'audit'>,
  { replayed, ...named }: Named & { readonly replayed: Replayed },
): Promise<number> =>
  ctx.db.transaction(async (tx) => {
    const row = await lockOwn(tx, named)
    if (row.state === 'disabled') throw disabled()
    const again = async (): Promise<number> => {
      switch (replayed.what) {
        case 'delivery':
          if (await replayOne(tx, { endpointId: row.id, id: replayed.deliveryId })) return 1
          throw notFound('delivery of this webhook')
        case 'after':
          return replayAfter(tx, { endpointId: row.id, after: replayed.number, limit: REPLAYED_MAX })
        case 'failed':
          return replayFailed(tx, row.id)
      }
    }
    const count = await again()
    await wakeDeliverer(tx, row.id)
    const { projectId, actor } = named
    const details = { what: replayed.what, deliveries: String(count) }
    await ctx.audit.record(tx, { projectId, actor, action: 'webhook_replayed', subject: row.id, details })
    return count
  })

/** @returns the id of the delivery. @throws not_found, invalid_input, rate_limited if too many tests wait */
export const sendTest = (ctx: Pick<WebhookCtx, 'db'>, named: Named): Promise<string> =>
  ctx.db.transaction(async (tx) => {
    const row = await lockOwn(tx, named)
    if (row.state === 'disabled') throw disabled()
    if ((await countWaitingTests(tx, row.id)) >= TESTS_MAX) {
      const sentence = `${TESTS_MAX} tests of this webhook wait already: see its deliveries, and test again when they have ended.`
      throw new AppError('rate_limited', sentence, { retryable: true, retryAfterSeconds: 60 })
    }
    const id = randomUUID()
    await insertTest(tx, { id, projectId: row.projectId, endpointId: row.id })
    await wakeDeliverer(tx, row.id)
    return id
  })

/** The endpoints of a project, or of all, oldest first. */
export const listEndpoints = ({ db }: HasDb, query: { readonly projectId: string | null }) => selectEndpoints(db, query)

/** An endpoint of any project, for operators. @throws not_found */
export const nameWebhook = async (
  { db }: HasDb,
  id: string,
): Promise<{ readonly id: string; readonly projectId: string }> => {
  const row = await findEndpoint(db, id)
  if (row === null) throw new AppError('not_found', 'There is no webhook with this id.')
  return { id, projectId: row.projectId }
}

/** Newest first. `nextAt` is not before the end of a pause. @throws not_found */
export const listDeliveries = async (
  { db }: HasDb,
  input: {
    readonly projectId: string
    readonly endpointId: string
    readonly state: DeliveryState | null
    readonly limit: number
    readonly offset: number
  },
): Promise<readonly DeliveryRow[]> => {
  const endpoint = await findEndpoint(db, input.endpointId)
  if (endpoint?.projectId !== input.projectId) throw notFound('webhook')
  const rows = await selectDeliveries(db, input)
  const { pausedUntil } = endpoint
  if (pausedUntil === null) return rows
  return rows.map((row) => ({ ...row, nextAt: row.nextAt && new Date(Math.max(+row.nextAt, +pausedUntil)) }))
}
