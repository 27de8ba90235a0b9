import { randomUUID } from 'node:crypto'
import {
  countWaitingTests,
  insertTest,
  replayAfter,
  replayFailed,
  replayOne,
} from '../../../db/queries/webhook-deliveries.ts'
import { AppError, notFound } from '../../platform/errors.ts'
import { lockOwn, type Named, ringFor } from './change.ts'
import type { WebhookCtx } from './create.ts'

const REPLAYED_MAX = 10_000
/** Without a bound a program that tests a receiver that is down would fill the table. */
const TESTS_MAX = 20

/** What is sent again: one delivery, the events after one, or those that were not taken in time. */
export type Replayed =
  | { readonly what: 'delivery'; readonly deliveryId: string }
  | { readonly what: 'after'; readonly number: bigint }
  | { readonly what: 'failed' }

type ReplayCtx = Pick<WebhookCtx, 'db' | 'audit'>

const disabled = (): AppError =>
  new AppError('invalid_input', 'This webhook is disabled: enable it first. It then gets what it missed.')

/**
 * Sends deliveries again, with the same webhook-ids.
 * @returns how many, at most 10,000. @throws not_found, invalid_input if the endpoint is disabled.
 */
export const replay = (ctx: ReplayCtx, { replayed, ...of }: Named & { readonly replayed: Replayed }): Promise<number> =>
  ctx.db.transaction(async (tx) => {
    const row = await lockOwn(tx, of)
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
    await ringFor(tx, row.id)
    const { projectId, actor } = of
    const details = { what: replayed.what, deliveries: String(count) }
    await ctx.audit.record(tx, { projectId, actor, action: 'webhook_replayed', subject: row.id, details })
    return count
  })

/**
 * Sends a test message. @returns the id of its delivery.
 * @throws not_found, invalid_input if the endpoint is disabled, rate_limited if too many tests of it wait.
 */
export const sendTest = (ctx: Pick<WebhookCtx, 'db'>, of: Named): Promise<string> =>
  ctx.db.transaction(async (tx) => {
    const row = await lockOwn(tx, of)
    if (row.state === 'disabled') throw disabled()
    if ((await countWaitingTests(tx, row.id)) >= TESTS_MAX) {
      const sentence = `${TESTS_MAX} tests of this webhook wait already: see its deliveries, and test again when they have ended.`
      throw new AppError('rate_limited', sentence, { retryable: true, retryAfterSeconds: 60 })
    }
    const id = randomUUID()
    await insertTest(tx, { id, projectId: row.projectId, endpointId: row.id })
    await ringFor(tx, row.id)
    return id
  })
