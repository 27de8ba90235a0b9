import type { HasDb } from '../../../db/client.ts'
import { type DeliveryRow, listDeliveries as selectDeliveries } from '../../../db/queries/webhook-deliveries.ts'
import { type EndpointView, findEndpoint, listEndpoints as selectEndpoints } from '../../../db/queries/webhooks.ts'
import type { DeliveryState } from '../../../db/words.ts'
import { AppError, notFound } from '../../platform/errors.ts'

/** The endpoints of a project, or of all, oldest first. */
export const listEndpoints = (
  { db }: HasDb,
  { projectId }: { readonly projectId: string | null },
): Promise<readonly EndpointView[]> => selectEndpoints(db, { projectId })

/** An endpoint of any project, for operators. @throws not_found */
export const nameWebhook = async (
  { db }: HasDb,
  id: string,
): Promise<{ readonly id: string; readonly projectId: string }> => {
  const row = await findEndpoint(db, id)
  if (row === null) throw new AppError('not_found', 'There is no webhook with this id.')
  return { id, projectId: row.projectId }
}

/** What was sent to an endpoint or waits for it, newest first. `nextAt` is not before the end of a pause. @throws not_found */
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
