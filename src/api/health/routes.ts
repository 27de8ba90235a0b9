import { Elysia } from 'elysia'
import { describedAs } from '../../platform/http/schema.ts'
import { atMostEvery } from '../../platform/queue.ts'
import type { ApiCtx } from '../ctx.ts'
import { Health, Readiness, readiness, Stopping } from './readiness.ts'

const STOPPING = { error: 'This process is stopping: send requests to another one.', code: 'unavailable' } as const

const { detail } = describedAs('Health')

/** Strangers may ask, so the nodes are not asked each time. */
const LOOK_INTERVAL_MS = 2_000

export const healthRoutes = (ctx: ApiCtx, { stopping }: { readonly stopping?: AbortSignal }) => {
  // It does not reject for a node that does not answer.
  const look = atMostEvery(LOOK_INTERVAL_MS, () => Promise.all(ctx.chains.all.map(({ lookAtNodes }) => lookAtNodes())))
  return new Elysia({ normalize: false })
    .get('/healthz', () => ({ status: 'ok' as const }), {
      response: { 200: Health },
      ...detail('The process is alive', 'Checks nothing else.'),
    })
    .get('/readyz', async ({ status }) => (stopping?.aborted ? status(503, STOPPING) : readiness(ctx, { look })), {
      response: { 200: Readiness, 503: Stopping },
      ...detail(
        'The process is ready',
        "Checks the database, and each node's chain. A node that does not answer within 1.5 s is `unreachable`. 503 if the database does not answer, can only be read, has no space left, lacks the schema of this version or belongs to another root key, or the process is about to end.",
      ),
    })
}
